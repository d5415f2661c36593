import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { connect, connectAsync, type IConnackPacket, type MqttClient } from 'mqtt'
import { runGodwit, temporaryFolder, type WatchedProcess } from '../e2e/godwit-process.ts'
import { administrator, shareConfigurableBroker, startBrokerWithApi } from './api.ts'

const authorization = `Basic ${Buffer.from(administrator).toString('base64')}`

interface Life {
  readonly mqtt: string
  readonly api: string
}

/** What the broker says of itself at its start number `life`, from 1 on. */
async function lifeOf(godwit: WatchedProcess, life: number): Promise<Life> {
  const [text, api] = await godwit.until(new RegExp(`^(?:[^]*?management API +(http:\\S+)){${life}}`))
  const urls = [...text.matchAll(/listening +(mqtt:\/\/127\.0\.0\.1:\d+)/g)]
  return { mqtt: urls.at(-1)?.[1] ?? '', api }
}

async function brokerWithFile(t: TestContext, text: string): Promise<{ godwit: WatchedProcess; file: string }> {
  const folder = await temporaryFolder(t)
  const file = join(folder, 'godwit.conf')
  await writeFile(file, text)
  const set = ['listeners.tcp.bind="127.0.0.1:0"', 'http_server.port=0', 'http_server.password="a-password-for-tests"']
  const words = ['start', '--config', file, '--data', join(folder, 'data'), ...set.flatMap((one) => ['--set', one])]
  return { godwit: runGodwit(t, words), file }
}

function post(url: string): Promise<Response> {
  return fetch(url, { method: 'POST', headers: { authorization } })
}

async function durable(url: string, t: TestContext): Promise<MqttClient> {
  const options = { clientId: 'keeper', clean: false, reconnectPeriod: 0, protocolVersion: 4 } as const
  const client = await connectAsync(url, options)
  t.after(() => client.endAsync(true))
  return client
}

const sharedBroker = shareConfigurableBroker(['node.shards=1'])

test('an unknown action is 404 with 101, and nothing happens', async () => {
  const broker = await sharedBroker()
  for (const action of ['halt', 'stop%2F', 'restart%00', '__proto__']) {
    const response = await broker.request(`/api/v4/ctrl/${action}`, { method: 'POST' })
    assert.deepEqual([response.status, response.json.code], [404, 101], action)
  }
  for (const action of ['stop', 'restart']) {
    const response = await broker.request(`/api/v4/ctrl/${action}`)
    assert.deepEqual([response.status, response.json.code], [404, 102], 'reading must not end a broker')
  }
  assert.equal((await broker.request('/api/v4/brokers')).status, 200)
})

test('a viewer cannot stop the broker; a stop, in upper or lower case, gets its response first, ends the process with 0, and the log names the administrator', async (t) => {
  const broker = await startBrokerWithApi(t)
  const body = { username: 'ann', password: 'correct-horse', tags: 'viewer' }
  assert.equal((await broker.request('/api/v4/users', { method: 'POST', body })).status, 200)
  for (const action of ['stop', 'restart']) {
    const refused = await broker.request(`/api/v4/ctrl/${action}`, { method: 'POST', as: 'ann:correct-horse' })
    assert.deepEqual([refused.status, refused.json.code], [403, 103])
  }
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { reconnectPeriod: 0, protocolVersion: 5 })
  t.after(() => client.endAsync(true))
  const told = new Promise<number | undefined>((resolve) =>
    client.on('disconnect', (packet) => resolve(packet.reasonCode)),
  )
  const response = await broker.request('/api/v4/ctrl/STOP', { method: 'POST' })
  assert.deepEqual([response.status, response.json], [200, { code: 0 }])
  assert.equal(await told, 0x8b)
  assert.equal(await broker.process.ended, 0)
  assert.match(broker.process.errors, /shutdown requested.*"request":"stop","by":"admin","address":"127\.0\.0\.1"/)
  const log = broker.process.output + broker.process.errors
  assert.doesNotMatch(log, /a-password-for-tests/)
})

test('restart needs no administrator: the new file holds, --set is kept, and durable sessions are there', async (t) => {
  const { godwit, file } = await brokerWithFile(t, 'mqtt.max_qos_allowed = 2\nnode.shards = 1\n')
  const first = await lifeOf(godwit, 1)
  const before = await durable(first.mqtt, t)
  await before.subscribeAsync('plant/#', { qos: 1 })
  await before.endAsync()
  await writeFile(file, 'mqtt.max_qos_allowed = 1\nlisteners.tcp.bind = "127.0.0.1:1"\nnode.shards = 2\n')
  assert.deepEqual(await (await post(`${first.api}/ctrl/Restart`)).json(), { code: 0 })
  const second = await lifeOf(godwit, 2)
  await godwit.until(/node\.shards: 2 shards share the 9 threads.*start it to have 10/)
  const after = await durable(second.mqtt, t)
  const got = new Promise<string>((resolve) => after.on('message', (topic) => resolve(topic)))
  const publisher = connect(second.mqtt, { protocolVersion: 5, reconnectPeriod: 0 })
  t.after(() => publisher.endAsync(true))
  const welcome = await new Promise<IConnackPacket>((resolve) => publisher.on('connect', resolve))
  assert.equal(welcome.properties?.maximumQoS, 1, 'the new file holds')
  await publisher.publishAsync('plant/one', 'x', { qos: 1 })
  assert.equal(await got, 'plant/one', 'the subscription was there before the client came back')
  assert.equal(await godwit.stop(), 0)
})

test('a restart that would fail is refused with the reason, and the broker continues', async () => {
  const broker = await sharedBroker()
  await writeFile(broker.configFile, 'mqtt.max_qos_alowed = 1\n')
  const response = await broker.request('/api/v4/ctrl/restart', { method: 'POST' })
  assert.deepEqual([response.status, response.json.code], [400, 108])
  assert.match(response.json.message, /mqtt\.max_qos_alowed/)
  await (await connectAsync(`mqtt://127.0.0.1:${broker.port}`)).endAsync()
})

test('a restart whose new listener is taken goes on with the configuration from before', async (t) => {
  const other = createServer()
  await new Promise<void>((open) => other.listen(0, '127.0.0.1', open))
  t.after(() => other.close())
  const { port } = other.address() as AddressInfo
  const { godwit, file } = await brokerWithFile(t, '')
  const first = await lifeOf(godwit, 1)
  await writeFile(file, `listeners.ws.bind = "127.0.0.1:${port}/mqtt"\n`)
  assert.deepEqual(await (await post(`${first.api}/ctrl/restart`)).json(), { code: 0 })
  const second = await lifeOf(godwit, 2)
  await (await connectAsync(second.mqtt)).endAsync()
  await godwit.until(/listeners\.ws\.bind.*in use.*the previous configuration stays in use/)
  assert.equal(await readFile(file, 'utf8'), `listeners.ws.bind = "127.0.0.1:${port}/mqtt"\n`)
  assert.equal(await godwit.stop(), 0)
})
