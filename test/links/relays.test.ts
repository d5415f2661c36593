// Connections with the socket on one shard and the session on another: the bytes arrive as on a direct connection.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RelayedStream } from '../../src/links/index.ts'
import type { ByteStream } from '../../src/transports/index.ts'
import { FakeStream } from '../shard/fake-stream.ts'
import { LinkedPair } from './pipe.ts'
import { fc } from '../properties.ts'

const listener = 2
const windowBytes = 131_072
const congestedFromBytes = 4_194_304

/** The socket is on shard 0, the session on shard 1. */
class Relay {
  readonly pair: LinkedPair
  readonly socket = new FakeStream()
  readonly home: RelayedStream
  readonly received: Buffer[] = []
  readonly closings: (Error | undefined)[] = []

  constructor(pair = new LinkedPair(), received: readonly Buffer[] = []) {
    this.pair = pair
    pair.owners[1].onRelayed = (stream) => {
      stream.onData = (chunk) => this.received.push(Buffer.from(chunk))
      stream.onClose = (error) => this.closings.push(error)
    }
    pair.links[0].relay(this.socket, listener, received)
    pair.deliverAll(1)
    this.home = pair.owners[1].relayed.at(-1)!.stream
  }

  get receivedBytes(): number {
    return this.received.reduce((sum, chunk) => sum + chunk.length, 0)
  }

  async settle(): Promise<void> {
    for (let round = 0; round < 6; round++) {
      this.pair.settle()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

const ignore = (): void => {}

test('a relayed connection of another node has the name of its listener', () => {
  const pair = new LinkedPair()
  const remote = { kind: 'ssl', name: 'fleet', port: 8883, isLoopback: false }
  for (const origin of [remote, { ...remote, isLoopback: true }]) pair.links[0].relay(new FakeStream(), origin, [])
  pair.settle()
  assert.deepEqual(
    pair.owners[1].relayed.map(({ origin }) => origin.listener),
    [remote, { ...remote, isLoopback: true }],
  )
})

test('a relayed connection has the address, the credentials and the received bytes of its client', () => {
  const pair = new LinkedPair()
  const credentials = { certificate: undefined, pskIdentity: 'device-7' }
  const socket = Object.assign(new FakeStream(), { credentials })
  const received: string[] = []
  pair.owners[1].onRelayed = (stream) => (stream.onData = (chunk) => received.push(chunk.toString()))
  pair.links[0].relay(socket, listener, [Buffer.from('hel'), Buffer.from('lo')])
  pair.settle()
  const { stream, origin } = pair.owners[1].relayed[0]
  assert.equal(origin.listener, listener)
  assert.deepEqual([stream.remoteAddress, stream.remotePort], [socket.remoteAddress, socket.remotePort])
  assert.deepEqual(stream.credentials, credentials)
  assert.equal(received.join(''), 'hello')
})

test('a relayed gateway client has the properties that the gateway has, also after they change', () => {
  const pair = new LinkedPair()
  const address = { address: '192.0.2.1', port: 5_683 }
  const client = { ...address, isSleeping: false, protocolVersion: 2, endpointName: 'meter', lifetimeSeconds: 300 }
  const socket: FakeStream & Pick<ByteStream, 'gatewayClient' | 'onGatewayClientChange'> = Object.assign(
    new FakeStream(),
    { gatewayClient: client },
  )
  pair.links[0].relay(socket, listener, [])
  pair.settle()
  const { gatewayClient } = pair.owners[1].relayed[0].stream
  assert.deepEqual(gatewayClient, client)
  client.isSleeping = true
  client.lifetimeSeconds = 600
  socket.onGatewayClientChange?.()
  pair.settle()
  assert.deepEqual(gatewayClient, client)
  socket.destroy()
})

test('bytes are relayed in both directions, however they are divided and whenever turns end', async () => {
  const steps = fc.array(
    fc.record({ bytes: fc.uint8Array({ minLength: 1, maxLength: 50 }), isUp: fc.boolean(), endsTurn: fc.boolean() }),
    { maxLength: 30 },
  )
  await fc.assert(
    fc.asyncProperty(steps, async (pieces) => {
      const relay = new Relay()
      const up: Uint8Array[] = []
      const down: Uint8Array[] = []
      let done = 0
      for (const { bytes, isUp, endsTurn } of pieces) {
        if (isUp) {
          up.push(bytes)
          relay.socket.arrive(Buffer.from(bytes))
        } else {
          down.push(bytes)
          relay.home.write(Buffer.from(bytes), () => done++)
        }
        if (endsTurn) relay.pair.settle()
      }
      await relay.settle()
      assert.deepEqual(Buffer.concat(relay.received), Buffer.concat(up))
      assert.deepEqual(Buffer.concat(relay.socket.taken), Buffer.concat(down))
      assert.equal(done, down.length)
    }),
    { numRuns: 50 },
  )
})

test('chunks of a relayed client count in both directions: a shard that only relays is not idle', async () => {
  const relay = new Relay()
  relay.socket.arrive(Buffer.from('ping'))
  await relay.settle()
  relay.home.write(Buffer.from('pong'), ignore)
  await relay.settle()
  assert.equal(relay.pair.links[0].relayedChunks, 2)
})

test('a large write that waits for a socket is a view of its own link buffer, a small one is a copy', async () => {
  const relay = new Relay()
  relay.socket.isStalled = true
  const given: Buffer[] = []
  const write = relay.socket.write.bind(relay.socket)
  relay.socket.write = (buffer, done) => {
    given.push(buffer)
    write(buffer, done)
  }
  for (const bytes of [100, 100, 70_000]) relay.home.write(Buffer.alloc(bytes), ignore)
  await relay.settle()
  assert.deepEqual(
    given.map(({ length }) => length),
    [100, 100, 70_000],
  )
  const [first, second, large] = given.map(({ buffer }) => buffer)
  assert.notEqual(second, first)
  // Before the bytes are the kind and the length of the record, and the number of the relay.
  assert.ok(large.byteLength > 70_000, 'a view of the link buffer')
})

test('small writes complete at once, up to a limit of unsent bytes for a client that does not read', async () => {
  const relay = new Relay()
  relay.socket.isStalled = true
  let done = 0
  let written = 0
  for (; done === written && written < 1_000; written++) {
    relay.home.write(Buffer.alloc(1_000), () => done++)
    await relay.settle()
  }
  assert.equal(written * 1_000, 33_000)
  relay.socket.take()
  await relay.settle()
  assert.equal(done, written)
})

test('a partial write to a socket is not confirmed while more bytes wait', async () => {
  const relay = new Relay()
  relay.socket.isStalled = true
  let done = 0
  const writeAll = async (): Promise<void> => {
    for (let written = done; done === written && written < 1_000; written++) {
      relay.home.write(Buffer.alloc(1_000), () => done++)
      await relay.settle()
    }
  }
  await writeAll()
  relay.socket.take('one')
  await relay.settle()
  await writeAll()
  assert.ok(relay.socket.waitingBytes <= 34_000, `${relay.socket.waitingBytes} bytes wait`)
})

test('a write that ends after its socket has closed is not reported', async () => {
  const relay = new Relay()
  const ends: (() => void)[] = []
  relay.socket.write = (_, done) => void ends.push(done)
  relay.home.write(Buffer.alloc(40_000), ignore)
  await relay.settle()
  relay.socket.break()
  await relay.settle()
  assert.equal(ends.length, 1)
  for (const end of ends) end()
  await relay.settle()
  assert.deepEqual(relay.closings, [undefined])
})

test('bytes that a socket has written are confirmed, so that further writes complete', async () => {
  const relay = new Relay()
  let done = 0
  for (let write = 1; write <= 200; write++) {
    relay.home.write(Buffer.alloc(3_000), () => done++)
    await relay.settle()
    assert.equal(done, write)
  }
})

test('a session that pauses reading pauses its own client only', async () => {
  const pair = new LinkedPair()
  const [still, other] = [new Relay(pair), new Relay(pair)]
  still.home.pause()
  for (let chunk = 0; chunk < 64; chunk++) {
    still.socket.arrive(Buffer.alloc(16_384))
    other.socket.arrive(Buffer.alloc(16_384))
    await other.settle()
  }
  assert.equal(still.socket.isPaused, true)
  assert.equal(still.receivedBytes, 0)
  assert.ok(64 * 16_384 - still.socket.unreadBytes <= windowBytes + 16_384)
  assert.equal(other.receivedBytes, 64 * 16_384)
  still.home.resume()
  for (let round = 0; round < 20; round++) await still.settle()
  assert.equal(still.receivedBytes, 64 * 16_384)
  assert.equal(still.socket.isPaused, false)
})

test('while the other shard reads nothing, sockets are read up to a limit; reading continues with the other shard', async () => {
  const pair = new LinkedPair()
  const relays = Array.from({ length: 64 }, () => new Relay(pair))
  for (let round = 0; round < 4; round++) {
    for (const { socket } of relays) socket.arrive(Buffer.alloc(32_768))
    pair.links[0].flush()
  }
  assert.deepEqual(pair.owners[0].congestion, [true])
  const read = 64 * 4 * 32_768 - relays.reduce((sum, { socket }) => sum + socket.unreadBytes, 0)
  assert.ok(read <= congestedFromBytes + 65 * 32_768 + 65_536, `${read} bytes were read`)
  for (let round = 0; round < 8; round++) await relays[0].settle()
  assert.deepEqual(pair.owners[0].congestion, [true, false])
  for (const { receivedBytes, socket } of relays)
    assert.deepEqual([receivedBytes, socket.isPaused], [4 * 32_768, false])
})

test('bytes that waited during a pause arrive before later ones', async () => {
  const relay = new Relay()
  relay.home.pause()
  relay.socket.arrive(Buffer.from('first '))
  relay.pair.settle()
  relay.home.resume()
  relay.socket.arrive(Buffer.from('second'))
  await relay.settle()
  assert.equal(Buffer.concat(relay.received).toString(), 'first second')
})

test('all bytes of a client that has disconnected are received before the close', async () => {
  const relay = new Relay()
  relay.home.pause()
  relay.socket.arrive(Buffer.from('goodbye'))
  relay.socket.break()
  await relay.settle()
  assert.deepEqual(relay.closings, [])
  relay.home.resume()
  await relay.settle()
  assert.equal(Buffer.concat(relay.received).toString(), 'goodbye')
  assert.deepEqual(relay.closings, [undefined])
  assert.equal(relay.pair.links[0].relayedSockets, 0)
})

test('the last bytes of a client that has disconnected arrive only as fast as the session reads', async () => {
  const relay = new Relay()
  relay.home.onData = (chunk) => {
    relay.received.push(Buffer.from(chunk))
    relay.home.pause()
  }
  for (const word of ['one', 'two', 'three']) relay.socket.arrive(Buffer.from(word))
  relay.socket.break()
  await relay.settle()
  for (const received of ['one', 'onetwo']) {
    assert.equal(Buffer.concat(relay.received).toString(), received)
    assert.deepEqual(relay.closings, [])
    relay.home.resume()
    await relay.settle()
  }
  assert.equal(Buffer.concat(relay.received).toString(), 'onetwothree')
  assert.deepEqual(relay.closings, [], 'the last bytes are perhaps not handled')
  relay.home.resume()
  await relay.settle()
  assert.deepEqual(relay.closings, [undefined])
})

for (const how of ['end', 'destroy'] as const) {
  test(`a relay with unread bytes of a client that has disconnected is closed by ${how}()`, async () => {
    const relay = new Relay()
    relay.home.pause()
    relay.socket.arrive(Buffer.from('unheard'))
    relay.socket.break()
    await relay.settle()
    assert.deepEqual(relay.closings, [])
    relay.home[how]()
    await relay.settle()
    assert.deepEqual([relay.received, relay.closings], [[], [undefined]])
  })
}

test('an error of a socket is reported with its reason, and its writes complete', async () => {
  const relay = new Relay()
  relay.socket.isStalled = true
  let done = 0
  relay.home.write(Buffer.alloc(100_000), () => done++)
  await relay.settle()
  assert.equal(done, 0)
  relay.socket.break(new Error('ECONNRESET'))
  await relay.settle()
  assert.equal(done, 1)
  assert.deepEqual(
    relay.closings.map((error) => error?.message),
    ['ECONNRESET'],
  )
})

test('records for a closed socket are ignored, and later records for other sockets are handled', async () => {
  const pair = new LinkedPair()
  const [leaving, staying] = [new Relay(pair), new Relay(pair)]
  leaving.socket.arrive(Buffer.from('taken in'))
  await leaving.settle()
  leaving.socket.break()
  leaving.home.write(Buffer.from('too late'), ignore)
  leaving.home.end()
  staying.home.write(Buffer.from('in time'), ignore)
  await staying.settle()
  assert.deepEqual(leaving.closings, [undefined])
  assert.equal(Buffer.concat(staying.socket.taken).toString(), 'in time')
})

test('bytes that were written before end() are sent', async () => {
  const relay = new Relay()
  relay.home.write(Buffer.from('first'), ignore)
  relay.home.write(Buffer.from(' last'), ignore)
  relay.home.end()
  relay.home.write(Buffer.from(' too late'), ignore)
  await relay.settle()
  assert.equal(Buffer.concat(relay.socket.taken).toString(), 'first last')
  assert.deepEqual([relay.socket.isClosed, relay.closings], [true, [undefined]])
})

test('a destroyed stream discards its unsent bytes', async () => {
  const relay = new Relay()
  relay.socket.isStalled = true
  relay.home.write(Buffer.from('hello'), ignore)
  relay.home.destroy()
  await relay.settle()
  assert.deepEqual(relay.socket.taken, [])
  assert.deepEqual([relay.socket.isClosed, relay.closings.length], [true, 1])
})

test('bytes that a client sends after end() are ignored', async () => {
  const relay = new Relay()
  relay.home.end()
  relay.socket.arrive(Buffer.from('late'))
  await relay.settle()
  assert.deepEqual(relay.received, [])
})

const connectionStates: [string, (relay: Relay) => Promise<void> | void][] = [
  ['that is open', ignore],
  ['with a pending write', (relay) => stall(relay)],
  ['with paused reading', (relay) => hold(relay)],
  ['after end()', (relay) => relay.home.end()],
  ['after destroy()', (relay) => relay.home.destroy()],
  ['of a client that has just disconnected', (relay) => relay.socket.break()],
]

function stall(relay: Relay): void {
  relay.socket.isStalled = true
  relay.home.write(Buffer.from('hello'), ignore)
  relay.pair.settle()
}

function hold(relay: Relay): void {
  relay.home.pause()
  relay.socket.arrive(Buffer.from('hello'))
  relay.pair.settle()
}

for (const [which, prepare] of connectionStates) {
  for (const failing of [0, 1] as const) {
    const who = failing === 0 ? 'socket' : 'session'
    test(`if the shard of the ${who} fails, a connection ${which} closes once at each end`, async () => {
      const relay = new Relay()
      await prepare(relay)
      relay.pair.kill(failing)
      await relay.settle()
      assert.equal(relay.socket.isClosed, true)
      assert.equal(relay.closings.length, 1)
      assert.deepEqual([relay.pair.owners[0].isClosed, relay.pair.owners[1].isClosed], [true, true])
    })
  }
}

test('a relay that started before the other shard failed is closed after the failure', async () => {
  const pair = new LinkedPair()
  const socket = new FakeStream()
  pair.kill(1)
  pair.links[0].relay(socket, listener, [])
  pair.settle()
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(socket.isClosed, true)
  assert.equal(pair.links[0].relayedSockets, 0)
})

const text = fc.string({ unit: 'grapheme', maxLength: 20 })
const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined })
const origins = fc.record(
  {
    remoteAddress: text,
    remotePort: fc.integer({ min: 0, max: 65_535 }),
    credentials: optional(
      fc.record(
        {
          certificate: optional(
            fc.record(
              {
                commonName: optional(text),
                subject: text,
                serialNumber: text,
                fingerprint: text,
                der: fc.uint8Array({ maxLength: 2_000 }),
              },
              { noNullPrototype: true },
            ),
          ),
          pskIdentity: optional(text),
        },
        { noNullPrototype: true },
      ),
    ),
    gatewayClient: optional(
      fc.record(
        {
          isSleeping: optional(fc.boolean()),
          protocolVersion: optional(fc.nat()),
          endpointName: optional(text),
          lifetimeSeconds: optional(fc.double({ min: 0, noNaN: true, noDefaultInfinity: true })),
          address: optional(text),
          port: optional(fc.integer({ min: 0, max: 65_535 })),
        },
        { noNullPrototype: true },
      ),
    ),
  },
  { noNullPrototype: true },
)

test('all properties of a client and their changes arrive unchanged', () => {
  fc.assert(
    fc.property(origins, origins, fc.nat(), (origin, changed, listenerNumber) => {
      const pair = new LinkedPair()
      const stream: ByteStream = Object.assign(new FakeStream(), structuredClone(origin))
      pair.links[0].relay(stream, listenerNumber, [])
      pair.settle()
      assert.deepEqual(pair.owners[1].relayed[0].origin, { listener: listenerNumber, ...origin })
      if (stream.gatewayClient === undefined || changed.gatewayClient === undefined) return
      Object.assign(stream.gatewayClient, changed.gatewayClient)
      stream.onGatewayClientChange?.()
      pair.settle()
      assert.deepEqual(pair.owners[1].relayed[0].stream.gatewayClient, changed.gatewayClient)
    }),
    { numRuns: 200 },
  )
})
