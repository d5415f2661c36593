// Services behind a relay that can drop packets without a reset. The tests query the services without the relay.

import pg from 'pg'
import type { Scope } from '../../e2e/godwit-process.ts'
import { HttpService } from '../../e2e/http-service.ts'
import { DatabaseServer } from '../database-server.ts'
import { KafkaCluster } from '../kafka-cluster.ts'
import { Relay, type RelayState } from '../relay.ts'

export interface HiddenSink {
  /** `type:name` */
  readonly action: string
  /** Settings of the connector and the action. */
  readonly settings: readonly string[]
  /** The maximum number of unconfirmed messages at the service, of all shards. */
  readonly window: number
  /** Whether the service recognizes duplicates. */
  readonly recognizesDuplicates: boolean
  set(state: RelayState): Promise<void>
  /** The numbers that have arrived, in any order, with duplicates. */
  arrived(): Promise<readonly number[]>
}

export const requestTimeoutMs = 3_000

const inflight = 50
const shards = 2
const options = `resource_opts={batch_size=${inflight},inflight_window=${inflight},request_timeout=${requestTimeoutMs}ms,retry_interval=200ms,health_check_interval=500ms}`

export const hiddenSinks: Readonly<Record<string, (t: Scope) => Promise<HiddenSink>>> = {
  http: async (t) => {
    const service = await HttpService.start(t)
    const relay = await Relay.start(t, service.port)
    return {
      action: 'http:hidden',
      settings: [
        `connectors.http.hidden={url="http://127.0.0.1:${relay.port}/",connect_timeout=1s}`,
        `actions.http.hidden={connector=hidden,parameters.body="\${payload}",${options}}`,
      ],
      window: inflight * shards,
      recognizesDuplicates: false,
      set: (state) => relay.set(state),
      arrived: async () => service.received.map(({ body }) => Number(body)),
    }
  },

  postgresql: async (t) => {
    const server = await DatabaseServer.postgresql(t)
    await server.start()
    const relay = await Relay.start(t, server.port)
    const client = new pg.Client({ host: '127.0.0.1', port: server.port, user: 'godwit', database: 'postgres' })
    client.on('error', () => {})
    await client.connect()
    t.after(() => client.end())
    await client.query('CREATE TABLE hidden (number integer PRIMARY KEY)')
    const sql = 'INSERT INTO hidden (number) VALUES (${payload}) ON CONFLICT DO NOTHING'
    return {
      action: 'pgsql:hidden',
      settings: [
        `connectors.pgsql.hidden={server="127.0.0.1:${relay.port}",username=godwit,database=postgres,connect_timeout=1s}`,
        `actions.pgsql.hidden={connector=hidden,parameters.sql="${sql}",${options}}`,
      ],
      window: inflight * shards,
      recognizesDuplicates: true,
      set: (state) => relay.set(state),
      arrived: async () => {
        const { rows } = await client.query<{ readonly number: number }>('SELECT number FROM hidden')
        return rows.map(({ number }) => number)
      },
    }
  },

  kafka: async (t) => {
    const cluster = await KafkaCluster.start(t)
    return {
      action: 'kafka_producer:hidden',
      settings: [
        `connectors.kafka_producer.hidden={bootstrap_hosts="${cluster.servers}",connect_timeout=1s}`,
        `actions.kafka_producer.hidden={connector=hidden,parameters={topic=hidden,message={value="\${payload}"}},${options}}`,
      ],
      window: inflight * shards,
      recognizesDuplicates: false,
      set: (state) => cluster.set(state),
      arrived: async () => (await cluster.read('hidden')).map(({ value }) => Number(value)),
    }
  },
}
