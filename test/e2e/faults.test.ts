// Faults that the whole program must survive.

import assert from 'node:assert/strict'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import mqtt, { type MqttClient } from 'mqtt'
import type { RunningNode } from '../../src/boot/running-node.ts'
import { Authority } from '../transports/certificates.ts'
import { eventually } from './eventually.ts'
import { type BrokerWithApi, shareConfigurableBroker } from '../management/api.ts'
import { startNodeWithFaults } from './node-with-faults.ts'
import { startBroker, temporaryFolder, WatchedProcess } from './godwit-process.ts'

/** Resolves when the log file contains all patterns. */
async function logged({ dataDirectory }: RunningNode, ...patterns: readonly RegExp[]): Promise<void> {
  await eventually(async () => {
    const log = await readFile(join(dataDirectory, 'log', 'godwit.log'), 'utf8')
    for (const pattern of patterns) assert.match(log, pattern)
  })
}

/** Reconnects also after a refusal: the owner shard of the session may be restarting. */
const reconnecting = { reconnectPeriod: 20, reconnectOnConnackError: true } as const

const durable = { protocolVersion: 5, clean: false, properties: { sessionExpiryInterval: 3_600 } } as const

function persistentClient(t: TestContext, port: number): MqttClient {
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { ...durable, clientId: 'patient', ...reconnecting })
  client.on('error', () => {})
  t.after(() => client.end(true))
  return client
}

test('a shard that fails restarts on its port with its persistent sessions and everything acknowledged', async (t) => {
  const node = await startNodeWithFaults(t)
  const { port } = node.listeners[0]
  const first = persistentClient(t, port)
  await new Promise<void>((resolve) => first.once('connect', () => resolve()))
  await first.subscribeAsync('kept/#', { qos: 1 })
  await first.endAsync()
  const publisher = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { ...reconnecting })
  publisher.on('error', () => {})
  t.after(() => publisher.end(true))
  await publisher.publishAsync('kept/before', 'x', { qos: 1 })

  const isBack = new Promise<void>((resolve) => publisher.once('connect', () => resolve()))
  await writeFile(join(node.dataDirectory, 'break-now'), '')
  await isBack
  await rm(join(node.dataDirectory, 'break-now'))
  await publisher.publishAsync('kept/after', 'x', { qos: 1 })

  const topics: string[] = []
  const second = persistentClient(t, port)
  await new Promise<void>((resolve) => {
    second.on('message', (topic) => {
      topics.push(topic)
      if (topics.length === 2) resolve()
    })
  })
  assert.deepEqual(topics, ['kept/before', 'kept/after'])
  await logged(node, /shard failed and is restarting.*broken on purpose/, /shard restarted/)
})

test('a shard that restarts with damaged certificate files serves other listeners, and this one when the files are repaired', async (t) => {
  const folder = await temporaryFolder(t)
  const { certificate, key } = new Authority('ours').issue('broker')
  const certFile = join(folder, 'cert.pem')
  await writeFile(certFile, certificate)
  await writeFile(join(folder, 'key.pem'), key)
  const files = [`certfile="${certFile}"`, `keyfile="${join(folder, 'key.pem')}"`]
  const set = ['bind="127.0.0.1:0"', ...files].map((line) => `listeners.ssl.${line}`)
  const node = await startNodeWithFaults(t, undefined, { set: ['node.shards=1', ...set] })
  const [plain, secure] = ['tcp', 'ssl'].map((kind) => node.listeners.find((one) => one.kind === kind)?.port)
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${plain}`, { ...reconnecting })
  client.on('error', () => {})
  t.after(() => client.end(true))

  await writeFile(certFile, 'damaged')
  const isBack = new Promise<void>((resolve) => client.once('connect', () => resolve()))
  await writeFile(join(node.dataDirectory, 'break-now'), '')
  await isBack
  await rm(join(node.dataDirectory, 'break-now'))
  await client.publishAsync('still/served', 'x', { qos: 1 })
  await logged(node, /"name":"listener-closed:ssl:default","message":"[^"]*cert\.pem contains no complete PEM block/)

  await writeFile(certFile, certificate)
  const late = mqtt.connect(`mqtts://127.0.0.1:${secure}`, {
    ...reconnecting,
    reconnectPeriod: 200,
    rejectUnauthorized: false,
  })
  late.on('error', () => {})
  t.after(() => late.end(true))
  await new Promise<void>((resolve) => late.once('connect', () => resolve()))
})

test('a session that crashes its shard twice is quarantined, and other sessions are served', async (t) => {
  const node = await startNodeWithFaults(t, './poisoned-shard.ts', { set: oneShard })
  const { port } = node.listeners[0]
  const address = `mqtt://127.0.0.1:${port}`
  for (const clientId of ['poison', 'healthy']) {
    const firstConnection = await mqtt.connectAsync(address, { ...durable, clientId })
    await firstConnection.subscribeAsync('kept/#', { qos: 1 })
    await firstConnection.endAsync()
  }
  const publisher = await mqtt.connectAsync(address, { ...reconnecting })
  publisher.on('error', () => {})
  t.after(() => publisher.end(true))
  await publisher.publishAsync('kept/1', 'the message', { qos: 1 })

  // The client retries until it is accepted, with a new session.
  const poison = mqtt.connect(address, { ...durable, clientId: 'poison', ...reconnecting })
  poison.on('error', () => {})
  t.after(() => poison.end(true))
  const isPresent = await new Promise<boolean>((resolve) => {
    poison.on('connect', ({ sessionPresent }) => {
      if (!sessionPresent) resolve(sessionPresent)
    })
  })
  assert.equal(isPresent, false)
  const healthy = mqtt.connect(address, { ...durable, clientId: 'healthy', ...reconnecting })
  healthy.on('error', () => {})
  t.after(() => healthy.end(true))
  const topic = await new Promise<string>((resolve) => healthy.once('message', (name) => resolve(name)))
  assert.equal(topic, 'kept/1')

  const [file] = (await readdir(node.dataDirectory)).filter((name) => /^session-[0-9a-f]+\.damaged$/.test(name))
  const lines = (await readFile(join(node.dataDirectory, file), 'utf8')).trim().split('\n')
  const records = lines.map((line) => JSON.parse(line))
  assert.deepEqual(
    records.map(({ kind }) => kind),
    ['session', 'subscription', 'queued'],
  )
  assert.equal(Buffer.from(records[2].message.payload, 'base64').toString(), 'the message')
  await logged(node, /session-set-aside.*The session of client 'poison' crashed its shard twice/)
})

test('a record that a shard cannot load at its start is found and quarantined, and the broker starts', async (t) => {
  const dataDirectory = await temporaryFolder(t)
  const before = await startNodeWithFaults(t, './crashing-shard.ts', { dataDirectory, set: oneShard })
  const [{ port }] = before.listeners
  for (const clientId of ['poisoned will', 'offline']) {
    const will = { topic: 'wills', payload: Buffer.from('never'), properties: { willDelayInterval: 3_000 } }
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { ...durable, clientId, will })
    await client.subscribeAsync('kept/#', { qos: 1 })
    await client.publishAsync(`${clientId.split(' ')[0]}/topic`, clientId, { qos: 1, retain: true })
    client.stream.destroy()
    client.end(true)
  }
  const publisher = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`)
  await publisher.publishAsync('kept/1', 'the message', { qos: 1 })
  await publisher.endAsync()
  await before.stop()

  const node = await startNodeWithFaults(t, './poisoned-shard.ts', {
    dataDirectory,
    set: oneShard,
    restarts: fastRestarts,
  })
  const files = (await readdir(node.dataDirectory)).filter((name) => name.endsWith('.damaged')).map(kindOfFile)
  assert.deepEqual(files.sort(), ['retained', 'session'])
  const topics: string[] = []
  const firstConnection = mqtt.connect(`mqtt://127.0.0.1:${node.listeners[0].port}`, {
    ...durable,
    clientId: 'offline',
  })
  t.after(() => firstConnection.end(true))
  firstConnection.on('connect', ({ sessionPresent }) => topics.push(sessionPresent ? 'its session' : 'nothing'))
  await new Promise<void>((resolve) => {
    firstConnection.on('message', (topic) => {
      topics.push(topic)
      if (topic === 'offline/topic') resolve()
      else firstConnection.subscribe('+/topic', { qos: 1 })
    })
  })
  assert.deepEqual(topics, ['its session', 'kept/1', 'offline/topic'])
  const again = await mqtt.connectAsync(`mqtt://127.0.0.1:${node.listeners[0].port}`, {
    ...durable,
    clientId: 'poisoned will',
  })
  t.after(() => again.end(true))
  await logged(
    node,
    /session-set-aside.*The session of client 'poisoned will' crashed its shard twice/,
    /retained-set-aside.*The retained message of topic 'poisoned\/topic' crashed its shard twice/,
  )
})

const oneShard = ['node.shards=1']

const fastRestarts = { firstDelayMs: 1, maxDelayMs: 100, forgivenAfterMs: 60_000, maxConsecutiveRestarts: 10 } as const

const kindOfFile = (name: string): string => name.split('-', 1)[0]

const openFileLimit = 200

test('more half-open connections than descriptors are accepted and closed, and a healthy client is served', async (t) => {
  // With this timeout, no connection is closed because it sends nothing.
  const set = ['mqtt.idle_timeout=10m']
  const { port, process: godwit } = await startBroker(t, { maxOpenFiles: openFileLimit, set })
  const sockets: Socket[] = []
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  const closed: Promise<unknown>[] = []
  for (let count = 0; count < openFileLimit + 50; count += 1) {
    const socket = connect(port, '127.0.0.1').resume()
    socket.on('error', () => {})
    sockets.push(socket)
    closed.push(
      new Promise<void>((resolve) => socket.once('close', () => resolve())).then(() =>
        sockets.splice(sockets.indexOf(socket), 1),
      ),
    )
    // A connection above the limit may be reset before the client gets the event `connect`.
    await new Promise<void>((resolve) => socket.once('connect', () => resolve()).once('close', () => resolve()))
  }
  // With so few descriptors, half of them are for connections.
  const surplus = openFileLimit + 50 - openFileLimit / 2
  await firstOf(closed, surplus)
  assert.equal(sockets.length, openFileLimit / 2)
  await godwit.until(/"name":"connections","message":"all \d+ connections are in use/)

  for (const socket of sockets.slice(0, 2)) socket.destroy()
  // The broker may notice the two closed connections only after this attempt; then the client tries again.
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { ...reconnecting })
  client.on('error', () => {})
  t.after(() => client.end(true))
  await client.publishAsync('still', 'alive', { qos: 1 })
  assert.equal(await godwit.stop(), 0)
})

/** One broker for tests that need no special process. */
const configuredBroker = shareConfigurableBroker(['node.shards=2'])

/** More than the broker needs in a test. */
const enoughFiles = 4_096

/** Clients of another test count until the broker has noticed that they disconnected. */
function withoutClients(broker: BrokerWithApi): Promise<void> {
  return eventually(async () => {
    const [{ connections }] = (await broker.request('/api/v4/nodes')).json.data
    assert.equal(connections, 0)
  })
}

/** Sets the maximum number of open files of a running process. */
async function limitFiles(process: WatchedProcess, limit: number): Promise<void> {
  const prlimit = new WatchedProcess('prlimit', ['--pid', String(process.child.pid), `--nofile=${limit}:`])
  assert.equal(await prlimit.ended, 0, prlimit.errors)
}

test('when descriptors run out below the limit, new connections are refused with an alarm until descriptors are free, and connected clients are served', async (t) => {
  const broker = await configuredBroker()
  const address = `mqtt://127.0.0.1:${broker.port}`
  const connectedClient = await mqtt.connectAsync(address, { reconnectPeriod: 0 })
  t.after(() => connectedClient.end(true))
  // Enough descriptors for some of the following connections, but not for all.
  const { length: taken } = await readdir(`/proc/${broker.process.child.pid}/fd`)
  t.after(() => limitFiles(broker.process, enoughFiles))
  await limitFiles(broker.process, taken + 20)
  const sockets = Array.from({ length: 60 }, () => connect(broker.port, '127.0.0.1').resume())
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  await firstOf(
    sockets.map(async (socket) => {
      socket.on('error', () => {})
      await new Promise<void>((resolve) => socket.once('close', () => resolve()))
    }),
    1,
  )
  await connectedClient.publishAsync('still', 'alive', { qos: 1 })
  await broker.process.until(
    /"event":"alarm","name":"(?:descriptors|connections)","message":"(?:the process cannot open files|nearly as many files)/,
  )
  for (const socket of sockets) socket.destroy()
  const client = mqtt.connect(address, { ...reconnecting })
  client.on('error', () => {})
  t.after(() => client.end(true))
  await client.publishAsync('back', 'in', { qos: 1 })
})

test('[bad-input 21] SIGHUP without a free file descriptor changes nothing, raises an alarm, and the broker continues', async (t) => {
  const folder = await temporaryFolder(t)
  const config = join(folder, 'godwit.conf')
  await writeFile(config, 'auth { allow_anonymous = false, password { include "users.conf" } }')
  await writeFile(join(folder, 'users.conf'), 'alice = "a password"')
  // A broker of its own: an alarm of another test may be active for ten seconds, and would not be raised again.
  const broker = await startBroker(t, { config, set: ['node.shards=1', 'sys_topics.interval=1s'] })
  const address = `mqtt://127.0.0.1:${broker.port}`
  const known = { username: 'alice', password: 'a password', reconnectPeriod: 0 }
  const alice = await mqtt.connectAsync(address, known)
  t.after(() => alice.end(true))
  await limitFiles(broker.process, 3)
  broker.process.child.kill('SIGHUP')
  await broker.process.until(/configuration not loaded.*EMFILE/)
  await broker.process.until(/"event":"alarm","name":"descriptors","message":"the process cannot open files/)
  // $SYS messages, which are sent each second, show that the broker runs without a free descriptor.
  let uptimes = 0
  const isAlive = new Promise<void>((resolve) => {
    alice.on('message', () => {
      uptimes += 1
      if (uptimes === 3) resolve()
    })
  })
  await alice.subscribeAsync('$SYS/brokers/+/uptime')
  await isAlive
  await limitFiles(broker.process, enoughFiles)
  // The broker checks each second for free descriptors: until then it accepts no client.
  const again = mqtt.connect(address, { ...known, ...reconnecting })
  again.on('error', () => {})
  t.after(() => again.end(true))
  await new Promise<void>((resolve) => again.once('connect', () => resolve()))
  await assert.rejects(mqtt.connectAsync(address, { reconnectPeriod: 0 }), { code: 5 })
})

for (const setting of ['limits.max_connections=1', 'listeners.tcp.max_connections=1']) {
  test(`${setting}: the second client is refused, and accepted when the first has disconnected`, async (t) => {
    const broker = await configuredBroker([setting])
    await withoutClients(broker)
    const address = `mqtt://127.0.0.1:${broker.port}`
    const first = await mqtt.connectAsync(address, { reconnectPeriod: 0 })
    t.after(() => first.end(true))
    const second = mqtt.connect(address, { ...reconnecting })
    second.on('error', () => {})
    t.after(() => second.end(true))
    await new Promise<void>((resolve) => second.once('close', () => resolve()))
    assert.ok(first.connected)
    const isConnected = new Promise<void>((resolve) => second.once('connect', () => resolve()))
    await first.endAsync()
    await isConnected
  })
}

/** Resolves when `count` of the promises have resolved. */
function firstOf(promises: readonly Promise<unknown>[], count: number): Promise<void> {
  return new Promise((resolve) => {
    let settled = 0
    const note = (): void => {
      settled += 1
      if (settled === count) resolve()
    }
    for (const promise of promises) void promise.then(note)
  })
}
