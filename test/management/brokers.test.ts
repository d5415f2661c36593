import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { shareBrokerWithApi } from './api.ts'

const sharedBroker = shareBrokerWithApi()

test('GET /brokers and /nodes describe the broker and its node', async (t) => {
  const broker = await sharedBroker()
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  t.after(() => client.endAsync())
  const brokers = await broker.request('/api/v4/brokers')
  assert.equal(brokers.status, 200)
  assert.equal(brokers.json.code, 0)
  const [described] = brokers.json.data
  assert.match(described.datetime, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
  assert.match(described.uptime, /^\d+ Hours, \d+ minutes, \d+ seconds$/)
  assert.equal(described.node_status, 'Running')
  const nodes = await broker.request('/api/v4/nodes/')
  assert.equal(nodes.json.data[0].connections, 1)
  const { node } = nodes.json.data[0]
  const [ofNode, one] = await Promise.all(['brokers', 'nodes'].map((list) => broker.request(`/api/v4/${list}/${node}`)))
  assert.deepEqual(ofNode.json.data.version, described.version)
  assert.deepEqual(Object.keys(one.json.data), Object.keys(nodes.json.data[0]))
  for (const list of ['brokers', 'nodes']) {
    const unknownNode = await broker.request(`/api/v4/${list}/there`)
    assert.deepEqual([unknownNode.status, unknownNode.json.code], [404, 108])
  }
})

test('a request without credentials gets 104 and one with a wrong password 103, whether its path exists or not', async () => {
  const broker = await sharedBroker()
  for (const path of ['/api/v4/brokers', '/api/v4/nowhere', '/nowhere']) {
    const unauthenticated = await broker.request(path, { as: null })
    assert.deepEqual([unauthenticated.status, unauthenticated.json.code], [401, 104], path)
    assert.match(unauthenticated.headers.get('www-authenticate') ?? '', /^Basic/)
    const wrong = await broker.request(path, { as: 'admin:wrong' })
    assert.deepEqual([wrong.status, wrong.json.code], [401, 103], path)
    const empty = await broker.request(path, { as: ':' })
    assert.deepEqual([empty.status, empty.json.code], [401, 104], path)
  }
  const unknown = await broker.request('/api/v4/nowhere')
  assert.deepEqual([unknown.status, unknown.json.code], [404, 102])
})
