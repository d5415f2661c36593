import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import {
  type ByteStream,
  ConnectionLimit,
  type Listener,
  listenTcp,
  type TcpListenOptions,
} from '../../src/transports/index.ts'
import { EventQueue } from './event-queue.ts'
import { standStill } from './paused-reader.ts'

interface TestServer {
  listener: Listener
  streams: EventQueue<ByteStream>
  refusals: EventQueue<string>
  client(): Promise<Socket>
}

async function openServer(t: TestContext, options: Partial<TcpListenOptions> = {}): Promise<TestServer> {
  const streams = new EventQueue<ByteStream>()
  const refusals = new EventQueue<string>()
  const opened: { destroy(): void }[] = []
  const listener = await listenTcp({
    host: '127.0.0.1',
    port: 0,
    onStream: (stream) => {
      opened.push(stream)
      streams.add(stream)
    },
    onRefused: (reason) => refusals.add(reason),
    ...options,
  })
  t.after(async () => {
    for (const each of opened) each.destroy()
    await listener.close()
  })
  const client = async (): Promise<Socket> => {
    const socket = connect(listener.port, '127.0.0.1')
    socket.on('error', () => {})
    opened.push(socket)
    await once(socket, 'connect')
    return socket
  }
  return { listener, streams, refusals, client }
}

const received = (stream: ByteStream): EventQueue<string> => {
  const chunks = new EventQueue<string>()
  stream.onData = (chunk) => chunks.add(chunk.toString())
  return chunks
}

const closed = (stream: ByteStream): Promise<Error | undefined> =>
  new Promise((resolve) => {
    stream.onClose = resolve
  })

const written = (stream: ByteStream, text: string): Promise<void> =>
  new Promise((resolve) => stream.write(Buffer.from(text), resolve))

test('port 0 is resolved, and bytes are sent in both directions', async (t) => {
  const server = await openServer(t)
  assert.ok(server.listener.port > 0)
  const client = await server.client()
  const stream = await server.streams.next()
  assert.equal(stream.remoteAddress, '127.0.0.1')
  assert.equal(stream.remotePort, client.localPort)

  const chunks = received(stream)
  client.write('to the broker')
  assert.equal(await chunks.next(), 'to the broker')

  await written(stream, 'to the client')
  const [chunk] = await once(client, 'data')
  assert.equal(String(chunk), 'to the client')
})

test('a peer that disconnects is reported once, without an error', async (t) => {
  const server = await openServer(t)
  const client = await server.client()
  const stream = await server.streams.next()
  const end = closed(stream)
  client.end()
  assert.equal(await end, undefined)
})

test('a peer that resets the connection is reported with the error', async (t) => {
  const server = await openServer(t)
  const client = await server.client()
  const stream = await server.streams.next()
  const end = closed(stream)
  client.resetAndDestroy()
  assert.match(String(await end), /ECONNRESET/)
})

test('a paused stream passes on no bytes until it is resumed', async (t) => {
  const server = await openServer(t)
  const client = await server.client()
  const other = await server.client()
  const first = await server.streams.next()
  const second = await server.streams.next()
  const [paused, reading] = first.remotePort === client.localPort ? [first, second] : [second, first]
  const chunks: string[] = []
  paused.onData = (chunk) => chunks.push(chunk.toString())
  const others = received(reading)
  paused.pause()
  await new Promise<void>((resolve) => client.write('held back', () => resolve()))
  other.write('marker')
  await others.next()
  assert.deepEqual(chunks, [], 'later bytes of another client have arrived, and those of the paused one have not')

  const passed = received(paused)
  paused.resume()
  assert.equal(await passed.next(), 'held back')
})

test('a paused reader gets the end when it resumes, or ends the stream itself', async (t) => {
  const server = await openServer(t)
  for (const goOn of ['resume', 'end', 'destroy'] as const) {
    const client = await server.client()
    const stream = await server.streams.next()
    const events = standStill(stream)
    client.resume()
    client.write('goodbye')
    assert.equal(await events.next(), 'goodbye')
    client.end()
    await once(client, 'close')
    await written(stream, 'too late')
    assert.equal(events.left, 0)
    stream[goOn]()
    assert.equal(events.left, 0, 'not within the call')
    assert.equal(await events.next(), 'closed')
  }
})

test('a reader that stays paused gets the end after a timeout', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const server = await openServer(t)
  const client = await server.client()
  const stream = await server.streams.next()
  const events = standStill(stream)
  client.resume()
  client.write('goodbye')
  assert.equal(await events.next(), 'goodbye')
  client.end()
  await once(client, 'close')
  await written(stream, 'too late')
  t.mock.timers.tick(30_000)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(events.left, 0)
  t.mock.timers.tick(1_000)
  assert.equal(await events.next(), 'closed')
})

test('end sends the written bytes before it closes, even while the peer goes on sending', async (t) => {
  const server = await openServer(t)
  const client = await server.client()
  const stream = await server.streams.next()
  stream.onData = () => assert.fail('nothing is passed on after the end')
  const end = closed(stream)
  const chunks: Buffer[] = []
  client.on('data', (chunk) => chunks.push(chunk))
  stream.write(Buffer.alloc(300_000, 'x'), () => {})
  stream.end()
  client.write('talks on')
  await once(client, 'end')
  assert.equal(Buffer.concat(chunks).length, 300_000)
  assert.equal(await end, undefined)
})

test('a stream that was paused ends as fast as any other', async (t) => {
  // The timeout for a peer that does not close is never reached.
  t.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] })
  const server = await openServer(t)
  const client = await server.client()
  const stream = await server.streams.next()
  const end = closed(stream)
  stream.pause()
  await new Promise<void>((resolve) => client.write('never read', () => resolve()))
  client.resume()
  stream.end()
  assert.equal(await end, undefined)
})

test('a peer that does not close an ended stream is closed by timeout', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const server = await openServer(t)
  const holding = connect({ port: server.listener.port, host: '127.0.0.1', allowHalfOpen: true })
  t.after(() => holding.destroy())
  const stream = await server.streams.next()
  const end = closed(stream)
  let isClosed = false
  void end.then(() => {
    isClosed = true
  })
  stream.end()
  await once(holding.resume(), 'end')
  t.mock.timers.tick(5_000)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(isClosed, false, 'it may still be sending its last bytes')
  t.mock.timers.tick(1_000)
  assert.equal(await end, undefined)
})

test('the callback of a write to a closed stream is called, so that the buffer is returned', async (t) => {
  const server = await openServer(t)
  await server.client()
  const stream = await server.streams.next()
  const end = closed(stream)
  stream.destroy()
  await written(stream, 'too late')
  await end
  await written(stream, 'much too late')
})

test('the callback of a write is called if the peer vanishes', async (t) => {
  const server = await openServer(t)
  const client = await server.client()
  const stream = await server.streams.next()
  client.pause()
  const written = new Promise<void>((resolve) => stream.write(Buffer.alloc(64 * 1_024 * 1_024), resolve))
  client.resetAndDestroy()
  await written
})

test('one connection more than the limit of the listener is accepted, closed and counted; then a slot is free again', async (t) => {
  const server = await openServer(t, { limits: new ConnectionLimit(1, { refusal: 'listener-full' }) })
  const first = await server.client()
  const stream = await server.streams.next()
  const second = await server.client()
  second.resume()
  await once(second, 'close')
  assert.equal(await server.refusals.next(), 'listener-full')

  const end = closed(stream)
  first.destroy()
  await end
  await server.client()
  await server.streams.next()
})

test('listeners share the limits of their thread', async (t) => {
  const limits = new ConnectionLimit(2)
  const one = await openServer(t, { limits })
  const two = await openServer(t, { limits })
  const held = await one.client()
  const stream = await one.streams.next()
  await two.client()
  await two.streams.next()
  const tooMany = await two.client()
  tooMany.resume()
  await once(tooMany, 'close')
  assert.equal(await two.refusals.next(), 'broker-full')

  const end = closed(stream)
  held.destroy()
  await end
  assert.equal(limits.used, 1)
})

test('a port in use is refused with the error of the system', async (t) => {
  const server = await openServer(t)
  await assert.rejects(listenTcp({ host: '127.0.0.1', port: server.listener.port, onStream: () => {} }), {
    code: 'EADDRINUSE',
  })
})

test('two listeners that agree to share a port both start', async (t) => {
  const server = await openServer(t, { reusePort: true })
  const twin = await openServer(t, { reusePort: true, port: server.listener.port })
  assert.equal(twin.listener.port, server.listener.port)
})

test('every client of a shared port is accepted, on whichever thread the kernel puts it, and none after it is closed', async (t) => {
  const server = await openServer(t, { reusePort: true, limits: new ConnectionLimit(40, { refusal: 'listener-full' }) })
  await Promise.all(Array.from({ length: 40 }, () => server.client()))
  for (let i = 0; i < 40; i++) await server.streams.next()
  await server.client()
  assert.equal(await server.refusals.next(), 'listener-full', 'the limit is that of all its sockets together')
  await server.listener.close()
  for (let i = 0; i < 20; i++) {
    const [error] = await once(connect(server.listener.port, '127.0.0.1'), 'error')
    assert.match(String(error), /ECONNREFUSED/)
  }
})

test('a closed listener accepts no client and leaves its open streams alone', async (t) => {
  const server = await openServer(t)
  const client = await server.client()
  const stream = await server.streams.next()
  await server.listener.close()
  const late = connect(server.listener.port, '127.0.0.1')
  const [error] = await once(late, 'error')
  assert.match(String(error), /ECONNREFUSED/)
  const chunks = received(stream)
  client.write('still here')
  assert.equal(await chunks.next(), 'still here')
})
