// Bridges to Debian's mosquitto over TCP and TLS: mosquitto is stopped, loses its data, or stalls.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import {
  bridgeOf,
  bridgeOver,
  client,
  withoutDuplicates,
  Listener,
  oneShard,
  publishNumbered,
  shareBridged,
  startBridged,
  untilBridge,
  untilConnected,
  Wire,
} from '../e2e/bridge-stage.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { startBrokerWithApi } from '../management/api.ts'
import { encode } from '../simulator/world.ts'
import { versionsOf, longTest } from '../test-length.ts'
import { Authority } from '../transports/certificates.ts'
import { startMosquitto } from './mosquitto-server.ts'

const bridged = shareBridged()

for (const version of versionsOf(4, 5)) {
  test(`mosquitto is restarted during a transfer with MQTT ${version}: all messages arrive, those of QoS 2 once`, async (t) => {
    const mosquitto = await startMosquitto(t)
    const wire = await Wire.to(t, mosquitto.port)
    const own = await bridged(bridgeOver(wire, `proto_ver = ${version}, clientid = up`))
    await untilConnected(own)
    const before = await Listener.at(t, mosquitto.port, 'up/#')
    const least = publishNumbered(await client(t, own.port), 'up/least', { qos: 1, from: 0, count: 150 })
    await untilBridge(own, ({ counters }) => counters.acknowledged > 20)
    wire.stall()
    const exactly = publishNumbered(await client(t, own.port), 'up/exactly', { qos: 2, from: 0, count: 150 })
    // When mosquitto delivers a later message, it has delivered all messages that it acknowledged before.
    await before.until(
      await publishNumbered(await client(t, mosquitto.port), 'up/witness', { qos: 1, from: 0, count: 1 }),
    )
    await mosquitto.process.stop('SIGTERM')
    const texts = { least: await least, exactly: await exactly }
    const again = await startMosquitto(t, [], { dataFolder: mosquitto.folder })
    const after = await Listener.at(t, again.port, 'up/#')
    wire.cut()
    wire.target = again.port
    const received = (): readonly string[] => [...before.texts, ...after.texts]
    await after.until([...texts.least, ...texts.exactly].filter((text) => !before.texts.includes(text)))
    await untilBridge(own, ({ spool_depth: depth }) => depth === 0)
    const of = (topic: string) => received().filter((text) => text.startsWith(topic))
    assert.deepEqual(of('up/exactly'), texts.exactly)
    assert.deepEqual(withoutDuplicates(of('up/least')), texts.least)
    const here = await Listener.at(t, own.port, 'down/#')
    const down = await publishNumbered(await client(t, again.port), 'down/exactly', { qos: 2, from: 0, count: 15 })
    await here.until(down)
    assert.deepEqual(here.texts, down)
  })
}

test('mosquitto restarts without its data: queued messages arrive, and the bridge subscribes again', async (t) => {
  const mosquitto = await startMosquitto(t)
  const wire = await Wire.to(t, mosquitto.port)
  const own = await bridged(bridgeOver(wire))
  await untilConnected(own)
  await mosquitto.process.stop('SIGKILL')
  await rm(join(mosquitto.folder, 'mosquitto.db'), { force: true })
  const publisher = await client(t, own.port)
  const texts = [
    ...(await publishNumbered(publisher, 'up/least', { qos: 1, from: 0, count: 100 })),
    ...(await publishNumbered(publisher, 'up/exactly', { qos: 2, from: 0, count: 100 })),
  ]
  assert.equal((await bridgeOf(own)).status.spool_depth, 200)
  const restarted = await startMosquitto(t)
  const there = await Listener.at(t, restarted.port, 'up/#')
  wire.target = restarted.port
  await there.until(texts)
  assert.deepEqual(there.texts, texts)
  await untilBridge(own, ({ spool_depth: depth }) => depth === 0)
  const here = await Listener.at(t, own.port, 'down/#')
  await here.until(await publishNumbered(await client(t, restarted.port), 'down/again', { qos: 1, from: 0, count: 5 }))
})

test('the connection to mosquitto stalls while a queue is drained: the keep alive detects it, and all messages arrive', async (t) => {
  const mosquitto = await startMosquitto(t)
  const wire = await Wire.to(t, undefined)
  const own = await bridged(bridgeOver(wire, 'keepalive = 1s, clientid = up'))
  const publisher = await client(t, own.port)
  const texts = await publishNumbered(publisher, 'up/exactly', { qos: 2, from: 0, count: 600 })
  const there = await Listener.at(t, mosquitto.port, 'up/#')
  wire.target = mosquitto.port
  await untilBridge(own, ({ counters }) => counters.acknowledged > 0)
  wire.stall()
  await there.until(texts)
  await untilBridge(own, ({ spool_depth: depth }) => depth === 0)
  assert.deepEqual(there.texts, texts)
})

test('messages that the bridge sends to mosquitto do not return, with MQTT 5.0 and with 3.1.1', async (t) => {
  const mosquitto = await startMosquitto(t)
  for (const version of [4, 5] as const) {
    const bridge = `
      server = "mqtt-tcp://127.0.0.1:${mosquitto.port}"
      proto_ver = ${version}
      clientid = "round-${version}"
      forwards = [{ local_topic = "both-${version}/#", remote_topic = "" }]
      subscription = [{ remote_topic = "both-${version}/#", local_topic = "", qos = 1 }]`
    const own = await bridged(bridge)
    await untilConnected(own)
    const here = await Listener.at(t, own.port, `both-${version}/#`)
    const there = await Listener.at(t, mosquitto.port, `both-${version}/#`)
    const texts = await publishNumbered(await client(t, own.port), `both-${version}/x`, { qos: 1, from: 0, count: 20 })
    await there.until(texts)
    // A returned message would arrive before this one.
    const last = await publishNumbered(await client(t, mosquitto.port), `both-${version}/y`, {
      qos: 1,
      from: 0,
      count: 1,
    })
    await here.until(last)
    assert.deepEqual(here.texts, [...texts, ...last])
  }
})

for (const version of versionsOf(4, 5)) {
  test(`subscriptions of clients are forwarded to mosquitto, and their messages arrive once, MQTT ${version}`, async (t) => {
    const mosquitto = await startMosquitto(t)
    const bridge = `
      server = "mqtt-tcp://127.0.0.1:${mosquitto.port}"
      proto_ver = ${version}
      clientid = "transparent"
      transparent = true
      forwards = [{ local_topic = "up/#", remote_topic = "" }]
      subscription = [{ remote_topic = "down/+", local_topic = "", qos = 1 }]`
    const own = await bridged(bridge)
    await untilConnected(own)
    // mosquitto sends a message once for each matching subscription.
    const filters = ['plant/#', 'plant/1', 'down/#', 'up/#']
    const listeners: Listener[] = []
    for (const filter of filters) listeners.push(await Listener.at(t, own.port, filter))
    for (const logLine of [/transparent 2 plant\/#/, /transparent 2 down\/#/, /transparent 2 up\/#/])
      await mosquitto.process.until(logLine)
    // Messages that arrive during a change of subscriptions are lost.
    await mosquitto.process.until(/Sending UNSUBACK to transparent/)
    const there = await client(t, mosquitto.port)
    await there.publishAsync('plant/1', 'state', { qos: 1 })
    await there.publishAsync('down/x', 'command', { qos: 1 })
    await (await client(t, own.port)).publishAsync('up/x', 'ours', { qos: 1 })
    await there.publishAsync('plant/1', 'last', { qos: 1 })
    await there.publishAsync('down/x', 'last', { qos: 1 })
    await there.publishAsync('up/y', 'last', { qos: 1 })
    for (const listener of listeners) await listener.until(['last'])
    assert.deepEqual(
      listeners.map(({ texts }) => texts),
      [
        ['state', 'last'],
        ['state', 'last'],
        ['command', 'last'],
        ['ours', 'last'],
      ],
    )
  })
}

// Daily: a bridge over TLS in test/e2e/bridge-transports.test.ts.
longTest('a bridge to mosquitto over TLS sends its certificate, and does not trust another authority', async (t) => {
  const authority = new Authority('The test authority')
  const server = authority.issue('localhost', { hostNames: ['localhost'] })
  const bridge = authority.issue('bridge-up')
  const folder = await temporaryFolder(t)
  const path = (file: string): string => join(folder, file)
  const files = {
    'ca.pem': authority.certificate,
    'cert.pem': server.certificate,
    'key.pem': server.key,
    'bridge.pem': bridge.certificate,
    'bridge-key.pem': bridge.key,
    'stranger.pem': new Authority('Unknown authority').certificate,
  }
  for (const [file, content] of Object.entries(files)) await writeFile(path(file), content)
  const [port, plainPort] = [await reservePort(t), await reservePort(t)]
  const mosquitto = await startMosquitto(
    t,
    [
      `listener ${port} 127.0.0.1`,
      `cafile ${path('ca.pem')}`,
      `certfile ${path('cert.pem')}`,
      `keyfile ${path('key.pem')}`,
      'require_certificate true',
    ],
    { port: plainPort },
  )
  const own = await startBridged(
    t,
    `server = "tls+mqtt-tcp://localhost:${port}"
     proto_ver = 5
     clientid = up
     backoff_max = 1s
     ssl { cacertfile = "${path('ca.pem')}", certfile = "${path('bridge.pem')}", keyfile = "${path('bridge-key.pem')}" }
     forwards = [{ local_topic = "up/#", remote_topic = "" }]`,
    { set: [...oneShard, `node.allowed_directories=["${folder}"]`] },
  )
  await untilConnected(own)
  const there = await Listener.at(t, mosquitto.port, 'up/#')
  const publisher = await client(t, own.port)
  await there.until(await publishNumbered(publisher, 'up/1', { qos: 2, from: 0, count: 20 }))
  const { status: _, ...node } = await bridgeOf(own)
  const put = (tls: object) =>
    own.request('/api/v4/bridges/up', { method: 'PUT', body: { up: { ...node, tls: { ...node.tls, ...tls } } } })
  const first = await put({ cacertfile: path('stranger.pem'), cacert: undefined })
  assert.equal(first.status, 200, first.text)
  const { last_error: why } = await untilBridge(own, ({ state, attempts }) => state === 'waiting' && attempts > 0)
  assert.match(why, /TLS handshake failed/)
  const waiting = await publishNumbered(publisher, 'up/2', { qos: 1, from: 0, count: 5 })
  assert.equal((await put({ cacertfile: path('ca.pem'), cacert: undefined })).status, 200)
  await there.until(waiting)
})

/** Connects and disconnects a client of MQTT 3.1.1 with a persistent session. Returns whether the session existed. */
async function isSessionPresent(
  t: TestContext,
  port: number,
  who: { clientId: string; isBridge: boolean },
): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  const nothing = { username: undefined, password: undefined, will: undefined, properties: undefined }
  socket.write(encode({ type: 'connect', version: 4, cleanStart: false, keepAliveSeconds: 60, ...who, ...nothing }, 4))
  const [connack] = await once(socket, 'data')
  assert.deepEqual([connack[0], connack[3]], [0x20, 0])
  socket.end(encode({ type: 'disconnect', reasonCode: 0, properties: undefined }, 4))
  await once(socket, 'close')
  return connack[2] === 1
}

test('mosquitto recognizes a bridge with a protocol before 5.0 after a restart', async (t) => {
  const clients = [
    { clientId: 'bridge', isBridge: true },
    { clientId: 'plain', isBridge: false },
  ]
  const mosquitto = await startMosquitto(t)
  for (const known of [false, true]) {
    for (const who of clients) assert.equal(await isSessionPresent(t, mosquitto.port, who), known)
  }
  await mosquitto.process.stop('SIGTERM')
  const again = await startMosquitto(t, [], { dataFolder: mosquitto.folder })
  const known = []
  for (const who of clients) known.push(await isSessionPresent(t, again.port, who))
  assert.deepEqual(known, [true, true])
})

function textsOf({ texts }: Listener, topic: string): readonly string[] {
  return texts.filter((text) => text.startsWith(topic))
}

for (const version of versionsOf('mqttv311', 'mqttv50')) {
  test(`a bridge of mosquitto to this broker (${version}) transfers each message once in both directions, also after a restart`, async (t) => {
    const here = await startBrokerWithApi(t, { set: oneShard })
    const wire = await Wire.to(t, here.port)
    const mosquitto = await startMosquitto(t, [
      'connection up',
      `address 127.0.0.1:${wire.port}`,
      `bridge_protocol_version ${version}`,
      'cleansession false',
      'restart_timeout 1',
      'topic both/# both 2',
    ])
    const [there, names, listener] = await Promise.all([
      Listener.at(t, mosquitto.port, 'both/#'),
      Listener.at(t, mosquitto.port, '$godwit/#'),
      Listener.at(t, here.port, '#'),
    ])
    const author = await client(t, mosquitto.port)
    const probe = async (number: number): Promise<void> => {
      if (listener.received.length > 0) return
      await publishNumbered(author, 'both/probe', { qos: 1, from: number, count: 1 })
      await new Promise((resolve) => setTimeout(resolve, 20))
      return probe(number + 1)
    }
    await probe(0)
    const up = await publishNumbered(author, 'both/up', { qos: 2, from: 0, count: 15 })
    const down = await publishNumbered(await client(t, here.port), 'both/down', { qos: 2, from: 0, count: 15 })
    await Promise.all([listener.until(up), listener.until(down), there.until(down)])
    await here.process.stop('SIGKILL')
    const later = await publishNumbered(author, 'both/later', { qos: 2, from: 0, count: 15 })
    const again = await startBrokerWithApi(t, { dataDirectory: here.dataDirectory, set: oneShard })
    const archive = await Listener.at(t, again.port, 'both/#')
    wire.target = again.port
    await archive.until(later)
    assert.deepEqual(textsOf(listener, 'both/up'), up)
    assert.deepEqual(textsOf(there, 'both/down'), down)
    assert.deepEqual(textsOf(archive, 'both/later'), later)
    assert.deepEqual(textsOf(listener, 'both/down'), down, 'messages to mosquitto do not return')
    // mosquitto delivers the message with the name of this broker to its subscribers, and does not forward it.
    assert.equal(names.received.length > 0, version === 'mqttv311')
    assert.ok(names.received.every(({ topic, qos, retain }) => topic === '$godwit/broker' && qos === 0 && !retain))
    assert.ok(listener.received.every(({ topic }) => topic.startsWith('both/')))
  })
}
