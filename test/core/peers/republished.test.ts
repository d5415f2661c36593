// A rule republishes messages. The process is killed at any step and starts again, with three shards or another number. What a rule made of an
// acknowledged message reaches every subscriber, one member of each group and the retained topic; at QoS 2 once, if the message had QoS 2.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MatchedRule, RuleHook } from '../../../src/core/index.ts'
import type { QoS, TopicFilter } from '../../../src/protocol/index.ts'
import type { CoreRules } from './driven-core.ts'
import type { PacketClient } from './packet-client.ts'
import { SeveralCores } from './several-cores.ts'
import { testLength } from '../../test-length.ts'

const stored = { expirySeconds: 36_000 } as const
const seeds = testLength({ daily: 20, long: 600 })
const qualities = [0, 1, 2] as const
const group = '$share/g/out/#'

/** What the rule makes of `payload`: several messages, as FOREACH does, one of them retained, and one that another rule republishes. */
interface Result {
  readonly topic: string
  readonly payload: string
  readonly qos: QoS
  readonly retain: boolean
}

function resultsOf(topic: string, payload: string): Result[] {
  if (topic.startsWith('chain'))
    return qualities.map((qos) => ({ ...plain, topic: 'out/chained', payload: `${payload}~${qos}`, qos }))
  return [
    ...qualities.map((qos) => ({ ...plain, topic: `out/${qos}`, payload: `${payload}>${qos}`, qos })),
    { topic: `out/kept/${payload}`, payload: `${payload}=1`, qos: 1, retain: true },
    { topic: `out/kept/${payload}/twice`, payload: `${payload}=2`, qos: 2, retain: true },
    { ...plain, topic: 'chain', payload, qos: 2 },
    { ...plain, topic: '$delayed/1/out/delayed', payload: `${payload}+2`, qos: 2 },
  ]
}

const plain = { retain: false } as const

/** All results of one message of a client, of QoS 1 and 2. */
function expectedFrom(payload: string): string[] {
  const all = [...resultsOf('in', payload), ...resultsOf('chain', payload)]
  return all.filter(({ qos, topic }) => qos > 0 && topic !== 'chain').map((result) => result.payload)
}

function republish(): CoreRules {
  const rule: MatchedRule = { id: 'republish', actionQueues: [] }
  const hook: RuleHook = {
    run: (_, message, actions) => {
      for (const { payload, ...result } of resultsOf(message.topic.name, message.readPayload().toString())) {
        const failure = actions.publish({ ...result, payload: Buffer.from(payload), properties: undefined })
        assert.equal(failure, undefined)
      }
      return 0
    },
    runTriggers: () => assert.fail('no events are recorded'),
    recordLost: () => assert.fail('no events are recorded'),
  }
  return { hook, rule, filters: ['in/#', 'chain'] as TopicFilter[] }
}

interface Scenario {
  readonly cores: SeveralCores
  readonly readers: PacketClient[]
  readonly members: PacketClient[]
  readonly authors: PacketClient[]
  readonly dying: PacketClient
}

function startScenario(seed: number, shards: number): Scenario {
  const settings = { awaitReleaseTimeoutMs: 0, retryIntervalMs: 0 }
  const cores = new SeveralCores({ seed, shards, settings, rules: republish() })
  const named = (name: string, traits = {}): PacketClient =>
    cores.client(cores.shardOfId(name), name, { ...stored, ...traits })
  const readers = Array.from({ length: 4 }, (_, number) => named(`reader-${number}`))
  const members = Array.from({ length: 3 }, (_, number) => named(`member-${number}`))
  const authors = Array.from({ length: 3 }, (_, number) => named(`author-${number}`))
  const will = { topic: 'in/will', payload: 'will:1', qos: 1, retain: false } as const
  const dying = named('dying', { expirySeconds: 0, will })
  cores.settle()
  for (const reader of readers) reader.subscribe('out/#')
  for (const member of members) member.subscribe(group)
  cores.settle()
  return { cores, readers, members, authors, dying }
}

function live({ cores, authors, dying }: Scenario): void {
  const { random } = cores
  for (let count = random.between(1, 5); count > 0; count--) {
    const qos = random.pick([1, 2, 2] as const)
    const delay = random.chance(0.3) ? '$delayed/1/' : ''
    random.pick(authors).publish(`${delay}in/a`, `${delay === '' ? 'm' : 'd'}${count}:${qos}`, { qos })
    if (random.chance(0.2)) cores.breakConnection(dying)
    if (random.chance(0.2)) cores.advance(1_000)
    if (random.chance(0.3)) {
      const from = random.between(0, cores.count - 1)
      if (cores.count > 1) cores.holdLink(from, (from + random.between(1, cores.count - 1)) % cores.count)
    }
    cores.steps(random.between(0, 30))
  }
}

function settleAll({ cores, readers, members, authors }: Scenario): void {
  for (let from = 0; from < cores.count; from++)
    for (let to = 0; to < cores.count; to++) if (from !== to) cores.releaseLink(from, to)
  for (let round = 0; round < 4; round++) {
    cores.settle()
    cores.passMs(1_000)
    for (const client of [...readers, ...members, ...authors]) if (!client.isConnected) cores.connect(client)
  }
  cores.settle()
}

function verify({ cores, readers, members, authors }: Scenario): void {
  for (const { id, unfinishedCount } of authors) assert.equal(unfinishedCount, 0, `${id} waits for acknowledgements`)
  const acknowledged = [...authors.flatMap((author) => [...author.acknowledged.keys()]), 'will:1']
  const receivers = [
    ...readers.map(({ id, payloads }) => [id, payloads] as const),
    [group, members.flatMap(({ payloads }) => payloads)] as const,
  ]
  for (const [receiver, payloads] of receivers) {
    for (const result of acknowledged.flatMap(expectedFrom))
      assert.ok(payloads.includes(result), `${receiver} misses ${result}`)
    const exact = payloads.filter((payload) => /^[md]\d+:2.2$/.test(payload))
    const repeated = exact.filter((payload, index) => exact.indexOf(payload) !== index)
    assert.deepEqual(repeated, [], `${receiver} has messages twice`)
  }
  const probe = cores.client(0, 'probe')
  cores.settle()
  probe.subscribe('out/kept/#')
  cores.settle()
  for (const payload of acknowledged)
    for (const kept of [`${payload}=1`, `${payload}=2`])
      assert.ok(probe.payloads.includes(kept), `${kept} is not retained`)
}

function runAll(before: number, after: number): void {
  for (let seed = 1; seed <= seeds; seed++) {
    try {
      const scenario = startScenario(seed, before)
      const { cores } = scenario
      live(scenario)
      cores.breakConnection(scenario.dying)
      cores.steps(cores.random.between(0, 40))
      // The process, or one of its shards.
      if (before !== after || cores.random.chance(0.7)) cores.restartWith(after)
      else {
        const shard = cores.random.between(0, before - 1)
        cores.kill(shard)
        cores.steps(cores.random.between(0, 40))
        cores.start(shard)
      }
      settleAll(scenario)
      verify(scenario)
    } catch (error) {
      throw new Error(`seed ${seed}: ${String(error)}`, { cause: error })
    }
  }
}

for (const before of [1, 2, 3])
  for (const after of [1, 2, 3])
    test(`after a kill, from ${before} to ${after} shards, no result of an acknowledged message is lost`, () => {
      runAll(before, after)
    })
