// Scenarios from seeds: shards fail, alone and all at once, connections break, links are slow; at the end, every subscriber has all its
// messages, and none has a QoS 2 message twice.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CommandResult } from '../../../src/core/index.ts'
import type { PacketClient } from './packet-client.ts'
import { SeveralCores } from './several-cores.ts'
import { testLength } from '../../test-length.ts'

const stored = { expirySeconds: 36_000 } as const
const seeds = testLength({ daily: 24, long: 200 })

interface Scenario {
  readonly cores: SeveralCores
  readonly readers: PacketClient[]
  readonly authors: PacketClient[]
  /** Results of the publish commands of administrators, by payload. */
  readonly results: Map<string, () => CommandResult | undefined>
}

function startScenario(seed: number): Scenario {
  const cores = new SeveralCores({ seed, settings: { awaitReleaseTimeoutMs: 0, retryIntervalMs: 0 } })
  const shards = [0, 1, 2]
  const readers = shards.flatMap((shard) => [
    cores.client(shard, `r${shard}`, stored),
    cores.client(shard, `s${shard}`, stored),
  ])
  const authors = shards.map((shard) => cores.client(shard, `author${shard}`, stored))
  cores.settle()
  for (const reader of readers) reader.subscribe(reader.id.startsWith('r') ? '#' : 't/+')
  cores.settle()
  assert.ok(readers.every(({ grantedQoS: subscribed }) => subscribed.size === 1))
  return { cores, readers, authors, results: new Map() }
}

/** Restarts all shards, reconnects all clients, and runs until idle. */
function restoreAll({ cores, readers, authors }: Scenario): void {
  for (let shard = 0; shard < cores.count; shard++) {
    for (let other = 0; other < cores.count; other++) if (other !== shard) cores.releaseLink(shard, other)
    if (cores.cores[shard] === undefined) cores.start(shard)
  }
  for (let round = 0; round < 3; round++) {
    cores.settle()
    for (const client of [...readers, ...authors]) if (!client.isConnected) cores.connect(client)
  }
  cores.settle()
  for (const client of [...readers, ...authors]) assert.ok(client.isConnected, `${client.id} is not connected`)
}

function live(what: Scenario, deaths: { single: number; all: number }): void {
  const { cores, readers, authors } = what
  const { random } = cores
  const counts = authors.map(() => 0)
  for (let act = 0; act < 120; act++) {
    cores.steps(random.between(0, 25))
    const draw = random.fraction()
    const client = random.pick([...readers, ...authors])
    if (draw < 0.05) publishAsAdministrator(what, random.between(0, 2))
    else if (draw < 0.6) {
      const author = random.between(0, authors.length - 1)
      const qos = random.pick([1, 2] as const)
      if (authors[author].unfinishedCount < 20)
        authors[author].publish('t/x', `${author}:${++counts[author]}:${qos}`, { qos })
    } else if (draw < 0.7) cores.breakConnection(client)
    else if (draw < 0.85) {
      if (client.connection === undefined || !client.isConnected) cores.connect(client)
    } else if (draw < 0.9) {
      const from = random.between(0, 2)
      cores.holdLink(from, (from + random.between(1, 2)) % 3)
    } else if (draw < 0.9 + deaths.single) cores.kill(random.between(0, 2))
    else if (draw < 0.9 + deaths.single + deaths.all) {
      cores.killAll()
      cores.startAll()
    } else {
      for (let shard = 0; shard < cores.count; shard++) if (cores.cores[shard] === undefined) cores.start(shard)
      for (const from of [0, 1, 2]) for (const to of [0, 1, 2]) if (from !== to) cores.releaseLink(from, to)
    }
  }
}

/** Publishes with QoS 2 for an administrator, on a shard that may be unavailable. */
function publishAsAdministrator({ cores, results }: Scenario, shard: number): void {
  const payload = `administrator:${results.size + 1}:2`
  results.set(
    payload,
    cores.command(shard, {
      name: 'publish',
      clientId: 'administrator',
      topic: 't/x',
      payload: Buffer.from(payload),
      qos: 2,
      retain: false,
      properties: undefined,
    }),
  )
}

function verify({ readers, authors, results }: Scenario): void {
  for (const reader of readers) {
    const times = new Map<string, number>()
    for (const payload of reader.payloads) times.set(payload, (times.get(payload) ?? 0) + 1)
    for (const author of authors) {
      for (const [payload, reason] of author.acknowledged) {
        if (reason < 0x80) assert.ok(times.has(payload), `${reader.id} misses ${payload}`)
      }
      assert.equal(author.unfinishedCount, 0, `${author.id} has unacknowledged messages`)
    }
    for (const [payload, result] of results)
      if (result()?.done === true) assert.ok(times.has(payload), `${reader.id} misses ${payload}`)
    for (const [payload, count] of times)
      if (payload.endsWith(':2')) assert.equal(count, 1, `${reader.id} received ${payload} twice`)
    for (const qos of ['1', '2']) for (const author of authors.keys()) assertInOrder(reader, `${author}:`, qos)
  }
}

/** Checks the first arrival of each message. */
function assertInOrder(reader: PacketClient, author: string, qos: string): void {
  const numbers = [...new Set(reader.payloads)]
    .filter((payload) => payload.startsWith(author) && payload.endsWith(`:${qos}`))
    .map((payload) => Number(payload.split(':')[1]))
  for (let at = 1; at < numbers.length; at++)
    assert.ok(
      numbers[at - 1] < numbers[at],
      `${reader.id} received ${numbers[at - 1]} of ${author}${qos} before ${numbers[at]}`,
    )
}

describe('persistent sessions on all shards receive all acknowledged messages, and QoS 2 once, whatever fails', () => {
  const scenarios = [
    { name: 'no shard fails', single: 0, all: 0 },
    { name: 'shards die and come back', single: 0.05, all: 0 },
    { name: 'the whole node dies', single: 0, all: 0.03 },
    { name: 'shards die, and the whole node', single: 0.04, all: 0.02 },
  ]
  for (const scenario of scenarios) {
    test(`while ${scenario.name}`, () => {
      for (let seed = 1; seed <= seeds; seed++) {
        try {
          const what = startScenario(seed)
          live(what, scenario)
          restoreAll(what)
          verify(what)
        } catch (error) {
          throw new Error(`seed ${seed}: ${String(error)}`, { cause: error })
        }
      }
    })
  }
})
