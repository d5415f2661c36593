import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ConnectionLimit,
  createDescriptorCounter,
  createSharedSlots,
  freeSharedSlots,
  setFreeDescriptors,
  countUsedSlots,
} from '../../src/transports/index.ts'

test('threads that share slots use at most their number, whichever thread takes them', () => {
  const cells = createSharedSlots(3)
  const budgets = [0, 1, 2].map((own) => new ConnectionLimit(4, { places: { cells, own } }))
  const taken = budgets.flatMap((budget) => [budget.acquire(), budget.acquire()])
  assert.deepEqual(taken, [undefined, undefined, undefined, undefined, 'broker-full', 'broker-full'])
  assert.equal(budgets[2].reasonToRefuse, 'broker-full')
  budgets[0].release()
  assert.equal(budgets[2].acquire(), undefined)
  assert.equal(budgets[0].reasonToRefuse, 'broker-full')
})

test('the slots of a failed thread are free again, and those of others stay', () => {
  const cells = createSharedSlots(2)
  const [one, two] = [0, 1].map((own) => new ConnectionLimit(3, { places: { cells, own } }))
  for (const budget of [one, one, two]) assert.equal(budget.acquire(), undefined)
  freeSharedSlots({ cells, own: 0 })
  freeSharedSlots({ cells, own: 0 })
  assert.deepEqual([two.acquire(), two.acquire(), two.acquire()], [undefined, undefined, 'broker-full'])
})

test('a slot of a listener also takes one of the node, and both are freed', () => {
  const node = new ConnectionLimit(2)
  const listener = new ConnectionLimit(1, { parent: node, refusal: 'listener-full' })
  const other = new ConnectionLimit(5, { parent: node, refusal: 'listener-full' })
  assert.equal(listener.acquire(), undefined)
  assert.equal(listener.acquire(), 'listener-full')
  assert.equal(other.acquire(), undefined)
  assert.equal(other.acquire(), 'broker-full')
  assert.deepEqual([node.used, listener.used, other.used], [2, 1, 1])
  other.release()
  listener.release()
  assert.deepEqual([node.used, listener.used, other.used], [0, 0, 0])
  assert.equal(other.acquire(), undefined)
})

test('a slot is not taken at the listener if the node has none', () => {
  const cells = createSharedSlots(2)
  const node = new ConnectionLimit(1)
  const listener = new ConnectionLimit(5, { places: { cells, own: 1 }, parent: node, refusal: 'listener-full' })
  assert.deepEqual(
    [listener.acquire(), listener.acquire(), listener.acquire()],
    [undefined, 'broker-full', 'broker-full'],
  )
  assert.deepEqual([countUsedSlots(cells), listener.used, node.used], [1, 1, 1])
})

test('no client is accepted without a free descriptor, whatever uses it, and one is accepted when one is free', () => {
  const freeDescriptors = createDescriptorCounter()
  const [one, two] = [0, 1].map(() => new ConnectionLimit(5, { freeDescriptors }))
  const listener = new ConnectionLimit(5, { parent: two, refusal: 'listener-full' })
  assert.deepEqual([one.acquire(), listener.acquire()], [undefined, undefined], 'no client is counted yet')
  setFreeDescriptors(freeDescriptors, 1)
  assert.equal(listener.acquire(), undefined)
  assert.deepEqual(
    [one.reasonToRefuse, listener.reasonToRefuse, one.acquire(), listener.acquire()],
    Array(4).fill('broker-full'),
  )
  assert.deepEqual([one.used, two.used, listener.used], [1, 2, 2], 'accepted clients stay')
  listener.release()
  assert.deepEqual([listener.acquire(), one.acquire()], [undefined, 'broker-full'])
  setFreeDescriptors(freeDescriptors, -3)
  assert.equal(one.isOutOfDescriptors, true)
  setFreeDescriptors(freeDescriptors, Infinity)
  assert.equal(one.acquire(), undefined)
})
