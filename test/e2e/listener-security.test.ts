// Access to the listeners of the whole program: which clients are accepted, and which errors the administrator gets.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { TLSSocket } from 'node:tls'
import mqtt, { type IClientOptions, type IDisconnectPacket, type MqttClient } from 'mqtt'
import { Authority, type Named } from '../transports/certificates.ts'
import { type Broker, portOf, shared, startBroker, temporaryFolder } from './godwit-process.ts'
import { runHere } from '../cli/run-here.ts'
import { longTest } from '../test-length.ts'
import { eventOf, nextMessage } from './transport-guarantees.ts'

const authority = new Authority('The test authority')
const server = authority.issue('localhost', { hostNames: ['localhost', '127.0.0.1'] })
const renewed = authority.issue('localhost', { hostNames: ['localhost', '127.0.0.1'] })
const device = authority.issue('device-7')

async function write(folder: string, { certificate, key }: Named): Promise<void> {
  await writeFile(join(folder, 'ca.pem'), authority.certificate)
  await writeFile(join(folder, 'cert.pem'), certificate)
  await writeFile(join(folder, 'key.pem'), key)
}

const settingsIn = (folder: string, more: readonly string[] = [], listener = 'default'): string[] =>
  [
    'bind="127.0.0.1:0"',
    `certfile="${join(folder, 'cert.pem')}"`,
    `keyfile="${join(folder, 'key.pem')}"`,
    `cacertfile="${join(folder, 'ca.pem')}"`,
    ...more,
  ].map((line) => `listeners.ssl.${listener}.${line}`)

async function secureClient(t: TestContext, broker: Broker, options: IClientOptions = {}): Promise<MqttClient> {
  const client = await mqtt.connectAsync(`mqtts://127.0.0.1:${portOf(broker, 'ssl')}`, {
    ca: authority.certificate,
    reconnectPeriod: 0,
    protocolVersion: 5,
    ...options,
  })
  client.on('error', () => {})
  t.after(() => client.end(true))
  return client
}

const serialSeen = (client: MqttClient): string => (client.stream as TLSSocket).getPeerCertificate().serialNumber

/** One broker with a listener `default`, and a listener `verified`, whose clients need certificates. */
const sharedBroker = shared(async (scope) => {
  const folders = { default: await temporaryFolder(scope), verified: await temporaryFolder(scope) }
  for (const folder of Object.values(folders)) await write(folder, server)
  const verified = ['verify_peer=true', 'fail_if_no_peer_cert=true', 'peer_cert_as_clientid=cn']
  const set = [...settingsIn(folders.default), ...settingsIn(folders.verified, verified, 'verified')]
  return { ...(await startBroker(scope, { set })), folders }
})

test('SIGHUP loads a renewed certificate, and connected clients stay', async (t) => {
  const broker = await sharedBroker()
  const early = await secureClient(t, broker, { clientId: 'early' })
  const serial = serialSeen(early)
  await write(broker.folders.default, renewed)
  broker.process.child.kill('SIGHUP')
  // The signal is handled asynchronously: a connection that is too early gets the old certificate and is repeated.
  let late = await secureClient(t, broker, { clientId: 'late' })
  while (serialSeen(late) === serial) {
    late.end(true)
    late = await secureClient(t, broker, { clientId: 'late' })
  }
  await early.publishAsync('still/here', 'x', { qos: 1 })
})

test('for an unusable certificate the program prints one line with key and file, and exits with 1', async (t) => {
  const folder = await temporaryFolder(t)
  await write(folder, { certificate: server.certificate, key: renewed.key })
  const words = settingsIn(folder).flatMap((setting) => ['--set', setting])
  const { code, errors } = await runHere(['start', '--data', await temporaryFolder(t), ...words])
  assert.equal(code, 1)
  assert.match(
    errors,
    /^godwit: listeners\.ssl\.keyfile: \S+key\.pem is not the key of the certificate in \S+cert\.pem[^\n]*\n$/,
  )
})

test('[bad-input 28] a verification of client certificates that accepts none or all of them prevents the start', async (t) => {
  const folder = await temporaryFolder(t)
  await write(folder, server)
  await writeFile(join(folder, 'ca.pem'), 'not an authority')
  const words = settingsIn(folder, ['verify_peer=true']).flatMap((setting) => ['--set', setting])
  const { code, errors } = await runHere(['start', '--data', await temporaryFolder(t), ...words])
  assert.equal(code, 1)
  assert.match(errors, /^godwit: listeners\.ssl\.cacertfile: \S+ca\.pem contains no complete PEM block/)
})

test('a client has the client ID of its certificate, whatever CONNECT contains', async (t) => {
  const broker = await sharedBroker()
  const shown = { cert: device.certificate, key: device.key, port: portOf(broker, 'ssl', 'verified') }
  const first = await secureClient(t, broker, { ...shown, clientId: 'one name' })
  const disconnectPacket = eventOf(first, 'disconnect')
  await secureClient(t, broker, { ...shown, clientId: 'another name' })
  const [packet] = await disconnectPacket
  assert.equal(
    (packet as IDisconnectPacket).reasonCode,
    0x8e,
    'the second connection takes over, because the client ID is the same',
  )
})

test('a client belongs to the namespace of its certificate, whatever shard has its session', async (t) => {
  const folder = await temporaryFolder(t)
  await write(folder, server)
  const verified = ['verify_peer=true', 'fail_if_no_peer_cert=true']
  const namespaces = ['enable=true', 'certificate=ou', 'required=true'].map((line) => `namespaces.${line}`)
  const broker = await startBroker(t, { set: [...settingsIn(folder, verified), ...namespaces, 'node.shards=3'] })
  const comeAs = async (unit: string, clientId: string): Promise<MqttClient> => {
    const subject = [['OU', unit] as const, ['CN', clientId] as const]
    const { certificate: cert, key } = authority.issue(clientId, { subject })
    return secureClient(t, broker, { cert, key, clientId })
  }
  const ids = ['one', 'two', 'three', 'four']
  const plants = await Promise.all(ids.map((id) => comeAs('plant', id)))
  const shops = await Promise.all(ids.map((id) => comeAs('shop', id)))
  for (const client of [...plants, ...shops]) await client.subscribeAsync('#', { qos: 1 })
  const received = Promise.all(plants.map((client) => nextMessage(client)))
  const strayed: string[] = []
  for (const client of shops) client.on('message', (topic) => strayed.push(topic))
  await plants[0]?.publishAsync('lamp', 'on', { qos: 1 })
  assert.deepEqual(
    (await received).map(({ topic }) => topic),
    ids.map(() => 'lamp'),
  )
  // A later message has arrived, so no earlier message is pending.
  const last = Promise.all(shops.map((client) => nextMessage(client)))
  await shops[0]?.publishAsync('end', 'x', { qos: 1 })
  await last
  assert.deepEqual(new Set(strayed), new Set(['end']))
  await assert.rejects(comeAs('', 'nowhere'), /[Nn]ot authorized/)
})

// Daily: half-open connections that do not end, with the same alarm, in test/e2e/faults.test.ts.
longTest(
  'with more silent connections than descriptors, the broker raises an alarm and serves a client that sends CONNECT',
  async (t) => {
    const { port, process: godwit } = await startBroker(t, { maxOpenFiles: 700, set: ['mqtt.idle_timeout=2s'] })
    const silent: Socket[] = []
    t.after(() => silent.forEach((socket) => socket.destroy()))
    let isAlarmed = false
    const alarm = godwit
      .until(/"name":"connections","message":"all \d+ connections are in use/)
      .then(() => (isAlarmed = true))
    const connectSilent = (): void => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      // On a slow machine, the first connections may be closed before all are open.
      socket.once('close', () => isAlarmed || connectSilent())
      silent.push(socket.resume())
    }
    for (let number = 0; number < 800; number += 1) connectSilent()
    await alarm
    await Promise.all(silent.filter((socket) => !socket.closed).map((socket) => once(socket, 'close')))
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { reconnectPeriod: 0 })
    t.after(() => client.end(true))
    await client.publishAsync('healthy', 'yes', { qos: 1 })
  },
)
