import assert from 'node:assert/strict'
import { chmod, mkdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { connect, type IConnackPacket } from 'mqtt'
import { shared, temporaryFolder } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import {
  type ApiResponse,
  type BrokerWithApi,
  restartBroker,
  shareBrokerWithApi,
  startBrokerWithApi,
  withCurrentPorts,
} from './api.ts'
import { dataOf, get, keysOf, post, refused } from './configuration-requests.ts'

interface BrokerOfFile {
  readonly broker: BrokerWithApi
  readonly folder: string
  readonly config: string
}

const sharedBroker = shared(async (scope): Promise<BrokerOfFile> => {
  const folder = await temporaryFolder(scope)
  const config = join(folder, 'my.conf')
  await writeFile(config, '')
  const set = [`node.allowed_directories=["${folder}", "/tmp"]`]
  return { broker: await startBrokerWithApi(scope, { config, set }), folder, config }
})

/** One broker for all tests that need no new one and no restart. `text` replaces its configuration and its configuration file. */
async function brokerOf(text: string): Promise<BrokerOfFile> {
  const started = await sharedBroker()
  const found = { ...started, broker: await withCurrentPorts(started.broker) }
  dataOf('update_config', await post(found.broker, '/config_update', text))
  return found
}

/** A broker without a configuration file. */
const brokerWithoutFile = shareBrokerWithApi({ set: ['node.shards=1', 'mqtt.max_mqueue_len=77'] })

/** A configuration without settings: all have their defaults. */
const defaults = 'mqtt {}\n'

/** Returns the Maximum Packet Size of CONNACK. */
async function maximumPacketSize(t: TestContext, broker: BrokerWithApi): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<IConnackPacket>()
  const client = connect(`mqtt://127.0.0.1:${broker.port}`, { protocolVersion: 5, reconnectPeriod: 0 })
  t.after(() => client.end(true))
  client.once('connect', resolve)
  return (await promise).properties?.maximumPacketSize
}

describe('/reload', () => {
  test('GET shows seven settings, and POST changes the given ones for clients that connect later', async (t) => {
    const { broker } = await brokerOf(defaults)
    const before = dataOf('get_reload', await get(broker, '/reload'))
    assert.deepEqual(before, {
      property_size: 32,
      msq_len: 1_024,
      qos_duration: 30,
      allow_anonymous: true,
      max_packet_size: 10_240,
      client_max_packet_size: 10_240,
      keepalive_backoff: 1_500,
    })
    const data = { max_packet_size: 200, client_max_packet_size: 100, keepalive_backoff: 1_250, qos_duration: 7, x: 1 }
    const { changed } = dataOf('post_reload', await post(broker, '/reload', { data }))
    assert.deepEqual(keysOf(changed), [
      'mqtt.client_max_packet_size',
      'mqtt.keepalive_multiplier',
      'mqtt.max_packet_size',
      'mqtt.retry_interval',
    ])
    const { x: _unknown, ...known } = data
    assert.deepEqual(dataOf('get_reload', await get(broker, '/reload')), { ...before, ...known })
    assert.equal(await maximumPacketSize(t, broker), 100 * 1_024, 'CONNACK has the smaller of the two limits')
    dataOf('post_reload', await post(broker, '/reload', { data: { keepalive_backoff: 2 } }))
    assert.equal(dataOf('get_reload', await get(broker, '/reload')).keepalive_backoff, 2_000)
  })

  test('a missing parameter is refused with 107, an invalid one with 108, and then no setting is changed', async () => {
    const broker = await brokerWithoutFile()
    const before = dataOf('get_reload', await get(broker, '/reload'))
    for (const body of [{}, { data: null }, { data: 5 }, { data: [] }, { data: 'property_size' }]) {
      refused(await post(broker, '/reload', body), [400, 107], /data/)
    }
    const wrong: readonly [Record<string, unknown>, RegExp][] = [
      [{ property_size: '64' }, /property_size/],
      [{ property_size: 0 }, /mqtt\.property_size/],
      [{ property_size: 64, max_packet_size: 300_000 }, /mqtt\.max_packet_size/],
      [{ property_size: 64, keepalive_backoff: 0.5 }, /mqtt\.keepalive_multiplier/],
      [{ qos_duration: -1 }, /mqtt\.retry_interval/],
      [{ allow_anonymous: 'yes' }, /allow_anonymous/],
      [{ property_size: 64, msq_len: 5 }, /mqtt\.max_mqueue_len.*--set/],
    ]
    for (const [data, message] of wrong) refused(await post(broker, '/reload', { data }), [400, 108], message)
    refused(await post(broker, '/reload', '{'), [400, 109], /JSON/)
    assert.deepEqual(dataOf('get_reload', await get(broker, '/reload')), before)
    dataOf('post_reload', await post(broker, '/reload', { data: { msq_len: 77 } }))
  })

  test('changes apply until the restart, and with `persist` also after it', async () => {
    const broker = await brokerWithoutFile()
    dataOf('post_reload', await post(broker, '/reload', { data: { max_packet_size: 5, property_size: 40 } }))
    dataOf('post_reload', await post(broker, '/reload', { data: { property_size: 40 }, persist: true }))
    dataOf('post_reload', await post(broker, '/reload', { data: { qos_duration: 9 }, persist: true }))
    const again = await restartBroker(broker)
    const { max_packet_size, qos_duration } = dataOf('get_reload', await get(again, '/reload'))
    assert.deepEqual([max_packet_size, qos_duration], [10_240, 9])
  })
})

describe('/config_update', () => {
  test('a text replaces the configuration and the file, with a backup of the old file, and the response lists the changes', async (t) => {
    const { broker, config } = await brokerOf('# the old one\nmqtt.max_mqueue_len = 5\n')
    await chmod(config, 0o640)
    const text = `# the new one
mqtt { max_packet_size = 1MB, retry_interval = 9s, batch_resend = true }
node.shards = 3
http_server.port = 1234
log.level = error
`
    const outcome = dataOf('update_config', await post(broker, '/config_update', text))
    assert.deepEqual(keysOf(outcome.changed), [
      'log.level',
      'mqtt.max_mqueue_len',
      'mqtt.max_packet_size',
      'mqtt.retry_interval',
    ])
    assert.deepEqual(keysOf(outcome.needs_restart), ['node.shards'])
    assert.deepEqual(keysOf(outcome.without_engine), ['mqtt.batch_resend'])
    assert.deepEqual(outcome.pinned, ['http_server.port'])
    assert.match(outcome.warnings.join(), /my\.conf:2:.*mqtt\.batch_resend/)
    assert.equal(await readFile(config, 'utf8'), text)
    assert.equal(await readFile(`${config}.bak`, 'utf8'), '# the old one\nmqtt.max_mqueue_len = 5\n')
    assert.equal((await stat(config)).mode & 0o777, 0o640)
    assert.equal(await maximumPacketSize(t, broker), 1_048_576)
  })

  test('text that is not HOCON is refused with 117, invalid settings with line and key, and nothing is changed', async () => {
    const old = 'mqtt.max_mqueue_len = 5\n'
    const { broker, config } = await brokerOf(old)
    const before = dataOf('get_reload', await get(broker, '/reload'))
    const cases: readonly [string, readonly [number, number], RegExp][] = [
      ['mqtt {', [400, 117], /request:1/],
      ['[1, 2]', [400, 117], /./],
      [
        'mqtt.max_mqueue_len = 6\ninclude "/etc/passwd"',
        [400, 117],
        /request:2.*\/etc\/passwd.*node\.allowed_directories/,
      ],
      ['mqtt.max_mqueue_len = ${?HOME}', [400, 117], /environment.*HOME/],
      ['mqtt.max_mqueue_len = ${HOME}', [400, 117], /HOME/],
      ['mqtt.max_mqueue_len = 6\n__proto__ { a = 1 }', [400, 117], /__proto__/],
      ['mqtt.max_mqueue_len = 6\nlog.level = loud', [400, 108], /request:2:\d+: log\.level/],
      ['mqtt.max_mqueue_len = 6\nmqtt.max_mqeue_len = 6', [400, 108], /did you mean mqtt\.max_mqueue_len/],
      ['mqtt.max_mqueue_len = 6\nauth.acl.file = "/etc/passwd"', [400, 108], /auth\.acl\.file/],
      ['', [400, 107], /no setting/],
      ['{}', [400, 107], /no setting/],
      ['# nothing', [400, 107], /no setting/],
    ]
    for (const [text, expected, message] of cases) {
      refused(await post(broker, '/config_update', text), expected, message)
    }
    // The broker may close the connection before the client, which sends 10 MB, has read the response.
    const large = `mqtt.max_mqueue_len = 6\n#${'x'.repeat(10_000_000)}`
    const response = await post(broker, '/config_update', large).catch(() => undefined)
    if (response !== undefined) refused(response, [400, 108], /large/)
    assert.equal(await readFile(config, 'utf8'), old)
    assert.deepEqual(dataOf('get_reload', await get(broker, '/reload')), before)
    assert.equal(({} as Record<string, unknown>)['a'], undefined)
  })

  test('the configuration may be a JSON value `data`; without a configuration file, one is created that the next start reads', async () => {
    const broker = await brokerWithoutFile()
    dataOf('update_config', await post(broker, '/config_update', { data: { mqtt: { retry_interval: '6s' } } }))
    assert.equal(dataOf('get_reload', await get(broker, '/reload')).qos_duration, 6)
    dataOf('update_config', await post(broker, '/config_update', { data: 'mqtt.retry_interval = 7s\n' }))
    assert.equal(await readFile(join(broker.dataDirectory, 'godwit.conf'), 'utf8'), 'mqtt.retry_interval = 7s\n')
    const again = await restartBroker(broker)
    assert.equal(dataOf('get_reload', await get(again, '/reload')).qos_duration, 7)
  })

  test('if the file cannot be written, the response is 118, and file and settings are unchanged', async (t) => {
    const { broker, config } = await brokerOf('mqtt.max_mqueue_len = 5\n')
    await mkdir(`${config}.new`)
    t.after(() => rmdir(`${config}.new`))
    refused(await post(broker, '/config_update', 'mqtt.max_mqueue_len = 6'), [500, 118], /cannot be written/)
    assert.equal(await readFile(config, 'utf8'), 'mqtt.max_mqueue_len = 5\n')
    assert.equal(dataOf('get_reload', await get(broker, '/reload')).msq_len, 5)
  })
})

describe('/configuration', () => {
  test('GET shows all sections or one section, with masked secrets', async () => {
    const { broker } = await brokerOf('auth.password."al.ice" = hunter2\nmqtt.retry_interval = 9s\n')
    const whole = await get(broker, '/configuration/')
    const data = dataOf('get_broker_configuration', whole)
    assert.deepEqual(data.auth.password, { 'al.ice': '******' })
    assert.equal(data.http_server.password, '******')
    assert.deepEqual([data.mqtt.retry_interval, data.mqtt.max_mqueue_len, data.log.to], ['9s', 1_024, ['console']])
    assert.doesNotMatch(whole.text, /hunter2|a-password-for-tests/)
    const section = dataOf('get_configuration_section', await get(broker, '/configuration/mqtt'))
    assert.deepEqual(section, { mqtt: data.mqtt })
    refused(await get(broker, '/configuration/nothing'), [404, 101], /"nothing".*mqtt/)
    refused(await post(broker, '/configuration/nothing', { data: {} }), [404, 101], /"nothing"/)
    refused(await get(broker, '/configuration/__proto__'), [404, 101], /__proto__/)
  })

  test('a POST of the configuration that GET returned changes nothing: masks keep the stored secrets', async (t) => {
    const { broker } = await brokerOf('auth { allow_anonymous = false, password { alice = hunter2, bob = swordfish } }')
    const data = dataOf('get_broker_configuration', await get(broker, '/configuration'))
    assert.deepEqual(dataOf('set_broker_configuration', await post(broker, '/configuration', { data })).changed, [])
    const auth = { ...data.auth, password: { alice: '******', bob: 'changed' } }
    const posted = await post(broker, '/configuration/auth', { data: { auth } })
    const { changed } = dataOf('set_configuration_section', posted)
    assert.deepEqual(changed, [{ key: 'auth.password.bob', old: '******', new: '******' }])
    const canConnectAs = (username: string, password: string): Promise<boolean> =>
      canConnect(t, broker, { username, password })
    assert.deepEqual(
      await Promise.all([
        canConnectAs('alice', 'hunter2'),
        canConnectAs('bob', 'changed'),
        canConnectAs('bob', 'swordfish'),
      ]),
      [true, true, false],
    )
    const unknown = { auth: { password: { carol: '******' } } }
    refused(await post(broker, '/configuration/auth', { data: unknown }), [400, 108], /auth\.password\.carol/)
    const text = 'auth { allow_anonymous = false, password.alice = "******" }'
    dataOf('update_config', await post(broker, '/config_update', text))
    assert.deepEqual(
      await Promise.all([
        canConnectAs('alice', 'hunter2'),
        canConnectAs('alice', '******'),
        canConnectAs('bob', 'changed'),
      ]),
      [true, false, false],
    )
  })

  test('a change is stored, is made completely or not at all, and cannot override --set', async () => {
    const broker = await brokerWithoutFile()
    const before = dataOf('get_reload', await get(broker, '/reload')).property_size
    const change = (section: string, data: unknown): Promise<ApiResponse> =>
      post(broker, `/configuration/${section}`, { data })
    refused(
      await change('mqtt', { mqtt: { property_size: 41, max_mqueue_len: 5 } }),
      [400, 108],
      /max_mqueue_len.*--set/,
    )
    refused(
      await change('mqtt', { mqtt: { property_size: 41, retry_interval: 'x' } }),
      [400, 108],
      /mqtt\.retry_interval/,
    )
    refused(await change('mqtt', { mqtt: { property_size: 41 }, log: {} }), [400, 108], /data\.log/)
    refused(await change('mqtt', { log: {} }), [400, 107], /data\.mqtt/)
    refused(await change('mqtt', { mqtt: 5 }), [400, 108], /mqtt/)
    refused(await post(broker, '/configuration/', '{"data": {"__proto__": {"a": 1}}}'), [400, 108], /__proto__/)
    refused(await post(broker, '/configuration/', {}), [400, 107], /data/)
    assert.equal(dataOf('get_reload', await get(broker, '/reload')).property_size, before)
    dataOf('set_configuration_section', await change('mqtt', { mqtt: { property_size: 41, max_mqueue_len: 77 } }))
    const again = await restartBroker(broker)
    assert.equal(dataOf('get_reload', await get(again, '/reload')).property_size, 41)
    const stored = await readFile(join(broker.dataDirectory, 'changed-settings.conf'), 'utf8')
    assert.match(stored, /property_size/)
    assert.doesNotMatch(stored, /max_mqueue_len/, 'values of --set are not stored')
  })
})

/** Settings as in the configuration file that NanoMQ installs. */
const nanomqFile = (port: number): string => `
system { num_taskq_thread = 0, max_taskq_thread = 0, parallel = 0 }
mqtt {
	# # the largest packet
	max_packet_size = 10KB
	max_mqueue_len = 2048
	retry_interval = 10s
	keepalive_multiplier = 1.25
	property_size = 32
	max_inflight_window = 2048
	max_awaiting_rel = 10s
	await_rel_timeout = 10s
}
listeners.tcp { bind = "0.0.0.0:1883" }
listeners.ws { bind = "127.0.0.1:${port}/mqtt" }
http_server { port = 8081, limit_conn = 2, username = admin, password = public, auth_type = basic }
log { to = [file, console], level = warn, dir = "/tmp", file = "nanomq.log", rotation { size = 10MB, count = 5 } }
auth {
	allow_anonymous = false
	no_match = allow
	deny_action = ignore
	cache = { max_size = 32, ttl = 1m }
	password = {include "nanomq_pwd.conf"}
	acl = {include "nanomq_acl.conf"}
}
bridges.mqtt.cloud {
	server = "mqtt-tcp://127.0.0.1:1"
	enable = false
	forwards = [{ remote_topic = "fwd/one", local_topic = "one", qos = 1 }]
}
`

/** Settings as in the configuration file that EMQX 4 installs: lines of keys and values, which are not always HOCON. */
const emqxFile = `
node.name = emqx@127.0.0.1
mqtt.max_packet_size = 1MB
listener.tcp.external = 0.0.0.0:1883
zone.external.idle_timeout = 15s
allow_anonymous = true
`

describe('files of other brokers', () => {
  test('a configuration file of NanoMQ takes effect unchanged, and the response names settings without effect', async (t) => {
    const { broker, folder } = await brokerOf('mqtt.max_mqueue_len = 5')
    await writeFile(join(folder, 'nanomq_pwd.conf'), 'admin: public\n"client" : "pub lic"\n')
    await writeFile(
      join(folder, 'nanomq_acl.conf'),
      'rules = [\n  {"permit": "deny", "username": "client", "action": "publish", "topics": ["shut"]}\n  {"permit": "allow"}\n]\n',
    )
    const port = await reservePort(t)
    const outcome = dataOf('update_config', await post(broker, '/config_update', nanomqFile(port)))
    assert.ok(keysOf(outcome.changed).includes('auth.password.client'))
    assert.deepEqual(outcome.pinned, ['listeners.tcp.bind', 'http_server.port', 'http_server.password'])
    assert.match(outcome.warnings.join('\n'), /my\.conf:2:\d+: system[^]*mqtt\.max_awaiting_rel/)
    assert.equal(dataOf('get_reload', await get(broker, '/reload')).keepalive_backoff, 1_250)
    assert.equal(await canConnect(t, broker, { username: 'client', password: 'pub lic' }), true)
    assert.equal(await canConnect(t, broker, { username: 'client', password: 'public' }), false)
  })

  test('a file with unsupported keys or invalid paths is refused with line and key, and nothing is changed', async () => {
    const { broker } = await brokerOf(defaults)
    const asItIs = /request:2:\d+: node\.name.*quotes[^]*request:4:\d+: listener\.tcp\.external/
    refused(await post(broker, '/config_update', emqxFile), [400, 117], asItIs)
    const quoted = emqxFile.replaceAll(/= (\S*[@:]\S*)/g, '= "$1"')
    const asMeant =
      /request:4:\d+: listener: [^]*request:5:\d+: zone: [^]*request:6:\d+: allow_anonymous.*auth\.allow_anonymous/
    refused(await post(broker, '/config_update', quoted), [400, 108], asMeant)
    const tls =
      'mqtt.max_mqueue_len = 5\nlisteners.ssl {\n  bind = "127.0.0.1:0"\n  keyfile = "no.pem"\n  certfile = "no.pem"\n}\n'
    refused(await post(broker, '/config_update', tls), [400, 108], /request:[45]:\d+: listeners\.ssl\./)
    assert.equal(dataOf('get_reload', await get(broker, '/reload')).msq_len, 1_024)
  })
})

async function canConnect(
  t: TestContext,
  broker: BrokerWithApi,
  who: { readonly username: string; readonly password: string },
): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const client = connect(`mqtt://127.0.0.1:${broker.port}`, { ...who, reconnectPeriod: 0 })
  t.after(() => client.end(true))
  client.once('connect', () => resolve(true))
  client.once('error', () => resolve(false))
  return promise
}

describe('the history of configurations', () => {
  test('shows author and content of each change without secrets, and restores each of the last 20 versions', async (t) => {
    const { config, broker: former } = await brokerOf(defaults)
    await writeFile(config, 'mqtt.max_mqueue_len = 5\nauth.password.alice = hunter2\n')
    const broker = await restartBroker(former)
    dataOf('update_config', await post(broker, '/config_update', 'mqtt.max_mqueue_len = 6\n'))
    dataOf('post_reload', await post(broker, '/reload', { data: { msq_len: 7 } }))
    const [third, second, first] = dataOf('list_configuration_history', await get(broker, '/configuration_history'))
    assert.deepEqual([first.by, first.act], ['start', 'start'])
    assert.deepEqual([second.by, second.act, second.address], ['admin', 'config_update', '127.0.0.1'])
    assert.deepEqual(second.changed, ['mqtt.max_mqueue_len', 'auth.password.alice'])
    assert.deepEqual([third.act, third.changed], ['reload', ['mqtt.max_mqueue_len']])

    const shown = await get(broker, `/configuration_history/${first.number}`)
    const { text } = dataOf('get_configuration_version', shown)
    assert.match(text, /^mqtt\.max_mqueue_len = 5$/m)
    assert.match(text, /^auth\.password\.alice = "\*{6}"$/m)
    assert.doesNotMatch(shown.text, /hunter2/)

    const difference = await get(broker, `/configuration_history/${first.number}/diff?to=${second.number}`)
    assert.deepEqual(dataOf('diff_configuration', difference).changes, [
      { key: 'mqtt.max_mqueue_len', old: '5', new: '6' },
      { key: 'auth.password.alice', old: '"******"' },
    ])
    assert.equal(
      dataOf('diff_configuration', await get(broker, `/configuration_history/${first.number}/diff`)).to,
      third.number,
    )

    const back = await post(broker, `/configuration_history/${first.number}/rollback`, undefined)
    assert.equal(dataOf('rollback_configuration', back).changed.length, 2)
    assert.equal(await readFile(config, 'utf8'), 'mqtt.max_mqueue_len = 5\nauth.password.alice = hunter2\n')
    assert.equal(await canConnect(t, broker, { username: 'alice', password: 'wrong' }), false)

    for (const path of ['/configuration_history/999', '/configuration_history/x', '/configuration_history/999/diff']) {
      refused(await get(broker, path), [404, 108], /not in the history/)
    }
    refused(await post(broker, '/configuration_history/999/rollback', undefined), [404, 108], /999/)
    for (let length = 100; length < 120; length++) await post(broker, '/reload', { data: { msq_len: length } })
    const last = dataOf('list_configuration_history', await get(broker, '/configuration_history'))
    assert.equal(last.length, 20)
    assert.equal(last[0].number - last[19].number, 19)
    const shownNow = (await get(broker, '/configuration/log')).json.data
    for (const [path, body] of [
      ['/reload', { data: { msq_len: 119 } }],
      ['/configuration/log', { data: shownNow }],
      ['/configuration_reload', undefined],
    ] as const) {
      assert.equal((await post(broker, path, body)).status, 200)
    }
    const same = dataOf('list_configuration_history', await get(broker, '/configuration_history'))
    assert.equal(same[0].number, last[0].number, 'a change without a difference adds no version')
  })

  test('SIGHUP and POST /configuration_reload both read the file again, and an invalid file changes nothing', async () => {
    const { broker, config } = await brokerOf('mqtt.max_mqueue_len = 5\n')
    await writeFile(config, 'mqtt.max_mqueue_len = 6\n')
    const { changed } = dataOf('reload_configuration', await post(broker, '/configuration_reload', undefined))
    assert.deepEqual(changed, [{ key: 'mqtt.max_mqueue_len', old: '5', new: '6' }])
    await writeFile(config, 'mqtt.max_mqueue_len = 7\nlog.level = loud')
    refused(await post(broker, '/configuration_reload', undefined), [400, 108], /my\.conf:2.*log\.level/)
    await writeFile(config, 'mqtt.max_mqueue_len = 8\n')
    broker.process.child.kill('SIGHUP')
    await broker.process.until(/configuration reloaded.*"by":"signal"/)
    const [newest] = dataOf('list_configuration_history', await get(broker, '/configuration_history'))
    assert.deepEqual([newest.by, newest.act, newest.changed], ['signal', 'reload', ['mqtt.max_mqueue_len']])
    assert.equal(dataOf('get_reload', await get(broker, '/reload')).msq_len, 8)
  })
})
