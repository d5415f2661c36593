// QoS 2 arrives once, whichever shard on its path fails, and whichever clients are members then.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { computeTopicShard } from '../../../src/core/index.ts'
import { reasonCodes } from '../../../src/protocol/index.ts'
import type { ClientTraits, PacketClient } from './packet-client.ts'
import { SeveralCores } from './several-cores.ts'

const stored = { expirySeconds: 3_600 } as const
const group = '$share/g/a'

interface ReaderOptions {
  readonly shard: number
  readonly name: string
  readonly filter: string
  readonly traits?: Partial<ClientTraits>
}

function reader(cores: SeveralCores, { shard, name, filter, traits = stored }: ReaderOptions): PacketClient {
  const client = cores.client(shard, name, traits)
  cores.settle()
  client.subscribe(filter)
  cores.settle()
  return client
}

function author(cores: SeveralCores, shard: number, traits = {}): PacketClient {
  const client = cores.client(shard, 'author', { ...stored, ...traits })
  cores.settle()
  return client
}

function restart(cores: SeveralCores, shard: number): void {
  cores.kill(shard)
  cores.start(shard)
}

/** Checks that no record of completed exchanges is left. */
function assertNoOpenExchange(cores: SeveralCores): void {
  const open = cores.recordStore.readAll().filter(({ kind }) => kind === 'incoming' || kind === 'forwarded')
  assert.deepEqual(open, [])
}

describe('QoS 2 for a shared subscription with members on several shards', () => {
  test('goes to the same shard again if the shard of the publisher fails before PUBREC, though new members joined', () => {
    const cores = new SeveralCores()
    const first = reader(cores, { shard: 1, name: 'first', filter: group })
    const publisher = author(cores, 0)
    cores.holdLink(1, 0)
    publisher.publish('a', 'x', { qos: 2 })
    cores.settle()
    assert.deepEqual(first.payloads, ['x'])
    restart(cores, 0)
    cores.releaseLink(1, 0)
    cores.settle()
    const others = ['a-', 'b-', 'c-', 'd-'].map((name) => reader(cores, { shard: 2, name, filter: group }))
    first.unsubscribe(group)
    cores.settle()
    cores.connect(publisher)
    cores.settle()
    assert.equal(publisher.unfinishedCount, 0)
    assert.deepEqual(
      [first, ...others].flatMap(({ payloads }) => payloads),
      ['x'],
    )
    assertNoOpenExchange(cores)
  })

  test('reaches another member if that shard fails before it has sent it, and a shard without members gets none', () => {
    const cores = new SeveralCores()
    const first = reader(cores, { shard: 1, name: 'first', filter: group })
    const publisher = author(cores, 0)
    cores.holdLink(0, 1)
    publisher.publish('a', 'x', { qos: 2 })
    cores.settle()
    assert.deepEqual(first.payloads, [])
    restart(cores, 0)
    cores.releaseLink(0, 1)
    cores.settle()
    const second = reader(cores, { shard: 2, name: 'second', filter: group })
    first.unsubscribe(group)
    cores.settle()
    cores.connect(publisher)
    cores.settle()
    assert.deepEqual([first.payloads, second.payloads], [[], ['x']])
    assert.equal(publisher.unfinishedCount, 0)
    assertNoOpenExchange(cores)
  })

  test('is sent when the record of its target shard is durable, and a later message keeps its place', () => {
    const cores = new SeveralCores()
    const only = reader(cores, { shard: 1, name: 'only', filter: group })
    const publisher = author(cores, 0)
    publisher.publish('a', 'exactly once', { qos: 2 })
    publisher.publish('a', 'at least once', { qos: 1 })
    cores.sendAll(publisher)
    assert.deepEqual(cores.messagesOnLink(0, 1), [])
    cores.settle()
    assert.deepEqual(only.payloads, ['exactly once', 'at least once'])
    assert.equal(publisher.unfinishedCount, 0)
  })

  for (const when of ['before', 'after'] as const) {
    test(`moves to the same shard again if the shard between fails ${when} the message is durable there`, () => {
      const cores = new SeveralCores()
      const leaving = reader(cores, { shard: 1, name: 'leaving', filter: group })
      const staying = reader(cores, { shard: 2, name: 'staying', filter: group })
      const publisher = author(cores, 0)
      cores.holdLink(1, 0)
      cores.holdLink(2, 1)
      leaving.unsubscribe(group)
      cores.settle()
      cores.holdLink(1, 2)
      for (let number = 0; number < 10; number++) publisher.publish('a', `${number}`, { qos: 2 })
      cores.settle()
      if (when === 'after') cores.releaseLink(1, 2)
      cores.settle()
      restart(cores, 1)
      for (const [from, to] of [
        [1, 0],
        [1, 2],
        [2, 1],
      ]) {
        cores.releaseLink(from, to)
      }
      cores.settle()
      assert.equal(new Set(staying.payloads).size, staying.payloads.length, 'no subscriber has a duplicate')
      assert.equal(staying.payloads.length, 10)
      assert.equal(publisher.unfinishedCount, 0)
      assertNoOpenExchange(cores)
      for (let number = 10; number < 20; number++) publisher.publish('a', `${number}`, { qos: 2 })
      cores.settle()
      assert.equal(staying.payloads.length, 20)
    })
  }

  test('is deleted on every shard before its packet identifier is free, also if a shard between fails', () => {
    const cores = new SeveralCores()
    const leaving = reader(cores, { shard: 1, name: 'leaving', filter: group })
    const staying = reader(cores, { shard: 2, name: 'staying', filter: group })
    const publisher = author(cores, 0)
    cores.holdLink(1, 0)
    leaving.unsubscribe(group)
    cores.settle()
    cores.holdLink(2, 1)
    publisher.publish('a', 'x', { qos: 2 })
    cores.settle()
    cores.releaseLink(1, 0)
    cores.settle()
    assert.deepEqual(
      [publisher.acknowledged.get('x'), publisher.unfinishedCount],
      [undefined, 1],
      'shard 2 has not confirmed it',
    )
    cores.deliverAll(2, 1)
    cores.settle()
    assert.deepEqual([publisher.acknowledged.get('x'), publisher.unfinishedCount], [0, 1], 'the release is in flight')
    restart(cores, 1)
    cores.settle()
    assert.equal(publisher.unfinishedCount, 1, 'shard 2 has not confirmed the deletion')
    cores.releaseLink(2, 1)
    cores.settle()
    assert.equal(publisher.unfinishedCount, 0)
    assert.deepEqual(staying.payloads, ['x'])
    assertNoOpenExchange(cores)
  })
})

describe('QoS 2 that arrives again before another shard has committed the first copy', () => {
  test('is acknowledged when that shard has committed the first arrival', () => {
    const { cores, publisher, subscriber } = repeatedBeforeCommit()
    assert.equal(publisher.acknowledged.get('x'), undefined)
    cores.connect(subscriber)
    cores.settle()
    assert.equal(publisher.unfinishedCount, 0)
    assert.deepEqual(subscriber.payloads, ['x'])
    assertNoOpenExchange(cores)
  })

  test('is delivered if that shard fails before the commit', () => {
    const { cores, publisher, subscriber } = repeatedBeforeCommit()
    restart(cores, 1)
    cores.settle()
    cores.connect(subscriber)
    cores.settle()
    assert.equal(publisher.unfinishedCount, 0)
    assert.deepEqual(subscriber.payloads, ['x'])
    assertNoOpenExchange(cores)
  })
})

/** Shard 1 has the message of a client of shard 0 twice, as shard 0 failed in between, and has committed nothing. */
function repeatedBeforeCommit(): { cores: SeveralCores; publisher: PacketClient; subscriber: PacketClient } {
  const cores = new SeveralCores({ shards: 2 })
  const subscriber = reader(cores, { shard: 1, name: 'subscriber', filter: 'a' })
  const publisher = author(cores, 0)
  cores.breakConnection(subscriber)
  cores.settle()
  publisher.publish('a', 'x', { qos: 2 })
  runWithoutDiskOf(cores, 1, publisher)
  assert.equal(publisher.acknowledged.get('x'), undefined)
  restart(cores, 0)
  runWithoutDiskOf(cores, 1, publisher)
  cores.connect(publisher)
  runWithoutDiskOf(cores, 1, publisher)
  return { cores, publisher, subscriber }
}

/** Runs everything but commits of the shard. */
function runWithoutDiskOf(cores: SeveralCores, shard: number, client: PacketClient): void {
  for (let round = 0; round < 20; round++) {
    cores.sendAll(client)
    while (client.hasPacketToProcess) client.processPacket()
    for (const core of cores.cores) if (core?.number !== shard) core?.commit()
    cores.deliverAll(0, 1)
    cores.deliverAll(1, 0)
  }
}

describe('QoS 2 of a client whose session ends before the peers confirm', () => {
  test('stays known on the shard of the publisher until the peer confirms it', () => {
    const cores = new SeveralCores()
    const subscriber = reader(cores, { shard: 1, name: 'subscriber', filter: 'a' })
    const publisher = author(cores, 0, { expirySeconds: 0 })
    cores.holdLink(1, 0)
    publisher.publish('a', 'x', { qos: 2 })
    cores.sendAll(publisher)
    cores.breakConnection(publisher)
    cores.settle()
    assert.deepEqual(subscriber.payloads, ['x'])
    restart(cores, 1)
    cores.releaseLink(1, 0)
    cores.settle()
    cores.connect(subscriber)
    cores.settle()
    assert.deepEqual(subscriber.payloads, ['x'])
    assertNoOpenExchange(cores)
  })
})

const dayMs = 86_400_000

function openExchange(traits: Partial<ClientTraits> = {}): {
  cores: SeveralCores
  subscriber: PacketClient
  publisher: PacketClient
} {
  const cores = new SeveralCores()
  const subscriber = reader(cores, { shard: 1, name: 'subscriber', filter: 'a', traits: { expirySeconds: 864_000 } })
  const publisher = author(cores, 0, { expirySeconds: 864_000, ...traits })
  publisher.publish('a', 'x', { qos: 2 })
  cores.holdLink(1, 0)
  cores.settle()
  cores.breakConnection(publisher)
  cores.settle()
  assert.deepEqual(subscriber.payloads, ['x'])
  return { cores, subscriber, publisher }
}

function passDays(cores: SeveralCores, days: number): void {
  for (let hour = 0; hour < days * 24; hour++) {
    cores.passMs(dayMs / 24)
  }
}

describe('QoS 2 that is never released', () => {
  test('[MQTT-4.3.3-2] [MQTT5-4.3.3-10] is delivered once by another shard too, a day and a restart later', () => {
    const { cores, subscriber, publisher } = openExchange()
    restart(cores, 0)
    restart(cores, 1)
    cores.releaseLink(1, 0)
    passDays(cores, 1)
    cores.connect(subscriber)
    cores.connect(publisher)
    cores.settle()
    assert.deepEqual(subscriber.payloads, ['x'])
    assert.equal(publisher.unfinishedCount, 0)
    assertNoOpenExchange(cores)
  })

  test('is deleted by another shard if the session has ended and its release was lost', () => {
    const { cores, publisher } = openExchange()
    cores.kill(0)
    // As if the shard had ended the session on disk, and failed before it sent the release.
    const clientId = publisher.id
    cores.recordStore.apply([{ change: 'delete-session', clientId }])
    cores.start(0)
    cores.releaseLink(1, 0)
    cores.settle()
    passDays(cores, 1)
    assertNoOpenExchange(cores)
  })
})

describe('QoS 2 that one shard refuses and others accept', () => {
  for (const comesAgain of ['before', 'after'] as const) {
    test(`is refused, and redelivered to no member, when its client reconnects ${comesAgain} the refusal`, () => {
      const cores = new SeveralCores({ settings: { maxStoredMessages: 1, storedMessagesOverflow: 'reject-publish' } })
      // Otherwise the shard stores all messages that can be on the way.
      cores.changeSettings(1, { maxUnconfirmedMessages: 0 })
      const full = reader(cores, { shard: 1, name: 'full', filter: 'a' })
      const online = reader(cores, { shard: 2, name: 'online', filter: 'a', traits: {} })
      const publisher = author(cores, 0)
      cores.breakConnection(full)
      cores.settle()
      cores.holdLink(1, 0)
      for (const payload of ['1', '2', '3']) publisher.publish('a', payload, { qos: 2 })
      cores.settle()
      cores.breakConnection(publisher)
      cores.settle()
      if (comesAgain === 'before') cores.connect(publisher)
      cores.settle()
      cores.releaseLink(1, 0)
      cores.settle()
      if (comesAgain === 'after') cores.connect(publisher)
      cores.settle()
      assert.deepEqual([...publisher.acknowledged.values()], [0, 0, reasonCodes.quotaExceeded])
      assert.equal(publisher.unfinishedCount, 0)
      assert.deepEqual(online.payloads, ['1', '2', '3'])
      assertNoOpenExchange(cores)
    })
  }
})

test('an empty QoS 2 message does not delete the retained message again after a crash, if a later one has set it', () => {
  const { cores, topic, publisher } = withHeldLink()
  for (const payload of ['', 'full']) publisher.publish(topic, payload, { qos: 2, retain: true })
  cores.settle()
  cores.killAll()
  cores.releaseLink(1, 0)
  cores.startAll()
  cores.settle()
  cores.connect(publisher)
  cores.settle()
  assert.equal(publisher.unfinishedCount, 0)
  assert.deepEqual(reader(cores, { shard: 2, name: 'reader', filter: topic }).payloads, ['full'])
  assertNoOpenExchange(cores)
})

test('the last retained message of a topic stays if its shard fails before the confirmation, and QoS 1 came before QoS 2', () => {
  const { cores, topic, publisher } = withHeldLink()
  publisher.publish(topic, 'first', { qos: 1, retain: true })
  for (const payload of ['', 'last']) publisher.publish(topic, payload, { qos: 2, retain: true })
  cores.settle()
  restart(cores, 1)
  cores.releaseLink(1, 0)
  cores.settle()
  assert.equal(publisher.unfinishedCount, 0)
  assert.deepEqual(reader(cores, { shard: 2, name: 'reader', filter: topic }).payloads, ['last'])
})

/** A publisher on shard 0, and a topic of shard 1, whose link to shard 0 is held. */
function withHeldLink(): { cores: SeveralCores; topic: string; publisher: PacketClient } {
  const cores = new SeveralCores()
  const publisher = author(cores, 0)
  cores.holdLink(1, 0)
  return { cores, topic: topicOf(1), publisher }
}

/** A topic whose retained message the shard stores. */
function topicOf(shard: number): string {
  const topic = ['door', 'gate', 'roof', 'wall', 'yard', 'hall', 'pond'].find(
    (name) => computeTopicShard(name, 3) === shard,
  )
  assert.ok(topic !== undefined, `shard ${shard} owns one of them`)
  return topic
}

test('a QoS 2 message that is repeated after a crash goes to the subscribers of its first arrival (seed 896640)', () => {
  const cores = new SeveralCores()
  const early = reader(cores, { shard: 2, name: 'early', filter: 'a' })
  const publisher = author(cores, 0)
  cores.holdLink(2, 0)
  publisher.publish('a', '1', { qos: 2 })
  cores.settle()
  const late = reader(cores, { shard: 1, name: 'late', filter: 'a' })
  publisher.publish('a', '2', { qos: 2 })
  cores.settle()
  cores.killAll()
  cores.releaseLink(2, 0)
  cores.startAll()
  cores.settle()
  for (const client of [publisher, early, late]) cores.connect(client)
  cores.settle()
  assert.equal(publisher.unfinishedCount, 0)
  assert.deepEqual([early.payloads, late.payloads], [['1', '2'], ['2']])
  assertNoOpenExchange(cores)
})
