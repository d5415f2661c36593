// Actions of rules for MongoDB, with a stub of its protocol, because no server is available for the tests.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { actionView, deadLettersOf, hasAllNumbers, publishAll, ruleTo, until } from '../clients/sink-stage.ts'
import { shareConfigurableBroker } from '../management/api.ts'
import type { Scope } from './godwit-process.ts'
import { MongodbStub } from './mongodb-stub.ts'

const options =
  'resource_opts={batch_size=20,retry_interval=100ms,max_retries=1,request_timeout=20s,health_check_interval=200ms}'

const configuredBroker = shareConfigurableBroker(['node.shards=2'])

/** Metrics and dead letters of an action remain when it is removed, so each test has another action. */
async function brokerWith(t: Scope, action: string, port: number, parameters: string) {
  const [, name = ''] = action.split(':')
  const broker = await configuredBroker([
    `connectors.mongodb.plant={parameters={server="127.0.0.1:${port}"},database=plant,connect_timeout=1s}`,
    `actions.mongodb.${name}={connector=plant,parameters={${parameters}},${options}}`,
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
