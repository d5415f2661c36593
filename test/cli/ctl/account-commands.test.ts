import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareBrokerWithApi } from '../../management/api.ts'
import { ctlDone, ctlRefused, runCtl } from './ctl.ts'

const sharedBroker = shareBrokerWithApi()

test('a process that can read the data directory needs no password', async (t) => {
  const { dataDirectory } = await sharedBroker()
  const status = await runCtl(t, ['status', '--data', dataDirectory, '--json'])
  assert.deepEqual([status.code, status.errors], [0, ''])
  assert.equal(JSON.parse(status.output).node_status, 'Running')
})

test('options that name the broker may stand before the command, and between its words', async (t) => {
  const { dataDirectory } = await sharedBroker()
  for (const words of [
    ['--data', dataDirectory, '--json', 'status'],
    [`--data=${dataDirectory}`, 'status', '--json'],
  ]) {
    const status = await runCtl(t, words)
    assert.deepEqual([status.code, status.errors], [0, ''])
    assert.equal(JSON.parse(status.output).node_status, 'Running')
  }
  const list = await runCtl(t, ['clients', '--data', dataDirectory, 'list'])
  assert.deepEqual([list.code, list.output, list.errors], [0, '', ''])
  const unknown = await runCtl(t, ['--data', dataDirectory, 'statsu'])
  assert.deepEqual([unknown.code, unknown.errors.includes('Did you mean status?')], [2, true])
})

test('people come and go, with passwords from stdin', async () => {
  const broker = await sharedBroker()
  await ctlDone(broker, ['admins', 'add', 'anna', '--viewer'], { lines: ['correct-horse'] })
  assert.match(await ctlDone(broker, ['admins', 'list']), /^anna\tviewer$/m)
  const asAnna = (path: string): Promise<{ status: number }> => broker.ask(path, { as: 'anna:correct-horse' })
  assert.equal((await asAnna('/api/v4/brokers')).status, 200)
  assert.equal((await asAnna('/api/v4/users')).status, 403)
  await ctlDone(broker, ['admins', 'password', 'anna'], { lines: ['correct-horse', 'battery-staple'] })
  assert.equal((await asAnna('/api/v4/brokers')).status, 401)
  await ctlDone(broker, ['admins', 'del', 'anna'])
  assert.match(await ctlRefused(broker, 1, ['admins', 'del', 'anna']), /\(code 105\)/)
  assert.match(await ctlRefused(broker, 1, ['admins', 'del', 'admin']), /\(code 106\)/)
  assert.match(await ctlRefused(broker, 2, ['admins', 'add', 'bert']), /password of bert: none was given/)
})

test('a program gets a secret that opens the API, told once', async () => {
  const broker = await sharedBroker()
  const secret = (await ctlDone(broker, ['api-key', 'add', 'grafana', '--viewer'])).trim()
  assert.equal((await broker.ask('/api/v4/brokers', { as: `grafana:${secret}` })).status, 200)
  assert.match(await ctlDone(broker, ['api-key', 'list']), /^grafana\t/m)
  const shown = await ctlDone(broker, ['api-key', 'show', 'grafana', '--json'])
  assert.ok(!shown.includes(secret))
  await ctlDone(broker, ['api-key', 'del', 'grafana'])
  assert.equal((await broker.ask('/api/v4/brokers', { as: `grafana:${secret}` })).status, 401)
})
