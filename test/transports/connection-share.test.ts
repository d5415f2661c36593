// One address cannot use up a limit of connections with connections that no CONNECT follows.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { type ByteStream, ConnectionLimit, listenTcp, listenWebSocket } from '../../src/transports/index.ts'
import { EventQueue } from './event-queue.ts'

const connack = Buffer.from([0x20, 0x03, 0, 0, 0])
const auth = Buffer.from([0xf0, 0x00])
const pingresp = Buffer.from([0xd0, 0x00])

interface Stage {
  readonly port: number
  readonly streams: EventQueue<ByteStream>
  readonly refusals: EventQueue<string>
  /** Connects from this address of the loopback network. */
  readonly client: (address: string) => Promise<Socket>
}

async function open(t: TestContext, limits: ConnectionLimit, proxied = false): Promise<Stage> {
  const streams = new EventQueue<ByteStream>()
  const refusals = new EventQueue<string>()
  const sockets: { destroy(): void }[] = []
  const listener = await listenTcp({
    host: '127.0.0.1',
    port: 0,
    limits,
    proxyProtocol: proxied ? { timeoutMs: 60_000, trusted: [] } : undefined,
    onStream: (stream) => {
      sockets.push(stream)
      streams.add(stream)
    },
    onRefused: (reason, why) => refusals.add(`${reason} ${why}`),
  })
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    await listener.close()
  })
  const client = async (localAddress: string): Promise<Socket> => {
    const socket = connect({ port: listener.port, host: '127.0.0.1', localAddress })
    socket.on('error', () => {})
    sockets.push(socket)
    await once(socket, 'connect')
    return socket.resume()
  }
  return { port: listener.port, streams, refusals, client }
}

const closed = (socket: Socket): Promise<unknown> => (socket.closed ? Promise.resolve() : once(socket, 'close'))

const header = (address: string): string => `PROXY TCP4 ${address} 192.0.2.1 1000 1883\r\n`

function write(stream: ByteStream, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => stream.write(bytes, resolve))
}

test('when a limit is reached, a client takes the place of the oldest unanswered connection of the address that has most', async (t) => {
  for (const limit of [new ConnectionLimit(4), new ConnectionLimit(100, { parent: new ConnectionLimit(4) })]) {
    const { streams, refusals, client } = await open(t, limit)
    const silent: Socket[] = []
    for (let number = 0; number < 4; number++) {
      silent.push(await client('127.0.0.2'))
      await streams.next()
    }
    const other = await client('127.0.0.3')
    const stream = await streams.next()
    assert.match(await refusals.next(), /^invalid-handshake 127.0.0.2.* has the most connections/)
    await closed(silent[0])
    await write(stream, connack)
    assert.equal(silent[1].closed, false)
    const more = await client('127.0.0.2')
    assert.match(await refusals.next(), /full 127.0.0.2/, 'an address takes no place of its own connections')
    await closed(more)
    assert.equal(other.closed, false)
    assert.equal(limit.used, 4)
  }
})

test('answered clients are never closed for others, and a client that gets an AUTH packet is not answered', async (t) => {
  const { streams, refusals, client } = await open(t, new ConnectionLimit(3))
  const devices: Socket[] = []
  const accepted: ByteStream[] = []
  for (const answer of [connack, pingresp, auth]) {
    devices.push(await client('127.0.0.2'))
    const stream = await streams.next()
    accepted.push(stream)
    await write(stream, answer)
  }
  await client('127.0.0.3')
  assert.match(await refusals.next(), /^broker-full 127.0.0.3/, 'one unanswered connection is not more than its share')
  const isGone = new Promise<void>((resolve) => (accepted[0].onClose = () => resolve()))
  accepted[0].destroy()
  await isGone
  const unanswered = [await client('127.0.0.2')]
  await streams.next()
  const otherClient = await client('127.0.0.3')
  await streams.next()
  assert.match(await refusals.next(), /^invalid-handshake 127.0.0.2/)
  await closed(devices[2])
  assert.deepEqual([devices[1].closed, unanswered[0].closed, otherClient.closed], [false, false, false])
})

test('behind a proxy, connections count for the addresses of its clients once their headers have come', async (t) => {
  const { streams, refusals, client } = await open(t, new ConnectionLimit(4), true)
  const attackers: Socket[] = []
  for (let number = 0; number < 4; number++) {
    const socket = await client('127.0.0.1')
    socket.write(header('198.51.100.1'))
    await streams.next()
    attackers.push(socket)
  }
  const device = await client('127.0.0.1')
  device.write(header('198.51.100.2'))
  assert.equal((await streams.next()).remoteAddress, '198.51.100.2')
  assert.match(await refusals.next(), /^invalid-handshake 198.51.100.1/)
  await closed(attackers[0])
})

test('a WebSocket upgrade is no answer: connections without a CONNECT make space', async (t) => {
  const streams = new EventQueue<ByteStream>()
  const refusals = new EventQueue<string>()
  const listener = await listenWebSocket({
    host: '127.0.0.1',
    port: 0,
    path: '/mqtt',
    allowedOrigins: [],
    isLoopback: false,
    failsWithoutSubprotocol: false,
    addressHeader: undefined,
    maxMessageBytes: 1_000,
    upgradeTimeoutMs: 60_000,
    limits: new ConnectionLimit(3),
    onStream: (stream) => streams.add(stream),
    onRefused: (reason, why) => refusals.add(`${reason} ${why}`),
  })
  t.after(() => listener.close())
  const client = async (localAddress: string, upgrades: boolean): Promise<Socket> => {
    const socket = connect({ port: listener.port, host: '127.0.0.1', localAddress })
    socket.on('error', () => {})
    t.after(() => socket.destroy())
    await once(socket, 'connect')
    const key = 'dGhlIHNhbXBsZSBub25jZQ=='
    const head = `GET /mqtt HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${key}\r\n`
    if (upgrades) socket.write(`${head}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n`)
    return socket.resume()
  }
  const first = await client('127.0.0.2', true)
  await streams.next()
  await client('127.0.0.2', true)
  await streams.next()
  await client('127.0.0.2', true)
  const answered = await streams.next()
  await write(answered, connack)
  await client('127.0.0.3', true)
  await streams.next()
  assert.match(await refusals.next(), /^invalid-handshake 127.0.0.2/)
  await closed(first)
})
