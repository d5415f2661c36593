// MQTT-SN 1.2 over real sockets: sections F1 and F3 of the gateway contract.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import mqtt from 'mqtt'
import { SnDevice } from '../gateways/sn-device.ts'
import { startBrokerWithApi, type BrokerWithApi } from '../management/api.ts'
import { type Scope, shared } from './godwit-process.ts'
import { reservePort } from './reserve-port.ts'
import { shardNumbers } from '../test-length.ts'

interface Started extends BrokerWithApi {
  readonly snPort: number
}

/** One broker for each number of shards. Each test uses other topics and devices. */
const sharedBrokers = { 1: shareGateway(1), 3: shareGateway(3) } as const

function shareGateway(shards: number): () => Promise<Started> {
  return shared(async (scope) => {
    const snPort = await reservePort(scope)
    const set = [
      `gateway.mqttsn.listeners.udp.default.bind=127.0.0.1:${snPort}`,
      'gateway.mqttsn.predefined=[{id=5,topic="pre/defined"}]',
      `node.shards=${shards}`,
    ]
    return Object.assign(await startBrokerWithApi(scope, { set }), { snPort })
  })
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
      const broker = await sharedBrokers[shards]()
      const listener = await mqttClient(t, broker.port)
      await listener.subscribeAsync(['plant/#', 'pre/#', 'ab'], { qos: 2 })
      const device = await SnDevice.at(t, broker.snPort)
      await device.connected('device-1')
      const id = await device.register('plant/temperature')
      assert.equal(await device.register('plant/temperature', 2), id, 'the same topic name has the same topic ID')

      let received = nextMessage(listener)
      device.publish(0x00, id, 0, 'zero')
      assert.deepEqual(await received, { topic: 'plant/temperature', payload: 'zero', retain: false })
      received = nextMessage(listener)
      device.publish(0x20, id, 11, 'one')
      assert.deepEqual(await device.expect('puback'), Buffer.from([id >> 8, id & 255, 0, 11, 0]))
      assert.equal((await received).payload, 'one')
      received = nextMessage(listener)
      device.publish(0x40, id, 12, 'two')
      assert.deepEqual(await device.expect('pubrec'), Buffer.from([0, 12]))
      device.send(0x10, [0, 12])
      assert.deepEqual(await device.expect('pubcomp'), Buffer.from([0, 12]))
      assert.equal((await received).payload, 'two')
      received = nextMessage(listener)
      device.publish(0x01, 5, 0, 'predefined')
      assert.equal((await received).topic, 'pre/defined')
      received = nextMessage(listener)
      device.publish(0x02, 0x6162, 0, 'short')
      assert.equal((await received).topic, 'ab')
      device.publish(0x00, 4_000, 0, 'unknown')
      assert.equal((await device.expect('puback'))[4], 2, 'an unknown topic ID is refused at each QoS')
      device.send(0x16)
      await device.expect('pingresp')
    })

    test('subscribes, gets topic IDs by REGISTER, and receives retained messages', async (t) => {
      const broker = await sharedBrokers[shards]()
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
      const broker = await sharedBrokers[shards]()
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
  const broker = await sharedBrokers[3]()
  const listener = await mqttClient(t, broker.port)
  await listener.subscribeAsync('wills/#', { qos: 1 })
  const device = await SnDevice.at(t, broker.snPort)
  device.connect('willing', { flags: 0x0c, duration: 2 })
  await device.expect('willtopicreq')
  device.send(0x07, [0x20], 'wills/a')
  await device.expect('willmsgreq')
  device.send(0x09, 'gone')
  assert.equal((await device.expect('connack'))[0], 0)
  device.send(0x1c, 'gone for good')
  assert.deepEqual(await device.expect('willmsgresp'), Buffer.from([0]))
  assert.deepEqual(await nextMessage(listener), { topic: 'wills/a', payload: 'gone for good', retain: false })
})

test('[F3] a change of the will keeps a clean session, with messages in flight', async (t) => {
  const broker = await sharedBrokers[3]()
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
  const broker = await sharedBrokers[3]()
  const listener = await mqttClient(t, broker.port)
  await listener.subscribeAsync('pre/#')
  const device = await SnDevice.at(t, broker.snPort)
  device.send(0x01, [0])
  assert.deepEqual(await device.expect('gwinfo'), Buffer.from([1]))
  const received = nextMessage(listener)
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
  const broker = await sharedBrokers[3]()
  const one = await SnDevice.at(t, broker.snPort)
  const two = await SnDevice.at(t, broker.snPort)
  await one.connected('same')
  await two.connected('same')
  await one.expect('disconnect')
  two.send(0x16)
  await two.expect('pingresp')
})
