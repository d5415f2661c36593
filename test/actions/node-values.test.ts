// Values of `kv_store_*` on several shards: the last change that the main thread gets applies to all.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { StoredValueChange } from '../../src/actions/plan/rule-plan.ts'
import { NodeValues } from '../../src/actions/rules/node-values.ts'

class MainThread {
  readonly shards: NodeValues[]
  readonly waiting: (readonly [from: number, changes: readonly StoredValueChange[]])[] = []

  constructor(count: number) {
    this.shards = Array.from(
      { length: count },
      (_, own) => new NodeValues((changes) => void this.waiting.push([own, changes])),
    )
  }

  /** Sends all changes to all shards. */
  deliver(): void {
    for (const [from, changes] of this.waiting.splice(0))
      for (const [number, shard] of this.shards.entries()) shard.apply(changes, number === from)
  }
}

test('a change applies at once on its shard, and on the others when the main thread sends it', async () => {
  const main = new MainThread(2)
  const [one, other] = main.shards
  one?.set('k', { a: [1, 9_007_199_254_740_993n] })
  one?.set('k', 2)
  one?.set('gone', 1)
  one?.delete('gone')
  assert.equal(one?.get('k'), 2)
  assert.equal(other?.get('k'), undefined)
  await setImmediate()
  assert.equal(main.waiting.length, 1, 'all changes of a turn are one message')
  main.deliver()
  assert.equal(other?.get('k'), 2)
  assert.equal(other.get('gone'), undefined)
})

test('of two simultaneous changes, the same one applies on every shard', async () => {
  const main = new MainThread(3)
  main.shards[0]?.set('k', 'zero')
  main.shards[1]?.set('k', 'one')
  await setImmediate()
  main.deliver()
  assert.deepEqual(
    main.shards.map((shard) => shard.get('k')),
    ['one', 'one', 'one'],
  )
})

test('a pending change of a shard is not replaced by an older one', async () => {
  const main = new MainThread(2)
  main.shards[0]?.set('k', 'old')
  await setImmediate()
  main.shards[1]?.set('k', 'new')
  main.deliver()
  assert.equal(main.shards[1]?.get('k'), 'new')
  await setImmediate()
  main.deliver()
  assert.deepEqual(
    main.shards.map((shard) => shard.get('k')),
    ['new', 'new'],
  )
})
