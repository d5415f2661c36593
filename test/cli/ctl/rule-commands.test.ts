import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { shareBrokerWithApi } from '../../management/api.ts'
import { ctlDone, ctlRefused } from './ctl.ts'

const sharedBroker = shareBrokerWithApi()

test('a rule for a client, a user or all clients is stored and deleted', async () => {
  const broker = await sharedBroker()
  for (const whose of [['--client', 'sensor'], ['--user', 'anna'], []]) {
    await ctlDone(broker, ['acl', 'add', 'deny', whose.length === 0 ? 'publish' : 'pub', 'secret/#', ...whose])
    assert.match(await ctlDone(broker, ['acl', 'list', ...whose]), /^(?=.*\bpub\b).*secret\/#/)
    await ctlDone(broker, ['acl', 'del', 'secret/#', ...whose])
    assert.equal(await ctlDone(broker, ['acl', 'list', ...whose]), '')
  }
  assert.match(await ctlRefused(broker, 2, ['acl', 'add', 'perhaps', 'pub', 'a']), /allow and deny/)
  assert.match(await ctlRefused(broker, 2, ['acl', 'add', 'deny', 'read', 'a']), /pub, sub and pubsub/)
})

test('a banned client is disconnected and refused until the ban is deleted', async () => {
  const broker = await sharedBroker()
  const at = `mqtt://127.0.0.1:${broker.port}`
  const client = await connectAsync(at, { clientId: 'pest', reconnectPeriod: 0 })
  const closed = new Promise<void>((resolve) => client.once('close', () => resolve()))
  await ctlDone(broker, ['ban', 'add', 'clientid', 'pest', '--for-ever', '--reason', 'noise'])
  await closed
  assert.match(await ctlDone(broker, ['ban', 'list']), /^pest\tclientid\tnoise\tctl\t/)
  await ctlDone(broker, ['ban', 'del', 'clientid', 'pest'])
  await (await connectAsync(at, { clientId: 'pest' })).endAsync()
  assert.match(await ctlRefused(broker, 2, ['ban', 'add', 'shoe', 'size']), /peerhost/)
  assert.match(await ctlRefused(broker, 2, ['ban', 'add', 'username', 'a', '--seconds', 'long']), /--seconds/)
})
