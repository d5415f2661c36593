// Shards exchange the filters of their clients, for a bridge on one of them.

import assert from 'node:assert/strict'
import { describe, mock, test, type TestContext } from 'node:test'
import { ClientFilters } from '../../src/core/state/client-filters.ts'
import type { QoS, TopicFilter } from '../../src/protocol/index.ts'
import { FilterSync } from '../../src/shard/bridges/filter-sync.ts'
import type { FilterNotice } from '../../src/shard/messages/messages.ts'

const nobody = { places: 0, at: () => undefined }

/** A shard without clients, to which a test adds filters. */
class SyncedShard {
  readonly sync: FilterSync
  readonly core: { clientFilters: ClientFilters | undefined } = { clientFilters: undefined }
  /** The filters of a bridge on this shard. */
  readonly wanted = new Map<TopicFilter, QoS>()
  isComplete = false
  unreported = 0

  constructor(own: number, shards: number, deliver: (from: number, notice: FilterNotice) => void) {
    this.sync = new FilterSync({
      core: this.core,
      own,
      shards,
      setCounting: (areWanted) => {
        this.core.clientFilters = areWanted ? new ClientFilters(3) : undefined
        this.core.clientFilters?.walk(nobody)
      },
      sendToPeers: (notice) => deliver(own, notice),
      updateBridges: ({ changes, isComplete, unreported }) => {
        Object.assign(this, { isComplete, unreported })
        for (const [filter, qos] of changes) {
          if (qos === undefined) this.wanted.delete(filter)
          else this.wanted.set(filter, qos)
        }
      },
      runGuarded: (work) => work(),
    })
  }

  subscribe(filter: string, qos: QoS | undefined, before?: QoS): void {
    const session = { clientId: 'c', place: 0 }
    this.core.clientFilters?.recordChange(session, filter as TopicFilter, {
      before: optionsOf(before),
      after: optionsOf(qos),
    })
  }
}

function optionsOf(qos: QoS | undefined): Parameters<ClientFilters['recordChange']>[2]['after'] {
  if (qos === undefined) return undefined
  return { qos, noLocal: false, retainAsPublished: false, retainHandling: 0, raisesTo: 0, identifier: undefined }
}

/** Linked shards that deliver notices at once; they check for changes when time passes. */
function linkShards(t: TestContext, count: number): { shards: SyncedShard[]; replace: (own: number) => SyncedShard } {
  mock.timers.enable({ apis: ['setInterval'] })
  t.after(() => mock.timers.reset())
  const deliver = (from: number, notice: FilterNotice): void => {
    for (const [own, shard] of shards.entries()) if (own !== from) shard.sync.receive(from, structuredClone(notice))
  }
  const shards: SyncedShard[] = []
  const replace = (own: number): SyncedShard => (shards[own] = new SyncedShard(own, count, deliver))
  for (let own = 0; own < count; own++) replace(own)
  return { shards, replace }
}

const pass = (): void => mock.timers.tick(100)

describe('the filters of all clients', () => {
  test('arrive from all shards at the one with the bridge, with the highest QoS', (t) => {
    const [bridge, other, third] = linkShards(t, 3).shards
    assert.ok(bridge !== undefined && other !== undefined && third !== undefined)
    bridge.sync.set(true, true)
    other.sync.set(true, false)
    pass()
    assert.equal(bridge.isComplete, false, 'the third shard has sent nothing')
    third.sync.set(true, false)
    pass()
    assert.equal(bridge.isComplete, true)
    bridge.subscribe('a', 0)
    other.subscribe('a', 2)
    third.subscribe('b', 1)
    pass()
    assert.deepEqual(
      [...bridge.wanted],
      [
        ['a', 2],
        ['b', 1],
      ],
    )
    other.subscribe('a', undefined, 2)
    pass()
    assert.deepEqual(
      [...bridge.wanted],
      [
        ['a', 0],
        ['b', 1],
      ],
    )
    assert.equal(other.wanted.size, 0, 'no bridge on this shard')
  })

  test('stay while a shard is unavailable, and are replaced by its own list after its restart', (t) => {
    const { shards, replace } = linkShards(t, 2)
    const [bridge, other] = shards
    assert.ok(bridge !== undefined && other !== undefined)
    bridge.sync.set(true, true)
    other.sync.set(true, false)
    other.subscribe('a', 1)
    other.subscribe('b', 1)
    pass()
    other.sync.stop()
    const again = replace(1)
    pass()
    assert.deepEqual([...bridge.wanted.keys()], ['a', 'b'])
    again.sync.set(true, false)
    again.subscribe('b', 2)
    pass()
    assert.deepEqual([...bridge.wanted], [['b', 2]])
  })

  test('are requested by a shard with a new bridge, and sent without the filters above the limit', (t) => {
    const { shards, replace } = linkShards(t, 2)
    const [first, other] = shards
    assert.ok(first !== undefined && other !== undefined)
    for (const shard of shards) shard.sync.set(true, false)
    for (const filter of ['a', 'b', 'c', 'd']) other.subscribe(filter, 1)
    pass()
    first.sync.stop()
    const again = replace(0)
    again.sync.set(true, true)
    pass()
    assert.deepEqual([...again.wanted.keys()], ['a', 'b', 'c'])
    assert.deepEqual([again.isComplete, again.unreported], [true, 1])
    const { changes } = again.sync.clientSubscriptions
    assert.deepEqual(
      changes.map(([filter]) => filter),
      ['a', 'b', 'c'],
    )
    for (const shard of shards) shard.sync.set(false, false)
    assert.equal(other.core.clientFilters, undefined, 'the watch ended')
  })

  test('are not complete before a shard has sent all of them', (t) => {
    const [bridge] = linkShards(t, 2).shards
    assert.ok(bridge !== undefined)
    bridge.sync.set(true, true)
    pass()
    bridge.sync.receive(1, { what: 'report', isAll: false, changes: [['a' as TopicFilter, 1]], unreported: 0 })
    bridge.subscribe('b', 1)
    pass()
    assert.deepEqual([[...bridge.wanted.keys()], bridge.isComplete], [['b'], false])
    bridge.sync.receive(1, { what: 'report', isAll: true, changes: [['a' as TopicFilter, 1]], unreported: 0 })
    assert.deepEqual([[...bridge.wanted.keys()], bridge.isComplete], [['b', 'a'], true])
  })
})
