// Two devices over DTLS, each with a key of its own: one names the other. By section F1 of the gateway requirements.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CoapMessage } from '../gateways/coap-device.ts'
import { DtlsCoapDevice } from '../gateways/dtls-coap-device.ts'
import { UdpCoapDevice } from '../gateways/udp-coap-device.ts'
import { type BrokerWithApi, startBrokerWithApi } from '../management/api.ts'
import { eventually } from './eventually.ts'
import { type Scope, shared } from './godwit-process.ts'
import { connected } from './mqtt-client.ts'
import { reservePort } from './reserve-port.ts'

const [get, post] = [1, 2]
const keys = { 'dev-a': Buffer.alloc(16, 1), 'dev-b': Buffer.alloc(16, 2) }

interface Ports {
  readonly broker: BrokerWithApi
  readonly coap: number
  readonly coapUdp: number
  readonly lwm2m: number
}

const brokerWithDtls = shared(async (scope): Promise<Ports> => {
  const [coap, coapUdp, lwm2m] = [await reservePort(scope), await reservePort(scope), await reservePort(scope)]
  const psk = JSON.stringify(Object.entries(keys).map(([identity, key]) => `${identity}:${key.toString('hex')}`))
  const set = [
    'node.shards=3',
    'namespaces.enable=true',
    'namespaces.username="${namespace}/*"',
    'auth.acl.rules=[{permit=deny,action=publish,topics=["of-address/#"],ipaddr="127.0.0.3"},{permit=allow}]',
    `gateway.coap.listeners.udp.default.bind="127.0.0.1:${coapUdp}"`,
    ...Object.entries({ coap, lwm2m }).flatMap(([name, port]) => [
      `gateway.${name}.listeners.dtls.default.bind="127.0.0.1:${port}"`,
      `gateway.${name}.listeners.dtls.default.dtls_options.psk=${psk}`,
    ]),
  ]
  return { broker: await startBrokerWithApi(scope, { set }), coap, coapUdp, lwm2m }
})

const deviceOf = (t: Scope, port: number, identity: keyof typeof keys) =>
  DtlsCoapDevice.at(t, port, identity, keys[identity])

/** The next response, without notifications and requests. */
async function responseTo(device: DtlsCoapDevice | UdpCoapDevice): Promise<CoapMessage> {
  for (;;) {
    const message = await device.next()
    if (message.type === 'ack') return message
  }
}

describe('[F4] over CoAP', () => {
  test('a device does not publish, read or observe with the client of another device', async (t) => {
    const { broker, coap } = await brokerWithDtls()
    const [a, b] = [await deviceOf(t, coap, 'dev-a'), await deviceOf(t, coap, 'dev-b')]
    a.device.get('ps/down/a', 'c=dev-a', { token: 1, observe: 0 })
    assert.equal((await responseTo(a)).code, '2.05')
    const watcher = await connected(t, broker, {})
    const received: string[] = []
    watcher.on('message', (topic, payload) => received.push(`${topic} ${payload.toString()}`))
    await watcher.subscribeAsync('up/#', { qos: 1 })
    b.device.request(post, 'ps/up/a', 'c=dev-a', 'forged')
    assert.equal((await responseTo(b)).code, '4.00')
    b.device.request(get, 'ps/down/a', 'c=dev-a', '')
    assert.equal((await responseTo(b)).code, '4.00')
    b.device.get('ps/down/a', 'c=dev-a', { token: 2, observe: 0 })
    assert.equal((await responseTo(b)).code, '4.00')
    a.device.request(post, 'ps/up/a', 'c=dev-a', 'own')
    assert.equal((await responseTo(a)).code, '2.04')
    await eventually(async () => assert.deepEqual(received, ['up/a own']))
    await watcher.publishAsync('down/a', 'for a', { qos: 1 })
    assert.equal((await a.next()).payload.toString(), 'for a')
  })

  test('a device without DTLS does not take over the client of a device with an identity', async (t) => {
    const { coap, coapUdp } = await brokerWithDtls()
    const a = await deviceOf(t, coap, 'dev-a')
    a.device.request(post, 'ps/up/b', 'c=dev-only-dtls', 'own')
    assert.equal((await responseTo(a)).code, '2.04')
    const other = await UdpCoapDevice.at(t, coapUdp)
    other.device.request(post, 'ps/up/b', 'c=dev-only-dtls', 'forged')
    assert.equal((await responseTo(other)).code, '4.00')
    a.device.request(post, 'ps/up/b', 'c=dev-only-dtls', 'own')
    assert.equal((await responseTo(a)).code, '2.04')
  })

  test('a GET leaves the observation of its client, and a subscription that was made over the API', async (t) => {
    const { broker, coapUdp } = await brokerWithDtls()
    const publisher = await connected(t, broker, {})
    for (const topic of ['kept/observed', 'kept/api', 'kept/other'])
      await publisher.publishAsync(topic, `of ${topic}`, { qos: 1, retain: true })
    const { device, next } = await UdpCoapDevice.at(t, coapUdp).then((one) => ({
      device: one.device,
      next: () => one.next(),
    }))
    const read = async (topic: string, token: number): Promise<void> => {
      device.get(`ps/${topic}`, 'c=reader', { token })
      for (;;) {
        const message = await next()
        if (message.token !== `0${token}`) continue
        assert.deepEqual([message.code, message.payload.toString()], ['2.05', `of ${topic}`])
        return
      }
    }
    device.get('ps/kept/observed', 'c=reader', { token: 1, observe: 0 })
    assert.equal((await next()).code, '2.05')
    const subscribed = await broker.request('/api/v5/gateways/coap/clients/reader/subscriptions', {
      method: 'POST',
      body: { topic: 'kept/api', qos: 1 },
    })
    assert.ok(subscribed.status < 300, `${subscribed.status}`)
    for (const [at, topic] of ['kept/observed', 'kept/api', 'kept/other', 'kept/observed'].entries())
      await read(topic, at + 2)
    await eventually(async () => {
      const { json } = await broker.request('/api/v5/gateways/coap/clients/reader/subscriptions')
      const topics = json.map(({ topic }: { topic: string }) => topic)
      assert.deepEqual(topics.toSorted(), ['kept/api', 'kept/observed'])
    })
    await publisher.publishAsync('kept/observed', 'still observed', { qos: 0 })
    for (;;) if ((await next()).payload.toString() === 'still observed') return
  })
})

describe('[F5] over LwM2M', () => {
  test('a device does not end the registration of another, and does not get its commands', async (t) => {
    const { broker, lwm2m } = await brokerWithDtls()
    const [a, b] = [await deviceOf(t, lwm2m, 'dev-a'), await deviceOf(t, lwm2m, 'dev-b')]
    a.device.request(post, 'rd', 'ep=lamp-a&lt=600', '</3/0>')
    const registered = await responseTo(a)
    assert.equal(registered.code, '2.01')
    for (const query of ['ep=lamp-a&lt=600', 'ep=lamp-a&lt=600&device_id=lamp-b']) {
      b.device.request(post, 'rd', query, '</3/0>')
      assert.match((await responseTo(b)).code, /^4\.0[03]$/)
    }
    b.device.request(post, `rd/${registered.location[1]}`, 'lt=20', '')
    assert.equal((await responseTo(b)).code, '4.04')
    const base = '/api/v5/gateways/lwm2m/clients/lamp-a'
    assert.equal((await broker.request(`${base}/read?path=/3/0/0`, { method: 'POST' })).status, 200)
    for (;;) if ((await a.next()).path === '/3/0/0') return
  })
})

describe('[F1] a ban', () => {
  for (const [as, who] of [
    ['clientid', 'watching-clientid'],
    ['username', 'watching-username'],
    ['peerhost', '127.0.0.1'],
  ] as const) {
    test(`by ${as} ends the observation of a device at once`, async (t) => {
      const { broker, coapUdp } = await brokerWithDtls()
      const { device, next } = await UdpCoapDevice.at(t, coapUdp).then((one) => ({
        device: one.device,
        next: () => one.next(),
      }))
      const id = `watching-${as}`
      device.get('ps/banned/a', `c=${id}&u=${id}`, { token: 1, observe: 0 })
      assert.equal((await next()).code, '2.05')
      const ban = { method: 'POST' as const, body: { as, who } }
      assert.equal((await broker.request('/api/v4/banned', ban)).status, 200)
      await eventually(async () => {
        const { json } = await broker.request('/api/v5/gateways/coap/clients?limit=100')
        const ids = json.data.map(({ clientid }: { clientid: string }) => clientid)
        assert.equal(ids.includes(id), false)
      })
      device.request(post, 'ps/banned/a', `c=${id}&u=${id}`, 'x')
      assert.equal((await next()).code, '4.03')
      if (as === 'peerhost')
        await broker.process.until(/gateway packets dropped.*"gateway":"coap","kind":"udp".*"reason":"banned"/)
      const end = await broker.request(`/api/v4/banned/${as}/${who}`, { method: 'DELETE' })
      assert.equal(end.status, 200)
    })
  }

  test('of the present address ends the connection of a device that has moved there', async (t) => {
    const { broker, coapUdp } = await brokerWithDtls()
    // On different shards.
    for (const id of ['moving-1', 'moving-2', 'moving-3']) {
      const first = await UdpCoapDevice.at(t, coapUdp)
      first.device.request(post, 'mqtt/connection', `c=${id}`, '')
      const token = (await first.next()).payload.toString()
      const moved = await UdpCoapDevice.at(t, coapUdp, '127.0.0.2')
      moved.device.get('ps/banned/a', `c=${id}&t=${token}`, { token: 1, observe: 0 })
      assert.equal((await moved.next()).code, '2.05')
      const found = async () => (await broker.request(`/api/v4/clients/${id}`)).json.data[0]
      await eventually(async () => assert.equal((await found()).ip_address, '127.0.0.2'))
      const ban = { method: 'POST' as const, body: { as: 'peerhost', who: '127.0.0.2' } }
      assert.equal((await broker.request('/api/v4/banned', ban)).status, 200)
      await eventually(async () => assert.equal(await found(), undefined))
      assert.equal((await broker.request('/api/v4/banned/peerhost/127.0.0.2', { method: 'DELETE' })).status, 200)
    }
  })

  test('of a namespace, and rules by address, concern the address to which a device has moved', async (t) => {
    const { broker, coapUdp } = await brokerWithDtls()
    const ban = { method: 'POST' as const, body: { as: 'peerhost', who: '127.0.0.4' } }
    assert.equal((await broker.request('/api/v4/banned?namespace=plant', ban)).status, 200)
    // On different shards.
    for (const number of [1, 2, 3]) {
      for (const [namespace, username] of [
        ['plant', `plant/roaming-${number}`],
        ['', `roaming-${number}`],
      ] as const) {
        const id = `roaming-${number}`
        const first = await UdpCoapDevice.at(t, coapUdp)
        first.device.request(post, 'mqtt/connection', `c=${id}&u=${username}`, '')
        const token = (await first.next()).payload.toString()
        const publishFrom = async (address: string): Promise<string> => {
          const moved = await UdpCoapDevice.at(t, coapUdp, address)
          moved.device.request(post, 'ps/of-address/a', `c=${id}&t=${token}`, 'x')
          return (await moved.next()).code
        }
        const codes = []
        for (const address of ['127.0.0.1', '127.0.0.3', '127.0.0.1', '127.0.0.4'])
          codes.push(await publishFrom(address))
        const atBanned = namespace === '' ? '2.04' : '4.01'
        assert.deepEqual(
          codes.map((code) => (code.startsWith('2.') ? '2.04' : code)),
          ['2.04', '4.01', '2.04', atBanned],
          username,
        )
      }
    }
    assert.equal(
      (await broker.request('/api/v4/banned/peerhost/127.0.0.4?namespace=plant', { method: 'DELETE' })).status,
      200,
    )
  })
})
