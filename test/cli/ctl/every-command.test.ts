// Runs every command of `godwit ctl` over the socket in the data directory, with a broker that has clients.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test, type TestContext } from 'node:test'
import { connectAsync, type MqttClient } from 'mqtt'
import { ctlCommands } from '../../../src/cli/ctl/commands/ctl-commands.ts'
import { readAllPages } from '../../../src/cli/ctl/read-all-pages.ts'
import { runProgram } from '../../../src/cli/program.ts'
import { Terminal } from '../../../src/cli/terminal/terminal.ts'
import { UdpCoapDevice } from '../../gateways/udp-coap-device.ts'
import { eventually } from '../../e2e/eventually.ts'
import { HttpService } from '../../e2e/http-service.ts'
import { reservePort } from '../../e2e/reserve-port.ts'
import { type BrokerWithApi, startBrokerWithApi } from '../../management/api.ts'

interface Operator {
  readonly broker: BrokerWithApi
  readonly used: Set<string>
  /** Runs the command with these arguments and returns what it prints; the command must succeed. */
  readonly done: (command: string, words?: readonly string[], lines?: readonly string[]) => Promise<string>
}

function operatorOf(broker: BrokerWithApi): Operator {
  const used = new Set<string>()
  const done: Operator['done'] = async (command, words = [], lines = []) => {
    used.add(command)
    const written = { output: '', errors: '' }
    const input = Readable.from([lines.map((line) => `${line}\n`).join('')])
    const output = { isTTY: false, write: (text: string) => (written.output += text) }
    const terminal = new Terminal(output, { write: (text) => (written.errors += text) }, input)
    const world = { version: '0', installation: { root: '/nowhere/', isCheckout: false } }
    const all = ['ctl', ...command.split(' '), ...words, '--data', broker.dataDirectory]
    const code = await runProgram(all, world, terminal)
    assert.deepEqual({ code, errors: written.errors }, { code: 0, errors: '' }, all.join(' '))
    return written.output
  }
  return { broker, used, done }
}

async function connected(t: TestContext, { port }: BrokerWithApi, clientId: string): Promise<MqttClient> {
  const client = await connectAsync(`mqtt://127.0.0.1:${port}`, { clientId, username: 'anna', reconnectPeriod: 0 })
  t.after(() => client.endAsync(true))
  return client
}

async function lookAtTheBroker({ done }: Operator): Promise<void> {
  assert.match(await done('status'), /^node_status +Running$/m)
  assert.match(await done('listeners list'), /mqtt:tcp:default/)
  assert.match(await done('api list'), /^list_brokers\t/m)
  assert.equal(JSON.parse(await done('api call', ['list_nodes'])).code, 0)
  assert.equal(await done('alarms', ['--all']), '')
  assert.match(await done('config show', ['mqtt']), /max_packet_size/)
  assert.match(await done('gateways list'), /^mqttsn\tunloaded\t/m)
  await done('gateways disable', ['mqttsn'])
  await done('gateways enable', ['mqttsn'])
}

async function lookAfterClients({ done, broker }: Operator, client: MqttClient): Promise<void> {
  assert.match(await done('clients list', ['username=anna']), /^sensor\tanna\tconnected\t/)
  assert.match(await done('clients show', ['sensor']), /^username +anna$/m)
  assert.match(
    await done('clients top', ['--seconds', '1', '--by', 'recv_oct', '--limit', '1']),
    /^(\S+\t\d+\t\d+\t\d+\t\d+\n)?$/,
  )
  assert.match(await done('clients timeline', ['sensor']), /\tconnected\t/)
  assert.match(await done('trace start', ['one', 'clientid', 'sensor']), /one/)
  await done('subscribe', ['sensor', 'orders/#', '-q', '1'])
  const receivedTopic = new Promise((resolve) => client.once('message', (topic) => resolve(topic)))
  assert.match(await done('publish', ['orders/new', '-m', 'so', '-q', '1', '-r', '--receipt']), /^matched +1$/m)
  assert.equal(await receivedTopic, 'orders/new')
  assert.equal(await done('subscriptions list', ['clientid=sensor']), 'sensor\torders/#\t1\n')
  assert.match(await done('topics tree'), /orders/)
  assert.match(await done('topics list'), /^orders\/#\t/m)
  assert.match(await done('explain', ['sensor', 'publish', 'orders/new']), /^result +allow$/m)
  assert.equal(await done('dropped', ['clientid=sensor']), '')
  assert.equal(await done('slow', ['--threshold', '60000']), '')
  assert.match(await done('retained list', ['orders/#']), /^orders\/new\t/m)
  await done('retained delete', ['orders/new'])
  assert.equal(await done('retained list', ['orders/#']), '')
  assert.equal(await done('clients queue', ['sensor']), '')
  await done('publish', ['$delayed/600/later', '-m', 'x', '-q', '1'])
  const [delayed] = JSON.parse(await done('delayed list', ['--json'])) as { node: string; msgid: string }[]
  const { node, msgid } = delayed ?? assert.fail('no delayed message')
  assert.match(await done('delayed show', [node, msgid]), /^topic +later$/m)
  assert.match(await done('delayed delete', [node, msgid]), /is deleted/)
  assert.equal(await done('delayed list'), '')
  assert.equal(await done('rewrite list'), '')
  assert.equal(await done('auto-subscribe list'), '')
  await done('topic-metrics add', ['counted/a'])
  await done('publish', ['counted/a', '-m', 'x'])
  assert.match(await done('topic-metrics list'), /^counted\/a\t1\t/m)
  assert.match(await done('topic-metrics show', ['counted/a']), /^messages\.dropped\.count +1$/m)
  await done('topic-metrics reset', ['counted/a'])
  await done('topic-metrics reset')
  assert.match(await done('topic-metrics list'), /^counted\/a\t0\t/m)
  await done('topic-metrics delete', ['counted/a'])
  assert.equal(await done('topic-metrics list'), '')
  await done('unsubscribe', ['sensor', 'orders/#'])
  assert.equal(await done('subscriptions list', ['clientid=sensor']), '')
  assert.match(await done('trace list'), /^one\t/m)
  await eventually(async () => assert.match(await done('trace show', ['one']), /sensor/))
  assert.equal(await done('trace stop', ['one']), 'one is stopped\n')
  await done('trace del', ['one'])
  const kicked = new Promise((resolve) => client.once('close', () => resolve(undefined)))
  await done('clients kick', ['sensor'])
  await kicked
  await done('listeners restart', ['mqtt:tcp:default'])
  await (await connectAsync(`mqtt://127.0.0.1:${broker.port}`)).endAsync()
}

async function configureAccess({ done }: Operator): Promise<void> {
  const key = '00112233445566778899aabbccddeeff'
  for (const [group, secret] of [
    ['user', 'a password'],
    ['clientid', 'a password'],
    ['scram', 'a password'],
    ['psk', key],
  ] as const) {
    await done(`${group} add`, ['an/na'], [secret])
    await done(`${group} update`, ['an/na'], [secret])
    assert.match(await done(`${group} list`), /^an\/na/m)
    await done(`${group} del`, ['an/na'])
    assert.equal(await done(`${group} list`), '')
  }
  await done('acl add', ['deny', 'pub', 'secret/#', '--user', 'bert'])
  assert.match(await done('acl list'), /secret\/#/)
  await done('acl del', ['secret/#', '--user', 'bert'])
  assert.equal(await done('acl list'), '')
  await done('ban add', ['clientid', 'pest', '--for-ever'])
  assert.match(await done('ban list'), /^pest\t/m)
  await done('ban del', ['clientid', 'pest'])
  await done('admins add', ['carl'], ['correct-horse'])
  await done('admins password', ['carl'], ['correct-horse', 'battery-staple'])
  assert.match(await done('admins list'), /^carl\t/m)
  assert.match(await done('admins reset', ['carl']), /^new password of carl: /)
  await done('admins mfa-reset', ['carl'])
  await done('admins del', ['carl'])
  assert.notEqual(await done('api-key add', ['grafana', '--viewer']), '')
  assert.match(await done('api-key list'), /^grafana\t/m)
  assert.match(await done('api-key show', ['grafana']), /^app_id +grafana$/m)
  await done('api-key del', ['grafana'])
  assert.notEqual(await done('audit'), '')
}

async function changeTheConfiguration({ done, broker }: Operator): Promise<void> {
  const file = join(broker.dataDirectory, 'new.conf')
  await writeFile(
    file,
    'mqtt.max_packet_size = 2MB\nbridges.mqtt.north { server = "mqtt-tcp://127.0.0.1:1", enable = false }\n',
  )
  await done('reload')
  const [before] = JSON.parse(await done('config history', ['--json'])) as { number: number }[]
  assert.match(await done('config update', [file, '--yes']), /mqtt\.max_packet_size/)
  assert.match(await done('config diff', [`${before?.number}`]), /^mqtt\.max_packet_size\t/m)
  await done('config set', ['mqtt.max_topic_levels=9'])
  assert.equal(await done('config get', ['mqtt.max_topic_levels']), '9\n')
  await done('config unset', ['mqtt.max_topic_levels'])
  assert.equal(await done('config replace', [file, '--yes']), 'nothing would change\n')
  assert.match(await done('bridges list'), /^north\tfalse\t/m)
  await done('bridges on', ['north'])
  assert.match(await done('bridges show', ['north']), /^enable +true$/m)
  await done('bridges off', ['north'])
  await done('bridges create', ['south', 'mqtt-tcp://127.0.0.1:1', '--settings', '{"keepalive":45}'])
  assert.match(await done('bridges list'), /^south\tfalse\t/m)
  await done('bridges delete', ['south'])
  assert.match(await done('audit'), /config/)
  assert.match(await done('config rollback', [`${before?.number}`]), /mqtt\.max_packet_size/)
}

async function runRules({ done, broker }: Operator, service: HttpService): Promise<void> {
  service.statusFor = ({ body }) => (body === 'poison' ? 400 : 200)
  const url = `http://127.0.0.1:${service.port}`
  await done('connectors probe', ['http', '--settings', JSON.stringify({ url })])
  await done('connectors create', ['http:local', '--settings', JSON.stringify({ url })])
  assert.match(await done('connectors list'), /^http:local\t/m)
  assert.match(await done('connectors show', ['http:local']), new RegExp(`^url +${url}$`, 'm'))
  // oxlint-disable-next-line no-template-curly-in-string -- a template of rules
  const action = { connector: 'local', parameters: { body: '${payload}' }, resource_opts: { max_retries: 0 } }
  await done('actions probe', ['http', '--settings', JSON.stringify(action)])
  await done('actions create', ['http:hook', '--settings', JSON.stringify(action)])
  await done('rules create', ['all', 'SELECT payload FROM "in/#"', 'http:hook'])
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  await client.publishAsync('in/x', 'poison', { qos: 1 })
  while ((await done('actions dead-letters', ['http:hook'])) === '');
  assert.match(await done('actions metrics', ['http:hook']), /^dead_letters +1$/m)
  assert.match(await done('actions retry-dead-letters', ['http:hook']), /^1 /)
  assert.match(await done('actions retry-progress', ['http:hook']), /^1 are sent again/)
  while ((await done('actions dead-letters', ['http:hook'])) === '');
  assert.match(await done('actions delete-dead-letters', ['http:hook']), /^1 /)
  service.statusFor = () => 503
  for (const payload of ['one', 'two', 'three']) await client.publishAsync('in/x', payload, { qos: 1 })
  const queued = await done('actions queue', ['http:hook'])
  assert.equal(queued.trim().split('\n').length, 3)
  const [entry = ''] = queued.split('\t')
  assert.match(await done('actions discard-queue', ['http:hook', '--entry', entry]), /^1 /)
  assert.match(await done('actions discard-queue', ['http:hook']), /^2 /)
  while ((await done('actions dead-letters', ['http:hook'])).trim().split('\n').length < 3);
  assert.match(await done('actions delete-dead-letters', ['http:hook']), /^3 /)
  await client.endAsync()
  assert.match(await done('actions list'), /^http:hook\t/m)
  assert.match(await done('actions show', ['http:hook']), /^connector +local$/m)
  for (const operation of ['stop', 'start', 'restart']) await done(`actions ${operation}`, ['http:hook'])
  for (const operation of ['stop', 'start', 'restart']) await done(`connectors ${operation}`, ['http:local'])
  assert.match(await done('rules list'), /^all\ttrue\tin\/#\thttp:hook/m)
  assert.match(await done('rules show', ['all']), /^matched +4$/m)
  await done('rules enable', ['all', '--off'])
  assert.match(await done('rules list'), /^all\tfalse\t/m)
  const context = ['--context', '{"topic":"in/x","payload":"hello"}']
  assert.match(await done('rules test', ['SELECT payload FROM "in/#"', ...context]), /hello/)
  assert.match(await done('rules explain', ['all', ...context]), /^FROM in\/#: matches$/m)
  assert.match(await done('rules convert', ['SELECT client_id FROM "client.connected"']), /SELECT clientid FROM/)
  await done('rules delete', ['all'])
  await done('schemas add', ['number', 'avro', '"long"', '--description', 'a number'])
  assert.equal(await done('schemas list'), 'number\tavro\ta number\n')
  await done('schemas update', ['number', 'avro', '"int"'])
  assert.equal(await done('schemas show', ['number']), '"int"\n')
  await done('schemas delete', ['number'])
  const source = { connector: 'east', parameters: { topic: 'a/#' } }
  const east = { server: `127.0.0.1:${broker.port}` }
  await done('connectors create', ['mqtt:east', '--settings', JSON.stringify(east)])
  await done('sources probe', ['mqtt', '--settings', JSON.stringify(source)])
  await done('sources create', ['mqtt:in', '--settings', JSON.stringify(source)])
  assert.match(await done('sources list'), /^mqtt:in\t/m)
  assert.match(await done('sources show', ['mqtt:in']), /^connector +east$/m)
  assert.match(await done('sources metrics', ['mqtt:in']), /^received +0$/m)
  for (const operation of ['stop', 'start', 'restart']) await done(`sources ${operation}`, ['mqtt:in'])
  await done('sources delete', ['mqtt:in'])
  await done('connectors delete', ['mqtt:east'])
  await done('actions delete', ['http:hook', '--force'])
  await done('connectors delete', ['http:local'])
  assert.equal(await done('rules list'), '')
}

async function lookAfterGatewayUsers(done: Operator['done']): Promise<void> {
  const listener = 'coap:udp:default'
  const builtIn = JSON.stringify({ mechanism: 'password_based', backend: 'built_in_database' })
  for (const owner of ['coap', listener]) {
    assert.match(await done('gateways authentication', [owner]), /^code +0$/m)
    await done('gateways set-authentication', [owner, '--settings', builtIn])
    assert.match(await done('gateways authentication', [owner]), /^id +password_based:built_in_database$/m)
    const byClientId = JSON.stringify({ mechanism: 'password_based', user_id_type: 'clientid' })
    await done('gateways set-authentication', [owner, '--settings', byClientId])
    assert.match(await done('gateways authentication', [owner]), /^user_id_type +clientid$/m)
    await done('gateways add-user', [owner, 'lamp', '--superuser'], ['secret'])
    await done('gateways update-user', [owner, 'lamp'], ['another'])
    assert.equal(await done('gateways users', [owner]), 'lamp\ttrue\n')
    await done('gateways remove-user', [owner, 'lamp'])
    assert.equal(await done('gateways users', [owner]), '')
    await done('gateways remove-authentication', [owner])
  }
}

async function lookAfterGateways(t: TestContext, { done }: Operator): Promise<void> {
  const port = await reservePort(t)
  await done('gateways add-listener', ['coap:udp:default', '--settings', JSON.stringify({ bind: `127.0.0.1:${port}` })])
  assert.match(await done('gateways listeners', ['coap']), /^coap:udp:default\ttrue\t/m)
  assert.match(await done('gateways show', ['coap']), /^status +running$/m)
  const lamp = await UdpCoapDevice.at(t, port)
  lamp.device.request(2, 'mqtt/connection', 'clientid=lamp', '')
  await lamp.next()
  assert.match(await done('gateways clients', ['coap', 'like_clientid=lam']), /^lamp\t/m)
  const output = done('gateways request', ['lamp', 'get'])
  const request = await lamp.next()
  lamp.device.respond(request, '2.05', { payload: 'on' })
  assert.match(await output, /^payload +on$/m)
  await done('gateways kick', ['coap', 'lamp'])
  await lookAfterGatewayUsers(done)
  await done('gateways remove-listener', ['coap:udp:default'])
  await done('gateways add-listener', [
    'lwm2m:udp:default',
    '--settings',
    JSON.stringify({ bind: `127.0.0.1:${port}` }),
  ])
  const meter = await UdpCoapDevice.at(t, port)
  meter.device.request(2, 'rd', 'ep=meter&lt=300', '</3/0>')
  await meter.next()
  for (const [command, words] of [
    ['read', ['/3/0/0']],
    ['write', ['/1/0/1', 'Integer', '60']],
    ['observe', ['/3/0/9']],
  ] as const) {
    await done(`gateways ${command}`, ['meter', ...words])
    meter.device.respond(await meter.next(), command === 'write' ? '2.04' : '2.05', { format: 0, payload: '1' })
  }
  await eventually(async () => assert.match(await done('gateways lookup', ['meter', '/3/0/0', 'read']), /2\.05/))
}

async function turnFeaturesOff({ done }: Operator): Promise<void> {
  assert.match(await done('modules list'), /^\S+\tdelayed\ttrue\t/m)
  for (const [action, state] of [
    ['unload', 'false'],
    ['load', 'true'],
  ] as const) {
    await done(`modules ${action}`, ['delayed'])
    assert.match(await done('modules list'), new RegExp(`^\\S+\\tdelayed\\t${state}\\t`, 'm'))
  }
  await done('modules reload', ['delayed'])
  assert.match(await done('drain', ['--timeout', '0']), /./)
  assert.equal(await done('drain', ['--cancel']), 'clients are accepted again\n')
}

test('every operation has a godwit ctl command, and every command is tested', async (t) => {
  const broker = await startBrokerWithApi(t)
  const operator = operatorOf(broker)
  await lookAtTheBroker(operator)
  await lookAfterClients(operator, await connected(t, broker, 'sensor'))
  await configureAccess(operator)
  await runRules(operator, await HttpService.start(t))
  await changeTheConfiguration(operator)
  await lookAfterGateways(t, operator)
  await turnFeaturesOff(operator)
  assert.equal(await operator.done('restart'), 'restarting\n')
  await broker.process.until(/listening[^]*listening +mqtt:/)
  assert.equal(await operator.done('stop'), 'stopping\n')
  assert.equal(await broker.process.ended, 0)
  const ofOthers = /^(cluster|data|namespaces) |^token$/
  const untried = ctlCommands.map(({ name }) => name).filter((name) => !operator.used.has(name) && !ofOthers.test(name))
  assert.deepEqual(untried, [], 'cluster, token and data have tests of their own')
})

test('a list of many pages is printed completely', async () => {
  const rows = Array.from({ length: 25 }, (_, row) => row)
  const pages: number[] = []
  const found = await readAllPages(async ({ page }) => {
    pages.push(page)
    const data = rows.slice((page - 1) * 10, page * 10)
    return { reply: { data, meta: { hasnext: page < 3 } } }
  })
  assert.deepEqual('reply' in found && found.reply.data, rows)
  assert.deepEqual(pages, [1, 2, 3])
  const failure = { kind: 'refused', code: 101, status: 500, message: 'no' } as const
  assert.deepEqual(await readAllPages(async () => ({ failure })), { failure })
})
