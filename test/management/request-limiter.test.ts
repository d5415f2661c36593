// `http_server.limit_conn`: a limited number of requests runs, a limited number waits, the others are refused.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestLimiter } from '../../src/management/request-limiter.ts'

test('the first requests run, the next wait in order, and further ones are refused', async () => {
  const gate = new RequestLimiter(2, 2)
  const [first, second, third, fourth, fifth] = Array.from({ length: 5 }, () => gate.enter())
  const order: string[] = []
  void third?.admitted.then((mayGoOn) => order.push(`third ${mayGoOn}`))
  void fourth?.admitted.then((mayGoOn) => order.push(`fourth ${mayGoOn}`))
  assert.deepEqual(await Promise.all([first?.admitted, second?.admitted, fifth?.admitted]), [true, true, false])
  assert.deepEqual(order, [])
  second?.release()
  second?.release()
  assert.equal(await third?.admitted, true)
  assert.deepEqual(order, ['third true'], 'releasing a slot twice releases one slot')
  fifth?.release()
  first?.release()
  assert.equal(await fourth?.admitted, true)
})

test('a request that ends while it waits does not count', async () => {
  const gate = new RequestLimiter(1, 2)
  const [first, second, third] = Array.from({ length: 3 }, () => gate.enter())
  second?.release()
  first?.release()
  assert.equal(await third?.admitted, true)
  third?.release()
  assert.equal(await gate.enter().admitted, true)
})

test('if the limit grows, waiting requests start; if it shrinks, no running request is ended', async () => {
  const gate = new RequestLimiter(1, 4)
  const [first, second, third, fourth] = Array.from({ length: 4 }, () => gate.enter())
  gate.change(3)
  assert.deepEqual(await Promise.all([first?.admitted, second?.admitted, third?.admitted]), [true, true, true])
  gate.change(1)
  let hasStarted = false
  void fourth?.admitted.then(() => (hasStarted = true))
  first?.release()
  second?.release()
  await Promise.resolve()
  assert.equal(hasStarted, false)
  third?.release()
  assert.equal(await fourth?.admitted, true)
})
