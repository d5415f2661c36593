// Commands for clients and messages. The tests share a broker.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { connectAsync, type MqttClient } from 'mqtt'
import { eventually } from '../../e2e/eventually.ts'
import { type BrokerWithApi, shareBrokerWithApi } from '../../management/api.ts'
import { ctlDone, ctlRefused } from './ctl.ts'

const sharedBroker = shareBrokerWithApi({ set: ['retainer.max_payload_size=10B'] })

test('clients are listed, with and without filters, shown and disconnected', async (t) => {
  const broker = await sharedBroker()
  const anna = await connected(t, broker, 'phone-of-anna', 'anna')
  await connected(t, broker, 'phone-of-bert', 'bert')
  assert.equal((await ctlDone(broker, ['clients', 'list'])).trim().split('\n').length, 2)
  const listed = await ctlDone(broker, ['clients', 'list', 'username=anna', 'conn_state=connected'])
  assert.match(listed, /^phone-of-anna\tanna\tconnected\t127\.0\.0\.1\t/)
  assert.match(await ctlDone(broker, ['clients', 'list'], { isTerminal: true }), /^clientid +username +conn_state/)
  assert.match(await ctlDone(broker, ['clients', 'show', 'phone-of-anna']), /^username +anna$/m)
  const gone = new Promise((resolve) => anna.once('close', () => resolve(undefined)))
  await ctlDone(broker, ['clients', 'kick', 'phone-of-anna'])
  await gone
  assert.match(await ctlRefused(broker, 1, ['clients', 'kick', 'phone-of-anna']), /\(code 112\)/)
  assert.match(await ctlRefused(broker, 1, ['clients', 'show', 'nobody']), /there is no client nobody/)
  assert.match(await ctlRefused(broker, 2, ['clients', 'list', 'user=anna']), /user: unknown filter/)
  assert.match(await ctlRefused(broker, 1, ['clients', 'list', 'conn_state=perhaps']), /\(code 108\)/)
})

test('subscriptions are printed as a list, as a tree and as a list of topics', async (t) => {
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

test('a message from the command line or from a file reaches the subscribers, and the output has their number', async (t) => {
  const broker = await sharedBroker()
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  t.after(() => client.endAsync())
  await client.subscribeAsync('birds/#', { qos: 1 })
  const first = nextMessage(client)
  assert.equal(await ctlDone(broker, ['publish', 'birds/a', '-m', 'landed', '-q', '1']), 'published to birds/a\n')
  const [topic, payload] = await first
  assert.deepEqual([topic, String(payload)], ['birds/a', 'landed'])
  const file = join(broker.dataDirectory, 'bytes')
  await writeFile(file, Buffer.from([0, 255, 254, 10]))
  const second = nextMessage(client)
  const receipt = await ctlDone(broker, ['publish', 'birds/b', '--file', file, '--receipt', '--json'])
  const [, bytes] = await second
  assert.deepEqual([...bytes], [0, 255, 254, 10])
  assert.equal(JSON.parse(receipt).matched, 1)
})

test('a retained message is published and deleted', async (t) => {
  const broker = await sharedBroker()
  await ctlDone(broker, ['publish', 'birds/last', '-m', 'x', '-r'])
  assert.match(await ctlDone(broker, ['retained', 'list', 'birds/#']), /^birds\/last\t0\t1\t/)
  await ctlDone(broker, ['retained', 'delete', 'birds/last'])
  assert.equal(await ctlDone(broker, ['retained', 'list']), '')
  await ctlDone(broker, ['publish', 'birds/other', '-m', 'y', '-r'])
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  t.after(() => client.endAsync())
  const retained = nextMessage(client)
  await client.subscribeAsync('birds/+')
  const [topic] = await retained
  assert.equal(topic, 'birds/other')
})

test('an existing client is subscribed and unsubscribed; an unknown client gives code 112', async (t) => {
  const broker = await sharedBroker()
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'sensor' })
  t.after(() => client.endAsync())
  await ctlDone(broker, ['subscribe', 'sensor', 'orders/#', '-q', '1'])
  const received = nextMessage(client)
  await ctlDone(broker, ['publish', 'orders/a', '-m', 'x'])
  assert.equal((await received)[0], 'orders/a')
  await ctlDone(broker, ['unsubscribe', 'sensor', 'orders/#'])
  assert.match(await ctlRefused(broker, 1, ['subscribe', 'nobody', 'orders/#']), /\(code 112\)/)
})

test('a message that cannot be published is reported', async () => {
  const broker = await sharedBroker()
  assert.match(await ctlRefused(broker, 2, ['publish', 'a']), /-m TEXT or --file FILE/)
  assert.match(await ctlRefused(broker, 2, ['publish', 'a', '-m', 'x', '-q', '3']), /--qos/)
  assert.match(await ctlRefused(broker, 1, ['publish', 'a', '--file', '/nowhere']), /\/nowhere/)
  assert.match(await ctlRefused(broker, 1, ['publish', 'a/#', '-m', 'x']), /\(code 115\)/)
})

function nextMessage(client: MqttClient): Promise<readonly [topic: string, payload: Buffer]> {
  return new Promise((resolve) => client.once('message', (topic, payload) => resolve([topic, payload])))
}

test('dropped messages are listed with reasons, and the events of a client are listed', async (t) => {
  const broker = await sharedBroker()
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'talker' })
  t.after(() => client.endAsync())
  await client.publishAsync('a/b', 'more than ten bytes', { retain: true, qos: 1 })
  assert.match(await ctlDone(broker, ['clients', 'timeline', 'talker']), /Z\tconnected\t1\t/)
  assert.equal(await ctlDone(broker, ['dropped', 'topic=nowhere']), '')
  const dropped = JSON.parse(await ctlDone(broker, ['dropped', 'clientid=talker', '--json']))
  assert.equal(dropped[0]?.topic, 'a/b')
  assert.equal(dropped[0]?.count, 1)
  assert.equal(await ctlDone(broker, ['dropped', 'clientid=talker', '--since', '2999-01-01']), '')
  assert.notEqual(await ctlDone(broker, ['dropped', 'clientid=talker', '--since', '1h', '--limit', '5']), '')
  await client.publishAsync('a/b', 'more than ten bytes', { retain: true, qos: 1 })
  await client.publishAsync('a/c', 'more than ten bytes', { retain: true, qos: 1 })
  const rows = async (limit: string): Promise<unknown[]> =>
    JSON.parse(await ctlDone(broker, ['dropped', 'clientid=talker', '--limit', limit, '--json']))
  const [newest, ...more] = (await rows('2')).map((row) => (row as { count: number }).count)
  assert.deepEqual([newest, more], [1, [2]], 'a limit of rows leaves their counts as they are')
  assert.equal((await rows('1')).length, 1)
  assert.match(await ctlRefused(broker, 2, ['dropped', '--since', 'yesterday']), /--since yesterday: give/)
  assert.match(await ctlRefused(broker, 1, ['clients', 'timeline', 'nosuch']), /nothing is known of the client nosuch/)
  assert.match(await ctlRefused(broker, 2, ['dropped', 'reson=expired']), /reson: unknown filter/)
  assert.match(await ctlRefused(broker, 1, ['dropped', 'reason=mood']), /\(code 108\)/)
})

test('the command explains why a client is allowed to publish', async (t) => {
  const broker = await sharedBroker()
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'talker' })
  t.after(() => client.endAsync())
  assert.match(await ctlDone(broker, ['explain', 'talker', 'publish', 'a/b']), /^result +allow$/m)
  const all = JSON.parse(await ctlDone(broker, ['explain', 'talker', 'publish', 'a/b', '--json']))
  assert.equal(all.client.connected, true)
  assert.match(await ctlRefused(broker, 2, ['explain', 'talker', 'read', 'a/b']), /use publish or subscribe/)
})

test('a rule for a client, a user or all clients is stored and deleted', async () => {
  const broker = await sharedBroker()
  for (const whose of [['--client', 'sensor'], ['--user', 'anna'], []]) {
    await ctlDone(broker, ['acl', 'add', 'deny', whose.length === 0 ? 'publish' : 'pub', 'secret/#', ...whose])
    assert.match(await ctlDone(broker, ['acl', 'list', ...whose]), /^(?=.*\bpub\b).*secret\/#/)
    await ctlDone(broker, ['acl', 'del', 'secret/#', ...whose])
    assert.equal(await ctlDone(broker, ['acl', 'list', ...whose]), '')
  }
  assert.match(await ctlRefused(broker, 2, ['acl', 'add', 'perhaps', 'pub', 'a']), /use allow or deny/)
  assert.match(await ctlRefused(broker, 2, ['acl', 'add', 'deny', 'read', 'a']), /use pub, sub or pubsub/)
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

test('a trace is started, listed, shown and deleted', async () => {
  const broker = await sharedBroker()
  await ctlDone(broker, ['trace', 'start', 'one', 'clientid', 'talker'])
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'talker' })
  await client.endAsync()
  assert.match(await ctlDone(broker, ['trace', 'list']), /^one\tclientid\t/)
  await eventually(async () => assert.notEqual(await ctlDone(broker, ['trace', 'show', 'one']), ''))
  await ctlDone(broker, ['trace', 'del', 'one'])
  assert.equal(await ctlDone(broker, ['trace', 'list']), '')
  assert.match(await ctlRefused(broker, 2, ['trace', 'start', 'one', 'mood', 'x']), /ip_address/)
})
