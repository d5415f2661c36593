// The whole node is killed under load and starts with another number of shards, once or twice. Each acknowledged message reaches every
// subscriber and one member of each group, whichever shard each of them had before. QoS 2 messages of clients arrive once.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { PacketClient } from './packet-client.ts'
import { SeveralCores } from './several-cores.ts'
import { testLength } from '../../test-length.ts'

const stored = { expirySeconds: 36_000 } as const
const seeds = testLength({ daily: 6, long: 300 })
const readerCount = 6
const groups = ['$share/g/t/+', '$share/h/t/+'] as const

interface Scenario {
  readonly cores: SeveralCores
  /** Each has all topics below `t`. */
  readonly readers: PacketClient[]
  /** The members of each group. */
  readonly members: PacketClient[][]
  readonly authors: PacketClient[]
  /** Their wills are published when they are disconnected. */
  readonly dying: PacketClient[]
  readonly wills: string[]
  /** The last retained message of each author, by topic. */
  readonly retained: Map<string, string[]>
  published: number
}

function startScenario(seed: number, shards: number): Scenario {
  const cores = new SeveralCores({ seed, shards, settings: { awaitReleaseTimeoutMs: 0, retryIntervalMs: 0 } })
  const named = (name: string, traits = {}): PacketClient => cores.client(cores.shardOfId(name), name, traits)
  const readers = Array.from({ length: readerCount }, (_, number) => named(`reader-${number}`, stored))
  const members = groups.map((_, group) =>
    Array.from({ length: 3 }, (__, number) => named(`member-${group}-${number}`, stored)),
  )
  const authors = Array.from({ length: 3 }, (_, number) => named(`author-${number}`, stored))
  const dying = Array.from({ length: 3 }, (_, number) => {
    const will = { topic: 't/will', payload: `will:${number}:1`, qos: 1, retain: false } as const
    return named(`dying-${number}`, { will })
  })
  cores.settle()
  for (const reader of readers) reader.subscribe('t/+')
  for (const [group, filter] of groups.entries()) for (const member of members[group]) member.subscribe(filter)
  cores.settle()
  const wills = dying.map((_, number) => `will:${number}:1`)
  return { cores, readers, members, authors, dying, wills, retained: new Map(), published: 0 }
}

function publishOne(scenario: Scenario): void {
  const { cores, authors, retained } = scenario
  const { random } = cores
  const number = random.between(0, authors.length - 1)
  const author = authors[number]
  if (author.unfinishedCount >= 12) return
  const kind = random.pick(['plain', 'plain', 'retained', 'delayed'])
  const qos = random.pick([1, 2, 2] as const)
  const payload = `${kind}:${++scenario.published}:${qos}`
  const topic = `t/${kind}-${number}`
  author.publish(kind === 'delayed' ? `$delayed/1/${topic}` : topic, payload, { qos, retain: kind === 'retained' })
  if (kind === 'retained') retained.set(topic, [...(retained.get(topic) ?? []), payload])
}

function everyone({ readers, members, authors }: Scenario): PacketClient[] {
  return [...readers, ...members.flat(), ...authors]
}

function live(scenario: Scenario, acts: number): void {
  const { cores, dying } = scenario
  const { random } = cores
  for (let act = 0; act < acts; act++) {
    cores.steps(random.between(0, 20))
    const draw = random.fraction()
    const client = random.pick(everyone(scenario))
    if (draw < 0.75) publishOne(scenario)
    else if (draw < 0.8) cores.breakConnection(client)
    else if (draw < 0.88) {
      if (!client.isConnected) cores.connect(client)
    } else if (draw < 0.92 && cores.count > 1) {
      const from = random.between(0, cores.count - 1)
      cores.holdLink(from, (from + random.between(1, cores.count - 1)) % cores.count)
    } else if (draw < 0.95) cores.advance(500)
    else if (draw < 0.97) cores.breakConnection(random.pick(dying))
  }
  cores.steps(random.between(0, 60))
}

function settleAll(scenario: Scenario): void {
  const { cores } = scenario
  for (let from = 0; from < cores.count; from++)
    for (let to = 0; to < cores.count; to++) if (from !== to) cores.releaseLink(from, to)
  for (let round = 0; round < 4; round++) {
    cores.settle()
    cores.passMs(1_000)
    for (const client of everyone(scenario)) if (!client.isConnected) cores.connect(client)
  }
  cores.settle()
}

function countEach(payloads: readonly string[]): Map<string, number> {
  const times = new Map<string, number>()
  for (const payload of payloads) times.set(payload, (times.get(payload) ?? 0) + 1)
  return times
}

function verify(scenario: Scenario, mayRepeat: boolean): void {
  const { readers, members, authors, wills } = scenario
  const acknowledged = authors.flatMap((author) => [...author.acknowledged.keys()])
  for (const { id, unfinishedCount } of authors) assert.equal(unfinishedCount, 0, `${id} waits for acknowledgements`)
  const receivers = [
    ...readers.map(({ id, payloads }) => [id, payloads] as const),
    ...members.map((group, number) => [groups[number], group.flatMap(({ payloads }) => payloads)] as const),
  ]
  for (const [receiver, payloads] of receivers) {
    const times = countEach(payloads)
    for (const payload of [...acknowledged, ...wills]) assert.ok(times.has(payload), `${receiver} misses ${payload}`)
    for (const [payload, count] of mayRepeat ? [] : times)
      // With several shards a delayed message can be repeated for a group: see the limitations.
      if (payload.endsWith(':2') && (!payload.startsWith('delayed') || !receiver.startsWith('$share')))
        assert.equal(count, 1, `${receiver} received ${payload} ${count} times`)
  }
  verifyRetained(scenario)
}

/** The retained message of a topic with one publisher is its last one of each QoS: both orders are possible between them. */
function verifyRetained({ cores, retained }: Scenario): void {
  const probe = cores.client(0, 'probe')
  cores.settle()
  probe.subscribe('t/#')
  cores.settle()
  for (const [topic, payloads] of retained) {
    const found = probe.received.find((message) => message.topic === topic)?.payload
    const last = ['1', '2'].map((qos) => payloads.findLast((payload) => payload.endsWith(`:${qos}`)))
    assert.ok(found !== undefined && last.includes(found), `${topic} has ${found} instead of ${payloads.at(-1)}`)
  }
}

type Restart = Parameters<SeveralCores['restartWith']>[1]

function run(seed: number, [before, after, last]: readonly [number, number, number], how: Restart = {}): void {
  const scenario = startScenario(seed, before)
  const { cores } = scenario
  const { random } = cores
  live(scenario, random.between(5, 30))
  cores.restartWith(after, how)
  if (random.chance(0.5)) {
    // A second failure, before or while clients return.
    cores.settle()
    for (const client of everyone(scenario)) if (random.chance(0.7)) cores.connect(client)
    live(scenario, random.between(0, 6))
    cores.restartWith(random.chance(0.5) ? after : last, how)
  }
  settleAll(scenario)
  for (let count = 0; count < 5; count++) publishOne(scenario)
  settleAll(scenario)
  verify(scenario, how.from === 0)
}

describe('after a kill and a start with another number of shards nothing acknowledged is lost, and QoS 2 arrives once', () => {
  for (const before of [1, 2, 3])
    for (const after of [1, 2, 3]) test(`from ${before} to ${after} shards`, () => runAll(before, after))

  test('if the node fails again while it translates the records', () => {
    for (const after of [1, 2]) runAll(3, after, { isInterrupted: true })
  })
})

test('if the former number of shards is not known, nothing acknowledged is lost, and messages may be repeated', () => {
  for (const after of [1, 2]) runAll(3, after, { from: 0 })
})

function runAll(before: number, after: number, how: Restart = {}): void {
  for (let seed = 1; seed <= seeds; seed++) {
    try {
      run(seed, [before, after, (after % 3) + 1], how)
    } catch (error) {
      throw new Error(`seed ${seed}: ${String(error)}`, { cause: error })
    }
  }
}
