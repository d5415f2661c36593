import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { eventually } from '../../e2e/eventually.ts'
import { startBrokerWithApi } from '../../management/api.ts'
import { ctlDone, ctlRefused } from './ctl.ts'

test('a trace is begun, listed, shown and deleted', async (t) => {
  const broker = await startBrokerWithApi(t)
  await ctlDone(broker, ['trace', 'start', 'one', 'clientid', 'talker'])
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'talker' })
  await client.endAsync()
  assert.match(await ctlDone(broker, ['trace', 'list']), /^one\tclientid\t/)
  await eventually(async () => assert.notEqual(await ctlDone(broker, ['trace', 'show', 'one']), ''))
  await ctlDone(broker, ['trace', 'del', 'one'])
  assert.equal(await ctlDone(broker, ['trace', 'list']), '')
  assert.match(await ctlRefused(broker, 2, ['trace', 'start', 'one', 'mood', 'x']), /ip_address/)
})
