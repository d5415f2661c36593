import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { shareBrokerWithApi, startBrokerWithApi } from '../../management/api.ts'
import { ctlDone, ctlRefused } from './ctl.ts'

const sharedBroker = shareBrokerWithApi()

test('a configuration is put in force, told, compared and taken back', async (t) => {
  const broker = await startBrokerWithApi(t)
  const file = join(broker.dataDirectory, 'new.conf')
  await writeFile(file, 'mqtt.max_packet_size = 2MB\n')
  assert.match(await ctlDone(broker, ['config', 'update', file]), /^changed\tmqtt\.max_packet_size\t/m)
  assert.match(await ctlDone(broker, ['config', 'show', 'mqtt']), /max_packet_size/)
  const history = JSON.parse(await ctlDone(broker, ['config', 'history', '--json']))
  assert.equal(history.length, 2)
  const [newest, oldest] = history
  assert.deepEqual(newest.changed, ['mqtt.max_packet_size'])
  assert.match(await ctlDone(broker, ['config', 'diff', String(oldest.number)]), /^mqtt\.max_packet_size\t/)
  await ctlDone(broker, ['config', 'rollback', String(oldest.number)])
  assert.equal(await ctlDone(broker, ['config', 'diff', String(oldest.number)]), '')
})

test('a configuration with a fault is refused, and so is what is none', async () => {
  const broker = await sharedBroker()
  const file = join(broker.dataDirectory, 'bad.conf')
  await writeFile(file, 'mqtt {')
  assert.match(await ctlRefused(broker, 1, ['config', 'update', file]), /\(code 117\)/)
  await writeFile(file, 'mqtt.max_packet_sise = 1MB')
  assert.match(await ctlRefused(broker, 1, ['config', 'update', file]), /max_packet_sise.*\(code 108\)/)
  assert.match(await ctlRefused(broker, 1, ['config', 'update', '/nowhere']), /\/nowhere/)
  assert.match(await ctlRefused(broker, 2, ['config', 'diff', '1', 'two']), /two/)
})

test('reload reads the files again', async () => {
  const broker = await sharedBroker()
  assert.match(await ctlDone(broker, ['reload']), /^nothing has changed\n$|^/)
})
