// Limits per client: subscribers that do not read, floods, and clients that send requests and do not read the responses.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { defaultAccessSettings, makeScramRecord, type AccessSettings } from '../../src/access/index.ts'
import type { RuleHook } from '../../src/core/index.ts'
import { parseTopicFilter, reasonCodes } from '../../src/protocol/index.ts'
import { HttpService } from '../access/http-service.ts'
import { encodePublish } from '../simulator/wire.ts'
import { ShardStage, type TestClient } from './stage.ts'

const kilobyte = 'k'.repeat(1_024)
const manyFrames = (count: number, topic: string, text = '') =>
  Array.from({ length: count }, (_, index) => ({ topic, payload: `${index} ${text}` }))
const pings = (count: number): Buffer => Buffer.alloc(count * 2, Buffer.from([0xc0, 0x00]))

test('a client that does not read costs no more than its limit, and slows no other client', async (context) => {
  const maxUnsentBytes = 65_536
  const stage = new ShardStage(context, { core: { maxUnsentBytes } })
  const stalled = await stage.subscriber('stalled', 'a')
  const reader = await stage.subscriber('reader', 'a')
  const publisher = await stage.client('publisher')
  stalled.stream.isStalled = true
  for (let round = 0; round < 20; round++) {
    publisher.publish(...manyFrames(50, 'a', kilobyte))
    await stage.turns()
  }
  assert.equal(reader.payloads.length, 1_000)
  assert.ok(stage.shard.writer.buffers.takenBytes <= 4 * maxUnsentBytes, `${stage.shard.writer.buffers.takenBytes}`)
  assert.ok(stage.counter('messagesDropped') > 800)
  assert.equal(stage.lines.filter(({ event }) => event === 'messages dropped').length, 1, 'logged once a second')
  stalled.stream.isStalled = false
  stalled.stream.take()
  await stage.turns()
  publisher.publish({ topic: 'a', payload: 'after' })
  await stage.turns()
  assert.equal(stalled.payloads.at(-1), 'after')
  assert.equal(stage.shard.writer.buffers.takenBytes, 0)
})

test('messages of QoS 1 wait for a client that stops reading, and all arrive when it reads again', async (context) => {
  const stage = new ShardStage(context, { core: { maxUnsentBytes: 20_000 } })
  const stalled = await stage.subscriber('stalled', 'a', { qos: 1 })
  const publisher = await stage.client('publisher')
  stalled.stream.isStalled = true
  for (let packetId = 1; packetId <= 100; packetId++)
    publisher.publish({ topic: 'a', payload: `${packetId} ${kilobyte}`, qos: 1, packetId })
  await stage.turns()
  assert.ok(stage.shard.writer.buffers.takenBytes <= 100_000, `${stage.shard.writer.buffers.takenBytes}`)
  stalled.stream.isStalled = false
  stalled.stream.take()
  await stage.turns(50)
  assert.deepEqual(
    stalled.payloads.map((payload) => Number.parseInt(payload, 10)),
    Array.from({ length: 100 }, (_, index) => index + 1),
  )
})

test('a client that reads fast enough is never treated as slow, however busy it is', async (context) => {
  const stage = new ShardStage(context, { core: { maxUnsentBytes: 100_000 } })
  const subscriber = await stage.subscriber('subscriber', 'a')
  const publisher = await stage.client('publisher')
  subscriber.stream.isStalled = true
  publisher.publish({ topic: 'a', payload: 'the first write' })
  await stage.turns()
  // Each write completes only after more bytes are queued: the connection is never idle.
  for (let round = 0; round < 100; round++) {
    publisher.publish(...manyFrames(10, 'a', kilobyte))
    await stage.turns(2)
    subscriber.stream.take('one')
  }
  await stage.turns()
  assert.equal(stage.counter('messagesDropped'), 0)
})

test('if all clients together have too many unsent bytes, slow clients get no more', async (context) => {
  const stage = new ShardStage(context, { start: { maxUnsentBytesTotal: 200_000 } })
  const stalled = await Promise.all(Array.from({ length: 10 }, (_, index) => stage.subscriber(`stalled ${index}`, 'a')))
  const publisher = await stage.client('publisher')
  for (const client of stalled) client.stream.isStalled = true
  for (let round = 0; round < 100; round++) {
    publisher.publish(...manyFrames(10, 'a', kilobyte))
    await stage.turns(2)
  }
  assert.ok(stage.shard.writer.buffers.takenBytes <= 1_500_000, `${stage.shard.writer.buffers.takenBytes}`)
  for (const client of stalled) {
    client.stream.isStalled = false
    client.stream.take()
  }
  await stage.turns()
  publisher.publish({ topic: 'a', payload: 'after' })
  await stage.turns()
  for (const client of stalled) assert.equal(client.payloads.at(-1), 'after')
})

test('a client that does not read its responses is not read until it reads', async (context) => {
  const maxUnsentBytes = 65_536
  const stage = new ShardStage(context, { core: { maxUnsentBytes } })
  const client = await stage.client('client')
  client.stream.isStalled = true
  let pingCount = 0
  for (; pingCount < 2_000_000 && !client.stream.isPaused; pingCount += 10_000) {
    client.stream.arrive(pings(10_000))
    await stage.turns(2)
  }
  assert.ok(pingCount <= 100_000, `${pingCount} pings were read`)
  client.stream.arrive(pings(10_000))
  await stage.turns()
  assert.ok(stage.shard.writer.buffers.takenBytes <= 4 * maxUnsentBytes, `${stage.shard.writer.buffers.takenBytes}`)
  client.stream.isStalled = false
  client.stream.take()
  await stage.turns(20)
  assert.equal(client.of('pingresp').length, pingCount + 10_000)
  assert.equal(client.stream.isPaused, false)
})

test('a peer that reads nothing is closed after the timeout', async (context) => {
  const stage = new ShardStage(context)
  const stalled = await stage.subscriber('stalled', 'a', { version: 5, keepAliveSeconds: 10 })
  const publisher = await stage.client('publisher')
  stalled.stream.isStalled = true
  publisher.publish({ topic: 'a', payload: '1' })
  await stage.turns()
  publisher.publish({ topic: 'a', payload: '2' })
  await stage.turns()
  assert.equal(stalled.stream.isEnded, false)
  await stage.passMs(15_100)
  assert.equal(stalled.stream.isEnded, true, 'a timeout closes an ended stream, and no other')
  stalled.stream.take()
  await stage.turns()
  assert.deepEqual(stalled.payloads, ['1', '2'])
  assert.equal(stalled.last?.type, 'disconnect')
  assert.equal(stage.shard.writer.buffers.takenBytes, 0)
})

test('a connection with more input than one turn handles continues in a later turn, and loses nothing', async (context) => {
  const stage = new ShardStage(context)
  const flood = await stage.client('flood')
  const chunk = pings(32_768)
  for (let count = 0; count < 4; count++) flood.stream.arrive(chunk)
  assert.equal(flood.stream.isPaused, true)
  flood.stream.arrive(chunk)
  assert.equal(flood.stream.unreadBytes, chunk.length, 'it waits in the stream')
  await stage.turns(20)
  assert.equal(flood.stream.isPaused, false)
  assert.equal(flood.of('pingresp').length, 5 * 32_768)
})

test('a turn ends after some milliseconds, also if no packet has a subscriber, and continues round robin', async (context) => {
  const stage = new ShardStage(context)
  const ear = await stage.subscriber('ear', 'done/+')
  const quick = await stage.client('quick')
  const floods = [await stage.client('one'), await stage.client('two'), await stage.client('three')]
  // Each call of the clock advances it by 2 ms.
  const { clock } = stage
  clock.nowMs = () => (clock.now += 2)
  for (const flood of floods) {
    flood.publish(...manyFrames(2_500, 'nobody'), { topic: 'done/half', payload: '' }, ...manyFrames(2_500, 'nobody'), {
      topic: 'done/whole',
      payload: '',
    })
    assert.equal(flood.stream.isPaused, true)
  }
  quick.publish({ topic: 'done/quick', payload: '' })
  await stage.turns(40)
  assert.deepEqual(
    ear.of('publish').map((packet) => packet.topic?.name),
    ['done/quick', 'done/half', 'done/half', 'done/half', 'done/whole', 'done/whole', 'done/whole'],
  )
  for (const flood of floods) assert.equal(flood.stream.isPaused, false)
})

test('other clients wait for one evaluation of a rule, not for those of all packets of a chunk', async (context) => {
  const rule = { id: 'slow', actionQueues: [] }
  const ruleHook: RuleHook = {
    // The steps of 40 ms.
    run: () => {
      stage.clock.now += 40
      return 640
    },
    runTriggers: (triggers) => triggers.length,
    recordLost: () => undefined,
  }
  const stage: ShardStage = new ShardStage(context, { ruleHook })
  const filter = parseTopicFilter('flood') ?? assert.fail()
  stage.shard.core.handle({ kind: 'rules', rules: [[filter, rule]], triggers: new Set() }, stage.clock.now)
  const ear = await stage.subscriber('ear', '#')
  const [flood, quick] = [await stage.client('flood'), await stage.client('quick')]
  flood.publish(...manyFrames(8, 'flood'))
  assert.equal(flood.stream.isPaused, true)
  quick.publish({ topic: 'quick', payload: '' })
  await stage.turns(40)
  const topics = ear.of('publish').map((packet) => packet.topic?.name)
  assert.deepEqual(topics, ['flood', 'quick', ...Array.from({ length: 7 }, () => 'flood')])
})

/** A shard whose clients are authenticated by a service. `respond` sends the first response. */
async function stageWithService(context: TestContext): Promise<{ stage: ShardStage; respond: () => Promise<void> }> {
  const service = await HttpService.start(context)
  const held = service.holdFirst()
  const authRequest = { url: service.url(), method: 'POST', headers: [], params: [] } as const
  const bounds = { timeoutMs: 5_000, connectTimeoutMs: 5_000, poolSize: 1, maxWaiting: 10, cacheTtlMs: 0 }
  const http = { authRequest, superRequest: undefined, aclRequest: undefined, ...bounds }
  const access: AccessSettings = { ...defaultAccessSettings, chain: ['http'], http }
  const stage = new ShardStage(context, { start: { access } })
  context.after(() => stage.shard.access.close())
  const respond = async (): Promise<void> => (await held)()
  return { stage, respond }
}

async function waitForConnack(stage: ShardStage, client: TestClient): Promise<void> {
  while (client.of('connack').length === 0) await stage.turns(1)
}

test('reading from an unauthenticated client pauses within a large packet until its identity is decided', async (context) => {
  const { stage, respond } = await stageWithService(context)
  const author = stage.unauthenticated()
  author.connect('author')
  const bytes = encodePublish({ topic: 'a', payload: 'x'.repeat(200_000), qos: 1, packetId: 1 }, 4)
  for (let at = 0; at < bytes.length; at += 10_000) {
    author.stream.arrive(bytes.subarray(at, at + 10_000))
    await stage.turns(2)
  }
  assert.ok(author.stream.unreadBytes >= 180_000, `${author.stream.unreadBytes} bytes were not read`)
  await respond()
  await waitForConnack(stage, author)
  while (author.of('puback').length === 0) await stage.turns(1)
  assert.equal(author.stream.unreadBytes, 0)
})

test('reading from an unauthenticated client pauses after a complete large packet; mqtt.max_parked_packets small ones may arrive', async (context) => {
  const { stage, respond } = await stageWithService(context)
  const author = stage.unauthenticated()
  author.connect('author')
  author.publish(...manyFrames(20, 'a'))
  assert.equal(author.stream.isPaused, false)
  author.publish({ topic: 'a', payload: 'x'.repeat(10_000), qos: 1, packetId: 1 })
  assert.equal(author.stream.isPaused, true)
  author.publish({ topic: 'a', payload: 'y', qos: 1, packetId: 2 })
  await respond()
  await waitForConnack(stage, author)
  while (author.of('puback').length < 2) await stage.turns(1)
})

test('no memory is reserved for a large packet before authentication', async (context) => {
  const [username, password] = ['alice', 'secret']
  const user = { username, password, algorithm: 'SCRAM-SHA-256', iterations: 4_096, isSuperuser: false } as const
  const scram = { users: [makeScramRecord({ ...user, createdAtMs: 0 })], secret: Buffer.alloc(32), iterations: 4_096 }
  const stage = new ShardStage(context, { start: { access: { ...defaultAccessSettings, scram } } })
  const unauthenticated = stage.unauthenticated(5)
  unauthenticated.connect('stranger', { properties: { authenticationMethod: 'SCRAM-SHA-256' } })
  await stage.turns()
  assert.deepEqual(unauthenticated.types, ['auth'])
  const bytes = encodePublish({ topic: 'a', payload: 'x'.repeat(1_000_000) }, 5)
  for (let at = 0; at < bytes.length; at += 50_000) unauthenticated.stream.arrive(bytes.subarray(at, at + 50_000))
  await stage.turns()
  assert.equal(unauthenticated.of('connack')[0]?.reasonCode, reasonCodes.packetTooLarge)
  assert.equal(unauthenticated.stream.isEnded, true)
})

test('while memory is short, a CONNECT of more than 8 KiB is refused by its fixed header, and others are accepted', async (context) => {
  const stage = new ShardStage(context)
  const longName = 'n'.repeat(60_000)
  for (const level of ['soft', 'hard'] as const) {
    stage.shard.handleInput({ kind: 'memory-level', level, step: 0 })
    const long = stage.unauthenticated(5)
    // A fixed header with a remaining length of 60,000 and one byte after it.
    long.stream.arrive(Buffer.from([0x10, 0xe0, 0xd4, 0x03, 0x00]))
    await stage.turns()
    assert.ok(long.stream.isEnded, level)
  }
  stage.shard.handleInput({ kind: 'memory-level', level: 'soft', step: 0 })
  const short = await stage.client('s'.repeat(8_000), { version: 5 })
  assert.equal(short.of('connack')[0]?.reasonCode, reasonCodes.success)
  stage.shard.handleInput({ kind: 'memory-level', level: 'normal', step: 0 })
  const welcome = await stage.client(longName, { version: 5 })
  assert.equal(welcome.of('connack')[0]?.reasonCode, reasonCodes.success)
})
