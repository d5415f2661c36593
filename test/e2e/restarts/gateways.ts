// Devices of gateways that remain when the broker is killed or stopped: sections F1 ("Durable") and F3 ("All stands a restart") of the gateway
// requirements.

import assert from 'node:assert/strict'
import mqtt from 'mqtt'
import { SnDevice } from '../../gateways/sn-device.ts'
import { findOwnerShard } from '../../../src/gateways/index.ts'
import type { CoapMessage } from '../../gateways/coap-device.ts'
import { UdpCoapDevice } from '../../gateways/udp-coap-device.ts'
import type { BrokerWithApi } from '../../management/api.ts'
import { eventually } from '../eventually.ts'
import type { Scope } from '../godwit-process.ts'
import { connectAdministrator, deviceAt } from '../lwm2m-device.ts'
import { reservePort } from '../reserve-port.ts'
import type { Survives } from './share-restart.ts'

const post = 2

/** Also a DTLS listener of the same name, as on the pages of the documentation: the state of their devices is separate. */
const bindOf = (gateway: string, port: number): string =>
  [
    `gateway.${gateway}.listeners.udp.default.bind="127.0.0.1:${port}"`,
    `gateway.${gateway}.listeners.dtls.default.bind="127.0.0.1:0"`,
    `gateway.${gateway}.listeners.dtls.default.dtls_options.psk=["meter:7369787465656e2d627974652d6b6579"]`,
  ].join('\n')

/** With `clientId`, the session is persistent, so that it gets all messages although the broker restarts. */
export async function listener(t: Scope, { port }: BrokerWithApi, filter: string, clientId?: string) {
  const session = clientId === undefined ? {} : { clientId, clean: false }
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { ...session, reconnectPeriod: 0 })
  client.on('error', () => {})
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

export const until = (condition: () => Promise<boolean>): Promise<void> =>
  eventually(async () => assert.ok(await condition()))

export async function clientOf(
  broker: BrokerWithApi,
  name: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  return (await broker.request(`/api/v4/clients/${name}`)).json.data[0] as Readonly<Record<string, unknown>> | undefined
}

/** CONNECT of a device with a session and a will. */
export async function connectWithWill(device: SnDevice, clientId: string): Promise<void> {
  device.connect(clientId, { flags: 0x08 })
  await device.expect('willtopicreq')
  device.send(0x07, [0x20], 'gateway-wills/meter')
  await device.expect('willmsgreq')
  device.send(0x09, 'gone')
  assert.equal((await device.expect('connack'))[0], 0)
}

export function sleepingDeviceSurvives(survives: Survives, signal: 'SIGKILL' | 'SIGTERM'): void {
  survives(
    `[F1] [F3] MQTT-SN: a sleeping device continues to sleep after ${signal}, with its topic IDs, its queue and its will`,
    async (scope) => {
      const port = await reservePort(scope)
      let topicId = 0
      return {
        settings: [bindOf('mqttsn', port)],
        async before(broker) {
          const device = await SnDevice.at(scope, port)
          await connectWithWill(device, 'meter')
          topicId = await device.register('values/meter')
          await device.subscribe('commands/meter')
          device.send(0x18, [0x0e, 0x10])
          await device.expect('disconnect')
          const before = await listener(scope, broker, 'gateway-wills/#')
          await before.client.publishAsync('commands/meter', 'one', { qos: 1 })
        },
        async after(t, broker) {
          const wills = await listener(t, broker, 'gateway-wills/#')
          const values = await listener(t, broker, 'values/#')
          await until(async () => (await clientOf(broker, 'meter'))?.['sleeping'] === true)
          await values.client.publishAsync('commands/meter', 'two', { qos: 1 })
          assert.equal((await clientOf(broker, 'meter'))?.['conn_state'], 'connected')

          const moved = await SnDevice.at(t, port)
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
        },
      }
    },
  )
}

/** `shardsAfter`: the number of shards after the restart. */
export function registrationsSurvive(survives: Survives, shardsAfter: number): void {
  survives('[F1] LwM2M: registrations, observations and queued commands survive a kill', async (scope) => {
    const port = await reservePort(scope)
    const meter = await UdpCoapDevice.at(scope, port)
    let path = ''
    let observe: CoapMessage | undefined
    let unanswered: CoapMessage | undefined
    return {
      settings: [bindOf('lwm2m', port)],
      async before(broker) {
        meter.device.request(post, 'rd', 'ep=lamp&lt=600&lwm2m=1.0&b=UQ', '</3/0>')
        const registered = await meter.next()
        assert.equal(registered.code, '2.01')
        path = `rd/${registered.location[1]}`
        const base = '/api/v5/gateways/lwm2m/clients/lamp'
        await broker.request(`${base}/observe?path=/3/0/9&enable=true`, { method: 'POST' })
        observe = await meter.next()
        meter.device.respond(observe, '2.05', { format: 0, observe: 1, payload: '90' })
        await until(
          async () => (await broker.request(`${base}/lookup?path=/3/0/9&action=observe`)).json.data.code === '2.05',
        )
        const command = JSON.stringify({ reqID: 7, msgType: 'read', data: { path: '/3/0/0' } })
        const before = await listener(scope, broker, 'lwm2m/lamp/up/#')
        await before.client.publishAsync('lwm2m/lamp/dn/x', command, { qos: 1 })
        // The device stops together with the broker, before it responds.
        unanswered = await meter.next()
        assert.equal(unanswered.path, '/3/0/0')
      },
      async after(t, broker) {
        const place = { own: 0, shards: shardsAfter }
        const location = path.slice('rd/'.length)
        const beginsAgain = findOwnerShard(observe?.token ?? '', place) !== findOwnerShard(location, place)
        await until(async () => (await clientOf(broker, 'lamp'))?.['endpoint_name'] === 'lamp')
        const up = await listener(t, broker, 'lwm2m/lamp/up/#')
        // The device wakes up.
        meter.device.request(post, path, '', '')
        const awaited = new Set(['update', 'read', ...(beginsAgain ? ['observe'] : [])])
        while (awaited.size > 0) {
          const received = await meter.next()
          // On a slow machine, the broker has sent its request again before it was killed. The new one does not await a response to that.
          if (received.code === '0.01' && received.token === unanswered?.token) continue
          if (received.path === '/3/0/9') {
            observe = received
            meter.device.respond(received, '2.05', { format: 0, observe: 1, payload: '90' })
            assert.ok(awaited.delete('observe'), 'the observation does not begin again')
          } else if (received.path === '/3/0/0') {
            meter.device.respond(received, '2.05', { format: 0, payload: 'maker' })
            awaited.delete('read')
          } else if (received.type !== 'con' && received.code !== '0.00') {
            assert.equal(received.code, '2.04', 'the location has not changed')
            awaited.delete('update')
          }
        }
        const next = async () => JSON.parse((await up.next()).replace(/^\S+ /, ''))
        const response = await next()
        assert.deepEqual([response.reqID, response.data.content], [7, [{ path: '/3/0/0', value: 'maker' }]])
        if (beginsAgain) assert.equal((await next()).msgType, 'observe')
        meter.device.respondLater(observe ?? assert.fail(), '2.05', { format: 0, observe: 2, payload: '89' })
        const notified = await next()
        assert.deepEqual([notified.msgType, notified.seqNum, notified.data.content[0].value], ['notify', 2, 89])
      },
    }
  })
}

export function queuedCommandsSurvive(survives: Survives): void {
  survives(
    '[F5] commands for a device in queue mode are queued until its next update, also after a restart of the broker',
    async (scope) => {
      const port = await reservePort(scope)
      return {
        settings: [bindOf('lwm2m', port), 'gateway.lwm2m.qmode_time_window=1s'],
        async before() {
          const first = await deviceAt(scope, port)
          first.device.request(2, 'rd', 'ep=queueing&lt=3600&b=UQ', '</3/0>')
          assert.equal((await first.next()).code, '2.01')
        },
        async after(t, broker) {
          const second = await connectAdministrator(t, broker.port)
          const command = { reqID: 9, msgType: 'read', data: { path: '/3/0/1' } }
          await second.client.publishAsync('lwm2m/queueing/dn/x', JSON.stringify(command), { qos: 1 })
          const { device, next } = await deviceAt(t, port)
          device.request(2, 'rd/gone', '', '')
          assert.equal((await next()).code, '4.04', 'a registration from before the restart is unknown')
          device.request(2, 'rd', 'ep=queueing&lt=3600&b=UQ', '</3/0>')
          const received = [await next(), await next()]
          const read = received.find(({ code }) => code === '0.01')
          assert.ok(received.some(({ code }) => code === '2.01'))
          assert.equal(read?.path, '/3/0/1')
          device.respond(read, '2.05', { format: 0, payload: 'model' })
          for (;;) {
            const [, document] = await second.next()
            if (document.reqID !== 9) continue
            assert.deepEqual(document.data.content, [{ path: '/3/0/1', value: 'model' }])
            break
          }
        },
      }
    },
  )
}
