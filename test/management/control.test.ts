import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { connect, connectAsync, type IConnackPacket, type MqttClient } from 'mqtt'
import { type BrokerWithApi, restartBroker, shareConfigurableBroker, startBrokerWithApi } from './api.ts'

const urlOf = ({ port }: BrokerWithApi): string => `mqtt://127.0.0.1:${port}`

async function connectPersistent(url: string, t: TestContext): Promise<MqttClient> {
  const options = { clientId: 'keeper', clean: false, reconnectPeriod: 0, protocolVersion: 4 } as const
  const client = await connectAsync(url, options)
  t.after(() => client.endAsync(true))
  return client
}

const sharedBroker = shareConfigurableBroker()

test('an unknown action is refused with 404 and code 101', async () => {
  const broker = await sharedBroker()
  for (const action of ['halt', 'stop%2F', 'restart%00', '__proto__']) {
    const response = await broker.request(`/api/v4/ctrl/${action}`, { method: 'POST' })
    assert.deepEqual([response.status, response.json.code], [404, 101], action)
  }
  for (const action of ['stop', 'restart']) {
    const response = await broker.request(`/api/v4/ctrl/${action}`)
    assert.deepEqual([response.status, response.json.code], [404, 102], 'GET does not stop a broker')
  }
  assert.equal((await broker.request('/api/v4/brokers')).status, 200)
})

test('POST /ctrl/stop (case does not matter) responds, ends the process with 0 and logs the administrator; a viewer gets 403', async (t) => {
  const broker = await restartBroker(await startBrokerWithApi(t))
  const body = { username: 'ann', password: 'correct-horse', tags: 'viewer' }
  assert.equal((await broker.request('/api/v4/users', { method: 'POST', body })).status, 200)
  for (const action of ['stop', 'restart']) {
    const refused = await broker.request(`/api/v4/ctrl/${action}`, { method: 'POST', as: 'ann:correct-horse' })
    assert.deepEqual([refused.status, refused.json.code], [403, 103])
  }
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { reconnectPeriod: 0, protocolVersion: 5 })
  t.after(() => client.endAsync(true))
  const reasonCode = new Promise<number | undefined>((resolve) =>
    client.on('disconnect', (packet) => resolve(packet.reasonCode)),
  )
  const response = await broker.request('/api/v4/ctrl/STOP', { method: 'POST' })
  assert.deepEqual([response.status, response.json], [200, { code: 0 }])
  assert.equal(await reasonCode, 0x8b)
  assert.equal(await broker.process.ended, 0)
  assert.match(broker.process.errors, /shutdown requested.*"request":"stop","by":"admin","address":"127\.0\.0\.1"/)
  const log = broker.process.output + broker.process.errors
  assert.doesNotMatch(log, /a-password-for-tests/)
})

test('POST /ctrl/restart reads the configuration file again, keeps --set and restores persistent sessions', async (t) => {
  const first = await sharedBroker(['mqtt.max_qos_allowed = 2', 'node.shards = 2'])
  const before = await connectPersistent(urlOf(first), t)
  await before.subscribeAsync('plant/#', { qos: 1 })
  await before.endAsync()
  const text = 'mqtt.max_qos_allowed = 1\nlisteners.tcp.bind = "127.0.0.1:1"\nnode.shards = 3\n'
  await writeFile(first.configFile, text)
  const second = await restartBroker(first)
  await first.process.until(
    /node\.shards: 3 shards share 10 threads for file access, and need 11: stop the process and start it again/,
  )
  const after = await connectPersistent(urlOf(second), t)
  const received = new Promise<string>((resolve) => after.on('message', (topic) => resolve(topic)))
  const publisher = connect(urlOf(second), { protocolVersion: 5, reconnectPeriod: 0 })
  t.after(() => publisher.endAsync(true))
  const connack = await new Promise<IConnackPacket>((resolve) => publisher.on('connect', resolve))
  assert.equal(connack.properties?.maximumQoS, 1, 'the new file is in force')
  await publisher.publishAsync('plant/one', 'x', { qos: 1 })
  assert.equal(await received, 'plant/one', 'the subscription was restored before the client reconnected')
})

test('a restart that would fail is refused with the reason, and the broker continues', async () => {
  const broker = await sharedBroker()
  await writeFile(broker.configFile, 'mqtt.max_qos_alowed = 1\n')
  const response = await broker.request('/api/v4/ctrl/restart', { method: 'POST' })
  assert.deepEqual([response.status, response.json.code], [400, 108])
  assert.match(response.json.message, /mqtt\.max_qos_alowed/)
  await (await connectAsync(`mqtt://127.0.0.1:${broker.port}`)).endAsync()
})

test('a restart with a new listener whose port is in use continues with the previous configuration', async (t) => {
  const other = createServer()
  await new Promise<void>((open) => other.listen(0, '127.0.0.1', open))
  t.after(() => other.close())
  const { port } = other.address() as AddressInfo
  const first = await sharedBroker()
  const text = `listeners.ws.bind = "127.0.0.1:${port}/mqtt"\n`
  await writeFile(first.configFile, text)
  const second = await restartBroker(first)
  await (await connectAsync(urlOf(second))).endAsync()
  await first.process.until(/listeners\.ws\.bind.*in use.*the previous configuration stays in use/)
  assert.equal(await readFile(first.configFile, 'utf8'), text)
})
