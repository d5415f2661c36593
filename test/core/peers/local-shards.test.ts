// Local shards serve clean sessions, own nothing, and end for good: what their sessions held is free, and what they have not confirmed goes to
// another member or is complete. No record names them.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { computeTopicShard } from '../../../src/core/index.ts'
import { reasonCodes } from '../../../src/protocol/index.ts'
import type { StoredRecord } from '../../../src/records/index.ts'
import { testLength } from '../../test-length.ts'
import type { PacketClient } from './packet-client.ts'
import { SeveralCores, type SeveralCoresOptions } from './several-cores.ts'

const stored = { expirySeconds: 36_000 } as const
const count = 3

interface Stage {
  readonly cores: SeveralCores
  /** Two local shards. */
  readonly one: number
  readonly other: number
}

function createStage(options: SeveralCoresOptions = {}): Stage {
  const cores = new SeveralCores({ shards: count, hasLocals: true, ...options })
  const stage = { cores, one: cores.startLocal(), other: cores.startLocal() }
  cores.settle()
  return stage
}

function topicOn(shard: number, name: string): string {
  for (let attempt = 0; ; attempt++) {
    const topic = `t/${name}${attempt}`
    if (computeTopicShard(topic, count) === shard) return topic
  }
}

/** Returns the numbers of shards in the records of deliveries. */
function listShardNumbers(records: readonly StoredRecord[]): number[] {
  return records.flatMap((record) => {
    if (record.kind === 'incoming' || record.kind === 'forwarded') return (record.assignments ?? []).map(({ to }) => to)
    return record.kind === 'handoff' ? [record.to, record.shard] : []
  })
}

describe('a local shard', () => {
  test('sends and receives messages of all shards, and stores nothing', () => {
    const { cores, one, other } = createStage()
    const [here, there] = [cores.localClient(one, 'here'), cores.localClient(other, 'there')]
    const offline = cores.client(2, 'offline', stored)
    cores.settle()
    for (const client of [here, there, offline]) client.subscribe('t/#')
    cores.settle()
    for (const [index, author] of [here, there, offline].entries())
      for (const qos of [0, 1, 2] as const) author.publish('t/x', `${index}:${qos}`, { qos })
    cores.settle()
    for (const client of [here, there, offline]) {
      assert.equal(new Set(client.payloads).size, 9)
      assert.equal(client.payloads.length, 9)
      assert.equal(client.unfinishedCount, 0)
    }
    assert.deepEqual([cores.cores[one]?.hasWritten, cores.cores[other]?.hasWritten], [false, false])
  })

  test('leaves retained messages and exclusive filters to the stored shards', () => {
    const { cores, one, other } = createStage({ settings: { exclusiveSubscriptionAvailable: true } })
    const [author, late] = [cores.localClient(one, 'author'), cores.localClient(other, 'late')]
    cores.settle()
    for (const shard of [0, 1, 2]) author.publish(topicOn(shard, 'r'), `retained ${shard}`, { retain: true })
    author.subscribe('$exclusive/a/b')
    cores.settle()
    late.subscribe('t/#')
    late.subscribe('$exclusive/a/b')
    cores.settle()
    assert.deepEqual(late.payloads.toSorted(), ['retained 0', 'retained 1', 'retained 2'])
    assert.equal(author.grantedQoS.get('$exclusive/a/b'), 2)
    assert.equal(late.grantedQoS.get('$exclusive/a/b'), reasonCodes.quotaExceeded)
    cores.kill(one)
    cores.settle()
    late.subscribe('$exclusive/a/b')
    cores.settle()
    assert.equal(late.grantedQoS.get('$exclusive/a/b'), 2, 'the filter is free when the shard has left')
  })

  test('is awaited by a stored shard that starts while it runs', () => {
    const { cores, one } = createStage()
    const reader = cores.localClient(one, 'reader')
    cores.settle()
    reader.subscribe('t/#')
    cores.settle()
    cores.kill(0)
    cores.holdLink(one, 0)
    cores.start(0)
    cores.settle()
    assert.equal(cores.cores[0]?.core.view.isReadyForClients, false)
    cores.releaseLink(one, 0)
    cores.settle()
    assert.equal(cores.cores[0]?.core.view.isReadyForClients, true)
    // If it leaves instead, nothing is awaited.
    cores.kill(0)
    cores.holdLink(one, 0)
    cores.start(0)
    cores.settle()
    cores.kill(one)
    cores.settle()
    assert.equal(cores.cores[0]?.core.view.isReadyForClients, true)
  })
})

describe('when a local shard has left', () => {
  test('no SUBACK waits for it', () => {
    const { cores, one } = createStage()
    const client = cores.client(0, 'subscriber')
    cores.settle()
    cores.holdLink(one, 0)
    client.subscribe('t/#')
    cores.settle()
    assert.equal(client.grantedQoS.size, 0)
    cores.kill(one)
    cores.settle()
    assert.equal(client.grantedQoS.size, 1)
  })

  test('no request for retained messages waits for it', () => {
    const { cores, one } = createStage()
    const topic = topicOn(1, 'a')
    const author = cores.localClient(one, 'author')
    const reader = cores.client(2, 'reader')
    cores.settle()
    author.publish(topic, 'old', { retain: true })
    cores.settle()
    cores.holdLink(one, 1)
    author.publish(topic, 'new', { retain: true })
    cores.settle()
    reader.subscribe(topic)
    cores.settle()
    assert.deepEqual([reader.grantedQoS.size, reader.payloads], [1, []])
    cores.kill(one)
    cores.settle()
    assert.deepEqual(reader.payloads, ['old'])
  })

  test('QoS 1 messages for its members go to another member, and the publisher is acknowledged', () => {
    for (const place of ['stored', 'local', 'here'] as const) {
      const { cores, one, other } = createStage()
      const author = cores.client(0, 'author', stored)
      const member = cores.localClient(one, 'member')
      cores.settle()
      member.subscribe('$share/g/t/x')
      cores.settle()
      cores.holdLink(0, one)
      for (let number = 0; number < 20; number++) author.publish('t/x', `${number}`, { qos: 1 })
      cores.settle()
      assert.equal(author.acknowledged.size, 0)
      const heir =
        place === 'local' ? cores.localClient(other, 'heir') : cores.client(place === 'here' ? 0 : 1, 'heir', stored)
      cores.settle()
      heir.subscribe('$share/g/t/x')
      cores.settle()
      cores.kill(one)
      cores.settle()
      assert.deepEqual(
        heir.payloads,
        Array.from({ length: 20 }, (_, number) => `${number}`),
      )
      assert.equal(author.acknowledged.size, 20)
    }
  })

  test('[MQTT5-4.8.2-5] a QoS 2 message that may have been delivered goes to no other member', () => {
    const { cores, one } = createStage()
    const author = cores.client(0, 'author', stored)
    const member = cores.localClient(one, 'member')
    const heir = cores.client(1, 'heir', stored)
    cores.settle()
    member.subscribe('$share/g/t/x')
    cores.settle()
    cores.holdLink(one, 0)
    author.publish('t/x', 'delivered', { qos: 2 })
    cores.settle()
    heir.subscribe('$share/g/t/x')
    cores.settle()
    cores.kill(one)
    cores.settle()
    assert.deepEqual([member.payloads, heir.payloads], [['delivered'], []])
    assert.deepEqual([...author.completed], ['delivered'])
  })

  test('a QoS 2 message that was not sent to it goes to another member, once', () => {
    const { cores, one } = createStage()
    // A publisher waits for a congested peer; a will does not.
    const will = { topic: 't/x', payload: 'unsent', qos: 2, retain: false } as const
    const author = cores.client(0, 'author', { will })
    const member = cores.localClient(one, 'member')
    const heir = cores.client(1, 'heir', stored)
    cores.settle()
    member.subscribe('$share/g/t/x')
    cores.settle()
    cores.handle(0, { kind: 'peer-congested', peer: cores.numberIn(0, one) ?? 0, isCongested: true })
    cores.breakConnection(author)
    cores.settle()
    heir.subscribe('$share/g/t/x')
    cores.settle()
    assert.deepEqual([member.payloads, heir.payloads], [[], []])
    cores.kill(one)
    cores.settle()
    assert.deepEqual([member.payloads, heir.payloads], [[], ['unsent']])
  })

  test('packet identifiers of its publishers are deleted on all shards', () => {
    const { cores, one } = createStage()
    const author = cores.localClient(one, 'author')
    const offline = cores.client(2, 'offline', stored)
    cores.settle()
    offline.subscribe('t/x')
    cores.settle()
    cores.holdLink(2, one)
    author.publish('t/x', 'twice', { qos: 2 })
    cores.settle()
    const listForwarded = (): StoredRecord[] => cores.recordStore.readAll().filter(({ kind }) => kind === 'forwarded')
    assert.equal(listForwarded().length, 1)
    cores.kill(one)
    cores.settle()
    assert.deepEqual(listForwarded(), [])
    assert.deepEqual(offline.payloads, ['twice'])
  })

  test('a release for it is complete', () => {
    const { cores, one } = createStage()
    const author = cores.client(0, 'author', stored)
    const member = cores.localClient(one, 'member')
    cores.settle()
    member.subscribe('t/x')
    cores.settle()
    author.publish('t/x', 'released', { qos: 2 })
    while (!author.acknowledged.has('released')) assert.ok(cores.step())
    cores.holdLink(0, one)
    cores.settle()
    assert.equal(author.completed.size, 0)
    cores.kill(one)
    cores.settle()
    assert.equal(author.completed.size, 1)
  })
})

const countFilters = ({ cores }: Stage): number => cores.cores[0]?.core.view.peerFilters ?? 0

describe('the end of a local shard with many filters', () => {
  const filters = 5_000

  function createLargeStage(): Stage & { readonly reader: PacketClient; readonly author: PacketClient } {
    const stage = createStage()
    const { cores, one } = stage
    const [reader, author] = [cores.localClient(one, 'reader'), cores.client(0, 'author')]
    cores.settle()
    for (let number = 0; number < filters; number++) reader.subscribe(`f/${number}`)
    reader.subscribe('$share/g/t/x')
    cores.settle()
    return { ...stage, reader, author }
  }

  test('takes several turns, and a publication in the middle does not go to it', () => {
    const stage = createLargeStage()
    const { cores, one, other, author } = stage
    const heir = cores.localClient(other, 'heir')
    cores.settle()
    heir.subscribe('$share/g/t/x')
    cores.settle()
    assert.equal(countFilters(stage), filters + 2)
    const core = cores.cores[0]
    cores.kill(one)
    let turns = 0
    for (; countFilters(stage) > 1; turns++) {
      assert.equal(core?.hasMoreWork, true)
      author.publish('t/x', `${turns}`, { qos: 1 })
      for (const index of [1, 2]) author.publish('t/x', `unacknowledged ${turns} ${index}`, { qos: 0 })
      cores.sendAll(author)
      assert.ok(countFilters(stage) >= filters - 1_000 * (turns + 1))
      core?.handle({ kind: 'tick' })
    }
    assert.ok(turns >= filters / 1_000 - 1, `${turns} turns`)
    cores.settle()
    assert.equal(heir.payloads.length, 3 * turns)
    assert.equal(author.acknowledged.size, turns)
    assert.equal(core?.hasMoreWork, false)
  })

  test('does not remove filters of a shard of the same name that joins in the middle', () => {
    const stage = createLargeStage()
    const { cores, one } = stage
    const name = cores.nameOf(one)
    assert.ok('life' in name)
    cores.kill(one)
    assert.ok(countFilters(stage) > 1_000)
    const again = cores.startLocal(name)
    while (cores.cores[again]?.core.view.isReadyForClients !== true) assert.ok(cores.step())
    const returned = cores.localClient(again, 'returned')
    while (!returned.isConnected) assert.ok(cores.step())
    returned.subscribe('f/0')
    returned.subscribe('f/4999')
    cores.settle()
    const author = cores.client(0, 'second')
    cores.settle()
    for (const topic of ['f/0', 'f/1', 'f/4999']) author.publish(topic, topic, { qos: 1 })
    cores.settle()
    assert.deepEqual(returned.payloads, ['f/0', 'f/4999'])
    assert.equal(countFilters(stage), 2)
    assert.ok(cores.numberIn(0, again) !== undefined)
  })

  test('a stored shard with many clean sessions is the same, and announces them again in the middle', () => {
    const cores = new SeveralCores({ shards: count })
    const reader = cores.client(1, 'reader')
    cores.settle()
    for (let number = 0; number < filters; number++) reader.subscribe(`f/${number}`)
    cores.settle()
    const view = cores.cores[0]?.core.view
    cores.kill(1)
    assert.ok((view?.peerFilters ?? 0) >= filters - 1_000)
    cores.start(1)
    cores.settle()
    cores.connect(reader)
    cores.settle()
    reader.subscribe('f/7')
    cores.settle()
    assert.equal(view?.peerFilters, 1)
  })
})

test('a filter that a restarted shard reports while its earlier filters are removed stays', () => {
  const cores = new SeveralCores({ shards: 2 })
  const reader = cores.client(1, 'reader')
  const author = cores.client(0, 'author')
  cores.settle()
  for (let number = 0; number < 9_000; number++) reader.subscribe(`f/${number}`)
  cores.settle()
  const view = cores.cores[0]?.core.view
  cores.kill(1)
  cores.start(1)
  const exchange = (): void => {
    for (let round = 0; round < 4; round++) for (const from of [0, 1]) cores.deliverAll(from, 1 - from)
  }
  exchange()
  assert.equal(cores.cores[1]?.core.view.isReadyForClients, true)
  cores.connect(reader)
  cores.sendAll(reader)
  while (reader.hasPacketToProcess) reader.processPacket()
  reader.subscribe('f/8999')
  cores.sendAll(reader)
  exchange()
  assert.ok((view?.peerFilters ?? 0) > 1_000, 'the earlier filters are not removed yet')
  cores.settle()
  assert.equal(view?.peerFilters, 1)
  author.publish('f/8999', 'stays', { qos: 1 })
  cores.settle()
  assert.deepEqual(reader.payloads, ['stays'])
})

describe('records', () => {
  test('of deliveries name no local shard, and a message that one has is not assigned again', () => {
    const { cores, one } = createStage()
    const author = cores.client(0, 'author', stored)
    const member = cores.localClient(one, 'member')
    const offline = cores.client(1, 'offline', stored)
    cores.settle()
    for (const filter of ['$share/g/t/x', 't/#']) member.subscribe(filter)
    offline.subscribe('t/#')
    cores.settle()
    cores.holdLink(0, one)
    for (let number = 0; number < 3; number++) author.publish('t/x', `${number}`, { qos: 2 })
    cores.settle()
    const records = cores.recordStore.readAll()
    assert.ok(records.some(({ kind }) => kind === 'incoming'))
    const numbers = listShardNumbers(records)
    assert.ok(numbers.length > 0 && numbers.every((number) => number < count), String(numbers))
    // The shard of the publisher restarts. The publisher sends its messages again.
    cores.kill(0)
    cores.releaseLink(0, one)
    cores.start(0)
    cores.settle()
    cores.connect(author)
    cores.settle()
    assert.equal(author.completed.size, 3)
    assert.deepEqual(new Set(offline.payloads), new Set(['0', '1', '2']))
    assert.equal(offline.payloads.length, 3)
  })

  test('of a handoff name no local shard', () => {
    const { cores, one } = createStage()
    const author = cores.client(0, 'author', stored)
    const leaving = cores.client(1, 'leaving', { ...stored, receiveMaximum: 1 })
    leaving.acknowledges = false
    cores.settle()
    leaving.subscribe('$share/g/t/x')
    cores.settle()
    for (let number = 0; number < 3; number++) author.publish('t/x', `${number}`, { qos: 1 })
    cores.settle()
    const staying = cores.localClient(one, 'staying')
    cores.settle()
    staying.subscribe('$share/g/t/x')
    cores.settle()
    cores.holdLink(1, one)
    leaving.cleanStart = true
    cores.connect(leaving)
    cores.settle()
    const listHandoffs = (): StoredRecord[] => cores.recordStore.readAll().filter(({ kind }) => kind === 'handoff')
    assert.deepEqual(new Set(listShardNumbers(listHandoffs())), new Set([1]))
    cores.releaseLink(1, one)
    cores.settle()
    assert.deepEqual(staying.payloads, ['0', '1', '2'])
    assert.deepEqual(listHandoffs(), [])
  })
})

const seeds = testLength({ daily: 24, long: 300 })

test('whatever shards come and go: stored sessions have all acknowledged messages, QoS 2 once, members share, and no record names a local shard', () => {
  for (let seed = 1; seed <= seeds; seed++) {
    try {
      runScenario(seed)
    } catch (error) {
      throw new Error(`seed ${seed}: ${String(error)}`, { cause: error })
    }
  }
})

interface Scenario {
  readonly cores: SeveralCores
  readonly readers: readonly PacketClient[]
  readonly authors: PacketClient[]
  /** Clients of local shards that have ended: what they published is not sent again. */
  readonly ended: PacketClient[]
}

function runScenario(seed: number): void {
  const cores = new SeveralCores({
    shards: count,
    seed,
    hasLocals: true,
    settings: { awaitReleaseTimeoutMs: 0, retryIntervalMs: 0 },
  })
  const readers = [0, 1, 2].map((shard) => cores.client(shard, `reader${shard}`, stored))
  const scenario: Scenario = { cores, readers, authors: [cores.client(0, 'author', stored)], ended: [] }
  for (let started = 0; started < 2; started++) startLocal(scenario)
  cores.settle()
  for (const reader of readers) reader.subscribe('t/#')
  for (const member of readers.slice(1)) member.subscribe('$share/g/s/#')
  cores.settle()
  live(scenario)
  for (let shard = 0; shard < count; shard++) if (cores.cores[shard] === undefined) cores.start(shard)
  for (let round = 0; round < 3; round++) {
    cores.settle()
    for (const client of [...readers, ...scenario.authors]) if (!client.isConnected) cores.connect(client)
  }
  cores.settle()
  verify(scenario)
}

/** Starts a local shard with an author that is a member of a group as well. */
function startLocal({ cores, authors }: Scenario): void {
  const shard = cores.startLocal()
  const author = cores.localClient(shard, `local${shard}`)
  authors.push(author)
  author.subscribe('$share/g/s/#')
  author.subscribe('t/#')
}

function live(scenario: Scenario): void {
  const { cores, readers, authors, ended } = scenario
  const { random } = cores
  for (let act = 0; act < 150; act++) {
    cores.steps(random.between(0, 25))
    assertRecords(cores)
    const draw = random.fraction()
    const author = random.pick(authors)
    if (draw < 0.6) {
      const qos = random.pick([1, 2] as const)
      const topic = random.pick(['t/x', 's/x'])
      if (author.unfinishedCount < 20) author.publish(topic, `${author.id}:${act}:${topic}:${qos}`, { qos })
    } else if (draw < 0.7) cores.breakConnection(random.pick(readers))
    else if (draw < 0.8) {
      const reader = random.pick(readers)
      if (reader.connection === undefined) cores.connect(reader)
    } else if (draw < 0.86) {
      const [local] = cores.runningLocals
      if (local === undefined) continue
      cores.kill(local)
      for (const client of authors.splice(0))
        (client.connection === undefined && client.traits.expirySeconds === 0 ? ended : authors).push(client)
    } else if (draw < 0.93) startLocal(scenario)
    else if (draw < 0.96) cores.kill(random.between(0, 2))
    else {
      for (let shard = 0; shard < count; shard++) if (cores.cores[shard] === undefined) cores.start(shard)
      for (const client of authors) if (client.connection === undefined) cores.connect(client)
    }
  }
}

function assertRecords({ recordStore }: SeveralCores): void {
  const numbers = listShardNumbers(recordStore.readAll())
  assert.ok(
    numbers.every((number) => number < count),
    `a record names shard ${Math.max(...numbers)}`,
  )
}

function verify({ cores, readers, authors, ended }: Scenario): void {
  const everyone = [...authors, ...ended]
  const acknowledged = everyone.flatMap((client) => [...client.acknowledged]).filter(([, reason]) => reason < 0x80)
  const received = [...readers, ...everyone].flatMap((client) => client.payloads)
  for (const [payload] of acknowledged) {
    if (payload.includes(':t/x:'))
      for (const reader of readers) assert.ok(reader.payloads.includes(payload), `${reader.id} misses ${payload}`)
    // What a local shard had received is lost with its clean sessions.
    else if (ended.length === 0) assert.ok(received.includes(payload), `no member has ${payload}`)
  }
  for (const client of [...readers, ...everyone])
    for (const payload of client.payloads)
      if (payload.endsWith(':2'))
        assert.equal(client.payloads.filter((one) => one === payload).length, 1, `${client.id} has ${payload} twice`)
  for (const client of authors) assert.equal(client.unfinishedCount, 0, `${client.id} has unacknowledged messages`)
  for (const core of cores.cores) assert.equal(core?.hasMoreWork ?? false, false)
  for (const local of cores.runningLocals) assert.equal(cores.cores[local]?.hasWritten, false)
}
