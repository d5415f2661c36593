import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ConnectionBudget,
  createDescriptorRoom,
  createSharedPlaces,
  freeSharedPlaces,
  setDescriptorRoom,
  takenPlaces,
} from '../../src/transports/index.ts'

test('threads that share a budget take no more places than it has, whoever takes them', () => {
  const cells = createSharedPlaces(3)
  const budgets = [0, 1, 2].map((own) => new ConnectionBudget(4, { places: { cells, own } }))
  const taken = budgets.flatMap((budget) => [budget.take(), budget.take()])
  assert.deepEqual(taken, [undefined, undefined, undefined, undefined, 'no-room', 'no-room'])
  assert.equal(budgets[2].lack, 'no-room')
  budgets[0].giveBack()
  assert.equal(budgets[2].take(), undefined)
  assert.equal(budgets[0].lack, 'no-room')
})

test('what a thread had that died is free again, and nothing of the others', () => {
  const cells = createSharedPlaces(2)
  const [one, two] = [0, 1].map((own) => new ConnectionBudget(3, { places: { cells, own } }))
  for (const budget of [one, one, two]) assert.equal(budget.take(), undefined)
  freeSharedPlaces({ cells, own: 0 })
  freeSharedPlaces({ cells, own: 0 })
  assert.deepEqual([two.take(), two.take(), two.take()], [undefined, undefined, 'no-room'])
})

test('a place of a listener is one of the node too, and is given back at both', () => {
  const node = new ConnectionBudget(2)
  const listener = new ConnectionBudget(1, { within: node, refusal: 'listener-full' })
  const other = new ConnectionBudget(5, { within: node, refusal: 'listener-full' })
  assert.equal(listener.take(), undefined)
  assert.equal(listener.take(), 'listener-full')
  assert.equal(other.take(), undefined)
  assert.equal(other.take(), 'no-room')
  assert.deepEqual([node.taken, listener.taken, other.taken], [2, 1, 1])
  other.giveBack()
  listener.giveBack()
  assert.deepEqual([node.taken, listener.taken, other.taken], [0, 0, 0])
  assert.equal(other.take(), undefined)
})

test('a place that the node does not have is not kept at the listener either', () => {
  const cells = createSharedPlaces(2)
  const node = new ConnectionBudget(1)
  const listener = new ConnectionBudget(5, { places: { cells, own: 1 }, within: node, refusal: 'listener-full' })
  assert.deepEqual([listener.take(), listener.take(), listener.take()], [undefined, 'no-room', 'no-room'])
  assert.deepEqual([takenPlaces(cells), listener.taken, node.taken], [1, 1, 1])
})

test('nobody is let in where no descriptor is left, whoever has taken it, and somebody is when one is free', () => {
  const descriptorRoom = createDescriptorRoom()
  const [one, two] = [0, 1].map(() => new ConnectionBudget(5, { descriptorRoom }))
  const listener = new ConnectionBudget(5, { within: two, refusal: 'listener-full' })
  assert.deepEqual([one.take(), listener.take()], [undefined, undefined], 'nobody has counted yet')
  setDescriptorRoom(descriptorRoom, 1)
  assert.equal(listener.take(), undefined)
  assert.deepEqual([one.lack, listener.lack, one.take(), listener.take()], Array(4).fill('no-room'))
  assert.deepEqual([one.taken, two.taken, listener.taken], [1, 2, 2], 'who is in stays in')
  listener.giveBack()
  assert.deepEqual([listener.take(), one.take()], [undefined, 'no-room'])
  setDescriptorRoom(descriptorRoom, -3)
  assert.equal(one.isOutOfDescriptors, true)
  setDescriptorRoom(descriptorRoom, Infinity)
  assert.equal(one.take(), undefined)
})
