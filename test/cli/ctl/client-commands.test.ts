import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { connectAsync, type MqttClient } from 'mqtt'
import { type BrokerWithApi, shareBrokerWithApi } from '../../management/api.ts'
import { ctlDone, ctlRefused } from './ctl.ts'

const sharedBroker = shareBrokerWithApi()

test('clients are listed, by filters as well, shown and disconnected', async (t) => {
  const broker = await sharedBroker()
  const anna = await connected(t, broker, 'phone-of-anna', 'anna')
  await connected(t, broker, 'phone-of-bert', 'bert')
  assert.equal((await ctlDone(broker, ['clients', 'list'])).trim().split('\n').length, 2)
  const listed = await ctlDone(broker, ['clients', 'list', 'username=anna', 'conn_state=connected'])
  assert.match(listed, /^phone-of-anna\tanna\tconnected\t127\.0\.0\.1\t/)
  assert.match(await ctlDone(broker, ['clients', 'list'], { asPeople: true }), /^clientid +username +conn_state/)
  assert.match(await ctlDone(broker, ['clients', 'show', 'phone-of-anna']), /^username +anna$/m)
  const gone = new Promise((resolve) => anna.once('close', () => resolve(undefined)))
  await ctlDone(broker, ['clients', 'kick', 'phone-of-anna'])
  await gone
  assert.match(await ctlRefused(broker, 1, ['clients', 'kick', 'phone-of-anna']), /\(code 112\)/)
  assert.match(await ctlRefused(broker, 1, ['clients', 'show', 'nobody']), /there is no client nobody/)
  assert.match(await ctlRefused(broker, 2, ['clients', 'list', 'user=anna']), /user: unknown filter/)
  assert.match(await ctlRefused(broker, 1, ['clients', 'list', 'conn_state=perhaps']), /\(code 108\)/)
})

test('what clients subscribe to is a list, a tree and a list of topics', async (t) => {
  const broker = await sharedBroker()
  const client = await connected(t, broker, 'gardener', 'anna')
  await client.subscribeAsync(['garden/+/water', 'garden/rose', 'house/#'], { qos: 1 })
  const listed = await ctlDone(broker, ['subscriptions', 'list', 'topic=garden/rose'])
  assert.equal(listed, 'gardener\tgarden/rose\t1\n')
  const tree = await ctlDone(broker, ['topics', 'tree'])
  const lines = tree.trimEnd().split('\n')
  assert.equal(lines.length, 6)
  assert.ok(lines.includes('garden'), tree)
  assert.ok(lines.includes('  rose  (gardener)'), tree)
  assert.equal(lines[lines.indexOf('  +') + 1], '    water  (gardener)')
  assert.equal(lines[lines.indexOf('house') + 1], '  #  (gardener)')
  assert.match(await ctlDone(broker, ['topics', 'list']), /^garden\/rose\t/m)
})

async function connected(
  t: TestContext,
  { port }: BrokerWithApi,
  clientId: string,
  username: string,
): Promise<MqttClient> {
  const client = await connectAsync(`mqtt://127.0.0.1:${port}`, { clientId, username, reconnectPeriod: 0 })
  t.after(() => client.endAsync(true))
  return client
}
