// The whole program with access rules, and real clients with and without permissions.

import assert from 'node:assert/strict'
import { type EventEmitter, once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import mqtt, { type IClientOptions, type MqttClient } from 'mqtt'
import { eventually } from './eventually.ts'
import { type ConfigurableBroker, shareConfigurableBroker } from '../management/api.ts'
import { runHere } from '../cli/run-here.ts'
import { type Broker, type Scope, temporaryFolder } from './godwit-process.ts'
import { reservePort } from './reserve-port.ts'

const configuredBroker = shareConfigurableBroker(['log.level=warn'])

interface BrokerWithRules extends ConfigurableBroker {
  /** Path of `acl.conf`. */
  readonly rulesFile: string
}

async function brokerWith(t: Scope, acl: string, ...settings: string[]): Promise<BrokerWithRules> {
  const rulesFile = join(await temporaryFolder(t), 'acl.conf')
  await writeFile(rulesFile, acl)
  return { ...(await configuredBroker([`auth.acl.file=${JSON.stringify(rulesFile)}`, ...settings])), rulesFile }
}

async function connected(t: TestContext, broker: Broker, options: IClientOptions): Promise<MqttClient> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, {
    reconnectPeriod: 0,
    protocolVersion: 5,
    ...options,
  })
  client.on('error', () => {})
  t.after(() => client.end(true))
  return client
}

/** The reason codes of SUBACK (of MQTT 5.0 or 3.1.1). */
async function subscribed(client: MqttClient, ...filters: string[]): Promise<number[]> {
  const { promise, resolve } = Promise.withResolvers<number[]>()
  client.subscribe(filters, { qos: 1 }, (_error, _granted, packet) => {
    resolve((packet as { granted: number[] } | undefined)?.granted ?? [])
  })
  return promise
}

/** The reason code of PUBACK. */
async function published(client: MqttClient, topic: string, payload: string, retain = false): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>()
  client.publish(topic, payload, { qos: 1, retain }, (error, packet) => {
    const { code } = (error ?? {}) as { code?: number }
    resolve(code ?? (packet as { reasonCode?: number } | undefined)?.reasonCode ?? 0)
  })
  return promise
}

const notAuthorized = 0x87

/** Collects payloads until the message `end` arrives. */
function collect(client: MqttClient): { readonly payloads: string[]; readonly end: Promise<void> } {
  const payloads: string[] = []
  const { promise: end, resolve } = Promise.withResolvers<void>()
  client.on('message', (_topic, payload) => {
    if (String(payload) === 'end') resolve()
    else payloads.push(String(payload))
  })
  return { payloads, end }
}

const acl = `
%% Sensors publish what is theirs; the office reads everything but what is secret.
{deny, all, subscribe, ["plant/secret/#"]}.
{allow, {user, "office"}, subscribe, ["plant/#"]}.
{allow, all, publish, ["plant/secret/\${clientid}", "plant/\${clientid}/#"]}.
{allow, all, pubsub, ["open/#"]}.
{allow, {'and', [{ipaddr, "127.0.0.0/8"}, {client, "local"}]}, pubsub, [{eq, "local/only"}]}.
`

const plantBroker = (t: Scope): Promise<Broker> =>
  brokerWith(t, acl, 'auth.allow_anonymous=true', 'auth.password.office=pass')

describe('with an acl.conf', () => {
  test('a client publishes and subscribes where its rules allow it, and nowhere else', async (t) => {
    const broker = await plantBroker(t)
    const sensor = await connected(t, broker, { clientId: 'sensor-1' })
    assert.equal((await published(sensor, 'plant/sensor-1/temperature', '21')) & 0x80, 0)
    assert.equal(await published(sensor, 'plant/sensor-2/temperature', '21'), notAuthorized)
    assert.deepEqual(await subscribed(sensor, 'plant/#', 'open/#', 'plant/sensor-1/#'), [
      notAuthorized,
      1,
      notAuthorized,
    ])
    const local = await connected(t, broker, { clientId: 'local', protocolVersion: 4 })
    assert.deepEqual(await subscribed(local, 'local/only', 'local/+'), [1, 0x80])
  })

  test('[bad-input 25] a broad subscription does not deliver topics that a narrow rule denies: live, retained or queued', async (t) => {
    const broker = await plantBroker(t)
    const sensor = await connected(t, broker, { clientId: 'sensor-1' })
    await published(sensor, 'plant/secret/sensor-1', 'secret and retained', true)
    await published(sensor, 'plant/sensor-1/x', 'retained', true)
    const logIn: IClientOptions = {
      clientId: 'desk',
      username: 'office',
      password: 'pass',
      clean: false,
      properties: { sessionExpiryInterval: 3_600 },
    }
    const office = await connected(t, broker, logIn)
    const live = collect(office)
    assert.deepEqual(await subscribed(office, 'plant/#'), [1])
    await eventually(() => assert.deepEqual(live.payloads, ['retained']))
    await published(sensor, 'plant/secret/sensor-1', 'secret and live')
    await published(sensor, 'plant/sensor-1/y', 'live')
    await published(sensor, 'plant/sensor-1/y', 'end')
    await live.end
    assert.deepEqual(live.payloads, ['retained', 'live'])
    await office.endAsync()
    await published(sensor, 'plant/secret/sensor-1', 'secret and queued')
    await published(sensor, 'plant/sensor-1/y', 'queued')
    await published(sensor, 'plant/sensor-1/y', 'end')
    const reconnected = mqtt.connect(`mqtt://127.0.0.1:${broker.port}`, {
      ...logIn,
      protocolVersion: 5,
      reconnectPeriod: 0,
    })
    t.after(() => reconnected.end(true))
    const later = collect(reconnected)
    await later.end
    assert.deepEqual(later.payloads, ['queued'])
  })

  test('[bad-input 23] a client ID with a wildcard allows nothing', async (t) => {
    const broker = await plantBroker(t)
    const clever = await connected(t, broker, { clientId: '+' })
    assert.deepEqual(await subscribed(clever, 'plant/+/#', 'plant/sensor-1/#'), [notAuthorized, notAuthorized])
    assert.equal(await published(clever, 'plant/sensor-1/x', 'x'), notAuthorized)
  })

  test('[bad-input 26] shared subscriptions and subscriptions to $SYS are authorized like others', async (t) => {
    const broker = await brokerWith(t, '{deny, all, subscribe, ["plant/#"]}. {allow, all, pubsub, ["#"]}.')
    const client = await connected(t, broker, { clientId: 'c' })
    assert.deepEqual(await subscribed(client, '$share/g/plant/x', '$share/g/open', '$SYS/#'), [
      notAuthorized,
      1,
      notAuthorized,
    ])
  })

  test('[bad-input 27] every listener applies the rules, whatever the order of the configuration', async (t) => {
    const file = join(await temporaryFolder(t), 'acl.conf')
    await writeFile(file, '{allow, all, publish, ["a"]}.')
    const listeners = ['listeners.tcp.bind = "127.0.0.1:0"', 'listeners.tcp.other.bind = "127.0.0.1:0"']
    const access = [`auth.acl.file = "${file}"`, 'auth.allow_anonymous = true']
    for (const settings of [
      [...listeners, ...access],
      [...access, ...listeners],
    ]) {
      await configuredBroker()
      const broker = await configuredBroker(settings)
      const { json } = await broker.request('/api/v4/listeners')
      const other = json.data[0].listeners.find(
        ({ identifier }: { identifier: string }) => identifier === 'mqtt:tcp:other',
      )
      const ports = [broker.port, Number(other.listen_on.split(':')[1])]
      assert.equal(new Set(ports).size, 2)
      for (const port of ports) {
        const client = await connected(t, { ...broker, port }, { clientId: 'c' })
        assert.equal(await published(client, 'b', 'x'), notAuthorized)
        assert.equal((await published(client, 'a', 'x')) & 0x80, 0)
      }
    }
  })

  test('[bad-input 31] a client on loopback has no more permissions than others', async (t) => {
    const broker = await brokerWith(t, '{allow, {ipaddr, "192.0.2.0/24"}, pubsub, ["#"]}.')
    const client = await connected(t, broker, { clientId: 'admin', username: 'admin', password: 'public' }).catch(
      () => undefined,
    )
    assert.ok(client !== undefined)
    assert.equal(await published(client, 'a', 'x'), notAuthorized)
    assert.deepEqual(await subscribed(client, '#', '$SYS/#'), [notAuthorized, notAuthorized])
  })

  test('deny_action = disconnect closes the connection of a client without permission', async (t) => {
    const broker = await brokerWith(t, acl, 'auth.deny_action=disconnect')
    const client = await connected(t, broker, { clientId: 'c' })
    const closed = once(client as unknown as EventEmitter, 'close')
    client.publish('elsewhere', 'x')
    await closed
  })

  test('[bad-input 27] every action is denied if the file has only comments', async (t) => {
    const broker = await brokerWith(t, '%% {allow, all}.\n')
    const client = await connected(t, broker, { clientId: 'c' })
    assert.equal(await published(client, 'a', 'x'), notAuthorized)
    assert.deepEqual(await subscribed(client, 'a', '#'), [notAuthorized, notAuthorized])
  })

  test('[bad-input 27] the broker does not start if the file is missing or malformed, and the error has its position', async (t) => {
    const folder = await temporaryFolder(t)
    const file = join(folder, 'acl.conf')
    const start = async (): Promise<string> => {
      const settings = ['--set', 'listeners.tcp.bind="127.0.0.1:0"', '--set', `auth.acl.file=${JSON.stringify(file)}`]
      const { code, errors } = await runHere(['start', '--data', join(folder, 'data'), ...settings])
      assert.notEqual(code, 0)
      return errors
    }
    assert.match(await start(), /auth\.acl\.file: .*acl\.conf cannot be read: there is no such file/)
    await writeFile(file, '{allow, all}.\n{allow, {user "x"}, publish, ["a"]}.\n')
    assert.match(await start(), /acl\.conf:2:\d+: auth\.acl\.file: /)
  })
})

const serviceAt = (port: number): string[] => {
  const url = `http://127.0.0.1:${port}/acl`
  return [`auth.http_auth.acl_req={ url = "${url}", method = GET, params { t = "%t", a = "%A", c = "%c" } }`]
}

describe('with an access service', () => {
  test('a client does what the service allows, and rules of the file come first', async (t) => {
    const requests: string[] = []
    const service = createServer((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://x')
      requests.push(`${searchParams.get('a')} ${searchParams.get('t')}`)
      response.statusCode = searchParams.get('t')?.startsWith('open/') === true ? 200 : 403
      response.end()
    })
    service.listen(0, '127.0.0.1')
    await once(service, 'listening')
    t.after(() => service.close())
    t.after(() => service.closeAllConnections())
    const { port } = service.address() as AddressInfo
    const broker = await brokerWith(t, '{deny, all, subscribe, ["open/secret"]}.', ...serviceAt(port))
    const client = await connected(t, broker, { clientId: 'c' })
    const { payloads, end } = collect(client)
    assert.deepEqual(await subscribed(client, 'open/#', 'shut/#', 'open/secret'), [1, notAuthorized, notAuthorized])
    assert.equal((await published(client, 'open/a', 'first')) & 0x80, 0)
    assert.equal((await published(client, 'open/a', 'second')) & 0x80, 0)
    assert.equal(await published(client, 'shut/a', 'x'), notAuthorized)
    await published(client, 'open/secret', 'secret')
    await published(client, 'open/a', 'end')
    await end
    assert.deepEqual(payloads, ['first', 'second'])
    assert.deepEqual(requests, ['1 open/#', '1 shut/#', '2 open/a', '2 shut/a', '2 open/secret'])
  })

  test('[bad-input 29] only actions that rules allow are allowed while the service does not respond', async (t) => {
    const broker = await brokerWith(t, '{allow, all, publish, ["known"]}.', ...serviceAt(await reservePort(t)))
    const client = await connected(t, broker, { clientId: 'c' })
    assert.equal(await published(client, 'other', 'x'), notAuthorized)
    assert.deepEqual(await subscribed(client, 'other'), [notAuthorized])
    assert.equal((await published(client, 'known', 'x')) & 0x80, 0)
  })
})

test('a client that reconnects too often is banned for a while, and others are not', async (t) => {
  const broker = await configuredBroker(['flapping_detect={enable = true, max_count = 3}'])
  for (let time = 0; time < 3; time++) {
    const flappingClient = await connected(t, broker, { clientId: 'restless' })
    await flappingClient.endAsync()
  }
  await broker.process.until(/client banned.*restless/)
  await assert.rejects(connected(t, broker, { clientId: 'restless' }), { code: 0x8a })
  await connected(t, broker, { clientId: 'quiet' })
})

describe('SIGHUP', () => {
  test('[bad-input 24] applies changed rules to connected clients and existing subscriptions', async (t) => {
    const broker = await brokerWith(t, '{allow, all, pubsub, ["news/#", "done"]}.')
    const reader = await connected(t, broker, { clientId: 'reader' })
    const writer = await connected(t, broker, { clientId: 'writer' })
    const { payloads, end } = collect(reader)
    await subscribed(reader, 'news/#', 'done')
    await published(writer, 'news/a', 'retained', true)
    await published(writer, 'news/b', 'first')
    await writeFile(
      broker.rulesFile,
      '{deny, {client, "reader"}, subscribe, ["news/#"]}. {allow, all, pubsub, ["news/#", "done"]}.',
    )
    broker.process.child.kill('SIGHUP')
    await broker.process.until(/configuration reloaded.*"by":"signal"/)
    await published(writer, 'news/b', 'second')
    assert.deepEqual(await subscribed(reader, 'news/a'), [notAuthorized])
    await published(writer, 'done', 'end')
    await end
    assert.deepEqual(payloads, ['retained', 'first'])
  })

  test('with another security profile changes nothing before a restart', async (t) => {
    const broker = await configuredBroker(['auth.acl.rules = [{permit = allow, topics = [a]}]'])
    const client = await connected(t, broker, { clientId: 'c' })
    await writeFile(broker.configFile, 'node.security_profile = legacy')
    broker.process.child.kill('SIGHUP')
    await broker.process.until(/setting changed.*node\.security_profile.*at-restart/)
    assert.equal(await published(client, 'b', 'x'), notAuthorized)
  })

  test('[bad-input 27] with an invalid rules file changes nothing', async (t) => {
    const broker = await brokerWith(t, '{allow, all, publish, ["a"]}.')
    const client = await connected(t, broker, { clientId: 'c' })
    await writeFile(broker.rulesFile, '{allow, all}.\n{deny, all')
    broker.process.child.kill('SIGHUP')
    await broker.process.until(/configuration not loaded.*acl\.conf:2/)
    assert.equal((await published(client, 'a', 'x')) & 0x80, 0)
    assert.equal(await published(client, 'b', 'x'), notAuthorized)
  })
})
