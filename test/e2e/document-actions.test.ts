// Actions for Elasticsearch and MongoDB, with stubs of their protocols, because no servers are available for the tests.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { actionView, deadLettersOf, hasAllNumbers, publishAll, ruleTo, until } from '../clients/sink-stage.ts'
import { shareConfigurableBroker } from '../management/api.ts'
import { BulkStub, idOf } from './elasticsearch-stub.ts'
import type { Scope } from './godwit-process.ts'
import { MongodbStub } from './mongodb-stub.ts'

const elasticsearchOptions =
  'resource_opts={batch_size=20,retry_interval=50ms,max_retries=1,health_check_interval=100ms}'
const configuredBroker = shareConfigurableBroker(['node.shards=2'])
let actions = 0

/** Starts an action with a new name, so that it has no metrics and dead letters of other tests. */
async function startWithStub(t: Scope, parameters: string) {
  const stub = await BulkStub.start(t)
  const name = `docs-${++actions}`
  const action = `elasticsearch:${name}`
  const broker = await configuredBroker([
    `connectors.elasticsearch.e={server="127.0.0.1:${stub.port}",authentication={username=u,password=p}}`,
    `actions.elasticsearch.${name}={connector=e,parameters={${parameters}},${elasticsearchOptions}}`,
    ruleTo(action),
  ])
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { reconnectPeriod: 0 })
  t.after(() => client.end(true))
  return { stub, broker, client, action }
}

test('documents arrive with index and ID; only a refused document becomes a dead letter, and one with status 429 is sent again', async (t) => {
  const { stub, broker, client, action } = await startWithStub(
    t,
    'index="r-${payload.number}",id="${payload.number}",doc="${payload}"',
  )
  const seen = new Set<string>()
  stub.statusOf = ({ place: { _id: id = '' } }) => {
    if (id === '7') return 400
    if (id === '9' && !seen.has(id)) {
      seen.add(id)
      return 429
    }
    return 201
  }
  await publishAll(client, 0, 50)
  await until(broker, action, async () => new Set(stub.operations.map(idOf)).size === 49)
  const eight = stub.operations.find((each) => idOf(each) === '8')
  assert.deepEqual(eight, {
    name: 'index',
    place: { _index: 'r-8', _id: '8' },
    document: { number: 8, text: "it's 8; --" },
  })
  assert.deepEqual([...stub.authorizations], [`Basic ${Buffer.from('u:p').toString('base64')}`])
  await until(broker, action, async () => (await deadLettersOf(broker, action)).length === 1)
  assert.match((await deadLettersOf(broker, action))[0].reason, /status 400: mapper_parsing_exception/)
})

test('a request that is too large is split in halves, and a single document that is too large becomes a dead letter', async (t) => {
  const { stub, broker, client, action } = await startWithStub(t, 'index=r,id="${payload.number}"')
  stub.statusOfAll = (operations) =>
    operations.length > 4 || operations.some((each) => idOf(each) === '3') ? 413 : 200
  await publishAll(client, 0, 30)
  await until(broker, action, async () => new Set(stub.operations.map(idOf)).size === 29)
  await until(broker, action, async () => (await deadLettersOf(broker, action)).length === 1)
})

test('create without overwrite treats an existing document as success; update and delete are sent as bulk operations', async (t) => {
  const { stub, broker, client, action } = await startWithStub(t, 'index=r,id="${payload.number}",overwrite=false')
  stub.statusOf = () => 409
  await publishAll(client, 0, 3)
  const metrics = async () => (await broker.request(`/api/v5/actions/${action}/metrics`)).json.metrics
  await until(broker, action, async () => (await metrics()).success === 3)
  assert.deepEqual(await deadLettersOf(broker, action), [])
  const update = await startWithStub(
    t,
    'action=update,index=r,id="${payload.number}",doc="${payload}",doc_as_upsert=true',
  )
  await publishAll(update.client, 0, 1)
  await until(update.broker, update.action, async () => update.stub.operations.length === 1)
  assert.deepEqual(update.stub.operations, [
    {
      name: 'update',
      place: { _index: 'r', _id: '0' },
      document: { doc: { number: 0, text: "it's 0; --" }, doc_as_upsert: true },
    },
  ])
  const erase = await startWithStub(t, 'action=delete,index=r,id="${payload.number}"')
  await publishAll(erase.client, 0, 1)
  await until(erase.broker, erase.action, async () => erase.stub.operations.length === 1)
  assert.deepEqual(erase.stub.operations, [{ name: 'delete', place: { _index: 'r', _id: '0' }, document: undefined }])
})

test('a wrong password is reported as the reason, and no message becomes a dead letter', async (t) => {
  const { stub, broker, client, action } = await startWithStub(t, 'index=r')
  stub.statusOfAll = () => 401
  await publishAll(client, 0, 1)
  await until(broker, action, async () => /HTTP status 401/.test((await actionView(broker, action)).status_reason))
  assert.deepEqual(await deadLettersOf(broker, action), [])
  stub.statusOfAll = () => 200
  await until(broker, action, async () => stub.operations.length === 1)
})

const mongodbOptions =
  'resource_opts={batch_size=20,retry_interval=100ms,max_retries=1,request_timeout=20s,health_check_interval=200ms}'

/** Metrics and dead letters of an action remain when it is removed, so each test has another action. */
async function brokerWith(t: Scope, action: string, port: number, parameters: string) {
  const [, name = ''] = action.split(':')
  const broker = await configuredBroker([
    `connectors.mongodb.plant={parameters={server="127.0.0.1:${port}"},database=plant,connect_timeout=1s}`,
    `actions.mongodb.${name}={connector=plant,parameters={${parameters}},${mongodbOptions}}`,
    ruleTo(action),
  ])
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { reconnectPeriod: 0 })
  t.after(() => client.end(true))
  return { broker, client }
}

test('each document is stored once, although the server is unavailable and closes connections without a response', async (t) => {
  const stub = await MongodbStub.start(t)
  const action = 'mongodb:documents'
  const parameters = 'collection="readings_${qos}",payload_template="${payload}"'
  const { broker, client } = await brokerWith(t, action, stub.port, parameters)
  await publishAll(client, 0, 50)
  let inserts = 0
  stub.acknowledges = () => ++inserts % 3 !== 0
  await publishAll(client, 50, 100)
  await stub.stop()
  await publishAll(client, 100, 150)
  await until(broker, action, async () => (await actionView(broker, action)).status === 'disconnected')
  await stub.restart()
  await publishAll(client, 150, 200)
  await until(broker, action, async () => {
    const { json } = await broker.request(`/api/v5/actions/${action}/metrics`)
    return json.metrics.success === 200
  })
  const documents = stub.collections.get('readings_1') ?? []
  assert.equal(documents.length, 200)
  assert.ok(
    hasAllNumbers(
      documents.map((document) => JSON.stringify(document)),
      200,
    ),
  )
  assert.match(String(documents[0]?.['_id']), /^[0-9a-f]{24}$/)
})

test('a document that MongoDB refuses becomes a dead letter, and the others arrive', async (t) => {
  const stub = await MongodbStub.start(t)
  const action = 'mongodb:refused'
  const parameters = 'collection=all,payload_template="${payload}"'
  const { broker, client } = await brokerWith(t, action, stub.port, parameters)
  const publish = (document: object): Promise<unknown> =>
    client.publishAsync('readings/1', JSON.stringify(document), { qos: 1 })
  await publish({ number: 5, at: { $date: 'no date' } })
  await publish({ number: 0, unique: 'a', at: 'ISODate(2026-11-26T12:00:00.000Z)' })
  await publish({ number: 1, unique: 'a' })
  await publish({ number: 2, invalid: true })
  await publish({ number: 3, _id: 'own' })
  await publish({ number: 4 })
  await until(broker, action, async () => (await deadLettersOf(broker, action)).length === 3)
  const reasons = (await deadLettersOf(broker, action)).map(({ reason }) => reason).join('\n')
  assert.match(reasons, /the document is not valid/)
  assert.match(reasons, /E11000 .* index: unique_1/)
  assert.match(reasons, /Document failed validation/)
  await until(broker, action, async () => stub.collections.get('all')?.length === 3)
  const documents = stub.collections.get('all') ?? []
  assert.deepEqual(new Set(documents.map(({ number }) => number)), new Set([0, 3, 4]))
  assert.deepEqual(documents.find(({ number }) => number === 0)?.['at'], new Date('2026-11-26T12:00:00.000Z'))
  assert.equal(documents.find(({ number }) => number === 3)?.['_id'], 'own')
})
