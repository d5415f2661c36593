// A service decides by the topic that results, whatever the way in and the topic that was sent; with several shards and real sockets.
// `test/core/resulting-topics.test.ts` has all combinations in memory.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { once } from 'node:events'
import { test } from 'node:test'
import mqtt, { type IClientOptions } from 'mqtt'
import { SnDevice } from '../gateways/sn-device.ts'
import { UdpCoapDevice } from '../gateways/udp-coap-device.ts'
import { type BrokerWithApi, portOfListener, startBrokerWithApi } from '../management/api.ts'
import { eventually } from './eventually.ts'
import { type Scope, shared } from './godwit-process.ts'
import { HttpService } from './http-service.ts'
import { connected } from './mqtt-client.ts'
import { reservePort } from './reserve-port.ts'

interface Site {
  readonly broker: BrokerWithApi
  readonly service: HttpService
  readonly coap: number
  readonly mqttsn: number
  readonly stomp: number
}

const readTopic = (path: string): string => new URL(path, 'http://x').searchParams.get('t') ?? ''

const sharedSite = shared(async (scope): Promise<Site> => {
  const [coap, mqttsn, stomp] = [await reservePort(scope), await reservePort(scope), await reservePort(scope)]
  const service = await HttpService.start(scope)
  service.statusFor = ({ path }) => (readTopic(path).includes('secret') ? 403 : 200)
  const url = `http://127.0.0.1:${service.port}/acl`
  const broker = await startBrokerWithApi(scope, {
    set: [
      'node.shards=3',
      'auth.allow_anonymous=true',
      'listeners.ws.default.bind="127.0.0.1:0"',
      `auth.http_auth.acl_req={ url = "${url}", method = GET, params { t = "%t", a = "%A" } }`,
      `gateway.coap.listeners.udp.default.bind="127.0.0.1:${coap}"`,
      `gateway.mqttsn.listeners.udp.default.bind="127.0.0.1:${mqttsn}"`,
      `gateway.stomp.listeners.tcp.default.bind="127.0.0.1:${stomp}"`,
    ],
  })
  return { broker, service, coap, mqttsn, stomp }
})

interface Sent {
  readonly topic: string
  readonly payload: string
  readonly retain: boolean
}

type WayIn = (t: Scope, site: Site, message: Sent) => Promise<void>
let clients = 0
const newName = (): string => `sweep-${++clients}`

/** Resolves when the broker has handled the message, or has closed the connection. */
async function publishWith(t: Scope, options: IClientOptions & { url: string }, message: Sent): Promise<void> {
  const { url, ...more } = options
  const client = await mqtt.connectAsync(url, { clientId: newName(), reconnectPeriod: 0, ...more })
  client.on('error', () => {})
  t.after(() => client.end(true))
  const closed = new Promise<void>((resolve) => client.once('close', () => resolve()))
  const published = new Promise<void>((resolve) => {
    client.publish(message.topic, message.payload, { qos: 1, retain: message.retain }, () => resolve())
  })
  await Promise.race([closed, published])
}

async function leaveWill(t: Scope, port: number, version: 4 | 5, { topic, payload, retain }: Sent): Promise<void> {
  const will = { topic, payload: Buffer.from(payload), qos: 1, retain } as const
  try {
    const client = await connected(t, { port }, { clientId: newName(), protocolVersion: version, will })
    client.stream.destroy()
  } catch (error) {
    // The will is refused at CONNECT.
    assert.match(String(error), /refused|not authorized|invalid/i)
  }
}

async function sendWithStomp(port: number, { topic, payload }: Sent): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1' })
  let text = ''
  socket.on('data', (chunk) => {
    const isFirst = text === ''
    text += String(chunk)
    if (isFirst) socket.write(`SEND\ndestination:${topic}\nqos:1\nreceipt:r\n\n${payload}\0`)
    else if (/RECEIPT|ERROR/.test(text)) socket.end()
  })
  socket.write(`CONNECT\naccept-version:1.2\nhost:x\nclient-id:${newName()}\n\n\0`)
  await once(socket, 'close')
  assert.match(text, /RECEIPT|ERROR/)
}

async function sendWithMqttSn(t: Scope, port: number, { topic, payload, retain }: Sent): Promise<void> {
  const device = await SnDevice.at(t, port)
  await device.connected(newName())
  device.send(0x0a, [0, 0, 0, 1], topic)
  const regack = await device.expect('regack')
  if (regack[4] !== 0) return
  device.publish(retain ? 0x30 : 0x20, regack.readUInt16BE(0), 2, payload)
  const { type } = await device.next()
  assert.match(type, /puback|disconnect/)
}

/** The will of a device that disappears is published when its keep-alive interval has passed. */
async function leaveMqttSnWill(t: Scope, port: number, { topic, payload }: Sent): Promise<void> {
  const device = await SnDevice.at(t, port)
  device.send(0x04, [0x0c, 1, 0, 1], newName())
  await device.expect('willtopicreq')
  device.send(0x07, [0x20], topic)
  const { type } = await device.next()
  if (type !== 'willmsgreq') return assert.equal(type, 'connack')
  device.send(0x09, payload)
  await device.expect('connack')
}

const waysIn: Readonly<Record<string, WayIn>> = {
  'MQTT 3.1.1': (t, { broker }, message) =>
    publishWith(t, { url: `mqtt://127.0.0.1:${broker.port}`, protocolVersion: 4 }, message),
  'MQTT 5.0 with topic aliases': (t, { broker }, message) => {
    const options = { protocolVersion: 5, autoAssignTopicAlias: true } as const
    return publishWith(t, { url: `mqtt://127.0.0.1:${broker.port}`, ...options }, message)
  },
  WebSocket: async (t, { broker }, message) => {
    const port = await portOfListener(broker, 'ws')
    return publishWith(t, { url: `ws://127.0.0.1:${port}/mqtt`, protocolVersion: 5 }, message)
  },
  'will of 3.1.1': (t, { broker }, message) => leaveWill(t, broker.port, 4, message),
  'will of 5.0': (t, { broker }, message) => leaveWill(t, broker.port, 5, message),
  CoAP: async (t, { coap }, { topic, payload, retain }) => {
    const device = await UdpCoapDevice.at(t, coap)
    device.device.request(3, `ps/${topic}`, `c=${newName()}&qos=1&retain=${retain}`, payload)
    assert.match((await device.next()).code, /^[245]\./)
  },
  'MQTT-SN': (t, { mqttsn }, message) => sendWithMqttSn(t, mqttsn, message),
  'will of MQTT-SN': (t, { mqttsn }, message) => leaveMqttSnWill(t, mqttsn, message),
  STOMP: (_, { stomp }, message) => sendWithStomp(stomp, message),
}

const wrappings = ['', '$delayed/0/', '$delayed/0/$delayed/0/', '$delayed/0/$ns/other/']
const reserved = ['$SYS/x', '$event/x', '$events/x', '$bridge/x', '$share/g/x', '$queue/x', '$ns/other/x']

for (const [way, send] of Object.entries(waysIn)) {
  test(`the service is asked for the topic that results, and no reserved topic is reached, by ${way}`, async (t) => {
    const site = await sharedSite()
    const { broker, service } = site
    const reader = await connected(t, broker, {})
    const received: string[] = []
    reader.on('message', (topic, payload) => {
      if (String(payload) === 'forged' || topic.startsWith(`open/`)) received.push(topic)
    })
    const everything = ['#', '$SYS/#', '$event/#', '$events/#', '$bridge/#', '$ns/#'].map((filter) =>
      reader.subscribeAsync(filter, { qos: 1 }).catch(() => undefined),
    )
    await Promise.all(everything)
    service.received.length = 0
    const unique = newName()
    for (const wrapping of wrappings)
      await send(t, site, { topic: `${wrapping}secret/${unique}`, payload: 'forged', retain: false })
    for (const name of reserved)
      for (const topic of [name, `$delayed/0/${name}`])
        await send(t, site, { topic, payload: 'forged', retain: topic === name })
    // What is allowed arrives, so the test does not pass for another reason.
    await send(t, site, { topic: `open/1/${unique}`, payload: 'x', retain: false })
    await send(t, site, { topic: `$delayed/0/open/2/${unique}`, payload: 'x', retain: false })
    await eventually(async () => assert.deepEqual(received.toSorted(), [`open/1/${unique}`, `open/2/${unique}`]))
    const queried = new Set(
      service.received.map(({ path }) => readTopic(path)).filter((topic) => topic.includes(unique)),
    )
    assert.deepEqual([...queried].filter((topic) => topic.startsWith('$')).toSorted(), [])
    assert.ok(queried.has(`secret/${unique}`))
    assert.ok(queried.has(`open/2/${unique}`))
  })
}
