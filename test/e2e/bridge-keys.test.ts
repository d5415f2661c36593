// Settings of a bridge that appear in its packets: a remote broker on raw sockets decodes the packets, first with the settings of the
// file, then with those of a PUT.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import {
  type ConnectPacket,
  type Packet,
  PacketDecoder,
  type ProtocolVersion,
  type SubscribePacket,
  TopicTable,
  type UnsubscribePacket,
} from '../../src/protocol/index.ts'
import { ack, connackIn, granted } from '../bridges/crafted.ts'
import { type BrokerWithApi } from '../management/api.ts'
import { bridgeOf, client, oneShard, startBridged, untilBridge, untilConnected } from './bridge-stage.ts'
import type { Scope } from './godwit-process.ts'

interface Published {
  readonly topic: string
  readonly text: string
  readonly qos: number
  readonly retain: boolean
}

/** A broker that accepts each CONNECT and SUBSCRIBE, acknowledges messages if `acknowledges` is set, and records received packets. */
class RawRemote {
  acknowledges = true
  readonly port: number
  readonly received: Packet[] = []
  readonly published: Published[] = []
  #look: (() => void)[] = []

  private constructor(port: number) {
    this.port = port
  }

  static async start(t: Scope): Promise<RawRemote> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const remote = new RawRemote((server.address() as AddressInfo).port)
    server.on('connection', (socket) => {
      const limits = { maxPacketBytes: 1_000_000, maxPropertyBytes: 32_768, maxTopicLevels: 128, maxTopicBytes: 65_535 }
      const decoder = new PacketDecoder({ role: 'server', topics: new TopicTable(64), ...limits })
      let version: ProtocolVersion = 5
      socket.on('error', () => undefined)
      socket.on('data', (chunk) => {
        decoder.push(chunk)
        for (let packet = decoder.next(); packet !== undefined; packet = decoder.next()) {
          if (packet.type === 'connect') ({ version } = packet)
          const response = remote.#responseTo(packet, version)
          remote.#note(packet)
          if (response !== undefined) socket.write(response)
        }
      })
      t.after(() => socket.destroy())
    })
    t.after(() => server.close())
    return remote
  }

  /** Deletes the recorded packets. */
  forget(): void {
    this.received.length = 0
    this.published.length = 0
  }

  async until<Found>(find: () => Found | undefined): Promise<Found> {
    for (;;) {
      const found = find()
      if (found !== undefined) return found
      await new Promise<void>((resolve) => this.#look.push(resolve))
    }
  }

  /** The last CONNECT: before MQTT 5.0, the bridge first sends one that only clears the session. */
  connect(): Promise<ConnectPacket> {
    return this.until(() => this.received.findLast((packet): packet is ConnectPacket => packet.type === 'connect'))
  }

  subscribe(): Promise<SubscribePacket> {
    return this.until(() => this.received.findLast((packet): packet is SubscribePacket => packet.type === 'subscribe'))
  }

  #responseTo(packet: Packet, version: ProtocolVersion): Buffer | undefined {
    if (packet.type === 'connect') return connackIn(version)
    if (packet.type === 'pubrel') return ack('pubcomp', packet.packetId)
    const qos = packet.type === 'publish' && this.acknowledges ? packet.qos : 0
    return packet.type === 'publish' && qos > 0
      ? ack(qos === 1 ? 'puback' : 'pubrec', packet.packetId)
      : granted(packet)
  }

  #note(packet: Packet): void {
    this.received.push(packet)
    if (packet.type === 'publish') {
      const text = packet.chunk.toString('utf8', packet.payloadStart, packet.frameEnd)
      const { topic, qos, retain } = packet
      this.published.push({ topic: topic?.name ?? '', text, qos, retain })
    }
    for (const look of this.#look.splice(0)) look()
  }
}

const put = (broker: BrokerWithApi, node: object) =>
  broker.request('/api/v4/bridges/up', { method: 'PUT', body: { up: node } })

const inFile = `
  proto_ver = 5, clientid = "c-1", keepalive = 45s, clean_start = true, username = alice, password = "open sesame"
  conn_properties {
    session_expiry_interval = 120, receive_maximum = 7, maximum_packet_size = 4096, topic_alias_maximum = 5
    request_problem_infomation = 0, request_response_infomation = 1, user_property { region = north, rack = 4 }
  }
  will {
    topic = "state/gone", payload = "bye", qos = 1, retain = true
    properties {
      payload_format_indicator = 1, message_expiry_interval = 60, will_delay_interval = 30
      content_type = "text/plain", response_topic = "state/response", correlation_data = "id-1", user_property { why = lost }
    }
  }
  sub_properties { identifier = 9, user_property { who = me } }
  forwards = [
    { local_topic = "out/+", remote_topic = "eu/+", qos = 1, retain = true, prefix = "p/", suffix = "/s" }
    { local_topic = "plain", remote_topic = "" }
  ]
  subscription = [
    { remote_topic = "in/#", local_topic = "", qos = 2, retain_as_published = 0, retain_handling = 2 }
    { remote_topic = "more", local_topic = "x", qos = 1 }
  ]`

test('the packets of a bridge have the settings of the file, and after a PUT the new settings', async (t) => {
  const remote = await RawRemote.start(t)
  const server = `mqtt-tcp://127.0.0.1:${remote.port}`
  const cache = 'bridges.mqtt.cache.disk_cache_size=500'
  const own = await startBridged(t, `server = "${server}"\n${inFile}`, { set: [...oneShard, cache] })
  await untilConnected(own)
  const connect = await remote.connect()
  const { willDelayIntervalSeconds, ...ofWill } = connect.will?.properties ?? {}
  const { userProperties, ...properties } = connect.properties ?? {}
  assert.deepEqual(
    { ...connect, will: undefined, properties },
    {
      type: 'connect',
      version: 5,
      clientId: 'c-1',
      cleanStart: true,
      keepAliveSeconds: 45,
      username: 'alice',
      password: Buffer.from('open sesame'),
      will: undefined,
      isBridge: false,
      properties: {
        sessionExpiryIntervalSeconds: 120,
        receiveMaximum: 7,
        maximumPacketSizeBytes: 4_096,
        topicAliasMaximum: 5,
        requestProblemInformation: false,
        requestResponseInformation: true,
      },
    },
  )
  assert.deepEqual(
    userProperties?.filter(([name]) => name !== 'godwit-via'),
    [
      ['region', 'north'],
      ['rack', '4'],
    ],
  )
  assert.deepEqual(
    [connect.will?.topic, connect.will?.payload.toString(), connect.will?.qos, connect.will?.retain],
    ['state/gone', 'bye', 1, true],
  )
  assert.equal(willDelayIntervalSeconds, 30)
  assert.deepEqual(ofWill, {
    payloadFormatIndicator: 1,
    messageExpiryIntervalSeconds: 60,
    contentType: 'text/plain',
    responseTopic: 'state/response',
    correlationData: Buffer.from('id-1'),
    userProperties: [['why', 'lost']],
  })
  const subscribing = await remote.subscribe()
  const common = { noLocal: true }
  assert.deepEqual(subscribing.subscriptions, [
    { filter: 'in/#', qos: 2, retainAsPublished: false, retainHandling: 2, ...common },
    { filter: 'more', qos: 1, retainAsPublished: true, retainHandling: 0, ...common },
  ])
  assert.deepEqual(subscribing.properties, { subscriptionIdentifier: 9, userProperties: [['who', 'me']] })
  const publisher = await client(t, own.port)
  await publisher.publishAsync('out/7', 'one', { qos: 0 })
  await publisher.publishAsync('plain', 'two', { qos: 2 })
  await remote.until(() => (remote.published.length === 2 ? true : undefined))
  assert.deepEqual(remote.published, [
    { topic: 'p/eu/7/s', text: 'one', qos: 1, retain: true },
    { topic: 'plain', text: 'two', qos: 2, retain: false },
  ])

  // Removing a subscription sends UNSUBSCRIBE with its properties on the same connection.
  const unsub_properties = { identifier: 5, user_properties: [{ key: 'why', value: 'moved' }] }
  const data = { unsubscription: [{ topic: 'more' }], unsub_properties }
  const unsubscribed = await own.request('/api/v4/bridges/unsub/up', { method: 'PUT', body: { data } })
  assert.deepEqual(unsubscribed.json, { code: 0 })
  const farewell = await remote.until(() =>
    remote.received.find((packet): packet is UnsubscribePacket => packet.type === 'unsubscribe'),
  )
  assert.deepEqual([farewell.filters, farewell.properties], [['more'], { userProperties: [['why', 'moved']] }])
  const { unsub_properties: shownProperties, status } = await bridgeOf(own)
  assert.deepEqual([shownProperties, status.counters.connects], [unsub_properties, 1])

  // After the PUT, which uses the key names of the API: MQTT 3.1.1, without properties of 5.0.
  const { enable, name, spool_max_messages: ownLimit, spool_full_policy: policy } = await bridgeOf(own)
  assert.deepEqual([enable, name, ownLimit, policy], [true, 'up', null, 'drop_oldest'])
  const { json: listed } = await own.request('/api/v4/bridges')
  assert.equal(listed.data.bridge.sqlite.disk_cache_size, 500)
  remote.forget()
  const node = {
    connector: {
      server,
      proto_ver: 4,
      clientid: 'c-2',
      keepalive: 20,
      clean_start: true,
      username: 'bob',
      password: 'x',
    },
    will: { topic: 'state/will', payload: 'w', qos: 2, retain: false },
    subscription: [{ remote_topic: 'other/#', local_topic: '', qos: 1 }],
    forwards: [{ local_topic: 'out/#', remote_topic: '', qos: 2 }],
    no_local_v4: false,
    resend_wait: 500,
    resend_interval: '2s',
    transparent: true,
    spool_max_messages: 50,
    spool_full_policy: 'drop_oldest',
  }
  const response = await put(own, node)
  assert.equal(response.status, 200, response.text)
  await untilBridge(own, ({ state, counters }) => state === 'connected' && counters.connects >= 2)
  const again = await remote.connect()
  const { topic, payload, qos, retain } = again.will ?? {}
  assert.deepEqual([topic, payload?.toString(), qos, retain], ['state/will', 'w', 2, false])
  assert.deepEqual(
    { ...again, will: undefined },
    {
      type: 'connect',
      version: 4,
      clientId: 'c-2',
      cleanStart: true,
      keepAliveSeconds: 20,
      username: 'bob',
      password: Buffer.from('x'),
      will: undefined,
      properties: undefined,
      isBridge: false,
    },
  )
  const plain = { noLocal: false, retainAsPublished: false, retainHandling: 0 }
  assert.deepEqual((await remote.subscribe()).subscriptions, [{ filter: 'other/#', qos: 1, ...plain }])
  await publisher.subscribeAsync('wanted', { qos: 1 })
  const passedOn = await remote.until(() =>
    remote.received.find(
      (packet): packet is SubscribePacket =>
        packet.type === 'subscribe' && packet.subscriptions.some(({ filter }) => filter === 'wanted'),
    ),
  )
  assert.deepEqual(passedOn.subscriptions, [{ filter: 'wanted', qos: 1, ...plain }])
  const shown = await bridgeOf(own)
  const { transparent, resend_wait, resend_interval, no_local_v4, spool_max_messages, spool_full_policy } = shown
  assert.deepEqual(
    { transparent, resend_wait, resend_interval, no_local_v4, spool_max_messages, spool_full_policy },
    {
      transparent: true,
      resend_wait: '500ms',
      resend_interval: '2s',
      no_local_v4: false,
      spool_max_messages: 50,
      spool_full_policy: 'drop_oldest',
    },
  )
  remote.acknowledges = false
  // The message is not acknowledged, so the bridge reconnects and sends it again.
  await publisher.publishAsync('out/8', 'three', { qos: 1 })
  const dup = await remote.until(() => remote.received.find((packet) => packet.type === 'publish' && packet.dup))
  assert.equal(dup.type, 'publish')
})
