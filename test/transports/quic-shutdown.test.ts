// The end of a QUIC connection whose reader stands still, as the library tells of it: all its streams are destroyed, and it is gone.

import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { DialedQuicConnection } from '../../src/transports/dialled-quic.ts'
import { QuicConnection } from '../../src/transports/quic-connection.ts'

const connect = Buffer.of(0x10, 2, 1, 2)
const publish = Buffer.of(0x30, 3, 0, 1, 0x74)
const disconnect = Buffer.of(0xe0, 0)

/** What its library has had for it is read, and what was put off is done. */
const calm = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

class Stage {
  readonly connection: QuicConnection
  /** The end at which we write is the client's. */
  readonly control = Object.assign(new PassThrough(), { id: 0 })
  readonly held = { bytes: 0, limit: 10_000 }
  heard = Buffer.alloc(0)
  /** In order: the connection's closing by us, its place, its reader's knowing. */
  readonly told: string[] = []

  /** `brought`: what is in the first stream when it is there. */
  constructor(brought: Buffer = Buffer.alloc(0)) {
    const peer = {
      remoteAddress: '127.0.0.1',
      remotePort: 1,
      credentials: { certificate: undefined, pskIdentity: undefined },
      close: () => void this.told.push('closed by us'),
    }
    const limits = { maxPacketBytes: 1_000, maxDataStreams: 1, maxHeldBytes: 10_000 }
    this.connection = new QuicConnection(peer, limits, this.held)
    this.control.write(brought)
    this.connection.addStream(this.control, () => {
      this.connection.onData = (chunk) => (this.heard = Buffer.concat([this.heard, chunk]))
      this.connection.onClose = (error) => this.told.push(error === undefined ? 'end' : `end: ${error.message}`)
    })
  }

  /** A reader that stands still, and what it has not looked at. */
  static async unread(...packets: readonly Buffer[]): Promise<Stage> {
    const stage = new Stage()
    stage.connection.pause()
    for (const each of packets) stage.control.write(each)
    await calm()
    return stage
  }

  /** As the library tells of it. */
  isGone(): void {
    this.control.destroy(new Error('session closed'))
    this.connection.noteClosed(() => this.told.push('place given back'))
  }
}

test('a reader that stands still hears to the end what a connection that is gone has brought, and then of its end', async () => {
  const stage = await Stage.unread(connect, publish, disconnect)
  stage.isGone()
  await calm()
  assert.deepEqual(stage.told, [])
  assert.equal(stage.held.bytes, 11)
  stage.connection.resume()
  assert.deepEqual(stage.heard, Buffer.concat([connect, publish, disconnect]))
  assert.deepEqual(stage.told, [], 'never from within the call that lets it go on')
  await calm()
  assert.deepEqual(stage.told, ['place given back', 'end'])
  assert.equal(stage.held.bytes, 0)
})

test('one that stands still again in between hears of the end when it has read the rest', async () => {
  const stage = await Stage.unread(connect)
  stage.control.write(publish)
  await calm()
  stage.isGone()
  const { onData } = stage.connection
  stage.connection.onData = (chunk) => {
    stage.connection.pause()
    onData(chunk)
  }
  stage.connection.resume()
  await calm()
  assert.deepEqual(stage.heard, connect)
  assert.deepEqual(stage.told, [])
  stage.connection.resume()
  await calm()
  assert.deepEqual(stage.heard, Buffer.concat([connect, publish]))
  assert.deepEqual(stage.told, [], 'it stands still')
  stage.connection.resume()
  await calm()
  assert.deepEqual(stage.told, ['place given back', 'end'])
})

for (const way of ['end', 'destroy'] as const) {
  test(`one that says ${way} itself hears of it, and of nothing else`, async () => {
    const stage = await Stage.unread(connect)
    stage.isGone()
    stage.connection[way]()
    assert.deepEqual(stage.told, [])
    assert.equal(stage.held.bytes, 0)
    await calm()
    stage.connection.resume()
    stage.connection[way]()
    await calm()
    assert.deepEqual(stage.told, ['place given back', 'end'])
    assert.equal(stage.heard.length, 0)
  })
}

test('a connection that has failed ends at once, whether its reader stands still or not', async () => {
  const stage = await Stage.unread(connect)
  stage.connection.noteError(new Error('broken'))
  stage.isGone()
  assert.deepEqual(stage.told, ['place given back', 'end: broken'])
  assert.equal(stage.held.bytes, 0)
})

test('a first stream that is broken off ends the connection at once', async () => {
  const stage = await Stage.unread(connect)
  stage.control.destroy()
  await calm()
  assert.deepEqual(stage.told, ['closed by us'])
})

test('a first stream that the client has ended is read to its end before the connection is', async () => {
  const stage = await Stage.unread(connect, disconnect)
  stage.control.push(null)
  await calm()
  assert.ok(!stage.control.writableEnded)
  stage.connection.resume()
  assert.deepEqual(stage.heard, Buffer.concat([connect, disconnect]))
  assert.ok(stage.control.writableEnded, 'our direction is ended as well')
  stage.isGone()
  assert.deepEqual(stage.told, ['place given back', 'end'])
})

test('the callback of a write to a closed connection is called, although its reader does not know of the end yet', async () => {
  const stage = await Stage.unread(connect)
  stage.isGone()
  await new Promise<void>((resolve) => stage.connection.write(publish, resolve))
  assert.deepEqual(stage.told, [])
})

test('nothing is opened any more for what is written to one that we had opened', async () => {
  let streams = 0
  const session = {
    openStream: () => {
      streams += 1
      return new PassThrough()
    },
    close: () => Promise.resolve(),
  }
  const address = { address: '127.0.0.1', port: 1 }
  const connection = new DialedQuicConnection(session, { address, dataStreams: 2, maxPacketBytes: 1_000 })
  connection.pause()
  connection.noteClosed()
  await new Promise<void>((resolve) => connection.write(publish, resolve))
  assert.equal(streams, 1, 'the first one')
})

test('what streams have brought with them is read at once, and not lost with a connection that is gone the same moment', () => {
  const stage = new Stage(connect)
  const more = Object.assign(new PassThrough(), { id: 4 })
  more.write(publish)
  stage.connection.addStream(more, () => {})
  stage.isGone()
  assert.deepEqual(stage.heard, Buffer.concat([connect, publish]))
  assert.deepEqual(stage.told, ['place given back', 'end'])
})
