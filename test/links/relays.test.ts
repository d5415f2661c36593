// A client whose socket one shard has and whose session another one has: bytes pass as if there were nothing in between.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RelayedStream } from '../../src/links/index.ts'
import { FakeStream } from '../shard/fake-stream.ts'
import { LinkedPair } from './pipe.ts'
import { fc } from '../properties.ts'

const listener = 2
const windowBytes = 131_072
const congestedFromBytes = 4_194_304

/** The socket is with shard 0, the session with shard 1. */
class Relay {
  readonly pair: LinkedPair
  readonly socket = new FakeStream()
  readonly home: RelayedStream
  readonly heard: Buffer[] = []
  readonly closings: (Error | undefined)[] = []

  constructor(pair = new LinkedPair(), begun: readonly Buffer[] = []) {
    this.pair = pair
    pair.owners[1].onRelayed = (stream) => {
      stream.onData = (chunk) => this.heard.push(Buffer.from(chunk))
      stream.onClose = (error) => this.closings.push(error)
    }
    pair.links[0].relay(this.socket, listener, begun)
    pair.carry(1)
    this.home = pair.owners[1].relayed.at(-1)!.stream
  }

  get heardBytes(): number {
    return this.heard.reduce((sum, chunk) => sum + chunk.length, 0)
  }

  async settle(): Promise<void> {
    for (let round = 0; round < 6; round++) {
      this.pair.settle()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

const ignore = (): void => {}

test('a relayed client comes with its address, its credentials and what it has said already', () => {
  const pair = new LinkedPair()
  const credentials = { certificate: undefined, pskIdentity: 'device-7' }
  const socket = Object.assign(new FakeStream(), { credentials })
  const heard: string[] = []
  pair.owners[1].onRelayed = (stream) => (stream.onData = (chunk) => heard.push(chunk.toString()))
  pair.links[0].relay(socket, listener, [Buffer.from('hel'), Buffer.from('lo')])
  pair.settle()
  const { stream, origin } = pair.owners[1].relayed[0]
  assert.equal(origin.listener, listener)
  assert.deepEqual([stream.remoteAddress, stream.remotePort], [socket.remoteAddress, socket.remotePort])
  assert.deepEqual(stream.credentials, credentials)
  assert.equal(heard.join(''), 'hello')
})

test('bytes pass in both directions, however they are divided and whenever turns end', async () => {
  const steps = fc.array(
    fc.record({ bytes: fc.uint8Array({ minLength: 1, maxLength: 50 }), isUp: fc.boolean(), endsTurn: fc.boolean() }),
    { maxLength: 30 },
  )
  await fc.assert(
    fc.asyncProperty(steps, async (said) => {
      const relay = new Relay()
      const up: Uint8Array[] = []
      const down: Uint8Array[] = []
      let done = 0
      for (const { bytes, isUp, endsTurn } of said) {
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
      assert.deepEqual(Buffer.concat(relay.heard), Buffer.concat(up))
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
  // Kind and length of the record, and the number of the relay, are before the bytes.
  assert.ok(large.byteLength > 70_000, 'a view of the link buffer')
})

test('small writes are done at once, and a client that reads nothing is owed no more than a bound', async () => {
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

test('what a socket has taken is not confirmed while it still owes more', async () => {
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

test('what a socket takes is confirmed, so that writing goes on', async () => {
  const relay = new Relay()
  let done = 0
  for (let write = 1; write <= 200; write++) {
    relay.home.write(Buffer.alloc(3_000), () => done++)
    await relay.settle()
    assert.equal(done, write)
  }
})

test('a reader that does not read pauses its own client only', async () => {
  const pair = new LinkedPair()
  const [still, other] = [new Relay(pair), new Relay(pair)]
  still.home.pause()
  for (let chunk = 0; chunk < 64; chunk++) {
    still.socket.arrive(Buffer.alloc(16_384))
    other.socket.arrive(Buffer.alloc(16_384))
    await other.settle()
  }
  assert.equal(still.socket.isPaused, true)
  assert.equal(still.heardBytes, 0)
  assert.ok(64 * 16_384 - still.socket.unreadBytes <= windowBytes + 16_384)
  assert.equal(other.heardBytes, 64 * 16_384)
  still.home.resume()
  for (let round = 0; round < 20; round++) await still.settle()
  assert.equal(still.heardBytes, 64 * 16_384)
  assert.equal(still.socket.isPaused, false)
})

test('while the other shard takes nothing in, sockets are not read beyond a bound, and are again once it does', async () => {
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
  for (const { heardBytes, socket } of relays) assert.deepEqual([heardBytes, socket.isPaused], [4 * 32_768, false])
})

test('what was held back comes before what came later', async () => {
  const relay = new Relay()
  relay.home.pause()
  relay.socket.arrive(Buffer.from('first '))
  relay.pair.settle()
  relay.home.resume()
  relay.socket.arrive(Buffer.from('second'))
  await relay.settle()
  assert.equal(Buffer.concat(relay.heard).toString(), 'first second')
})

test('a client that leaves is heard to the end', async () => {
  const relay = new Relay()
  relay.home.pause()
  relay.socket.arrive(Buffer.from('goodbye'))
  relay.socket.break()
  await relay.settle()
  assert.deepEqual(relay.closings, [])
  relay.home.resume()
  await relay.settle()
  assert.equal(Buffer.concat(relay.heard).toString(), 'goodbye')
  assert.deepEqual(relay.closings, [undefined])
  assert.equal(relay.pair.links[0].relayedSockets, 0)
})

test('a client that has left is heard only as fast as its reader goes on', async () => {
  const relay = new Relay()
  relay.home.onData = (chunk) => {
    relay.heard.push(Buffer.from(chunk))
    relay.home.pause()
  }
  for (const word of ['one', 'two', 'three']) relay.socket.arrive(Buffer.from(word))
  relay.socket.break()
  await relay.settle()
  for (const heard of ['one', 'onetwo']) {
    assert.equal(Buffer.concat(relay.heard).toString(), heard)
    assert.deepEqual(relay.closings, [])
    relay.home.resume()
    await relay.settle()
  }
  assert.equal(Buffer.concat(relay.heard).toString(), 'onetwothree')
  assert.deepEqual(relay.closings, [], 'the last of it may not have been looked at')
  relay.home.resume()
  await relay.settle()
  assert.deepEqual(relay.closings, [undefined])
})

for (const how of ['end', 'destroy'] as const) {
  test(`a client that has left and is not heard to the end is gone when its stream is told to ${how}`, async () => {
    const relay = new Relay()
    relay.home.pause()
    relay.socket.arrive(Buffer.from('unheard'))
    relay.socket.break()
    await relay.settle()
    assert.deepEqual(relay.closings, [])
    relay.home[how]()
    await relay.settle()
    assert.deepEqual([relay.heard, relay.closings], [[], [undefined]])
  })
}

test('a socket that fails says why, and its writes are done', async () => {
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

test('what crosses the news that its socket is gone is passed over, and what comes behind it is heard', async () => {
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

test('what was written before the end still leaves', async () => {
  const relay = new Relay()
  relay.home.write(Buffer.from('first'), ignore)
  relay.home.write(Buffer.from(' last'), ignore)
  relay.home.end()
  relay.home.write(Buffer.from(' too late'), ignore)
  await relay.settle()
  assert.equal(Buffer.concat(relay.socket.taken).toString(), 'first last')
  assert.deepEqual([relay.socket.isClosed, relay.closings], [true, [undefined]])
})

test('a stream that is destroyed leaves what is unsent', async () => {
  const relay = new Relay()
  relay.socket.isStalled = true
  relay.home.write(Buffer.from('hello'), ignore)
  relay.home.destroy()
  await relay.settle()
  assert.deepEqual(relay.socket.taken, [])
  assert.deepEqual([relay.socket.isClosed, relay.closings.length], [true, 1])
})

test('nothing that a client still sends is heard once its stream was ended', async () => {
  const relay = new Relay()
  relay.home.end()
  relay.socket.arrive(Buffer.from('late'))
  await relay.settle()
  assert.deepEqual(relay.heard, [])
})

const deaths: [string, (relay: Relay) => Promise<void> | void][] = [
  ['that is open', ignore],
  ['whose write is not done', (relay) => stall(relay)],
  ['whose reader stands still', (relay) => hold(relay)],
  ['that has been ended', (relay) => relay.home.end()],
  ['that has been destroyed', (relay) => relay.home.destroy()],
  ['whose client has just left', (relay) => relay.socket.break()],
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

for (const [which, prepare] of deaths) {
  for (const dying of [0, 1] as const) {
    const who = dying === 0 ? 'socket' : 'session'
    test(`when the shard of the ${who} dies, a connection ${which} ends at both ends, once`, async () => {
      const relay = new Relay()
      await prepare(relay)
      relay.pair.kill(dying)
      await relay.settle()
      assert.equal(relay.socket.isClosed, true)
      assert.equal(relay.closings.length, 1)
      assert.deepEqual([relay.pair.owners[0].isClosed, relay.pair.owners[1].isClosed], [true, true])
    })
  }
}

test('a relay can begin before the other shard dies and end after it', async () => {
  const pair = new LinkedPair()
  const socket = new FakeStream()
  pair.kill(1)
  pair.links[0].relay(socket, listener, [])
  pair.settle()
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(socket.isClosed, true)
  assert.equal(pair.links[0].relayedSockets, 0)
})
