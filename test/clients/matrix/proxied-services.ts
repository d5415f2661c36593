// Services of the fault matrix that have both an action and a source: each behind a proxy, with a client of the test that does not use the proxy.

import assert from 'node:assert/strict'
import amqplib, { type ConfirmChannel } from 'amqplib'
import mqtt from 'mqtt'
import { connect as connectNats, type NatsConnection } from '@nats-io/transport-node'
import type { Scope } from '../../e2e/godwit-process.ts'
import { KafkaCluster } from '../kafka-cluster.ts'
import { startMosquitto } from '../mosquitto-server.ts'
import { natsServer } from '../nats-server.ts'
import { rabbitmqServer } from '../rabbitmq-server.ts'
import { type Begin, type Fault, FaultProxy } from './fault-proxy.ts'

export const connectTimeoutMs = 1_500
export const lateMs = 3_000
export const connectTimeout = `connect_timeout=${connectTimeoutMs}ms`
/** A connection that replaces one which is being closed. */
export const overlap = 2

/** A fault of one or several proxies. */
export interface Proxies {
  readonly open: number
  begin(fault: Fault, begin?: Begin): Promise<void>
  heal(): Promise<void>
}

export interface ProxiedService<Client> {
  readonly client: Client
  readonly proxies: Proxies
  /** The settings of a connector: where the proxy is, and the time limit. */
  readonly connector: string
  /** The maximum number of connections that one shard keeps open. */
  readonly maxConnections: number
}

export async function startRabbitmq(t: Scope): Promise<ProxiedService<ConfirmChannel>> {
  const server = await rabbitmqServer(t)
  await server.start()
  const connection = await amqplib.connect({ hostname: '127.0.0.1', port: server.port })
  connection.on('error', () => {})
  // The server has ended before, and the connection with it.
  t.after(() => connection.close().catch((error) => assert.match(String(error), /closed/i)))
  const client = await connection.createConfirmChannel()
  const proxy = await FaultProxy.start(t, server.port, { lateMs })
  const connector = `server="127.0.0.1",port=${proxy.port},${connectTimeout}`
  return { client, proxies: proxy, connector, maxConnections: 1 + overlap }
}

export async function startNats(t: Scope): Promise<ProxiedService<NatsConnection>> {
  const server = await natsServer(t)
  await server.start()
  const client = await connectNats({ servers: `127.0.0.1:${server.port}` })
  t.after(() => client.close())
  const proxy = await FaultProxy.start(t, server.port, { lateMs })
  const connector = `server="127.0.0.1:${proxy.port}",${connectTimeout}`
  return { client, proxies: proxy, connector, maxConnections: 1 + overlap }
}

export async function startKafka(t: Scope): Promise<ProxiedService<KafkaCluster>> {
  const proxies: FaultProxy[] = []
  const client = await KafkaCluster.startBehind(t, 1, async (port, rewrite) => {
    const proxy = await FaultProxy.start(t, port, { lateMs, rewrite })
    proxies.push(proxy)
    return proxy
  })
  const connector = `bootstrap_hosts="${client.servers}",${connectTimeout}`
  // Two clients of the library, such as producer and administration, each with a connection for metadata.
  return { client, proxies: togetherWith(proxies), connector, maxConnections: 4 + overlap }
}

export async function startRemoteBroker(t: Scope): Promise<ProxiedService<mqtt.MqttClient>> {
  const { port } = await startMosquitto(t)
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`)
  t.after(() => client.end(true))
  const proxy = await FaultProxy.start(t, port, { lateMs })
  const connector = `server="127.0.0.1:${proxy.port}",${connectTimeout}`
  return { client, proxies: proxy, connector, maxConnections: 1 + overlap }
}

function togetherWith(proxies: readonly FaultProxy[]): Proxies {
  return {
    get open() {
      return proxies.reduce((sum, { open }) => sum + open, 0)
    },
    begin: async (fault, begin) => {
      for (const proxy of proxies) await proxy.begin(fault, begin)
    },
    heal: async () => {
      for (const proxy of proxies) await proxy.heal()
    },
  }
}
