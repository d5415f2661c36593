// The number of different filters is known without a request: one of the shards that have a filter counts it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { removeFilterPrefix, type TopicFilter } from '../../../src/protocol/index.ts'
import type { PacketClient } from './packet-client.ts'
import { SeveralCores } from './several-cores.ts'

const filters = [
  'a/b',
  'a/+',
  '#',
  '$share/crew/a/b',
  '$share/crew/a/+',
  '$share/team/x/#',
  '$exclusive/door',
] as TopicFilter[]

function counted({ cores }: SeveralCores): number {
  return cores.reduce((sum, core) => sum + (core?.core.view.filters ?? 0), 0)
}

test('a filter of sessions on several shards is counted once, while sessions begin and end', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const cores = new SeveralCores({ seed, settings: { exclusiveSubscriptionAvailable: true } })
    const clients = [0, 1, 2, 0, 1, 2].map((shard, number) =>
      cores.client(shard, `c${number}-`, { expirySeconds: number < 3 ? 3_600 : 0 }),
    )
    cores.settle()
    const held = new Map<PacketClient, Set<TopicFilter>>(clients.map((client) => [client, new Set()]))
    const distinct = (): number => new Set([...held.values()].flatMap((some) => [...some].map(removeFilterPrefix))).size
    for (let change = 0; change < 30; change++) {
      const client = cores.random.pick(clients)
      const filter = cores.random.pick(filters)
      const isGoing = held.get(client)?.has(filter) === true
      if (isGoing) client.unsubscribe(filter)
      else client.subscribe(filter)
      cores.settle()
      if (isGoing) held.get(client)?.delete(filter)
      else if ((client.grantedQoS.get(filter) ?? 0x80) < 0x80) held.get(client)?.add(filter)
      assert.equal(counted(cores), distinct(), `seed ${seed}, change ${change}`)
    }
    cores.kill(1)
    cores.start(1)
    cores.settle()
    for (const client of clients)
      if (cores.shardOf(client) === 1 && client.traits.expirySeconds === 0) held.delete(client)
    assert.equal(counted(cores), distinct(), `seed ${seed}, after a shard failed`)
  }
})
