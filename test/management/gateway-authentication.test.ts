// Authentication of gateways and listeners over the API, with devices that connect: section F2 of the gateway contract.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { reservePort } from '../e2e/reserve-port.ts'
import { UdpCoapDevice } from '../gateways/udp-coap-device.ts'
import { type BrokerWithApi, restartBroker, shareConfigurableBroker } from './api.ts'

const configuredBroker = shareConfigurableBroker(['node.shards=2'])

const builtIn = { mechanism: 'password_based', backend: 'built_in_database' }

test('[F2] gateways and listeners have separate users, which remain after a restart and are in archives', async (t) => {
  const port = await reservePort(t)
  const other = await reservePort(t)
  const settings = [
    `gateway.coap.listeners.udp.default.bind="127.0.0.1:${port}"`,
    `gateway.coap.listeners.udp.plant.bind="127.0.0.1:${other}"`,
  ]
  let broker: BrokerWithApi = await configuredBroker(settings)
  const request = (path: string, method: 'GET' | 'POST' | 'PUT' | 'DELETE' = 'GET', body?: object) =>
    broker.request(`/api/v5/gateways${path}`, { method, ...(body === undefined ? {} : { body }) })
  let clients = 0
  const login = async (at: number, username: string, password: string): Promise<string> => {
    const device = await UdpCoapDevice.at(t, at)
    const query = `clientid=lamp-${clients++}&username=${username}&password=${password}`
    device.device.request(2, 'mqtt/connection', query, '')
    return (await device.next()).code
  }
  const at = '/coap/authentication'
  const atPlant = '/coap/listeners/coap:udp:plant/authentication'

  assert.deepEqual((await request(at)).json, { code: 0 })
  assert.equal((await request(`${at}/users`)).status, 404)
  assert.equal((await request(at, 'PUT', builtIn)).status, 404)
  assert.equal(
    await login(port, 'a', 'b'),
    '2.01',
    'the broker has no users, so unknown clients on loopback can connect',
  )
  for (const bad of [{}, { mechanism: 'password_based', backend: 'http' }, { mechanism: 'jwt', secret: 'short' }]) {
    const refused = await request(at, 'POST', bad)
    assert.equal(refused.status, 400, refused.text)
    assert.match(refused.text, /mechanism|gateway\.coap\.authentication\.(url|secret)/)
  }
  const made = await request(at, 'POST', builtIn)
  assert.equal(made.status, 200, made.text)
  assert.equal((made.json as { id: string }).id, 'password_based:built_in_database')
  assert.equal((await request(at, 'POST', builtIn)).status, 400)

  assert.deepEqual((await request(`${at}/users`, 'POST', { user_id: 'lamp', password: 'of lamp' })).json, {
    code: 0,
    user_id: 'lamp',
    is_superuser: false,
  })
  const again = await request(`${at}/users`, 'POST', { user_id: 'lamp', password: 'x' })
  assert.deepEqual([again.status, (again.json as { reason: string }).reason], [409, 'CONFLICT'])
  assert.equal((await request(`${at}/users`, 'POST', { user_id: 'lamp' })).status, 400)
  assert.equal(await login(port, 'lamp', 'of%20lamp'), '2.01')
  assert.equal(
    await login(other, 'lamp', 'of%20lamp'),
    '2.01',
    'the users of the gateway apply, because the listener has no own authentication',
  )
  assert.equal(await login(port, 'lamp', 'x'), '4.01')

  assert.equal((await request(atPlant, 'POST', { ...builtIn, user_id_type: 'clientid' })).status, 200)
  assert.equal((await request(`${atPlant}/users`, 'POST', { user_id: 'saw', password: 'of saw' })).status, 200)
  assert.equal(await login(other, 'lamp', 'of%20lamp'), '4.01')
  const saw = await UdpCoapDevice.at(t, other)
  saw.device.request(2, 'mqtt/connection', 'clientid=saw&password=of%20saw', '')
  assert.equal((await saw.next()).code, '2.01')

  const changed = await request(`${at}/users/lamp`, 'PUT', { password: 'of lamps', is_superuser: true })
  assert.deepEqual(changed.json, { user_id: 'lamp', is_superuser: true })
  assert.equal((await request(`${at}/users/lamp`, 'PUT', {})).status, 400)
  assert.equal((await request(`${at}/users/saw`)).status, 404)
  assert.equal((await request(`${at}/users/saw`, 'DELETE')).status, 404)
  assert.deepEqual((await request(`${at}/users?like_user_id=am&is_superuser=true`)).json, {
    data: [{ user_id: 'lamp', is_superuser: true }],
    meta: { page: 1, limit: 100, count: 1, hasnext: false },
  })
  assert.deepEqual((await request(`${at}/users?is_superuser=false`)).json, {
    data: [],
    meta: { page: 1, limit: 100, count: 0, hasnext: false },
  })
  const shown = (await request('/coap')).json as { configuration: { authentication?: object } }
  assert.ok('authentication' in shown.configuration)

  const exported = (await broker.request('/api/v5/data/export', { method: 'POST', body: {} })).json as {
    filename: string
  }
  broker = await restartBroker(broker)
  assert.equal(await login(port, 'lamp', 'of%20lamps'), '2.01')
  assert.equal((await request(at, 'DELETE')).status, 200)
  assert.deepEqual((await request(at)).json, { code: 0 })
  assert.ok(!('authentication' in ((await request('/coap')).json as { configuration: object }).configuration))
  assert.equal((await request(at, 'POST', builtIn)).status, 200)
  assert.equal(await login(port, 'lamp', 'of%20lamps'), '4.01', 'users are deleted with their authentication')
  const imported = await broker.request('/api/v5/data/import', {
    method: 'POST',
    body: { filename: exported.filename },
  })
  assert.equal(imported.status, 200, imported.text)
  assert.equal(await login(port, 'lamp', 'of%20lamps'), '2.01')

  const audit = await readFile(join(broker.dataDirectory, 'audit.log'), 'utf8').catch(() => '')
  const entries = (await broker.request('/api/v5/audit?limit=1000')).text
  assert.match(entries, /gateways\/coap\/authentication\/users/)
  assert.doesNotMatch(`${audit}${entries}`, /of lamp/)
})

test('[F2] secrets of an authentication are masked, and a PUT with the mask keeps the stored secret', async (t) => {
  const port = await reservePort(t)
  const broker = await configuredBroker([`gateway.coap.listeners.udp.default.bind="127.0.0.1:${port}"`])
  const at = '/api/v5/gateways/coap/authentication'
  const secret = 'a secret of 32 bytes and a few more'
  const made = await broker.request(at, { method: 'POST', body: { mechanism: 'jwt', secret } })
  assert.equal(made.status, 200, made.text)
  const read = await broker.request(at)
  assert.ok(!read.text.includes(secret) && !made.text.includes(secret))
  assert.equal((read.json as { id: string }).id, 'jwt')
  const sent = await broker.request(at, { method: 'PUT', body: read.json as object })
  assert.equal(sent.status, 200, sent.text)
  assert.equal((await broker.request(`${at}/users`)).status, 400)
})
