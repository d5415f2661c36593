// Sockets of gateways: one for each shard, over IPv6, in a multicast group, limits of clients, and MQTT-SN 1.2 over them: sections F1, F2, F3 and
// F8 of the gateway requirements.

import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { describe, test, type TestContext } from 'node:test'
import mqtt from 'mqtt'
import { SnDevice } from '../gateways/sn-device.ts'
import { type BrokerWithApi, shareConfigurableBroker } from '../management/api.ts'
import { eventually } from './eventually.ts'
import { type Scope, startBroker } from './godwit-process.ts'
import { reservePort } from './reserve-port.ts'
import { shardNumbers } from '../test-length.ts'

const devices = 40

/** One broker for each number of shards. */
const configuredBrokers = {
  1: shareConfigurableBroker(['node.shards=1']),
  3: shareConfigurableBroker(['node.shards=3']),
} as const

const bindOf = (port: number, host = '127.0.0.1'): string =>
  `gateway.mqttsn.listeners.udp.default.bind="${host}:${port}"`

/** Starts a gateway on a free port. */
async function open(t: TestContext, shards: 1 | 3, more: readonly string[], host?: string) {
  const port = await reservePort(t)
  return { broker: await configuredBrokers[shards]([bindOf(port, host), ...more]), port }
}

test('[F8] devices on many ports are served by all shards, and sleeping devices are recognized on new ports', async (t) => {
  const { broker, port } = await open(t, 3, [])
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  t.after(() => client.endAsync(true))
  const values = new Set<string>()
  const { promise: complete, resolve } = Promise.withResolvers<void>()
  client.on('message', (topic) => {
    values.add(topic)
    if (values.size === devices) resolve()
  })
  await client.subscribeAsync('values/+')
  const names = Array.from({ length: devices }, (_, number) => `meter-${number}`)
  await Promise.all(
    names.map(async (name) => {
      const device = await SnDevice.at(t, port)
      await device.connected(name, { flags: 0 })
      const topicId = await device.register(`values/${name}`)
      device.publish(0x20, topicId, 9, '1')
      assert.equal((await device.expect('puback'))[4], 0)
      await device.subscribe(`commands/${name}`)
      device.send(0x18, [0x0e, 0x10])
      await device.expect('disconnect')
    }),
  )
  await complete
  for (const name of names) await client.publishAsync(`commands/${name}`, name, { qos: 1 })
  const movedDevices = await Promise.all(
    names.map(async (name) => {
      const moved = await SnDevice.at(t, port)
      moved.send(0x16, name)
      const publish = await moved.expect('publish')
      assert.equal(publish.subarray(5).toString(), name)
      moved.send(0x0d, [...publish.subarray(1, 5), 0])
      await moved.expect('pingresp')
      return moved
    }),
  )
  const connections = async (): Promise<number> => {
    const [gateway] = (await broker.request('/api/v5/gateways?status=running')).json
    assert.equal(gateway.listeners[0].running, true)
    return gateway.current_connections
  }
  await eventually(async () => assert.equal(await connections(), devices))
  // Devices that sleep are restored for each later listener of this name, also on another port, and so for the next tests.
  await Promise.all(
    movedDevices.map(async (device) => {
      device.send(0x18)
      await device.expect('disconnect')
    }),
  )
  await eventually(async () => assert.equal(await connections(), 0))
})

test('[F7, F8] one shard opens a DTLS socket, also beside a UDP socket of the same name', async (t) => {
  const dtlsPort = await reservePort(t)
  const socket = 'gateway.mqttsn.listeners.dtls.default'
  const key = '7369787465656e2d627974652d6b6579'
  const secure = [`${socket}.bind="127.0.0.1:${dtlsPort}"`, `${socket}.dtls_options.psk=["meter:${key}"]`]
  const { broker } = await open(t, 3, secure)
  const [gateway] = (await broker.request('/api/v5/gateways?status=running')).json
  const states = gateway.listeners.map(({ type, running }: { type: string; running: boolean }) => `${type} ${running}`)
  assert.deepEqual(states.toSorted(), ['dtls true', 'udp true'])
})

test('[F3] SEARCHGW to a multicast group gets GWINFO', async (t) => {
  const group = '239.255.18.84'
  const { port } = await open(t, 3, [`gateway.mqttsn.multicast="${group}"`])
  const socket = createSocket('udp4')
  t.after(() => socket.close())
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  socket.setMulticastInterface('127.0.0.1')
  socket.send(Buffer.of(3, 1, 0), port, group)
  const [response] = (await once(socket, 'message')) as [Buffer]
  assert.equal(response.toString('hex'), '030201')
})

test('[F3] with broadcast, ADVERTISE is sent to all hosts of the network at each advertise_interval', async (t) => {
  const settings = ['gateway.mqttsn.broadcast=true', 'gateway.mqttsn.advertise_interval="1s"']
  const { port } = await open(t, 3, settings)
  const socket = createSocket('udp4')
  t.after(() => socket.close())
  socket.bind(port, '127.255.255.255')
  for (let times = 0; times < 2; times++) {
    const [advertise] = (await once(socket, 'message')) as [Buffer]
    assert.equal(advertise.toString('hex'), '0500010001')
  }
})

test('[F2] access_rules of a UDP listener decide which addresses get a response', async (t) => {
  const rules = 'gateway.mqttsn.listeners.udp.default.access_rules=["deny 127.0.0.2","allow all"]'
  const { port } = await open(t, 1, [rules])
  const [denied, allowed] = await Promise.all(
    ['127.0.0.2', '127.0.0.1'].map(async (address) => {
      const socket = createSocket('udp4')
      t.after(() => socket.close())
      socket.bind(0, address)
      await once(socket, 'listening')
      return socket
    }),
  )
  let hasDeniedResponse = false
  denied.on('message', () => (hasDeniedResponse = true))
  denied.send(Buffer.of(3, 1, 0), port, '127.0.0.1')
  // One socket of the broker receives all datagrams in this order, so a response to the denied one would arrive before the last response.
  for (let times = 0; times < 3; times++) {
    allowed.send(Buffer.of(3, 1, 0), port, '127.0.0.1')
    const [response] = (await once(allowed, 'message')) as [Buffer]
    assert.equal(response.toString('hex'), '030201')
  }
  assert.equal(hasDeniedResponse, false)
})

test('[F8] a gateway receives over IPv6', async (t) => {
  const { port } = await open(t, 3, [], '[::1]')
  const socket = createSocket('udp6')
  t.after(() => socket.close())
  socket.send(Buffer.concat([Buffer.of(9, 4, 4, 1, 0, 60), Buffer.from('dev')]), port, '::1')
  const [response] = (await once(socket, 'message')) as [Buffer]
  assert.equal(response.toString('hex'), '030500')
})

/** The code of CONNACK. */
async function codeOf(device: SnDevice, clientId: string): Promise<number | undefined> {
  device.connect(clientId)
  return (await device.expect('connack'))[0]
}

test('[F2] clients above max_connections are refused with the reason congestion', async (t) => {
  const { port } = await open(t, 1, ['gateway.mqttsn.listeners.udp.default.max_connections=2'])
  const codes: (number | undefined)[] = []
  for (const name of ['one', 'two', 'three']) codes.push(await codeOf(await SnDevice.at(t, port), name))
  assert.deepEqual(codes, [0, 0, 1])
})

test('[F2] clients above max_conn_rate are refused with the reason congestion', async (t) => {
  const { port } = await open(t, 1, ['gateway.mqttsn.listeners.udp.default.max_conn_rate="2/s"'])
  const codes: (number | undefined)[] = []
  const begunMs = performance.now()
  // On a slow machine, the rate may allow more than two of the first three connections.
  while (!codes.includes(1)) {
    const three = await Promise.all([1, 2, 3].map(() => SnDevice.at(t, port)))
    codes.push(...(await Promise.all(three.map((device, at) => codeOf(device, `device-${codes.length + at}`)))))
  }
  const most = 2 + 2 * ((performance.now() - begunMs) / 1_000)
  const accepted = codes.filter((code) => code === 0).length
  assert.ok(accepted >= 2 && accepted <= most, `${accepted} of at most ${most} are accepted`)
})

const openFileLimit = 300

/** CONNECT of the wireless node `number` behind a forwarder [MQTT-SN 5.4.20]. */
function connectOfNode(number: number): Buffer {
  const name = Buffer.from(`node-${number}`)
  const head = Buffer.from([7, 0xfe, 0, 0, 0, 0, 0, name.length + 6, 4, 4, 1, 0, 60])
  head.writeUInt32BE(number, 3)
  return Buffer.concat([head, name])
}

for (const shards of shardNumbers(1, 2)) {
  test(`[F8] the limit of open files does not limit clients over UDP (${shards} shards)`, async (t) => {
    const port = await reservePort(t)
    const set = [`node.shards=${shards}`, bindOf(port)]
    const { port: mqttPort } = await startBroker(t, { maxOpenFiles: openFileLimit, set })
    const socket = createSocket('udp4')
    t.after(() => socket.close())
    for (let node = 0; node < openFileLimit * 2; node++) {
      socket.send(connectOfNode(node), port, '127.0.0.1')
      const [response] = (await once(socket, 'message')) as [Buffer]
      assert.equal(response.toString('hex', 7), '030500', `node ${node}`)
    }
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${mqttPort}`, { reconnectPeriod: 0 })
    t.after(() => client.end(true))
    await client.publishAsync('still', 'served', { qos: 1 })
  })
}

for (const shards of shardNumbers(1, 3)) {
  test(`[2.0] clients of MQTT-SN 2.0 and 1.2 share a socket (${shards} shards)`, async (t) => {
    const { broker, port } = await open(t, shards, ['gateway.mqttsn.protocol_2=true'])
    const old = await SnDevice.at(t, port)
    await old.connected('old')
    await old.subscribe('plant/value', { flags: 0x20 })
    // In sequence, because each shard may have one of the clients.
    for (const name of ['new-1', 'new-2', 'new-3', 'new-4']) {
      const socket = createSocket('udp4')
      t.after(() => socket.close())
      const exchange = async (hex: string): Promise<string> => {
        const bytes = Buffer.from(hex, 'hex')
        socket.send(Buffer.concat([Buffer.of(bytes.length + 1), bytes]), port, '127.0.0.1')
        const [response] = (await once(socket, 'message')) as [Buffer]
        return response.toString('hex')
      }
      const clientId = Buffer.from(name).toString('hex')
      assert.equal(await exchange(`0101000702003c0000${clientId}`), '060200000700')
      assert.equal(await exchange(`03230009000b${Buffer.from('plant/value').toString('hex')}31`), '0504000900')
      const publish = await old.expect('publish')
      assert.equal(publish.subarray(5).toString(), '1')
      old.send(0x0d, [...publish.subarray(1, 5), 0])
      assert.equal(await exchange('0c0001'), '040d0001')
      const shown = (await broker.request(`/api/v5/gateways/mqttsn/clients/${name}`)).json
      assert.deepEqual([shown.proto_name, shown.proto_ver], ['MQTT-SN', 2])
    }
    const { data } = (await broker.request('/api/v5/gateways/mqttsn/clients?proto_ver=1')).json
    assert.deepEqual(
      data.map(({ clientid }: { clientid: string }) => clientid),
      ['old'],
    )
  })
}

// MQTT-SN 1.2: sections F1 and F3.

interface Started extends BrokerWithApi {
  readonly snPort: number
}

/** Each test uses other topics and devices. */
async function openGateway(t: TestContext, shards: 1 | 3): Promise<Started> {
  const { broker, port } = await open(t, shards, ['gateway.mqttsn.predefined=[{id=5,topic="pre/defined"}]'])
  return { ...broker, snPort: port }
}

async function mqttClient(t: Scope, port: number, clientId?: string): Promise<mqtt.MqttClient> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, {
    protocolVersion: 5,
    ...(clientId === undefined ? {} : { clientId }),
  })
  t.after(() => client.end(true))
  return client
}

function nextMessage(client: mqtt.MqttClient): Promise<{ topic: string; payload: string; retain: boolean }> {
  return new Promise((resolve) =>
    client.once('message', (topic, payload, { retain }) => resolve({ topic, payload: payload.toString(), retain })),
  )
}

for (const shards of shardNumbers(1, 3)) {
  describe(`[F3] MQTT-SN with ${shards} shard(s)`, () => {
    test('publishes at QoS 0, 1 and 2 and with predefined, short and registered topics', async (t) => {
      const broker = await openGateway(t, shards)
      const subscriber = await mqttClient(t, broker.port)
      await subscriber.subscribeAsync(['plant/#', 'pre/#', 'ab'], { qos: 2 })
      const device = await SnDevice.at(t, broker.snPort)
      await device.connected('device-1')
      const id = await device.register('plant/temperature')
      assert.equal(await device.register('plant/temperature', 2), id, 'the same topic name has the same topic ID')

      let received = nextMessage(subscriber)
      device.publish(0x00, id, 0, 'zero')
      assert.deepEqual(await received, { topic: 'plant/temperature', payload: 'zero', retain: false })
      received = nextMessage(subscriber)
      device.publish(0x20, id, 11, 'one')
      assert.deepEqual(await device.expect('puback'), Buffer.from([id >> 8, id & 255, 0, 11, 0]))
      assert.equal((await received).payload, 'one')
      received = nextMessage(subscriber)
      device.publish(0x40, id, 12, 'two')
      assert.deepEqual(await device.expect('pubrec'), Buffer.from([0, 12]))
      device.send(0x10, [0, 12])
      assert.deepEqual(await device.expect('pubcomp'), Buffer.from([0, 12]))
      assert.equal((await received).payload, 'two')
      received = nextMessage(subscriber)
      device.publish(0x01, 5, 0, 'predefined')
      assert.equal((await received).topic, 'pre/defined')
      received = nextMessage(subscriber)
      device.publish(0x02, 0x6162, 0, 'short')
      assert.equal((await received).topic, 'ab')
      device.publish(0x00, 4_000, 0, 'unknown')
      assert.equal((await device.expect('puback'))[4], 2, 'an unknown topic ID is refused at each QoS')
      device.send(0x16)
      await device.expect('pingresp')
    })

    test('subscribes, gets topic IDs by REGISTER, and receives retained messages', async (t) => {
      const broker = await openGateway(t, shards)
      const publisher = await mqttClient(t, broker.port)
      await publisher.publishAsync('kept/one', 'old', { retain: true, qos: 1 })
      const device = await SnDevice.at(t, broker.snPort)
      await device.connected('device-2')
      const named = await device.subscribe('line/7', { flags: 0x40 })
      const id = named.readUInt16BE(1)
      assert.equal(named[0], 0x40)
      assert.notEqual(id, 0)
      await publisher.publishAsync('line/7', 'first', { qos: 2 })
      const first = await device.expect('publish')
      assert.equal(first.readUInt16BE(1), id)
      assert.equal(first.subarray(5).toString(), 'first')
      device.send(0x0f, first.subarray(3, 5))
      await device.expect('pubrel')
      device.send(0x0e, first.subarray(3, 5))

      assert.equal((await device.subscribe('kept/#', { messageId: 8 })).readUInt16BE(1), 0)
      const register = await device.expect('register')
      assert.equal(register.subarray(4).toString(), 'kept/one')
      device.send(0x0b, register.subarray(0, 4), [0])
      const retained = await device.expect('publish')
      assert.equal(retained[0] & 0x10, 0x10)
      device.send(0x0d, retained.subarray(1, 5), [0])
      device.send(0x14, [0, 0, 9], 'kept/#')
      assert.deepEqual(await device.expect('unsuback'), Buffer.from([0, 9]))
    })

    test('a sleeping client gets its queued messages after PINGREQ, also from another port', async (t) => {
      const broker = await openGateway(t, shards)
      const publisher = await mqttClient(t, broker.port)
      const device = await SnDevice.at(t, broker.snPort)
      await device.connected('sleeping', { flags: 0 })
      const id = (await device.subscribe('night/1')).readUInt16BE(1)
      device.send(0x18, [0, 60])
      await device.expect('disconnect')
      await publisher.publishAsync('night/1', 'zero', { qos: 0 })
      for (let number = 1; number <= 40; number++) await publisher.publishAsync('night/1', String(number), { qos: 1 })
      const record = (await broker.request('/api/v4/clients/sleeping')).json as {
        data: Record<string, unknown>[]
      }
      assert.equal(record.data[0]?.['conn_state'], 'connected')
      assert.equal(record.data[0]?.['proto_name'], 'MQTT-SN')
      assert.equal(record.data[0]?.['proto_ver'], 1)
      const moved = await SnDevice.at(t, broker.snPort)
      moved.send(0x16, 'sleeping')
      const payloads: string[] = []
      for (;;) {
        const { type, body } = await moved.next()
        if (type === 'pingresp') break
        assert.equal(type, 'publish')
        assert.equal(body.readUInt16BE(1), id)
        payloads.push(body.subarray(5).toString())
        if ((body[0] ?? 0) & 0x20) moved.send(0x0d, body.subarray(1, 5), [0])
      }
      assert.deepEqual(payloads, ['zero', ...Array.from({ length: 40 }, (_, index) => String(index + 1))])
      moved.connect('sleeping', { flags: 0 })
      assert.equal((await moved.expect('connack'))[0], 0)
    })
  })
}

test('[F3] a will is published when the keep alive of a device expires, and not after DISCONNECT', async (t) => {
  const broker = await openGateway(t, 3)
  const subscriber = await mqttClient(t, broker.port)
  await subscriber.subscribeAsync('wills/#', { qos: 1 })
  const device = await SnDevice.at(t, broker.snPort)
  device.connect('willing', { flags: 0x0c, duration: 2 })
  await device.expect('willtopicreq')
  device.send(0x07, [0x20], 'wills/a')
  await device.expect('willmsgreq')
  device.send(0x09, 'gone')
  assert.equal((await device.expect('connack'))[0], 0)
  device.send(0x1c, 'gone for good')
  assert.deepEqual(await device.expect('willmsgresp'), Buffer.from([0]))
  assert.deepEqual(await nextMessage(subscriber), { topic: 'wills/a', payload: 'gone for good', retain: false })
})

test('[F3] a change of the will keeps a clean session, with messages in flight', async (t) => {
  const broker = await openGateway(t, 3)
  const publisher = await mqttClient(t, broker.port)
  const device = await SnDevice.at(t, broker.snPort)
  await device.connected('changing')
  device.send(0x12, [0x20, 0, 1], 'orders/new')
  const suback = await device.expect('suback')
  const topicId = suback.subarray(1, 3)
  await publisher.publishAsync('orders/new', 'one', { qos: 1 })
  const first = await device.expect('publish')
  assert.equal(first.subarray(5).toString(), 'one')
  device.send(0x1a, [0], 'wills/changing')
  assert.deepEqual(await device.expect('willtopicresp'), Buffer.from([0]))
  const again = await device.expect('publish')
  assert.equal(again.subarray(5).toString(), 'one')
  device.send(0x0d, topicId, again.subarray(3, 5), [0])
  await publisher.publishAsync('orders/new', 'two', { qos: 1 })
  assert.equal((await device.expect('publish')).subarray(5).toString(), 'two')
})

test('[F3] the gateway supports discovery and QoS -1, and refuses unauthenticated clients and malformed datagrams', async (t) => {
  const broker = await openGateway(t, 3)
  const subscriber = await mqttClient(t, broker.port)
  await subscriber.subscribeAsync('pre/#')
  const device = await SnDevice.at(t, broker.snPort)
  device.send(0x01, [0])
  assert.deepEqual(await device.expect('gwinfo'), Buffer.from([1]))
  const received = nextMessage(subscriber)
  device.publish(0x61, 5, 0, 'without a connection')
  assert.equal((await received).payload, 'without a connection')
  for (const broken of ['', '00', '05', '0204', '0a0c', '03fe00', '01', '010003', 'ff0c00', '0212'])
    device.raw(Buffer.from(broken, 'hex'))
  device.publish(0x20, 1, 1, 'stranger')
  await device.expect('disconnect')
  device.connect('', {})
  assert.equal((await device.expect('connack'))[0], 3)
})

test('[F3] a second client with the same client ID takes over, and the first gets DISCONNECT', async (t) => {
  const broker = await openGateway(t, 3)
  const one = await SnDevice.at(t, broker.snPort)
  const two = await SnDevice.at(t, broker.snPort)
  await one.connected('same')
  await two.connected('same')
  await one.expect('disconnect')
  two.send(0x16)
  await two.expect('pingresp')
})
