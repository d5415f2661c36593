// The services of the fault matrix: the settings of an action that sends through a proxy, and how to read what has arrived without the proxy.

import mysql from 'mysql2/promise'
import pg from 'pg'
import { createClient } from 'redis'
import type { Scope } from '../../e2e/godwit-process.ts'
import { HttpService } from '../../e2e/http-service.ts'
import { MongodbStub } from '../../e2e/mongodb-stub.ts'
import { DatabaseServer } from '../database-server.ts'
import { FaultProxy } from './fault-proxy.ts'
import {
  connectTimeout,
  lateMs,
  overlap,
  type ProxiedService,
  startKafka,
  startNats,
  startRabbitmq,
  startRemoteBroker,
} from './proxied-services.ts'
import { StubService } from './stub-service.ts'

export const requestTimeoutMs = 2_000
export const poolSize = 2

export interface Dependency extends Pick<ProxiedService<unknown>, 'proxies' | 'maxConnections'> {
  /** `type:name` */
  readonly action: string
  readonly settings: readonly string[]
  /** Texts that begin the named phases, if the service has them. */
  readonly phases: Readonly<Record<string, RegExp>>
  /** True: a message becomes a dead letter if the service ends the connection for it repeatedly, without a reason. */
  readonly suspectsMessages?: true
  /** The numbers that have arrived. */
  arrived(): Promise<ReadonlySet<number>>
}

const options = `resource_opts={batch_size=10,batch_time=50ms,inflight_window=60,retry_interval=100ms,max_retries=1,request_timeout=${requestTimeoutMs}ms,health_check_interval=300ms}`
const pool = `pool_size=${poolSize}`

type Start = (t: Scope) => Promise<Dependency>

export const dependencies: Readonly<Record<string, Start>> = {
  redis: async (t) => {
    const server = await DatabaseServer.redis(t)
    await server.start()
    const client = createClient({ url: `redis://:secret@127.0.0.1:${server.port}` })
    client.on('error', () => {})
    await client.connect()
    t.after(() => client.destroy())
    const proxy = await FaultProxy.start(t, server.port, { lateMs })
    return {
      action: 'redis:matrix',
      settings: [
        `connectors.redis.matrix={server="127.0.0.1:${proxy.port}",password=secret,${connectTimeout}}`,
        `actions.redis.matrix={connector=matrix,parameters.command_template=[HSET,matrix,"\${payload.number}",x],${options}}`,
      ],
      proxies: proxy,
      maxConnections: 1 + overlap,
      phases: {},
      arrived: async () => new Set((await client.hKeys('matrix')).map(Number)),
    }
  },

  mysql: async (t) => {
    const server = await DatabaseServer.mariadb(t)
    await server.start()
    const place = { host: '127.0.0.1', port: server.port, user: 'godwit', password: 'secret', database: 'plant' }
    const client = await mysql.createConnection(place)
    client.on('error', () => {})
    t.after(() => client.destroy())
    await client.query('CREATE TABLE matrix (number INT NOT NULL) ENGINE=InnoDB')
    const proxy = await FaultProxy.start(t, server.port, { lateMs })
    return {
      action: 'mysql:matrix',
      settings: [
        `connectors.mysql.matrix={server="127.0.0.1:${proxy.port}",username=godwit,password=secret,database=plant,${pool},${connectTimeout}}`,
        // Statements that cannot be combined need a transaction.
        `actions.mysql.matrix={connector=matrix,parameters.sql="INSERT INTO matrix SELECT \${payload.number}",${options}}`,
      ],
      proxies: proxy,
      maxConnections: poolSize + overlap,
      phases: { begin: /START TRANSACTION|BEGIN/i, commit: /COMMIT/i, rollback: /ROLLBACK/i },
      arrived: async () => {
        const [rows] = await client.query('SELECT DISTINCT number FROM matrix')
        return new Set((rows as { readonly number: number }[]).map(({ number }) => number))
      },
    }
  },

  pgsql: async (t) => {
    const server = await DatabaseServer.postgresql(t)
    await server.start()
    const client = new pg.Client({ host: '127.0.0.1', port: server.port, user: 'godwit', database: 'postgres' })
    client.on('error', () => {})
    await client.connect()
    t.after(() => client.end())
    await client.query('CREATE TABLE matrix (number integer NOT NULL)')
    const proxy = await FaultProxy.start(t, server.port, { lateMs })
    return {
      action: 'pgsql:matrix',
      settings: [
        `connectors.pgsql.matrix={server="127.0.0.1:${proxy.port}",username=godwit,database=postgres,${pool},${connectTimeout}}`,
        `actions.pgsql.matrix={connector=matrix,parameters.sql="INSERT INTO matrix SELECT CAST(CAST(\${payload.number} AS text) AS integer)",${options}}`,
      ],
      proxies: proxy,
      maxConnections: poolSize + overlap,
      phases: { begin: /BEGIN/, commit: /COMMIT/, rollback: /ROLLBACK/ },
      arrived: async () => {
        const { rows } = await client.query<{ readonly number: number }>('SELECT DISTINCT number FROM matrix')
        return new Set(rows.map(({ number }) => number))
      },
    }
  },

  http: async (t) => {
    const service = await HttpService.start(t)
    const proxy = await FaultProxy.start(t, service.port, { lateMs })
    return {
      action: 'http:matrix',
      settings: [
        `connectors.http.matrix={url="http://127.0.0.1:${proxy.port}/",${pool},enable_pipelining=2,${connectTimeout}}`,
        `actions.http.matrix={connector=matrix,parameters.body="\${payload.number}",${options}}`,
      ],
      proxies: proxy,
      maxConnections: poolSize + overlap,
      phases: {},
      arrived: async () => new Set(service.received.map(({ body }) => Number(body))),
    }
  },

  influxdb: (t) =>
    startStub(t, 'influxdb', 204, (port) => [
      `connectors.influxdb.matrix={server="127.0.0.1:${port}",parameters={influxdb_type=influxdb_api_v1,database=plant},${pool},${connectTimeout}}`,
      `actions.influxdb.matrix={connector=matrix,parameters.write_syntax="r v=\${payload.number}i,t=\\"n\${payload.number}n\\"",${options}}`,
    ]),

  clickhouse: (t) =>
    startStub(t, 'clickhouse', 200, (port) => [
      `connectors.clickhouse.matrix={url="http://127.0.0.1:${port}",username=godwit,password=secret,${pool},${connectTimeout}}`,
      `actions.clickhouse.matrix={connector=matrix,parameters.sql="INSERT INTO r (t) VALUES ('n\${payload.number}n')",${options}}`,
    ]),

  elasticsearch: (t) =>
    startStub(t, 'elasticsearch', 200, (port) => [
      `connectors.elasticsearch.matrix={server="127.0.0.1:${port}",${pool},${connectTimeout}}`,
      `actions.elasticsearch.matrix={connector=matrix,parameters={index=readings,doc="{\\"t\\":\\"n\${payload.number}n\\"}"},${options}}`,
    ]),

  prometheus: (t) =>
    startStub(t, 'prometheus_remote_write', 204, (port) => [
      `connectors.prometheus_remote_write.matrix={url="http://127.0.0.1:${port}/api/v1/write",${pool},${connectTimeout}}`,
      `actions.prometheus_remote_write.matrix={connector=matrix,parameters={metric="r_n\${payload.number}n",value="1"},${options.replace('batch_size=10', 'batch_size=1')}}`,
    ]),

  s3: (t) =>
    startStub(t, 's3', 200, (port) => [
      `connectors.s3.matrix={host="127.0.0.1",port=${port},access_key_id=a,secret_access_key=b,${pool},${connectTimeout}}`,
      `actions.s3.matrix={connector=matrix,parameters={bucket=readings,key="n\${payload.number}n",content="x",mode=direct},${options}}`,
    ]),

  mongodb: async (t) => {
    const stub = await MongodbStub.start(t)
    const proxy = await FaultProxy.start(t, stub.port, { lateMs })
    return {
      action: 'mongodb:matrix',
      settings: [
        `connectors.mongodb.matrix={parameters={mongo_type=single,server="127.0.0.1:${proxy.port}"},database=plant,${pool},${connectTimeout}}`,
        `actions.mongodb.matrix={connector=matrix,parameters={collection=matrix,payload_template="{\\"number\\":\${payload.number}}"},${options}}`,
      ],
      proxies: proxy,
      // The library has connections for monitoring.
      maxConnections: 2 * (poolSize + 2 + overlap),
      phases: {},
      arrived: async () => new Set((stub.collections.get('matrix') ?? []).map(({ number }) => Number(number))),
    }
  },

  kafka: async (t) => {
    const { client: cluster, connector, ...service } = await startKafka(t)
    return {
      ...service,
      action: 'kafka_producer:matrix',
      settings: [
        `connectors.kafka_producer.matrix={${connector}}`,
        `actions.kafka_producer.matrix={connector=matrix,parameters={topic=matrix,message={value="\${payload.number}"}},${options}}`,
      ],
      phases: {},
      arrived: async () => new Set((await cluster.read('matrix')).map(({ value }) => Number(value))),
    }
  },

  rabbitmq: async (t) => {
    const { client: channel, connector, ...service } = await startRabbitmq(t)
    await channel.assertQueue('matrix', { durable: true })
    const numbers = new Set<number>()
    await channel.consume('matrix', (message) => void numbers.add(Number(message?.content.toString())), { noAck: true })
    return {
      ...service,
      action: 'rabbitmq:matrix',
      settings: [
        `connectors.rabbitmq.matrix={${connector}}`,
        `actions.rabbitmq.matrix={connector=matrix,parameters={routing_key=matrix,payload_template="\${payload.number}"},${options}}`,
      ],
      phases: {},
      arrived: async () => numbers,
    }
  },

  nats: async (t) => {
    const { client, connector, ...service } = await startNats(t)
    const numbers = new Set<number>()
    client.subscribe('matrix', { callback: (_, message) => void numbers.add(Number(message.string())) })
    await client.flush()
    return {
      ...service,
      action: 'nats:matrix',
      settings: [
        `connectors.nats.matrix={${connector}}`,
        `actions.nats.matrix={connector=matrix,parameters={subject=matrix,payload="\${payload.number}"},${options}}`,
      ],
      phases: {},
      arrived: async () => numbers,
    }
  },

  mqtt: async (t) => {
    const { client, connector, ...service } = await startRemoteBroker(t)
    const numbers = new Set<number>()
    client.on('message', (_, payload) => void numbers.add(Number(payload.toString())))
    await client.subscribeAsync('matrix', { qos: 2 })
    return {
      ...service,
      action: 'mqtt:matrix',
      suspectsMessages: true,
      settings: [
        `connectors.mqtt.matrix={${connector}}`,
        `actions.mqtt.matrix={connector=matrix,parameters={topic=matrix,qos="1",payload="\${payload.number}"},${options}}`,
      ],
      phases: {},
      arrived: async () => numbers,
    }
  },
}

/** Databases over HTTP have one client; other tests use their real servers. */
async function startStub(
  t: Scope,
  type: string,
  status: number,
  settingsFor: (port: number) => readonly string[],
): Promise<Dependency> {
  const stub = await StubService.start(t, status)
  const proxy = await FaultProxy.start(t, stub.port, { lateMs })
  return {
    action: `${type}:matrix`,
    settings: settingsFor(proxy.port),
    proxies: proxy,
    maxConnections: poolSize + overlap,
    phases: {},
    arrived: async () => stub.numbers,
  }
}
