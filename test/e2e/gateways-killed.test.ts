// Devices of gateways while the broker is killed and restarted: sections F1 ("Durable") and F3 ("All stands a restart") of the gateway contract.

import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import mqtt from 'mqtt'
import { SnDevice } from '../gateways/sn-device.ts'
import { UdpCoapDevice } from '../gateways/udp-coap-device.ts'
import { type BrokerWithApi, startBrokerWithApi } from '../management/api.ts'
import { isLong, longTest } from '../test-length.ts'
import { eventually } from './eventually.ts'
import { reservePort } from './reserve-port.ts'

const post = 2

interface Place {
  readonly gateway: string
  readonly port: number
  readonly dataDirectory?: string | undefined
}

function start(t: TestContext, { gateway, port, dataDirectory }: Place): Promise<BrokerWithApi> {
  const bind = `gateway.${gateway}.listeners.udp.default.bind="127.0.0.1:${port}"`
  const set = ['node.shards=2', bind]
  return startBrokerWithApi(t, { set, ...(dataDirectory === undefined ? {} : { dataDirectory }) })
}

/** With `clientId`, the session is persistent, so that it gets all messages although the broker restarts. */
async function listener(t: TestContext, { port }: BrokerWithApi, filter: string, clientId?: string) {
  const session = clientId === undefined ? {} : { clientId, clean: false }
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { ...session, reconnectPeriod: 0 })
  t.after(() => client.endAsync(true))
  const received: string[] = []
  let wake: (() => void) | undefined
  // Registered before CONNACK, because queued messages may arrive in the same segment.
  client.on('message', (topic, payload) => {
    received.push(`${topic} ${payload.toString()}`)
    wake?.()
  })
  await new Promise((resolve) => client.once('connect', resolve))
  await client.subscribeAsync(filter, { qos: 1 })
  const next = async (): Promise<string> => {
    for (;;) {
      const first = received.shift()
      if (first !== undefined) return first
      await new Promise<void>((resolve) => (wake = resolve))
    }
  }
  return { client, received, next }
}

const until = (condition: () => Promise<boolean>): Promise<void> => eventually(async () => assert.ok(await condition()))

async function clientOf(broker: BrokerWithApi, name: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  return (await broker.request(`/api/v4/clients/${name}`)).json.data[0] as Readonly<Record<string, unknown>> | undefined
}

/** CONNECT of a device with a session and a will. */
async function connectWithWill(device: SnDevice, clientId: string): Promise<void> {
  device.connect(clientId, { flags: 0x08 })
  await device.expect('willtopicreq')
  device.send(0x07, [0x20], 'wills/meter')
  await device.expect('willmsgreq')
  device.send(0x09, 'gone')
  assert.equal((await device.expect('connack'))[0], 0)
}

describe('[F1] [F3] MQTT-SN: a sleeping device', () => {
  for (const signal of isLong ? (['SIGKILL', 'SIGTERM'] as const) : (['SIGKILL'] as const)) {
    test(`continues to sleep after ${signal}, with its topic IDs, its queue and its will`, async (t) => {
      const place = { gateway: 'mqttsn', port: await reservePort(t) }
      const broker = await start(t, place)
      const device = await SnDevice.at(t, place.port)
      await connectWithWill(device, 'meter')
      const topicId = await device.register('values/meter')
      await device.subscribe('commands/meter')
      device.send(0x18, [0x0e, 0x10])
      await device.expect('disconnect')
      const before = await listener(t, broker, 'wills/#')
      await before.client.publishAsync('commands/meter', 'one', { qos: 1 })
      await broker.process.stop(signal)

      const again = await start(t, { ...place, dataDirectory: broker.dataDirectory })
      const wills = await listener(t, again, 'wills/#')
      const values = await listener(t, again, 'values/#')
      await until(async () => (await clientOf(again, 'meter'))?.['sleeping'] === true)
      await values.client.publishAsync('commands/meter', 'two', { qos: 1 })
      assert.equal((await clientOf(again, 'meter'))?.['conn_state'], 'connected')

      const moved = await SnDevice.at(t, place.port)
      moved.send(0x16, 'meter')
      const texts: string[] = []
      for (;;) {
        const { type, body } = await moved.next()
        if (type === 'pingresp') break
        if (type === 'register') {
          moved.send(0x0b, [...body.subarray(0, 4), 0])
          continue
        }
        assert.equal(type, 'publish')
        texts.push(body.subarray(5).toString())
        moved.send(0x0d, [...body.subarray(1, 5), 0])
      }
      assert.deepEqual(texts, ['one', 'two'])

      moved.connect('meter', { flags: 0x08 })
      assert.equal((await moved.expect('connack'))[0], 0)
      moved.publish(0x20, topicId, 9, '21.5')
      assert.equal((await moved.expect('puback'))[4], 0, 'the topic ID has not changed')
      assert.equal(await values.next(), 'values/meter 21.5')
      assert.deepEqual(wills.received, [])
      moved.send(0x18)
      await moved.expect('disconnect')
    })
  }

  // Daily: restarts in the scenarios of test/simulator/gateways.
  longTest('whose sleep expired while the broker was stopped counts as lost, and its will is published', async (t) => {
    const place = { gateway: 'mqttsn', port: await reservePort(t) }
    const broker = await start(t, place)
    // The watcher has a persistent session, so the will is queued until it reconnects.
    const { client: watcher } = await listener(t, broker, 'wills/#', 'watcher')
    await watcher.endAsync()
    const device = await SnDevice.at(t, place.port)
    await connectWithWill(device, 'meter')
    device.send(0x18, [0, 4])
    await device.expect('disconnect')
    await broker.process.stop('SIGKILL')
    const again = await start(t, { ...place, dataDirectory: broker.dataDirectory })
    const wills = await listener(t, again, 'wills/#', 'watcher')
    assert.equal(await wills.next(), 'wills/meter gone')
    await until(async () => (await clientOf(again, 'meter'))?.['conn_state'] === 'disconnected')
  })
})

test('[F1] LwM2M: registrations, observations and queued commands survive a kill', async (t) => {
  const place = { gateway: 'lwm2m', port: await reservePort(t) }
  const broker = await start(t, place)
  const meter = await UdpCoapDevice.at(t, place.port)
  meter.device.request(post, 'rd', 'ep=meter&lt=600&lwm2m=1.0&b=UQ', '</3/0>')
  const registered = await meter.next()
  assert.equal(registered.code, '2.01')
  const path = `rd/${registered.location[1]}`
  const base = '/api/v5/gateways/lwm2m/clients/meter'
  await broker.request(`${base}/observe?path=/3/0/9&enable=true`, { method: 'POST' })
  const observe = await meter.next()
  meter.device.respond(observe, '2.05', { format: 0, observe: 1, payload: '90' })
  await until(async () => (await broker.request(`${base}/lookup?path=/3/0/9&action=observe`)).json.data.code === '2.05')
  const command = JSON.stringify({ reqID: 7, msgType: 'read', data: { path: '/3/0/0' } })
  const before = await listener(t, broker, 'lwm2m/meter/up/#')
  await before.client.publishAsync('lwm2m/meter/dn/x', command, { qos: 1 })
  // The device stops together with the broker, before it responds.
  assert.equal((await meter.next()).path, '/3/0/0')
  await broker.process.stop('SIGKILL')

  const again = await start(t, { ...place, dataDirectory: broker.dataDirectory })
  await until(async () => (await clientOf(again, 'meter'))?.['endpoint_name'] === 'meter')
  const up = await listener(t, again, 'lwm2m/meter/up/#')
  meter.device.respondLater(observe, '2.05', { format: 0, observe: 2, payload: '89' })
  const notified = JSON.parse((await up.next()).replace('lwm2m/meter/up/notify ', ''))
  assert.deepEqual([notified.msgType, notified.seqNum, notified.data.content[0].value], ['notify', 2, 89])
  const isRead = async (): Promise<boolean> => {
    const received = await meter.next()
    if (received.path === '/3/0/0') meter.device.respond(received, '2.05', { format: 0, payload: 'maker' })
    return received.path === '/3/0/0'
  }
  await until(isRead)
  const response = JSON.parse((await up.next()).replace('lwm2m/meter/up/resp ', ''))
  assert.deepEqual([response.reqID, response.data.content], [7, [{ path: '/3/0/0', value: 'maker' }]])
  meter.device.request(post, path, '', '')
  let received = await meter.next()
  while (received.type === 'con' || received.code === '0.00') received = await meter.next()
  assert.equal(received.code, '2.04', 'the location has not changed')
})
