// The order in which a service receives the results of rules, while some requests fail and its response times differ.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { startBrokerWithApi } from '../management/api.ts'
import { HttpService } from './http-service.ts'

const publishers = ['north', 'south', 'west']
const messages = 200

test('messages of one publisher reach an HTTP service in their order, also when it refuses some for a while', async (t) => {
  const service = await HttpService.start(t)
  let requestCount = 0
  const accepted = new Map<string, number[]>(publishers.map((name) => [name, []]))
  service.statusFor = ({ body }) => {
    if (++requestCount % 31 === 0) return 503
    const [name = '', number = ''] = body.split(' ')
    accepted.get(name)?.push(Number(number))
    return 200
  }
  const broker = await startBrokerWithApi(t, { set: ['node.shards=2'] })
  const post = async (path: string, body: object): Promise<void> => {
    const response = await broker.request(`/api/v5${path}`, { method: 'POST', body })
    assert.equal(response.status, 201, response.text)
  }
  await post('/connectors', { type: 'http', name: 'local', url: `http://127.0.0.1:${service.port}` })
  // oxlint-disable-next-line no-template-curly-in-string -- a template of rules
  const parameters = { body: '${clientid} ${payload}' }
  const resource_opts = { retry_interval: '10ms' }
  await post('/actions', { type: 'http', name: 'hook', connector: 'local', parameters, resource_opts })
  await post('/rules', { id: 'all', sql: 'SELECT clientid, payload FROM "in/#"', actions: ['http:hook'] })
  await Promise.all(
    publishers.map(async (clientId) => {
      const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId })
      t.after(() => client.end(true))
      await Promise.all(
        Array.from({ length: messages }, (_, number) =>
          client.publishAsync(`in/${number % 3}`, `${number}`, { qos: 1 }),
        ),
      )
    }),
  )
  const count = (): number => [...accepted.values()].reduce((sum, { length }) => sum + length, 0)
  await service.until(() => count() >= publishers.length * messages)
  const expected = Array.from({ length: messages }, (_, number) => number)
  for (const name of publishers) assert.deepEqual(accepted.get(name), expected, name)
})
