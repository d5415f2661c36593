// Partial packets: their total memory has a limit, and clients that make progress are served.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { reasonCodes } from '../../src/protocol/index.ts'
import { encodePublish } from '../simulator/wire.ts'
import { FakeStream } from './fake-stream.ts'
import { listener, ShardStage, TestClient } from './stage.ts'

const limitBytes = 1_000_000
/** Ten of these reach the limit. */
const packetBytes = 100_000
const pieceBytes = 5_000
const large = encodePublish({ topic: 'a', payload: 'x'.repeat(packetBytes - 30), qos: 1, packetId: 1 }, 5)

const stageOf = (context: TestContext): ShardStage =>
  new ShardStage(context, { start: { maxUnfinishedBytesTotal: limitBytes } })

const clientsOf = (stage: ShardStage, name: string, count: number): Promise<TestClient[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => stage.client(`${name} ${index}`, { version: 5 })))

/** All pieces of a packet but the last. */
function begin(client: TestClient): void {
  client.stream.arrive(large.subarray(0, large.length - pieceBytes))
}

function end(client: TestClient): void {
  client.stream.arrive(large.subarray(large.length - pieceBytes))
}

const reasonOf = (client: TestClient): number | undefined => client.of('disconnect')[0]?.reasonCode
const isDisconnected = (client: TestClient): boolean => client.stream.isEnded

test('an idle client with a partial packet is disconnected first, with the reason', async (context) => {
  const stage = stageOf(context)
  const slowClients = await clientsOf(stage, 'hog', 30)
  for (const slowClient of slowClients) begin(slowClient)
  await stage.turns()
  const disconnected = slowClients.filter(isDisconnected)
  assert.deepEqual(disconnected, slowClients.slice(0, disconnected.length), 'the oldest first')
  assert.ok(disconnected.length >= 20 && disconnected.length < 25, `${disconnected.length} are disconnected`)
  for (const slowClient of disconnected) assert.equal(reasonOf(slowClient), reasonCodes.quotaExceeded)
  for (const slowClient of slowClients.slice(disconnected.length)) end(slowClient)
  await stage.turns()
  for (const slowClient of slowClients.slice(disconnected.length)) assert.equal(slowClient.of('puback').length, 1)
})

test('a client that makes progress is served, however many partial packets exist and however long it takes', async (context) => {
  const stage = stageOf(context)
  const honest = await stage.client('honest', { version: 5 })
  const slowClients = await clientsOf(stage, 'hog', 100)
  const pieces = Math.ceil(large.length / pieceBytes)
  for (const [index, slowClient] of slowClients.entries()) {
    begin(slowClient)
    // One more byte of each is not progress.
    for (const { stream } of slowClients.slice(0, index)) stream.arrive(large.subarray(0, 1))
    const isPieceDue = index % (slowClients.length / pieces) < 1
    const at = Math.floor((index * pieces) / slowClients.length) * pieceBytes
    if (isPieceDue) honest.stream.arrive(large.subarray(at, at + pieceBytes))
  }
  await stage.turns()
  assert.equal(honest.of('puback').length, 1)
  assert.ok(slowClients.filter(isDisconnected).length >= 85)
})

/** The start of a CONNECT of 5.0 with 300,000 bytes. */
const partialConnect = Buffer.from([0x10, 0xe0, 0xa7, 0x12, 0x00, 0x04, 0x4d, 0x51, 0x54, 0x54, 0x05, 0x02, 0x00, 0x00])

for (const shards of [1, 2]) {
  test(`the first packet of an unauthenticated client counts as a partial packet (shards: ${shards})`, async (context) => {
    const stage = new ShardStage(context, { start: { maxUnfinishedBytesTotal: limitBytes, shards } })
    const unauthenticatedClients = Array.from({ length: 30 }, () => stage.unauthenticated(5))
    for (const { stream } of unauthenticatedClients) {
      stream.arrive(partialConnect)
      for (let bytes = 0; bytes < 90_000; bytes += 30_000) stream.arrive(Buffer.alloc(30_000))
    }
    await stage.turns()
    const disconnected = unauthenticatedClients.filter(isDisconnected)
    assert.deepEqual(disconnected, unauthenticatedClients.slice(0, disconnected.length))
    // The received bytes use at most twice their size.
    assert.ok(disconnected.length >= 20 && disconnected.length <= 25, `${disconnected.length} are disconnected`)
  })
}

test('a single client is never disconnected: its packet is no larger than the maximum packet size', async (context) => {
  const stage = new ShardStage(context, { start: { maxUnfinishedBytesTotal: 1_000 } })
  const [client] = await clientsOf(stage, 'client', 1)
  assert.ok(client)
  begin(client)
  end(client)
  await stage.turns()
  assert.equal(client.of('puback').length, 1)
})

test('completed packets and those of closed connections are not counted', async (context) => {
  const stage = stageOf(context)
  const clients = await clientsOf(stage, 'client', 9)
  for (let round = 0; round < 20; round++) {
    for (const client of clients) begin(client)
    for (const client of await clientsOf(stage, `gone ${round}`, 3)) {
      begin(client)
      client.stream.break()
    }
    for (const client of clients) end(client)
    await stage.turns()
  }
  for (const client of clients) assert.equal(client.of('puback').length, 20)
})

/** A stream that buffers packets before it passes them on. */
class GatheringStream extends FakeStream {
  bufferedBytes = 0
  onBuffered: () => void = () => {}

  gather(bytes: number): void {
    this.bufferedBytes = bytes
    this.onBuffered()
  }
}

test('bytes that a stream buffers count like those of the decoder', async (context) => {
  const stage = stageOf(context)
  const clients = Array.from({ length: 5 }, () => new TestClient(new GatheringStream(), 5))
  for (const [index, client] of clients.entries()) {
    stage.shard.accept(client.stream, listener)
    client.connect(`client ${index}`)
  }
  await stage.turns()
  for (const { stream } of clients) if (stream instanceof GatheringStream) stream.gather(400_000)
  await stage.turns()
  assert.deepEqual(clients.map(isDisconnected), [true, true, true, false, false])
  assert.equal(clients.map(reasonOf)[0], reasonCodes.quotaExceeded)
})
