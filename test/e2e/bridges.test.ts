// Bridges to a remote broker that loses its data, stalls, or refuses connections: acknowledged messages arrive.

import assert from 'node:assert/strict'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type BrokerWithApi, shareBrokerWithApi, startBrokerWithApi } from '../management/api.ts'
import {
  bridgeOf,
  bridgeOver,
  client,
  durable,
  startAgain,
  withoutDuplicates,
  Listener,
  oneShard,
  pair,
  publishNumbered,
  shareBridged,
  startBridged,
  untilBridge,
  untilConnected,
  Wire,
} from './bridge-stage.ts'
import { eventually } from './eventually.ts'
import { temporaryFolder } from './godwit-process.ts'
import { longTest } from '../test-length.ts'

/** Denied addresses apply only after a restart. */
const bridged = shareBridged([...oneShard, 'node.denied_addresses=[private]'])
const remoteBroker = shareBrokerWithApi({ set: [...oneShard, 'auth.allow_anonymous=true'] })

test('a bridge transfers messages in both directions, with topic, QoS and RETAIN flag of its rules', async (t) => {
  const { own, remote } = await pair(
    t,
    `
    forwards = [
      { local_topic = "plant/+/state/#", remote_topic = "all/+/#", prefix = "eu/", suffix = "/x", qos = 1 }
      { local_topic = "plant/7/#", remote_topic = "seven", retain = true }
    ]
    subscription = [{ remote_topic = "cmd/+/do/#", local_topic = "do/+/#", qos = 1 }]`,
    { own: bridged, remote: remoteBroker },
  )
  const remoteListener = await Listener.at(t, remote.port, '#')
  const localListener = await Listener.at(t, own.port, 'do/#')
  const publisher = await client(t, own.port)
  await publisher.publishAsync('plant/7/state/a/b', 'up', { qos: 2 })
  await publisher.publishAsync('plant/8/other', 'nowhere', { qos: 2 })
  const commander = await client(t, remote.port)
  // The maximum size of properties of the remote broker, which the loop markers of the bridge exceed.
  const properties = { userProperties: { k: 'v'.repeat(32_762) } }
  await commander.publishAsync('cmd/7/do/this/now', 'down', { qos: 2, properties })
  await localListener.until(['down'])
  await remoteListener.until(['up'])
  assert.deepEqual(localListener.received, [{ topic: 'do/7/this/now', text: 'down', qos: 1, retain: false }])
  await untilBridge(own, ({ counters }) => counters.sent === 2)
  const late = await Listener.at(t, remote.port, 'seven')
  await late.until(['up'])
  assert.equal(late.received[0]?.retain, true)
  await eventually(() => {
    const topics = remoteListener.received
      .filter(({ text }) => text === 'up')
      .map(({ topic, qos }) => `${topic} ${qos}`)
    assert.deepEqual(topics.toSorted(), ['eu/all/7/a/b/x 1', 'seven 2'])
  })
})

// Daily: 16 scenarios of rings in test/simulator.
longTest(
  'three brokers in a ring of bridges with MQTT 3.1.1 deliver each message once, and stop it before it returns to its origin',
  async (t) => {
    const wires = [await Wire.to(t, undefined), await Wire.to(t, undefined), await Wire.to(t, undefined)]
    const brokers = await Promise.all(
      wires.map(({ port }) => {
        const forwards = 'forwards = [{ local_topic = "#", remote_topic = "" }]'
        const bridge = `server = "mqtt-tcp://127.0.0.1:${port}"\nproto_ver = 4\nbackoff_max = 1s\n${forwards}`
        return startBridged(t, bridge, { set: oneShard })
      }),
    )
    for (const [at, wire] of wires.entries()) wire.target = brokers[(at + 1) % brokers.length]?.port
    for (const broker of brokers) {
      assert.equal((await untilConnected(broker)).proto_ver, 5, 'the remote broker is Godwit')
      assert.equal((await bridgeOf(broker)).connector.proto_ver, 4, 'the settings are unchanged')
    }
    const listeners = await Promise.all(brokers.map(({ port }) => Listener.at(t, port, '#')))
    const texts: string[] = []
    for (const [at, { port }] of brokers.entries()) {
      const publisher = await client(t, port)
      for (const qos of [1, 2] as const)
        texts.push(...(await publishNumbered(publisher, `from/${at}`, { qos, from: qos * 100, count: 20 })))
    }
    for (const listener of listeners) await listener.until(texts)
    // Each message passes two bridges; the third drops it.
    const totals = async (): Promise<readonly number[]> => {
      const all = await Promise.all(
        brokers.map((broker) => untilBridge(broker, ({ spool_depth: depth }) => depth === 0)),
      )
      return [
        all.reduce((total, { counters }) => total + counters.sent, 0),
        all.reduce((total, { counters }) => total + counters.dropped.loop, 0),
      ]
    }
    await eventually(async () => assert.deepEqual(await totals(), [texts.length * 2, texts.length]))
    for (const listener of listeners) assert.deepEqual(listener.texts.toSorted(), texts.toSorted())
  },
)

test('bridge traffic needs an access rule for the bridge, and rules for all clients do not allow it', async (t) => {
  const remote = await remoteBroker()
  const wire = await Wire.to(t, remote.port)
  const rules = [
    '{ permit = deny, clientid = "$bridge/up", action = pubsub, topics = ["up/secret/#", "down/secret/#"] }',
    '{ permit = allow, clientid = "tester" }',
    '{ permit = deny }',
  ]
  const own = await bridged(bridgeOver(wire), [`auth.acl.rules=[${rules.join(', ')}]`])
  await untilConnected(own)
  const remoteListener = await Listener.at(t, remote.port, 'up/#')
  const localListener = await Listener.at(t, own.port, 'down/#', { clientId: 'tester' })
  const commander = await client(t, remote.port)
  for (const topic of ['down/secret/a', 'down/open']) await commander.publishAsync(topic, topic, { qos: 2 })
  await localListener.until(['down/open'])
  const { json } = await own.request('/api/v4/mqtt/publish_batch', {
    method: 'POST',
    body: ['up/secret/a', 'up/open'].map((topic) => ({ topic, payload: topic, qos: 1 })),
  })
  assert.equal(json.code, 0)
  await remoteListener.until(['up/open'])
  assert.deepEqual([remoteListener.texts, localListener.texts], [['up/open'], ['down/open']])
  const { counters } = await untilBridge(own, ({ spool_depth: depth }) => depth === 0)
  assert.equal(counters.dropped['refused-here'], 1)
})

test('a bridge to a denied address does not connect, reports why, and can be changed to another address', async () => {
  const remote = await remoteBroker()
  const bridge = `server = "mqtt-tcp://10.255.255.1:1883"\nproto_ver = 5\nbackoff_max = 1s`
  const own = await bridged(bridge)
  await untilBridge(own, ({ last_error: why }) => /10\.255\.255\.1 is a denied address/.test(why ?? ''))
  const turned = await own.request('/api/v4/bridges/switch/up', {
    method: 'POST',
    body: { data: { bridge_switch: false } },
  })
  assert.equal(turned.status, 200)
  const body = { up: { server: `mqtt-tcp://127.0.0.1:${remote.port}`, proto_ver: 5, enable: true } }
  assert.equal((await own.request('/api/v4/bridges/up', { method: 'PUT', body })).status, 200)
  await untilConnected(own)
})

// Daily: the same with mosquitto in test/clients/bridges.test.ts.
longTest('no acknowledged message is lost if the remote broker restarts without its data', async (t) => {
  const { own, remote, wire } = await pair(t, '', { own: bridged })
  const before = await Listener.at(t, remote.port, 'up/#')
  const first = publishNumbered(await client(t, own.port), 'up/least', { qos: 1, from: 0, count: 150 })
  const exact = publishNumbered(await client(t, own.port), 'up/exactly', { qos: 2, from: 0, count: 150 })
  await untilBridge(own, ({ counters }) => counters.acknowledged > 20)
  wire.stall()
  // When the remote broker delivers a later message, it has delivered all messages that it acknowledged before.
  const witness = await client(t, remote.port)
  await witness.publishAsync('up/witness', 'the last', { qos: 2 })
  await before.until(['the last'])
  await remote.process.stop('SIGKILL')
  await rm(remote.dataDirectory, { recursive: true })
  const texts = [...(await first), ...(await exact)]
  const restarted = await startBrokerWithApi(t, { set: oneShard })
  const after = await Listener.at(t, restarted.port, 'up/#')
  wire.target = restarted.port
  wire.cut()
  await untilBridge(own, ({ counters, spool_depth: depth }) => counters.connects >= 2 && depth === 0)
  await after.until(texts.filter((text) => !before.texts.includes(text)))
  const of = (topic: string) => after.received.filter((each) => each.topic === topic).map(({ text }) => text)
  for (const topic of ['up/least', 'up/exactly']) assert.deepEqual(of(topic), of(topic).toSorted())
  const localListener = await Listener.at(t, own.port, 'down/#')
  const down = await publishNumbered(await client(t, restarted.port), 'down/again', { qos: 2, from: 0, count: 10 })
  await localListener.until(down)
})

test('the keep alive detects a connection that fails silently, and messages in flight are sent again', async (t) => {
  const { own, remote, wire } = await pair(t, 'keepalive = 1s', { own: bridged, remote: remoteBroker })
  const remoteListener = await Listener.at(t, remote.port, 'up/#')
  const publisher = await client(t, own.port)
  const first = publishNumbered(publisher, 'up/exactly', { qos: 2, from: 0, count: 150 })
  const least = publishNumbered(await client(t, own.port), 'up/least', { qos: 1, from: 0, count: 150 })
  await untilBridge(own, ({ counters }) => counters.acknowledged > 20)
  wire.stall()
  const [texts, others] = await Promise.all([first, least])
  await untilBridge(own, ({ counters, spool_depth: depth }) => counters.connects >= 2 && depth === 0)
  await remoteListener.until([...texts, ...others])
  const of = (topic: string) => remoteListener.received.filter((each) => each.topic === topic).map(({ text }) => text)
  assert.deepEqual(of('up/exactly'), texts)
  assert.deepEqual(withoutDuplicates(of('up/least')), others)
})

test('without valid credentials, messages stay queued and the reason is shown; with them, the messages are sent', async (t) => {
  const remote = await remoteBroker()
  const credential = { clientid: 'bridge-up', password: 'first' }
  const created = await remote.request('/api/v4/auth_clientid', { method: 'POST', body: credential })
  assert.equal(created.status, 200, created.text)
  t.after(() => remote.request('/api/v4/auth_clientid/bridge-up', { method: 'DELETE' }))
  const wire = await Wire.to(t, remote.port)
  const more = 'clientid = bridge-up, username = bridge, password = first'
  const own = await bridged(bridgeOver(wire, more))
  await untilConnected(own)
  const changed = { method: 'PUT', body: { password: 'second' } } as const
  assert.equal((await remote.request('/api/v4/auth_clientid/bridge-up', changed)).status, 200)
  await remote.request('/api/v4/clients/bridge-up', { method: 'DELETE' })
  const { last_error: why } = await untilBridge(own, ({ last_error: error }) => /password|authori/i.test(error ?? ''))
  assert.match(why, /password|authori/i)
  const remoteListener = await Listener.at(t, remote.port, 'up/#')
  const texts = await publishNumbered(await client(t, own.port), 'up/waits', { qos: 1, from: 0, count: 10 })
  await untilBridge(own, ({ spool_depth: depth }) => depth === 10)
  const { name: _, status: _status, ...node } = await bridgeOf(own)
  const renewed = { up: { ...node, ...node.connector, password: 'second' } }
  const put = await own.request('/api/v4/bridges/up', { method: 'PUT', body: renewed })
  assert.equal(put.status, 200, put.text)
  assert.ok(!put.text.includes('second'))
  await remoteListener.until(texts)
  assert.deepEqual(remoteListener.texts, texts)
})

test('the example of docs/BRIDGES.md behaves as described there', async (t) => {
  const page = await readFile(new URL('../../docs/BRIDGES.md', import.meta.url), 'utf8')
  const [, example = ''] = /```hocon\n(.*?)```/s.exec(page) ?? []
  const remote = await remoteBroker()
  const remoteListener = await Listener.at(t, remote.port, 'eu/#')
  const dataDirectory = await temporaryFolder(t)
  await writeFile(join(dataDirectory, 'godwit.conf'), example.replace('127.0.0.1:1884', `127.0.0.1:${remote.port}`))
  const own = await startBrokerWithApi(t, { dataDirectory, set: oneShard })
  const localListener = await Listener.at(t, own.port, 'do/#')
  const publisher = await client(t, own.port)
  await publisher.publishAsync('plant/7/state', 'running', { qos: 1 })
  await remoteListener.until(['running'])
  assert.equal(remoteListener.received[0]?.topic, 'eu/plant/7/state')
  const commander = await client(t, remote.port)
  await commander.publishAsync('commands/plant-7/stop', 'now', { qos: 2 })
  await localListener.until(['now'])
  assert.equal(localListener.received[0]?.topic, 'do/stop')
})

const put = (broker: Awaited<ReturnType<typeof startBrokerWithApi>>, node: object) =>
  broker.request('/api/v4/bridges/up', { method: 'PUT', body: { up: node } })

test('rules of a bridge change without a new connection, other settings reconnect without losing a message, and a refused change has no effect', async (t) => {
  const { own, remote, wire } = await pair(t, '', { own: bridged, remote: remoteBroker })
  const remoteListener = await Listener.at(t, remote.port, '#')
  const publisher = await client(t, own.port)
  const before = await bridgeOf(own)

  const refused = await put(own, { ...before, forwards: [{ local_topic: 'a', remote_topic: 'b/+' }] })
  assert.deepEqual([refused.status, refused.json.code], [400, 108])
  assert.match(refused.json.message, /bridges\.mqtt\.up\.forwards\.0\.remote_topic has more \+/)
  const missing = await put(own, {
    ...before,
    tls: { enable: true, cacertfile: join(own.dataDirectory, 'none', 'ca.pem') },
  })
  assert.deepEqual([missing.status, missing.json.code], [400, 108])
  assert.match(missing.json.message, /cacertfile: cannot read \/.*\/none\/ca\.pem/)
  assert.equal((await bridgeOf(own)).status.since, before.status.since)
  await remoteListener.until(await publishNumbered(publisher, 'up/first', { qos: 1, from: 0, count: 3 }))

  const body = { data: { subscription: [{ remote_topic: 'more/#', local_topic: '', qos: 1 }] } }
  assert.equal((await own.request('/api/v4/bridges/sub/up', { method: 'POST', body })).status, 200)
  const localListener = await Listener.at(t, own.port, 'more/#')
  const commander = await client(t, remote.port)
  for (let number = 0; localListener.received.length === 0; number += 1) {
    await publishNumbered(commander, 'more/1', { qos: 1, from: number, count: 1 })
  }
  assert.equal((await bridgeOf(own)).status.counters.connects, 1, 'a change of rules needs no new connection')

  const stream = publishNumbered(publisher, 'up/stream', { qos: 2, from: 0, count: 200 })
  const other = await startBrokerWithApi(t, { set: oneShard })
  const otherListener = await Listener.at(t, other.port, 'up/#')
  wire.target = other.port
  const changed = await put(own, { ...(await bridgeOf(own)), clean_start: true })
  assert.equal(changed.status, 200, changed.text)
  const texts = await stream
  await untilBridge(own, ({ counters, spool_depth: depth }) => counters.connects === 2 && depth === 0)
  // Each message arrives at one of the two brokers, once.
  await eventually(() => {
    const received = [...remoteListener.received, ...otherListener.received].filter(
      ({ topic }) => topic === 'up/stream',
    )
    assert.deepEqual(received.map(({ text }) => text).toSorted(), texts.toSorted())
  })
})

// Daily: both in memory in test/bridges/rules.test.ts.
longTest('a disabled bridge has no connection, and a removed bridge leaves no session', async (t) => {
  const { own, wire } = await pair(t)
  const turn = (bridge_switch: boolean) =>
    own.request('/api/v4/bridges/switch/up', { method: 'POST', body: { data: { bridge_switch } } })
  assert.equal((await turn(false)).status, 200)
  await untilBridge(own, ({ state }) => state === 'off')
  while (wire.connections > 0) await new Promise((resolve) => setTimeout(resolve, 10))
  assert.equal((await turn(true)).status, 200)
  await untilConnected(own)
  await own.process.stop()
  await writeFile(join(own.dataDirectory, 'godwit.conf'), '')
  await writeFile(join(own.dataDirectory, 'changed-settings.conf'), '')
  const again = await startAgain(t, own, oneShard)
  for (;;) {
    const response = await again.request('/api/v4/clients')
    if (!response.text.includes('$bridge/')) break
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
})

// Daily: brokers with bridges are killed in test/e2e/bridges-killed.test.ts, shards with sessions fail in test/e2e/faults.test.ts.
longTest('a shard that fails continues its bridge after its restart, with all queued messages', async (t) => {
  const remote = await startBrokerWithApi(t, { set: oneShard })
  const wire = await Wire.to(t, remote.port)
  // Only the long run loads a node.
  const { startNodeWithFaults } = await import('./node-with-faults.ts')
  const text = `bridges.mqtt.up {\nenable = true\n${bridgeOver(wire)}\n}\n`
  const node = await startNodeWithFaults(t, './crashing-shard.ts', { text, set: ['node.shards=1'] })
  const remoteListener = await Listener.at(t, remote.port, 'up/#')
  const publisher = await client(t, node.listeners[0].port, { reconnectPeriod: 20, reconnectOnConnackError: true })
  await remoteListener.until(await publishNumbered(publisher, 'up/before', { qos: 1, from: 0, count: 3 }))
  wire.target = undefined
  wire.cut()
  const texts = await publishNumbered(publisher, 'up/exactly', { qos: 2, from: 0, count: 40 })
  const isBack = new Promise<void>((resolve) => publisher.once('connect', () => resolve()))
  await writeFile(join(node.dataDirectory, 'break-now'), '')
  await isBack
  await rm(join(node.dataDirectory, 'break-now'))
  wire.target = remote.port
  await remoteListener.until(texts)
  const more = await publishNumbered(publisher, 'up/exactly', { qos: 2, from: 40, count: 5 })
  await remoteListener.until(more)
  assert.deepEqual(
    remoteListener.texts.filter((each) => each.startsWith('up/exactly')),
    [...texts, ...more],
  )
})

// A transparent bridge of a broker with two shards: both shards have clients, one has the bridge.

const twoShards = ['node.shards=2']

/** The subscriptions of a client, as the broker lists them. */
async function subscriptionsOf(broker: BrokerWithApi, clientId: string): Promise<readonly string[]> {
  const { json } = await broker.request(`/api/v4/subscriptions/${clientId}`)
  const rows = (json?.data ?? []) as readonly { topic: string; qos: number }[]
  return rows.map(({ topic, qos }) => `${topic} ${qos}`).toSorted()
}

async function untilSubscribed(broker: BrokerWithApi, expected: readonly string[]): Promise<void> {
  const isEqual = (found: readonly string[]): boolean => found.join() === expected.join()
  while (!isEqual(await subscriptionsOf(broker, 'up'))) await new Promise((resolve) => setTimeout(resolve, 20))
}

test('clients of all shards receive messages of the remote broker once, also after a restart and after changes of the bridge', async (t) => {
  const remote = await remoteBroker()
  const dataDirectory = await temporaryFolder(t)
  const bridge = `server = "mqtt-tcp://127.0.0.1:${remote.port}", proto_ver = 5, clientid = up, backoff_max = 1s
    subscription = [{ remote_topic = "cmd/#", local_topic = "do/#", qos = 1 }]`
  await writeFile(
    join(dataDirectory, 'godwit.conf'),
    `bridges.mqtt.up {\nenable = true, transparent = true, ${bridge}\n}\n`,
  )
  const own = await startBrokerWithApi(t, { dataDirectory, set: twoShards })
  await untilConnected(own)
  const clients = await Promise.all(
    ['one', 'two', 'three', 'four'].map((clientId) => Listener.at(t, own.port, `plant/${clientId}/+`, { clientId })),
  )
  const stored = await client(t, own.port, durable)
  await stored.subscribeAsync('stored', { qos: 1 })
  await stored.endAsync()
  const rules = ['cmd/# 1', 'plant/four/+ 2', 'plant/one/+ 2', 'plant/three/+ 2', 'plant/two/+ 2', 'stored 1']
  await untilSubscribed(remote, rules)

  const publisher = await client(t, remote.port)
  for (const clientId of ['one', 'two', 'three', 'four'])
    await publisher.publishAsync(`plant/${clientId}/x`, clientId, { qos: 1 })
  await publisher.publishAsync('stored', 'kept for it', { qos: 1 })
  for (const [index, clientId] of ['one', 'two', 'three', 'four'].entries()) await clients[index]?.until([clientId])
  assert.deepEqual(
    clients.map(({ texts }) => texts),
    [['one'], ['two'], ['three'], ['four']],
  )
  const { status } = await bridgeOf(own)
  assert.deepEqual([status.passed_on, status.not_passed_on], [5, 0])
  const { text } = await own.request('/api/v4/prometheus')
  assert.match(text, /^svc_bridge_filters_passed_on\{bridge="up"\} \d/m)

  await untilBridge(own, ({ counters }) => counters.received >= 5)
  await own.process.stop('SIGKILL')
  const again = await startAgain(t, own, twoShards)
  const archive = await Listener.at(t, again.port, 'stored', durable)
  await archive.until(['kept for it'])

  // The bridge becomes not transparent and transparent again, without a new connection.
  await untilBridge(again, ({ state }) => state === 'connected')
  const node = await bridgeOf(again)
  assert.equal(node.transparent, true)
  // This PUT writes defaults into the configuration, which is a change for which the bridge reconnects.
  await again.request('/api/v4/bridges/up', { method: 'PUT', body: { up: node } })
  const { connects } = (await untilConnected(again)).counters
  const off = await again.request('/api/v4/bridges/up', {
    method: 'PUT',
    body: { up: { ...node, transparent: false } },
  })
  assert.equal(off.json.data.up.transparent, false)
  await untilSubscribed(remote, ['cmd/# 1'])
  await again.request('/api/v4/bridges/up', { method: 'PUT', body: { up: { ...node, transparent: true } } })
  await untilSubscribed(remote, ['cmd/# 1', 'stored 2'])
  assert.equal((await bridgeOf(again)).status.counters.connects, connects)
  await publisher.publishAsync('stored', 'after', { qos: 1 })
  await archive.until(['after'])
})
