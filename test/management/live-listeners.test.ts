// Changes of listeners while clients are connected.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt'
import { shared, temporaryFolder } from '../e2e/godwit-process.ts'
import { Authority, type Named } from '../transports/certificates.ts'
import { type ApiResponse, type BrokerWithApi, startBrokerWithApi } from './api.ts'

/** A connected client, with the reason why the broker disconnected it. */
interface ConnectedClient {
  readonly client: MqttClient
  /** The reason code of DISCONNECT. */
  readonly disconnectReason: Promise<number | undefined>
  isOpen: boolean
}

async function connectWatched(t: TestContext, url: string, options: IClientOptions = {}): Promise<ConnectedClient> {
  const client = await connectAsync(url, { protocolVersion: 5, reconnectPeriod: 0, connectTimeout: 60_000, ...options })
  t.after(() => client.endAsync(true))
  const disconnectReason = new Promise<number | undefined>((resolve) =>
    client.on('disconnect', ({ reasonCode }) => resolve(reasonCode)),
  )
  const found = { client, disconnectReason, isOpen: true }
  client.on('close', () => (found.isOpen = false))
  return found
}

/** Whether the broker still serves the client: an open socket alone does not show it. */
async function isServed({ client, isOpen }: ConnectedClient): Promise<boolean> {
  if (!isOpen) return false
  await client.publishAsync('still/here', 'x', { qos: 1 })
  return true
}

/** Whether a new client can connect. */
async function acceptsClients(url: string): Promise<boolean> {
  try {
    const client = await connectAsync(url, { reconnectPeriod: 0, connectTimeout: 60_000 }, false)
    await client.endAsync()
    return true
  } catch {
    return false
  }
}

async function addressOf(broker: BrokerWithApi, identifier: string): Promise<string | undefined> {
  const { json } = await broker.request('/api/v4/listeners')
  const found = json.data[0].listeners.find((one: { identifier: string }) => one.identifier === identifier)
  return found?.listen_on
}

async function update(
  broker: BrokerWithApi,
  text: string,
): Promise<{ status: number; code: number; message?: string }> {
  const { status, json } = await broker.request('/api/v4/config_update', { method: 'POST', body: text })
  return { ...json, status }
}

async function updated(broker: BrokerWithApi, text: string): Promise<void> {
  const response = await update(broker, text)
  assert.deepEqual([response.status, response.code], [200, 0], JSON.stringify(response))
}

interface BrokerWithFolder {
  readonly broker: BrokerWithApi
  /** Settings over the API may name files in this folder. */
  readonly folder: string
}

/** One broker for all tests: `updated` replaces the whole configuration. Each test uses other file names. */
const sharedBroker = shared(async (scope): Promise<BrokerWithFolder> => {
  const folder = await temporaryFolder(scope)
  const set = ['node.shards=2', `node.allowed_directories=["${folder}"]`]
  return { broker: await startBrokerWithApi(scope, { set }), folder }
})

test('listeners are added, changed and removed; only clients of the removed one are disconnected', async (t) => {
  const { broker } = await sharedBroker()
  const staying = await connectWatched(t, `mqtt://127.0.0.1:${broker.port}`)
  await updated(broker, 'listeners.tcp.plant.bind = "127.0.0.1:0"')
  const plant = `mqtt://${await addressOf(broker, 'mqtt:tcp:plant')}`
  const connectedClients = await Promise.all(Array.from({ length: 4 }, () => connectWatched(t, plant)))
  await updated(broker, 'listeners.tcp.plant { bind = "127.0.0.1:0", access_rules = ["deny all"] }')
  assert.equal(`mqtt://${await addressOf(broker, 'mqtt:tcp:plant')}`, plant, 'the socket is the same')
  assert.equal(await acceptsClients(plant), false, 'the new rule applies to new connections')
  for (const client of connectedClients)
    assert.ok(await isServed(client), 'the new rule does not apply to open connections')
  await updated(broker, 'listeners.tcp.plant { bind = "127.0.0.1:0", max_connections = 5 }')
  assert.equal(await acceptsClients(plant), true, 'four clients are connected')
  await updated(broker, 'listeners.tcp.plant { bind = "127.0.0.1:0", max_connections = 4 }')
  assert.equal(await acceptsClients(plant), false, 'connections that were open before the change count')
  await updated(broker, 'mqtt.max_qos_allowed = 2')
  assert.deepEqual(
    await Promise.all(connectedClients.map(({ disconnectReason }) => disconnectReason)),
    [0x8b, 0x8b, 0x8b, 0x8b],
  )
  assert.equal(await addressOf(broker, 'mqtt:tcp:plant'), undefined)
  assert.equal(await acceptsClients(plant), false)
  assert.ok(await isServed(staying))
})

test('a listener with a new address is closed at the old one; a renamed listener keeps its port', async (t) => {
  const { broker } = await sharedBroker()
  await updated(broker, 'listeners.tcp.a.bind = "127.0.0.1:0"')
  const old = await addressOf(broker, 'mqtt:tcp:a')
  const client = await connectWatched(t, `mqtt://${old}`)
  await updated(broker, `listeners.tcp.b { bind = "${old}", mountpoint = "b/" }`)
  assert.equal(await client.disconnectReason, 0x8b)
  assert.deepEqual([await addressOf(broker, 'mqtt:tcp:a'), await addressOf(broker, 'mqtt:tcp:b')], [undefined, old])
  assert.equal(await acceptsClients(`mqtt://${old}`), true)
  await updated(broker, 'listeners.tcp.b.bind = "127.0.0.1:0"')
  const now = await addressOf(broker, 'mqtt:tcp:b')
  assert.notEqual(now, old)
  assert.deepEqual([await acceptsClients(`mqtt://${now}`), await acceptsClients(`mqtt://${old}`)], [true, false])
})

test('a configuration with a port that is in use is refused, and all listeners stay unchanged', async (t) => {
  const other = createServer()
  await new Promise<void>((open) => other.listen(0, '127.0.0.1', open))
  t.after(() => other.close())
  const { port } = other.address() as AddressInfo
  const { broker } = await sharedBroker()
  await updated(broker, 'listeners.tcp.kept.bind = "127.0.0.1:0"')
  const keptUrl = `mqtt://${await addressOf(broker, 'mqtt:tcp:kept')}`
  const client = await connectWatched(t, keptUrl)
  const response = await update(
    broker,
    `listeners.tcp { first.bind = "127.0.0.1:0", taken.bind = "127.0.0.1:${port}" }\nlisteners.ws.bind = "127.0.0.1:0/x"`,
  )
  assert.deepEqual([response.status, response.code], [400, 108])
  assert.match(response.message ?? '', /listeners\.tcp\.taken\.bind.*in use/)
  const { json } = await broker.request('/api/v4/listeners')
  const identifiers = json.data[0].listeners.map((one: { identifier: string }) => one.identifier)
  assert.deepEqual(identifiers, ['mqtt:tcp:default', 'mqtt:tcp:kept', 'mqtt:ws:dashboard'])
  assert.ok(await isServed(client))
  assert.equal(await acceptsClients(keptUrl), true)
})

test('certificates and WebSocket paths change without reopening the listener, and clients stay connected', async (t) => {
  const { broker, folder } = await sharedBroker()
  const authority = new Authority('ours')
  for (const name of ['old', 'new']) {
    const { certificate, key } = authority.issue(name)
    await writeFile(join(folder, `${name}.cert`), certificate)
    await writeFile(join(folder, `${name}.key`), key)
  }
  const configOf = (name: string): string => `
    listeners.ssl { bind = "127.0.0.1:0", certfile = "${folder}/${name}.cert", keyfile = "${folder}/${name}.key" }
    listeners.ws.bind = "127.0.0.1:0/${name}"`
  await updated(broker, configOf('old'))
  const [ssl, ws] = [await addressOf(broker, 'mqtt:ssl:default'), await addressOf(broker, 'mqtt:ws:default')]
  const secure = await connectWatched(t, `mqtts://${ssl}`, { rejectUnauthorized: false })
  const overWebSocket = await connectWatched(t, `ws://${ws}/old`)
  await updated(broker, configOf('new'))
  assert.deepEqual([await addressOf(broker, 'mqtt:ssl:default'), await addressOf(broker, 'mqtt:ws:default')], [ssl, ws])
  assert.equal(await commonNameAt(Number(ssl?.split(':')[1])), 'new')
  assert.deepEqual([await acceptsClients(`ws://${ws}/new`), await acceptsClients(`ws://${ws}/old`)], [true, false])
  assert.ok(await isServed(secure))
  assert.ok(await isServed(overWebSocket))
})

function commonNameAt(port: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().subject.CN)
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

test('a connection that is being accepted when its listener is closed is closed', async (t) => {
  const { broker } = await sharedBroker()
  await updated(
    broker,
    `listeners.ws.a.bind = "127.0.0.1:0/mqtt"
     listeners.tcp.b { bind = "127.0.0.1:0", proxy_protocol = true, proxy_protocol_timeout = 60s }`,
  )
  const upgrading = await connectPartially(t, await addressOf(broker, 'mqtt:ws:a'), upgradeRequest.slice(0, -2))
  const named = await connectPartially(t, await addressOf(broker, 'mqtt:tcp:b'), 'PROXY TCP4 198.51.100.7 ')
  await Promise.all(['mqtt:ws:a', 'mqtt:tcp:b'].map((identifier) => waitForConnection(broker, identifier)))
  await updated(broker, 'mqtt.max_qos_allowed = 2')
  upgrading.write(upgradeRequest.slice(-2))
  named.write(Buffer.concat([Buffer.from('10.0.0.1 40123 1883\r\n'), connectPacket]))
  await Promise.all([once(upgrading, 'close'), once(named, 'close')])
  assert.equal(named.bytesRead, 0, 'no CONNACK')
})

const upgradeRequest = [
  'GET /mqtt HTTP/1.1',
  'Host: here',
  'Upgrade: websocket',
  'Connection: Upgrade',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Protocol: mqtt',
  '\r\n',
].join('\r\n')

const connectPacket = Buffer.from([0x10, 13, 0, 4, 0x4d, 0x51, 0x54, 0x54, 4, 2, 0, 0, 0, 1, 0x61])

/** A connection that has sent only `text`. */
async function connectPartially(t: TestContext, place: string | undefined, text: string): Promise<Socket> {
  const socket = connect(Number(place?.split(':')[1]?.split('/')[0]), '127.0.0.1')
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(text)
  return socket.resume()
}

async function waitForConnection(broker: BrokerWithApi, identifier: string): Promise<void> {
  let isConnected: boolean
  do {
    const { json } = await broker.request('/api/v4/listeners')
    isConnected = json.data[0].listeners.some(
      (one: { identifier: string; current_conns: number }) => one.identifier === identifier && one.current_conns === 1,
    )
  } while (!isConnected)
}

test('alarms about certificate files end when the listener gets other files, is reopened or is removed', async () => {
  const { broker, folder } = await sharedBroker()
  const authority = new Authority('ours')
  const write = async (name: string, { certificate, key }: Named): Promise<void> => {
    await writeFile(join(folder, `${name}.cert`), certificate)
    await writeFile(join(folder, `${name}.key`), key)
  }
  for (const name of ['one', 'two', 'three']) await write(name, authority.issue(name))
  const listenerOf = (kind: string, name: string, files: string): string =>
    `listeners.${kind}.${name} { bind = "127.0.0.1:0", certfile = "${folder}/${files}.cert", keyfile = "${folder}/${files}.key" }`
  const staying = listenerOf('quic', 'opened', 'three')
  await updated(broker, [staying, listenerOf('ssl', 'changed', 'one'), listenerOf('ssl', 'gone', 'one')].join('\n'))
  await writeFile(join(folder, 'one.cert'), 'damaged')
  await write('three', authority.issue('three'))
  broker.process.child.kill('SIGHUP')
  await waitForAlarms(broker, ['certificates:quic:opened', 'certificates:ssl:changed', 'certificates:ssl:gone'])
  assert.equal((await restart(broker, 'mqtt:quic:opened')).status, 200)
  await waitForAlarms(broker, ['certificates:ssl:changed', 'certificates:ssl:gone'])
  await updated(broker, [staying, listenerOf('ssl', 'changed', 'two')].join('\n'))
  await waitForAlarms(broker, [])
  await updated(broker, staying.replace(' }', ', max_connections = 5 }'))
  assert.notEqual(await addressOf(broker, 'mqtt:quic:opened'), undefined, 'each change of a QUIC listener reopens it')
})

test('a restart of a listener with damaged certificate files is refused, and the listener stays open', async (t) => {
  const { broker, folder } = await sharedBroker()
  const { certificate, key } = new Authority('ours').issue('broker')
  await writeFile(join(folder, 'cert'), certificate)
  await writeFile(join(folder, 'key'), key)
  await updated(
    broker,
    `listeners.ssl { bind = "127.0.0.1:0", certfile = "${folder}/cert", keyfile = "${folder}/key" }`,
  )
  const url = `mqtts://${await addressOf(broker, 'mqtt:ssl:default')}`
  const client = await connectWatched(t, url, { rejectUnauthorized: false })
  await writeFile(join(folder, 'cert'), 'damaged')
  const { json } = await restart(broker, 'mqtt:ssl:default')
  assert.equal(json.code, 102)
  assert.match(json.message, /listeners\.ssl\.certfile: .*contains no complete PEM block/)
  assert.ok(await isServed(client))
  await connectWatched(t, url, { rejectUnauthorized: false })
})

function restart(broker: BrokerWithApi, identifier: string): Promise<ApiResponse> {
  return broker.request(`/api/v4/listeners/${identifier}/restart`, { method: 'PUT' })
}

/** Waits, because the broker checks files after the response. Other alarms, such as that of expiring certificates, are ignored. */
async function waitForAlarms(broker: BrokerWithApi, names: readonly string[]): Promise<void> {
  let found: string[]
  do {
    const { json } = await broker.request('/api/v4/alarms/activated')
    found = json.data[0].alarms
      .map(({ name }: { name: string }) => name)
      .filter((name: string) => name.startsWith('certificates:'))
  } while (!isDeepStrictEqual(found.toSorted(), names))
}
