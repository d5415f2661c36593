// Gateways over the API: section F2 of the gateway contract.

import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { test } from 'node:test'
import { reservePort } from '../e2e/reserve-port.ts'
import { SnDevice } from '../gateways/sn-device.ts'
import { restartBroker, shareConfigurableBroker } from './api.ts'

interface Shown {
  readonly name: string
  readonly status: string
  readonly current_connections: number
  readonly listeners: readonly { readonly id: string; readonly running: boolean }[]
}

const configuredBroker = shareConfigurableBroker(['node.shards=2'])

test('[F2] a gateway is loaded, shown, disabled and enabled while the broker runs, and keeps its state over a restart', async (t) => {
  const broker = await configuredBroker()
  const list = async (query = ''): Promise<readonly Shown[]> =>
    (await broker.request(`/api/v5/gateways${query}`)).json as readonly Shown[]
  assert.deepEqual(
    (await list()).map(({ name, status }) => [name, status]),
    [
      ['mqttsn', 'unloaded'],
      ['coap', 'unloaded'],
      ['lwm2m', 'unloaded'],
      ['stomp', 'unloaded'],
    ],
  )
  assert.equal((await broker.request('/api/v5/gateways?status=bad')).status, 400)
  assert.equal((await broker.request('/api/v5/gateways/nothing')).status, 404)

  const port = await reservePort(t)
  const configuration = { gateway_id: 7, listeners: { udp: { default: { bind: `127.0.0.1:${port}` } } } }
  const loaded = await broker.request('/api/v5/gateways/mqttsn', { method: 'PUT', body: configuration })
  assert.equal(loaded.status, 200, loaded.text)
  const [shown] = await list('?status=running')
  assert.equal(shown?.name, 'mqttsn')
  assert.deepEqual(
    shown?.listeners.map(({ id, running }) => [id, running]),
    [['mqttsn:udp:default', true]],
  )
  const device = await SnDevice.at(t, port)
  device.send(0x01, [0])
  assert.deepEqual(await device.expect('gwinfo'), Buffer.from([7]))
  await device.connected('meter-1')
  const clients = (await broker.request('/api/v5/gateways/mqttsn/clients')).json as { data: { clientid: string }[] }
  assert.deepEqual(
    clients.data.map(({ clientid }) => clientid),
    ['meter-1'],
  )
  assert.equal((await broker.request('/api/v5/gateways/coap/clients/meter-1')).status, 404)
  assert.equal((await broker.request('/api/v5/gateways/mqttsn/clients/meter-1', { method: 'DELETE' })).status, 200)
  await device.expect('disconnect')

  await device.connected('meter-1')
  assert.equal((await broker.request('/api/v5/gateways/mqttsn/enable/false', { method: 'PUT' })).status, 200)
  await device.expect('disconnect')
  assert.equal((await list())[0]?.status, 'stopped')
  assert.equal((await broker.request('/api/v5/gateways/mqttsn/enable/true', { method: 'PUT' })).status, 200)
  await device.connected('meter-1')

  const bad = await broker.request('/api/v5/gateways/mqttsn', { method: 'PUT', body: { gateway_id: 700 } })
  assert.equal(bad.status, 400)
  assert.match(bad.text, /gateway_id/)
  const taken = createSocket('udp4')
  t.after(() => taken.close())
  taken.bind(0, '127.0.0.1')
  await once(taken, 'listening')
  const bind = `127.0.0.1:${taken.address().port}`
  const refused = await broker.request('/api/v5/gateways/coap', {
    method: 'PUT',
    body: { listeners: { udp: { default: { bind } } } },
  })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /gateway\.coap\.listeners\.udp\.default\.bind/)

  const again = await restartBroker(broker)
  const times = (await again.request('/api/v5/gateways/mqttsn')).json as { created_at?: string; started_at?: string }
  assert.match(times.created_at ?? '', /^\d{4}-\d\d-\d\dT/)
  assert.match(times.started_at ?? '', /^\d{4}-\d\d-\d\dT/)
  const after = (await again.request('/api/v5/gateways/mqttsn')).json as Shown
  assert.equal(after.status, 'running')
})

test('GET shows the settings of a gateway, PUT accepts them unchanged, and listeners may be a list', async (t) => {
  const broker = await configuredBroker()
  const path = '/api/v5/gateways/coap'
  const put = (body: unknown) => broker.request(path, { method: 'PUT', body })
  const listeners = [
    { type: 'udp', name: 'first', bind: `127.0.0.1:${await reservePort(t)}`, max_connections: 7 },
    { type: 'udp', name: 'second', bind: `127.0.0.1:${await reservePort(t)}` },
  ]
  const made = await put({ heartbeat: '20s', listeners })
  assert.equal(made.status, 200, made.text)
  const shown = (await broker.request(path)).json
  assert.deepEqual([shown.status, shown.heartbeat, shown.configuration.heartbeat], ['running', '20s', '20s'])
  assert.deepEqual(
    shown.listeners.map((one: Record<string, unknown>) => [one['id'], one['max_connections'], one['running']]),
    [
      ['coap:udp:first', 7, true],
      ['coap:udp:second', 1024, true],
    ],
  )
  const again = await put({ ...shown, heartbeat: '25s' })
  assert.equal(again.status, 200, again.text)
  const changed = (await broker.request(path)).json
  assert.deepEqual({ ...changed.configuration, heartbeat: '20s' }, shown.configuration)
  assert.equal(changed.heartbeat, '25s')
  for (const [wrong, message] of [
    [[{ type: 'udp', bind: '127.0.0.1:0' }], /needs type and name/],
    [['udp'], /needs type and name/],
    [[{ type: '__proto__', name: 'x' }], /__proto__/],
    [[{ type: 'udp', name: 'x', bind: '127.0.0.1:0', colour: 1 }], /colour/],
  ] as const) {
    const refused = await put({ listeners: wrong })
    assert.equal(refused.status, 400, refused.text)
    assert.match(refused.text, message)
  }
})
