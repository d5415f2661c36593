// `http_server.limit_conn`: so many requests are worked on, so many wait, the others are turned away.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestGate } from '../../src/management/request-limiter.ts'

test('the first go on, the next wait for their turn in order, and the rest is turned away', async () => {
  const gate = new RequestGate(2, 2)
  const [first, second, third, fourth, fifth] = Array.from({ length: 5 }, () => gate.enter())
  const order: string[] = []
  void third?.mayGoOn.then((mayGoOn) => order.push(`third ${mayGoOn}`))
  void fourth?.mayGoOn.then((mayGoOn) => order.push(`fourth ${mayGoOn}`))
  assert.deepEqual(await Promise.all([first?.mayGoOn, second?.mayGoOn, fifth?.mayGoOn]), [true, true, false])
  assert.deepEqual(order, [])
  second?.leave()
  second?.leave()
  assert.equal(await third?.mayGoOn, true)
  assert.deepEqual(order, ['third true'], 'a place that is given back twice is one place')
  fifth?.leave()
  first?.leave()
  assert.equal(await fourth?.mayGoOn, true)
})

test('who leaves while it waits takes no place', async () => {
  const gate = new RequestGate(1, 2)
  const [first, second, third] = Array.from({ length: 3 }, () => gate.enter())
  second?.leave()
  first?.leave()
  assert.equal(await third?.mayGoOn, true)
  third?.leave()
  assert.equal(await gate.enter().mayGoOn, true)
})

test('where more may be worked on than before, those who wait come in; where fewer, nobody is sent away', async () => {
  const gate = new RequestGate(1, 4)
  const [first, second, third, fourth] = Array.from({ length: 4 }, () => gate.enter())
  gate.change(3)
  assert.deepEqual(await Promise.all([first?.mayGoOn, second?.mayGoOn, third?.mayGoOn]), [true, true, true])
  gate.change(1)
  let isIn = false
  void fourth?.mayGoOn.then(() => (isIn = true))
  first?.leave()
  second?.leave()
  await Promise.resolve()
  assert.equal(isIn, false)
  third?.leave()
  assert.equal(await fourth?.mayGoOn, true)
})
