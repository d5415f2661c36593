// The end of a QUIC connection with a paused reader, as the library reports it: all its streams are destroyed, and it is closed.

import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { DialedQuicConnection } from '../../src/transports/quic/dialed-quic-connection.ts'
import { QuicConnection } from '../../src/transports/quic/quic-connection.ts'

const connect = Buffer.of(0x10, 2, 1, 2)
const publish = Buffer.of(0x30, 3, 0, 1, 0x74)
const disconnect = Buffer.of(0xe0, 0)

/** Runs all pending events of the library and deferred callbacks. */
const calm = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

class Stage {
  readonly connection: QuicConnection
  /** The client end of the stream. */
  readonly control = Object.assign(new PassThrough(), { id: 0 })
  readonly held = { bytes: 0, limit: 10_000 }
  received = Buffer.alloc(0)
  /** In order: the close of the connection, its slot, the report to its reader. */
  readonly events: string[] = []

  /** `brought` is the content of the first stream when it opens. */
  constructor(brought: Buffer = Buffer.alloc(0)) {
    const peer = {
      remoteAddress: '127.0.0.1',
      remotePort: 1,
      credentials: { certificate: undefined, pskIdentity: undefined },
      close: () => void this.events.push('closed by us'),
    }
    const limits = { maxPacketBytes: 1_000, maxDataStreams: 1, maxHeldBytes: 10_000 }
    this.connection = new QuicConnection(peer, limits, this.held)
    this.control.write(brought)
    this.connection.addStream(this.control, () => {
      this.connection.onData = (chunk) => (this.received = Buffer.concat([this.received, chunk]))
      this.connection.onClose = (error) => this.events.push(error === undefined ? 'end' : `end: ${error.message}`)
    })
  }

  /** A paused reader, and its unread bytes. */
  static async unread(...packets: readonly Buffer[]): Promise<Stage> {
    const stage = new Stage()
    stage.connection.pause()
    for (const each of packets) stage.control.write(each)
    await calm()
    return stage
  }

  /** Reports the end as the library does. */
  isGone(): void {
    this.control.destroy(new Error('session closed'))
    this.connection.handleClosed(() => this.events.push('place given back'))
  }
}

test('a paused reader reads all received bytes of a closed connection, and then its end', async () => {
  const stage = await Stage.unread(connect, publish, disconnect)
  stage.isGone()
  await calm()
  assert.deepEqual(stage.events, [])
  assert.equal(stage.held.bytes, 11)
  stage.connection.resume()
  assert.deepEqual(stage.received, Buffer.concat([connect, publish, disconnect]))
  assert.deepEqual(stage.events, [], 'never within the call that resumes it')
  await calm()
  assert.deepEqual(stage.events, ['place given back', 'end'])
  assert.equal(stage.held.bytes, 0)
})

test('a reader that pauses again in between gets the end after the rest', async () => {
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
  assert.deepEqual(stage.received, connect)
  assert.deepEqual(stage.events, [])
  stage.connection.resume()
  await calm()
  assert.deepEqual(stage.received, Buffer.concat([connect, publish]))
  assert.deepEqual(stage.events, [], 'it is paused')
  stage.connection.resume()
  await calm()
  assert.deepEqual(stage.events, ['place given back', 'end'])
})

for (const way of ['end', 'destroy'] as const) {
  test(`a reader that calls ${way} itself gets only the end`, async () => {
    const stage = await Stage.unread(connect)
    stage.isGone()
    stage.connection[way]()
    assert.deepEqual(stage.events, [])
    assert.equal(stage.held.bytes, 0)
    await calm()
    stage.connection.resume()
    stage.connection[way]()
    await calm()
    assert.deepEqual(stage.events, ['place given back', 'end'])
    assert.equal(stage.received.length, 0)
  })
}

test('a failed connection ends at once, whether its reader is paused or not', async () => {
  const stage = await Stage.unread(connect)
  stage.connection.recordError(new Error('broken'))
  stage.isGone()
  assert.deepEqual(stage.events, ['place given back', 'end: broken'])
  assert.equal(stage.held.bytes, 0)
})

test('a reset of the first stream ends the connection at once', async () => {
  const stage = await Stage.unread(connect)
  stage.control.destroy()
  await calm()
  assert.deepEqual(stage.events, ['closed by us'])
})

test('a first stream that the client has ended is read to its end before the connection ends', async () => {
  const stage = await Stage.unread(connect, disconnect)
  stage.control.push(null)
  await calm()
  assert.ok(!stage.control.writableEnded)
  stage.connection.resume()
  assert.deepEqual(stage.received, Buffer.concat([connect, disconnect]))
  assert.ok(stage.control.writableEnded, 'our direction is ended, too')
  stage.isGone()
  assert.deepEqual(stage.events, ['place given back', 'end'])
})

test('the callback of a write to a closed connection is called, although its reader does not know of the end yet', async () => {
  const stage = await Stage.unread(connect)
  stage.isGone()
  await new Promise<void>((resolve) => stage.connection.write(publish, resolve))
  assert.deepEqual(stage.events, [])
})

test('no stream is opened for writes to a closed outgoing connection', async () => {
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
  connection.handleClosed()
  await new Promise<void>((resolve) => connection.write(publish, resolve))
  assert.equal(streams, 1, 'the first stream')
})

test('the first bytes of streams are read at once, and not lost with a connection that closes at the same time', () => {
  const stage = new Stage(connect)
  const more = Object.assign(new PassThrough(), { id: 4 })
  more.write(publish)
  stage.connection.addStream(more, () => {})
  stage.isGone()
  assert.deepEqual(stage.received, Buffer.concat([connect, publish]))
  assert.deepEqual(stage.events, ['place given back', 'end'])
})
