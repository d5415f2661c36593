// Actions for Elasticsearch. Debian has no package of it, so this stub implements the documented bulk API.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { actionView, deadLettersOf, publishAll, ruleTo, until } from '../clients/sink-stage.ts'
import { shareConfigurableBroker } from '../management/api.ts'
import type { Scope } from './godwit-process.ts'

interface Operation {
  readonly name: string
  readonly place: { readonly _index: string; readonly _id?: string }
  readonly document: Record<string, unknown> | undefined
}

function idOf({ place: { _id: id } }: Operation): string | undefined {
  return id
}

class BulkStub {
  readonly port: number
  readonly operations: Operation[] = []
  readonly authorizations = new Set<string | undefined>()
  /** Sets the status of an operation and of a whole request. */
  statusOf: (operation: Operation) => number = () => 201
  statusOfAll: (operations: readonly Operation[]) => number = () => 200

  private constructor(port: number) {
    this.port = port
  }

  static async start(t: Scope): Promise<BulkStub> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const stub = new BulkStub((server.address() as AddressInfo).port)
    server.on('request', (request: IncomingMessage, response) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => {
        stub.authorizations.add(request.headers.authorization)
        if (request.method === 'GET') return response.end('{}')
        const operations = operationsOf(Buffer.concat(parts).toString())
        const status = stub.statusOfAll(operations)
        if (status !== 200) return response.writeHead(status).end('{"error":"no"}')
        const items = operations.map((operation) => {
          const own = stub.statusOf(operation)
          if (own < 300) stub.operations.push(operation)
          const error = own < 300 ? {} : { error: { type: 'mapper_parsing_exception', reason: 'failed to parse' } }
          return { [operation.name]: { status: own, ...error } }
        })
        return response.end(
          JSON.stringify({ errors: items.some((item) => JSON.stringify(item).includes('error')), items }),
        )
      })
    })
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    return stub
  }
}

function operationsOf(text: string): Operation[] {
  assert.ok(text.endsWith('\n'))
  const lines = text.slice(0, -1).split('\n')
  const operations: Operation[] = []
  for (let at = 0; at < lines.length; at++) {
    const [[name, place] = ['', {}]] = Object.entries(JSON.parse(lines[at]) as Record<string, Operation['place']>)
    const document = name === 'delete' ? undefined : (JSON.parse(lines[++at]) as Record<string, unknown>)
    operations.push({ name, place: place as Operation['place'], document })
  }
  return operations
}

const options = 'resource_opts={batch_size=20,retry_interval=50ms,max_retries=1,health_check_interval=100ms}'
const configuredBroker = shareConfigurableBroker(['node.shards=2'])
let actions = 0

/** Starts an action with a new name, so that it has no metrics and dead letters of other tests. */
async function startWithStub(t: Scope, parameters: string) {
  const stub = await BulkStub.start(t)
  const name = `docs-${++actions}`
  const action = `elasticsearch:${name}`
  const broker = await configuredBroker([
    `connectors.elasticsearch.e={server="127.0.0.1:${stub.port}",authentication={username=u,password=p}}`,
    `actions.elasticsearch.${name}={connector=e,parameters={${parameters}},${options}}`,
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
