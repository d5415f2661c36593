// Modules: features that are turned on and off, at once and for later starts.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { connectAsync, type MqttClient } from 'mqtt'
import { eventually } from '../e2e/eventually.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'
import { type BrokerWithApi, restartBroker, shareConfigurableBroker, startBrokerWithApi } from './api.ts'

const configured = shareConfigurableBroker()

const names = [
  'acl_internal',
  'presence',
  'delayed',
  'rewrite',
  'subscription',
  'topic_metrics',
  'retainer',
  'psk_file',
  'slow_subs',
  'dashboard',
]

type Outcome = readonly [status: number, code: number]

async function put(broker: BrokerWithApi, path: string): Promise<Outcome> {
  const { status, json } = await broker.request(`/api/v4/${path}`, { method: 'PUT' })
  return [status, json.code]
}

async function listActive(broker: BrokerWithApi): Promise<readonly string[]> {
  const { json } = await broker.request('/api/v4/modules')
  const rows: readonly { readonly name: string; readonly active: boolean }[] = json.data[0].modules
  assert.deepEqual(
    rows.map(({ name }) => name),
    names,
  )
  return rows.filter(({ active }) => active).map(({ name }) => name)
}

async function connect(t: TestContext, { port }: BrokerWithApi, clientId: string): Promise<MqttClient> {
  const client = await connectAsync(`mqtt://127.0.0.1:${port}`, { clientId, protocolVersion: 5, reconnectPeriod: 0 })
  t.after(() => client.endAsync(true))
  return client
}

/** Returns the payloads that arrive at a filter, in order. */
async function collect(client: MqttClient, filter: string): Promise<string[]> {
  const payloads: string[] = []
  client.on('message', (_topic, payload) => payloads.push(payload.toString()))
  await client.subscribeAsync(filter, { qos: 1 })
  return payloads
}

test('each module has its codes, under the names of other brokers as well, and keeps its state over a restart', async () => {
  let broker = await configured(['auth.psk.enable=true'])
  const [{ node }] = (await broker.request('/api/v4/modules')).json.data
  assert.deepEqual(await listActive(broker), names)
  const prefixes = ['modules', `nodes/${node}/modules`]
  for (const [index, name] of names.entries()) {
    const prefix = prefixes[index % 2]
    assert.deepEqual(await put(broker, `${prefix}/${name}/load`), [400, 110], name)
    assert.deepEqual(await put(broker, `${prefix}/emqx_mod_${name}/unload`), [200, 0], name)
    assert.deepEqual(await put(broker, `${prefix}/${name}/unload`), [400, 111], name)
    assert.deepEqual(await put(broker, `${prefix}/emqx_${name}/reload`), [400, 111], name)
  }
  assert.deepEqual(await listActive(broker), [])
  broker = await restartBroker(broker)
  assert.deepEqual(await listActive(broker), [])
  assert.deepEqual((await broker.request(`/api/v4/nodes/${node}/modules`)).json.data[0].active, false)
  for (const name of names) assert.deepEqual(await put(broker, `modules/${name}/load`), [200, 0], name)
  assert.deepEqual(await listActive(broker), names)
  assert.deepEqual(await put(broker, 'modules/internal_acl/reload'), [200, 0])
  assert.deepEqual(await put(broker, 'modules/nothing/load'), [404, 102])
  assert.deepEqual(await put(broker, 'nodes/nowhere/modules/retainer/load'), [404, 102])
  assert.equal((await put(broker, 'modules/retainer/other'))[0], 400)
})

test('without acl_internal the rules of the configuration do not apply, and an alarm is active, also after a restart', async (t) => {
  let broker = await configured([
    'auth.no_match=allow',
    'auth.acl.rules=[{permit=deny, action=publish, topics=["closed/#"]}]',
  ])
  const listAlarms = async (): Promise<readonly string[]> =>
    (await broker.request('/api/v4/alarms/activated')).json.data[0].alarms.map(({ name }: { name: string }) => name)
  const publisher = await connect(t, broker, 'publisher')
  const publish = async (): Promise<string> =>
    publisher.publishAsync('closed/a', 'x', { qos: 1 }).then(
      () => 'accepted',
      () => 'refused',
    )
  assert.equal(await publish(), 'refused')
  assert.deepEqual(await put(broker, 'modules/acl_internal/unload'), [200, 0])
  assert.equal(await publish(), 'accepted')
  assert.ok((await listAlarms()).includes('module-unloaded:acl_internal'))
  broker = await restartBroker(broker)
  assert.ok((await listAlarms()).includes('module-unloaded:acl_internal'))
  assert.deepEqual(await put(broker, 'modules/acl_internal/load'), [200, 0])
  assert.deepEqual(await listAlarms(), [])
  const again = await connect(t, broker, 'again')
  await assert.rejects(again.publishAsync('closed/a', 'x', { qos: 1 }))
})

test('rewrite, automatic subscriptions and topic metrics stop at once, and their settings stay', async (t) => {
  const broker = await configured([
    'rewrite=[{action=publish, source_topic="old/#", re="^old/(.+)$", dest_topic="new/$1"}]',
    'auto_subscribe.topics=[{topic="for/${clientid}", qos=1}]',
    'topic_metrics=[{topic="new/a"}]',
  ])
  const publisher = await connect(t, broker, 'publisher')
  const received = await collect(await connect(t, broker, 'subscriber'), 'new/#')
  await publisher.publishAsync('old/a', 'rewritten', { qos: 1 })
  await eventually(() => assert.deepEqual(received, ['rewritten']))
  const settings = ['mqtt/topic_rewrite', 'mqtt/auto_subscribe', 'mqtt/topic_metrics']
  const readSettings = (): Promise<readonly number[]> =>
    Promise.all(settings.map(async (path) => (await broker.request(`/api/v5/${path}`)).json.length))
  assert.deepEqual(await readSettings(), [1, 1, 1])
  for (const name of ['rewrite', 'subscription', 'topic_metrics'])
    assert.deepEqual(await put(broker, `modules/${name}/unload`), [200, 0])
  await publisher.publishAsync('old/a', 'unchanged', { qos: 1 })
  await publisher.publishAsync('new/a', 'last', { qos: 1 })
  await eventually(() => assert.deepEqual(received, ['rewritten', 'last']))
  await connect(t, broker, 'later')
  const { json } = await broker.request('/api/v4/subscriptions/later')
  assert.deepEqual(json.data, [])
  const [rewrites, subscriptions] = await readSettings()
  assert.deepEqual([rewrites, subscriptions], [1, 1])
  for (const name of ['rewrite', 'subscription', 'topic_metrics'])
    assert.deepEqual(await put(broker, `modules/${name}/load`), [200, 0])
  await publisher.publishAsync('old/a', 'again', { qos: 1 })
  await eventually(() => assert.deepEqual(received, ['rewritten', 'last', 'again']))
  assert.deepEqual(await readSettings(), [1, 1, 1])
})

test('presence and retained messages stop at once, and what is retained stays', async (t) => {
  const broker = await configured([])
  const watcher = await connect(t, broker, 'watcher')
  const events = await collect(watcher, '$SYS/brokers/+/clients/+/connected')
  await connect(t, broker, 'first')
  await eventually(() => assert.equal(events.length, 1))
  await (await connect(t, broker, 'publisher')).publishAsync('kept', 'x', { qos: 1, retain: true })
  await eventually(() => assert.equal(events.length, 2))
  assert.deepEqual(await put(broker, 'modules/presence/unload'), [200, 0])
  assert.deepEqual(await put(broker, 'modules/retainer/unload'), [200, 0])
  const second = await connect(t, broker, 'second')
  const { promise: reasonCode, resolve } = Promise.withResolvers<number | undefined>()
  second.once('disconnect', (packet) => resolve(packet.reasonCode))
  second.publish('refused', 'x', { qos: 1, retain: true })
  assert.equal(await reasonCode, 0x9a, 'retained messages are not supported')
  assert.deepEqual(await put(broker, 'modules/presence/load'), [200, 0])
  assert.deepEqual(await put(broker, 'modules/retainer/load'), [200, 0])
  const third = await connect(t, broker, 'third')
  await eventually(() => assert.equal(events.length, 3, 'the connection of second was not published'))
  const kept = await collect(third, 'kept')
  await eventually(() => assert.deepEqual(kept, ['x']))
})

test('a module that the command line sets is not changed', async (t) => {
  const file = join(await temporaryFolder(t), 'godwit.conf')
  await writeFile(file, '')
  const broker = await startBrokerWithApi(t, { config: file, set: ['node.shards=1', 'delayed.enable=true'] })
  const { status, json } = await broker.request('/api/v4/modules/delayed/unload', { method: 'PUT' })
  assert.deepEqual([status, json.code], [400, 108])
  assert.match(json.message, /delayed\.enable/)
})
