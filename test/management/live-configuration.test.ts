import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect, connectAsync } from 'mqtt'
import { eventually } from '../e2e/eventually.ts'
import { type ApiResponse, restartBroker, shareConfigurableBroker } from './api.ts'
import { dataOf, get, keysOf, post, refused } from './configuration-requests.ts'

const configuredBroker = shareConfigurableBroker(['node.shards=2', 'mqtt.keepalive_multiplier=1.25'])

test('changed limits and log settings apply at once, and no client is disconnected', async (t) => {
  const broker = await configuredBroker()
  const address = `mqtt://127.0.0.1:${broker.port}`
  const plain = { reconnectPeriod: 0 } as const
  const connectedClients = await Promise.all(
    ['a', 'b'].map((clientId) => connectAsync(address, { ...plain, clientId })),
  )
  t.after(() => Promise.all(connectedClients.map((client) => client.endAsync(true))))
  const change = async (section: string, settings: object): Promise<string[]> => {
    const outcome = dataOf(
      'set_configuration_section',
      await post(broker, `/configuration/${section}`, { data: { [section]: settings } }),
    )
    assert.deepEqual(outcome.needs_restart, [])
    return keysOf(outcome.changed)
  }
  const maxOf = async (): Promise<number> =>
    dataOf('list_listeners', await get(broker, '/listeners'))[0].listeners[0].max_conns
  const before = await maxOf()
  assert.deepEqual(await change('limits', { max_connections: 1, max_connection_rate: 500 }), [
    'limits.max_connection_rate',
    'limits.max_connections',
  ])
  assert.equal(await maxOf(), 1)
  const refusedClient = connect(address, { ...plain, clientId: 'c' })
  await new Promise((resolve) => refusedClient.once('close', () => resolve(undefined)))
  assert.equal(refusedClient.reconnecting || refusedClient.connected, false)
  await refusedClient.endAsync(true)
  assert.ok(connectedClients.every((client) => client.connected))
  await change('limits', { max_connections: null, max_connection_rate: null, messages_rate: 100 })
  assert.equal(await maxOf(), before)
  connectedClients.push(await connectAsync(address, { ...plain, clientId: 'c' }))
  const dir = join(broker.dataDirectory, 'lines')
  assert.deepEqual(await change('log', { to: ['file'], dir, file: 'mine.log', rotation: { count: 2 } }), [
    'log.dir',
    'log.file',
    'log.rotation.count',
    'log.to',
  ])
  await change('log', { file: 'other.log' })
  await eventually(async () => assert.match(await readFile(join(dir, 'mine.log'), 'utf8'), /setting changed.*log\.dir/))
  const file = join(broker.dataDirectory, 'a-file')
  await writeFile(file, '')
  const blocked = { data: { log: { dir: file } } }
  refused(await post(broker, '/configuration/log', blocked), [400, 108], /log\.dir: cannot write other\.log/)
  assert.equal((await get(broker, '/configuration/log')).json.data.log.dir, dir)
})

test('a configuration with another security profile is written to the file, and none of its settings applies before the restart', async () => {
  const broker = await configuredBroker(['mqtt.max_mqueue_len = 5\n'])
  const running = 'mqtt.max_mqueue_len = 5\nmqtt.retry_interval = 9s\n'
  const text = `${running}node.security_profile = legacy\nlog.level = error\n`
  const outcome = dataOf('update_config', await post(broker, '/config_update', text))
  assert.deepEqual(keysOf(outcome.changed), [])
  const waiting = ['log.level', 'mqtt.retry_interval', 'node.security_profile']
  assert.deepEqual(keysOf(outcome.needs_restart), waiting)
  assert.equal(await readFile(broker.configFile, 'utf8'), text)
  assert.equal((await broker.request('/api/v4/nodes')).json.data[0].security_profile, 'hardened')
  const one = { data: { mqtt: { max_mqueue_len: 6 } } }
  refused(await post(broker, '/configuration/mqtt', one), [400, 108], /node\.security_profile.*restart the broker/)
  refused(await post(broker, '/reload', { data: { msq_len: 6 } }), [400, 108], /node\.security_profile/)
  const again = dataOf('reload_configuration', await post(broker, '/configuration_reload', undefined))
  assert.deepEqual([again.changed, keysOf(again.needs_restart)], [[], waiting])
  const back = dataOf('update_config', await post(broker, '/config_update', running))
  assert.deepEqual([keysOf(back.changed), back.needs_restart], [['mqtt.retry_interval'], []])
  const legacy = { data: { node: { security_profile: 'legacy' } } }
  const requested = dataOf('set_configuration_section', await post(broker, '/configuration/node', legacy))
  assert.deepEqual([requested.changed, keysOf(requested.needs_restart)], [[], ['node.security_profile']])
  const restarted = await restartBroker(broker)
  assert.equal((await restarted.request('/api/v4/nodes')).json.data[0].security_profile, 'legacy')
})

test('/configuration accepts the section names of NanoMQ, and in them only settings of /reload can be changed', async () => {
  const settings = [
    'listeners.ws.bind="127.0.0.1:0/mqtt"',
    'system.parallel=7',
    'bridges.mqtt.far.server="mqtt-tcp://127.0.0.1:1"',
  ]
  const broker = await configuredBroker(settings)
  const section = async (name: string): Promise<Record<string, unknown>> =>
    dataOf('get_configuration_section', await get(broker, `/configuration/${name}`))[name]
  const basic = await section('basic')
  const reloadable = dataOf('get_reload', await get(broker, '/reload'))
  assert.deepEqual({ ...basic, ...reloadable }, basic)
  assert.deepEqual([basic['parallel'], basic['url']], [7, 'mqtt-tcp://127.0.0.1:0'])
  assert.deepEqual(await section('websocket'), { enable: true, url: 'mqtt-ws://127.0.0.1:0/mqtt', tls_url: null })
  const tls = await section('tls')
  assert.deepEqual([tls['enable'], tls['url'], tls['key'], tls['verify_peer']], [false, null, null, false])
  assert.equal((await section('auth_http'))['enable'], false)
  assert.deepEqual(await section('bridge'), dataOf('get_mqtt_bridges', await get(broker, '/bridges')).bridge)
  assert.deepEqual(await section('aws_bridge'), { nodes: [] })
  const change = (name: string, settings: unknown): Promise<ApiResponse> =>
    post(broker, `/configuration/${name}`, { data: { [name]: settings } })
  const outcome = dataOf('set_configuration_section', await change('basic', { ...basic, msq_len: 9 }))
  assert.deepEqual(keysOf(outcome.changed), ['mqtt.max_mqueue_len'])
  refused(await change('basic', { msq_len: 'x' }), [400, 108], /data\.basic\.msq_len/)
  refused(await change('basic', { parallel: 8 }), [400, 108], /data\.basic\.parallel.*system/)
  refused(await change('tls', { enable: true }), [400, 108], /listeners\.ssl/)
  refused(await change('basic', 5), [400, 108], /data\.basic/)
  refused(await post(broker, '/configuration/basic', { data: {} }), [400, 107], /data\.basic/)
})

test('a reload and a start warn about settings of the file that a change over the API or --set overrides', async () => {
  const broker = await configuredBroker(['mqtt.max_mqueue_len = 5', 'auth.password.anna = first'])
  const section = { mqtt: { max_mqueue_len: 6 }, auth: { password: { anna: 'second' } } }
  dataOf('set_broker_configuration', await post(broker, '/configuration', { data: section }))
  const before = dataOf('reload_configuration', await post(broker, '/configuration_reload', undefined))
  assert.equal(before.warnings.filter((text: string) => text.includes('max_mqueue_len')).length, 1)
  const text = 'mqtt.max_mqueue_len = 7\nauth.password.anna = third\nmqtt.keepalive_multiplier = 1.75\n'
  await writeFile(broker.configFile, text)
  const { changed, pinned, warnings } = dataOf(
    'reload_configuration',
    await post(broker, '/configuration_reload', undefined),
  )
  assert.deepEqual([changed, pinned], [[], ['mqtt.keepalive_multiplier']])
  const overridden = warnings.filter((text: string) => text.includes('has priority over this file'))
  assert.equal(overridden.length, 2)
  assert.match(
    overridden[0] ?? '',
    /godwit\.conf:1:\d+: mqtt\.max_mqueue_len: a change over the API has priority over this file: 6 instead of 7; /,
  )
  assert.match(
    overridden[1] ?? '',
    /godwit\.conf:2:\d+: auth\.password\.anna: a change over the API has priority over this file; /,
  )
  assert.doesNotMatch(overridden.join(), /first|second|third/)
  await restartBroker(broker)
  await broker.process.until(
    /"shutdown requested"[^]*mqtt\.max_mqueue_len.*a change over the API has priority over this file: 6 instead of 7/,
  )
})

test('changes over the API to a bridge or listener are discarded when it is removed from the file', async () => {
  const things = `bridges.mqtt.far { server = "mqtt-tcp://127.0.0.1:1", enable = false }
    bridges.aws.iot { server = "127.0.0.1:1", enable = false }
    listeners.tcp.two.bind = "127.0.0.1:0"\n`
  const broker = await configuredBroker([things])
  const { configFile } = broker
  const put = { method: 'PUT', body: { far: { server: 'mqtt-tcp://127.0.0.1:1', keepalive: 30 } } } as const
  assert.equal((await broker.request('/api/v4/bridges/far', put)).status, 200)
  const putAtAws = { method: 'PUT', body: { 'aws.iot': { server: '127.0.0.1:1', keepalive: 30 } } } as const
  assert.equal((await broker.request('/api/v4/bridges/aws.iot', putAtAws)).status, 200)
  const listeners = { tcp: { two: { max_connections: 5 } } }
  dataOf('set_configuration_section', await post(broker, '/configuration/listeners', { data: { listeners } }))
  await writeFile(configFile, 'mqtt.max_mqueue_len = 6\n')
  const { warnings } = dataOf('reload_configuration', await post(broker, '/configuration_reload', undefined))
  assert.match(
    warnings.join('\n'),
    /bridges\.mqtt\.far: it is not in the file any more[^]*bridges\.aws\.iot: it is not[^]*listeners\.tcp\.two: it is not/,
  )
  assert.deepEqual((await get(broker, '/bridges')).json.data.bridge.nodes, [])
  // The same applies if the file is changed between two starts.
  await writeFile(configFile, things)
  dataOf('reload_configuration', await post(broker, '/configuration_reload', undefined))
  assert.equal((await broker.request('/api/v4/bridges/far', put)).status, 200)
  await writeFile(configFile, 'mqtt.max_mqueue_len = 7\n')
  const again = await restartBroker(broker)
  assert.equal(dataOf('get_reload', await get(again, '/reload')).msq_len, 7)
})
