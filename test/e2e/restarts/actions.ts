// Results of rules that are queued for actions when the broker is killed.

/* oxlint-disable no-template-curly-in-string -- templates of rules */

import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import mqtt from 'mqtt'
import { deadLettersOf, until } from '../../clients/sink-stage.ts'
import { computeOwnerShard } from '../../../src/core/index.ts'
import type { BrokerWithApi } from '../../management/api.ts'
import { eventually } from '../eventually.ts'
import type { Broker, Scope } from '../godwit-process.ts'
import { HttpService } from '../http-service.ts'
import { linesIn } from '../lines-in.ts'
import { connected } from '../mqtt-client.ts'
import type { Survives } from './share-restart.ts'

const rule = (name: string, sql: string, actions: string): string =>
  `rule_engine.rules.${name}={sql=${JSON.stringify(sql)},actions=[${actions}]}`

const connect = (scope: Scope, broker: Broker, clientId: string): Promise<mqtt.MqttClient> =>
  connected(scope, broker, { clientId })

export function republishedMessagesSurvive(survives: Survives): void {
  const options = {
    clientId: 'offline for results',
    clean: false,
    properties: { sessionExpiryInterval: 3_600 },
  } as const
  survives(
    'a rule that republishes delivers its result to a persistent session although the broker is killed after PUBACK',
    async (scope) => ({
      settings: [rule('copy', 'SELECT payload FROM "copy/in"', '{function=republish,args={topic="copy/out",qos=1}}')],
      async before(broker) {
        const firstConnection = await connected(scope, broker, options)
        await firstConnection.subscribeAsync('copy/out', { qos: 1 })
        await firstConnection.endAsync()
        const publisher = await connect(scope, broker, 'publisher of copies')
        for (let number = 0; number < 20; number++) await publisher.publishAsync('copy/in', String(number), { qos: 1 })
      },
      async after(t, { port }) {
        const reconnected = mqtt.connect(`mqtt://127.0.0.1:${port}`, {
          ...options,
          protocolVersion: 5,
          reconnectPeriod: 0,
        })
        t.after(() => reconnected.end(true))
        const payloads: string[] = []
        await new Promise<void>((resolve) => {
          reconnected.on('message', (_topic, payload) => {
            payloads.push(payload.toString())
            if (payloads.length === 20) resolve()
          })
        })
        assert.deepEqual(
          payloads,
          Array.from({ length: 20 }, (_, number) => String(number)),
        )
      },
    }),
  )
}

export function requestsSurvive(survives: Survives): void {
  survives(
    'an action over HTTP loses no acknowledged message if the service is unavailable and the broker is killed',
    async (scope) => {
      const service = await HttpService.prepare(scope)
      const acknowledged = new Set<string>()
      return {
        settings: [
          `connectors.http.local={url="http://127.0.0.1:${service.port}"}`,
          'actions.http.hook={connector=local,parameters={body="${payload}"},resource_opts={retry_interval=50ms}}',
          rule('hooked', 'SELECT payload FROM "hooked/#"', '"http:hook"'),
        ],
        async rightBefore(broker) {
          const first = Promise.withResolvers<void>()
          for (const clientId of ['first', 'second', 'third']) {
            const publisher = await connect(scope, broker, clientId)
            for (let number = 0; number < 100; number++) {
              const payload = `${clientId} ${number}`
              publisher.publishAsync('hooked/a', payload, { qos: number % 2 === 0 ? 1 : 2 }).then(
                () => {
                  acknowledged.add(payload)
                  first.resolve()
                },
                () => {},
              )
            }
          }
          await first.promise
          const last = await connect(scope, broker, 'last')
          await last.publishAsync('hooked/a', 'last', { qos: 1 })
        },
        async after() {
          assert.ok(acknowledged.size > 0)
          await service.start()
          await service.until((received) => {
            const bodies = new Set(received.map(({ body }) => body))
            return [...acknowledged].every((payload) => bodies.has(payload))
          })
        },
      }
    },
  )
}

const payloadIn = ({ body }: { readonly body: string }): unknown => JSON.parse(body).payload

export function webhookSurvives(survives: Survives): void {
  survives(
    'acknowledged messages of the section `webhook` are sent, also if the service is unavailable and the broker is killed',
    async (scope) => {
      const service = await HttpService.prepare(scope)
      const url = `http://127.0.0.1:${service.port}/hook`
      return {
        settings: [`webhook={url="${url}",events=[{event=on_message_publish,topic="webhook/#"}]}`],
        async before(broker) {
          const client = await connect(scope, broker, 'publisher to the web hook')
          for (let number = 0; number < 50; number++) await client.publishAsync('webhook/a', String(number), { qos: 1 })
        },
        async after() {
          await service.start()
          await service.until((received) => new Set(received.map(payloadIn)).size === 50)
        },
      }
    },
  )
}

async function metricsOf(broker: BrokerWithApi, action: string) {
  return (await broker.request(`/api/v5/actions/${action}/metrics`)).json.metrics
}

export function fallbacksSurvive(survives: Survives): void {
  survives('a result that is queued for a fallback survives kill -9, with bytes and large numbers', async (scope) => {
    const service = await HttpService.start(scope)
    service.statusFor = () => 400
    const away = await HttpService.prepare(scope)
    const resource_opts = { max_retries: 0, retry_interval: '20ms' }
    const refused = {
      connector: 'refusing',
      parameters: { body: '${payload}' },
      resource_opts,
      fallback_actions: [{ kind: 'reference', type: 'http', name: 'spare' }],
    }
    const spare = { connector: 'away', parameters: { body: '${big} ${payload}' }, resource_opts }
    return {
      settings: [
        `connectors.http.refusing={url="http://127.0.0.1:${service.port}"}`,
        `connectors.http.away={url="http://127.0.0.1:${away.port}"}`,
        `actions.http.refused=${JSON.stringify(refused)}`,
        `actions.http.spare=${JSON.stringify(spare)}`,
        rule('refused', 'SELECT payload, 9007199254740993 AS big FROM "refused/#"', '"http:refused"'),
      ],
      async before(broker) {
        const client = await connect(scope, broker, 'refused publisher')
        await client.publishAsync('refused/x', Buffer.from([0xff, 0x00, 0x41]), { qos: 1 })
        await eventually(async () => {
          const [hook, second] = await Promise.all(
            ['http:refused', 'http:spare'].map((name) => metricsOf(broker, name)),
          )
          assert.deepEqual([hook.queuing + hook.inflight, second.queuing + second.inflight], [0, 1])
        })
      },
      async after() {
        await away.start()
        // The removal of the queue entry may not have been durable: then the service refuses the result once more.
        await away.until((received) => received.length > 0)
        const expected = Buffer.from([...Buffer.from('9007199254740993 '), 0xff, 0x00, 0x41])
        assert.equal(away.received[0]?.body, expected.toString())
      },
    }
  })
}

export function retriedLettersSurvive(survives: Survives): void {
  const count = 60
  survives(
    'dead letters that are being sent again when the broker is killed are sent, or are dead letters still',
    async (scope) => {
      const service = await HttpService.start(scope)
      service.statusFor = () => 400
      const numbers = (): number => new Set(service.received.map(({ body }) => body)).size
      return {
        settings: [
          `connectors.http.retried={url="http://127.0.0.1:${service.port}"}`,
          'actions.http.retried={connector=retried,parameters={body="${payload}"},resource_opts={max_retries=0,retry_interval=20ms}}',
          rule('retried', 'SELECT payload FROM "retried/#"', '"http:retried"'),
        ],
        async before(broker) {
          const client = await connect(scope, broker, 'publisher of retried letters')
          for (let number = 0; number < count; number++)
            await client.publishAsync('retried/x', String(number), { qos: 1 })
          await eventually(async () => assert.equal((await metricsOf(broker, 'http:retried')).dead_letters, count))
          service.statusFor = () => 503
        },
        async rightBefore(broker) {
          broker.request('/api/v5/actions/http:retried/dead_letters/retry', { method: 'POST' }).catch(() => {})
          await eventually(async () => assert.ok((await metricsOf(broker, 'http:retried')).dead_letters < count))
        },
        async after(_, broker) {
          service.statusFor = () => 200
          service.received.length = 0
          await broker.request('/api/v5/actions/http:retried/dead_letters/retry', { method: 'POST' })
          await service.until(() => numbers() === count)
          await eventually(async () => {
            const { dead_letters, queuing, inflight } = await metricsOf(broker, 'http:retried')
            assert.deepEqual([dead_letters, queuing, inflight], [0, 0, 0])
          })
        },
      }
    },
  )
}

/** Client IDs of which each of two shards owns two. */
const clientIds = [0, 1].flatMap((shard) =>
  Array.from({ length: 20 }, (_, number) => `publisher-${number}`)
    .filter((clientId) => computeOwnerShard(clientId, 2) === shard)
    .slice(0, 2),
)

export function linesSurvive(survives: Survives): void {
  survives(
    'each acknowledged message is a line of a file of its shard, also after a kill, and only the system user can read the files',
    async (scope) => {
      const acknowledged = new Set<number>()
      const publishFrom = async (broker: Broker, first: number, count: number): Promise<void> => {
        const clients = await Promise.all(clientIds.map((clientId) => connect(scope, broker, clientId)))
        const sent = Array.from({ length: count }, async (_, index) => {
          const number = first + index
          await clients[index % clients.length].publishAsync('log/a', JSON.stringify({ number }), { qos: 1 })
          acknowledged.add(number)
        })
        await Promise.allSettled(sent.slice(0, -1))
        await sent.at(-1)
      }
      return {
        settings: [
          'connectors.disk_log.files={filepath="exports/in.jsonl",max_file_size=2KB,max_file_number=1000}',
          'actions.disk_log.all={connector=files,resource_opts={batch_size=10,retry_interval=50ms}}',
          rule('logged', 'SELECT topic, payload.number as number FROM "log/#"', '"disk_log:all"'),
        ],
        before: (broker) => publishFrom(broker, 0, 300),
        async after(_, broker) {
          await publishFrom(broker, 300, 20)
          const folder = join(broker.dataDirectory, 'exports')
          const files = /^in.*jsonl/
          await eventually(async () => {
            const lines = await linesIn(folder, files)
            const numbers = new Set(lines.map((line) => (JSON.parse(line) as { readonly number: number }).number))
            assert.ok([...acknowledged].every((number) => numbers.has(number)))
          })
          assert.equal(acknowledged.size, 320)
          const names = (await readdir(folder)).filter((name) => files.test(name))
          assert.ok(names.includes('in.jsonl') && names.includes('in-shard1.jsonl') && names.includes('in.jsonl.1'))
          for (const name of names) {
            const { mode, size } = await stat(join(folder, name))
            assert.equal(mode & 0o777, 0o600)
            assert.ok(size <= 2_048, `${name} has ${size} bytes`)
          }
        },
      }
    },
  )
}

/** The time that this process waits for a lock while the broker writes. */
const lockMs = 30_000
const table = 'CREATE TABLE IF NOT EXISTS readings (number INTEGER UNIQUE ON CONFLICT IGNORE, text TEXT NOT NULL)'
const insert = "INSERT INTO readings (number, text) VALUES (${payload.number}, '${payload.text}')"

const rowsOf = (file: string): readonly Record<string, unknown>[] => {
  using database = new DatabaseSync(file, { readOnly: true, timeout: lockMs })
  return database.prepare('SELECT * FROM readings ORDER BY number').all()
}

export function rowsSurvive(survives: Survives): void {
  const action = 'sqlite:rows'
  survives(
    'each row is in the SQLite file although the broker is killed; a row that violates a constraint becomes a dead letter',
    async (scope) => {
      const publishFrom = async (broker: Broker, from: number): Promise<void> => {
        await Promise.all(
          [0, 1, 2].map(async (index) => {
            const client = await connect(scope, broker, `writer ${index}`)
            for (let number = from + index * 50; number < from + index * 50 + 50; number++)
              await client.publishAsync('rows/1', JSON.stringify({ number, text: `it's ${number}; --` }), { qos: 1 })
            if (from === 0 && index === 0) await client.publishAsync('rows/1', '{"number": 1000}', { qos: 1 })
          }),
        )
      }
      return {
        settings: [
          'connectors.sqlite.file={path="exports/readings.db"}',
          `actions.sqlite.rows={connector=file,parameters={sql="${insert}",create_table="${table}"},resource_opts={retry_interval=100ms,max_retries=1,request_timeout=1s,health_check_interval=200ms}}`,
          rule('rows', 'SELECT * FROM "rows/#"', `"${action}"`),
        ],
        before: (broker) => publishFrom(broker, 0),
        async after(_, broker) {
          await publishFrom(broker, 150)
          const file = join(broker.dataDirectory, 'exports/readings.db')
          await until(broker, action, async () => rowsOf(file).length === 300)
          const rows = rowsOf(file)
          assert.deepEqual(
            rows.map(({ number }) => number),
            Array.from({ length: 300 }, (_, number) => number),
          )
          assert.equal(rows[7]?.['text'], "it's 7; --")
          assert.equal(statSync(file).mode & 0o777, 0o600)
          await until(broker, action, async () => (await deadLettersOf(broker, action)).length > 0)
          // Two, if the broker is killed between the write of the dead letter and the acknowledgement of the message.
          const reasons = new Set((await deadLettersOf(broker, action)).map(({ reason }) => reason))
          assert.equal(reasons.size, 1)
          assert.match([...reasons].join(), /NOT NULL constraint failed: readings\.text/)
        },
      }
    },
  )
}
