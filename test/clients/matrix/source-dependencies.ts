// The services of sources in the fault matrix: the settings of a source that receives through a proxy, and how to send to it without the proxy.

import assert from 'node:assert/strict'
import amqplib from 'amqplib'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect as connectNats } from '@nats-io/transport-node'
import mqtt from 'mqtt'
import type { Scope } from '../../e2e/godwit-process.ts'
import { KafkaCluster } from '../kafka-cluster.ts'
import { startMosquitto } from '../mosquitto-server.ts'
import { natsServer } from '../nats-server.ts'
import { rabbitmqServer } from '../rabbitmq-server.ts'
import { connectTimeoutMs, lateMs, type Proxies, togetherWith } from './dependencies.ts'
import { FaultProxy } from './fault-proxy.ts'

export interface SourceDependency {
  /** `type:name` */
  readonly source: string
  readonly settings: readonly string[]
  readonly proxies: Proxies
  readonly maxConnections: number
  send(number: number): Promise<void>
}

const connectTimeout = `connect_timeout=${connectTimeoutMs}ms`
const overlap = 2

export const sourceDependencies: Readonly<Record<string, (t: Scope) => Promise<SourceDependency>>> = {
  rabbitmq: async (t) => {
    const server = await rabbitmqServer(t)
    await server.start()
    const connection = await amqplib.connect({ hostname: '127.0.0.1', port: server.port })
    connection.on('error', () => {})
    // The server has ended before, and the connection with it.
    t.after(() => connection.close().catch((error) => assert.match(String(error), /closed/i)))
    const channel = await connection.createConfirmChannel()
    await channel.assertQueue('orders', { durable: true })
    const proxy = await FaultProxy.start(t, server.port, { lateMs })
    return {
      source: 'rabbitmq:orders',
      settings: [
        `connectors.rabbitmq.matrix={server="127.0.0.1",port=${proxy.port},heartbeat=2s,${connectTimeout}}`,
        'sources.rabbitmq.orders={connector=matrix,parameters={queue="orders",prefetch=10}}',
      ],
      proxies: proxy,
      maxConnections: 1 + overlap,
      send: async (number) => {
        channel.sendToQueue('orders', Buffer.from(String(number)), { persistent: true })
        await channel.waitForConfirms()
      },
    }
  },

  nats: async (t) => {
    const server = await natsServer(t)
    await server.start()
    const connection = await connectNats({ servers: `127.0.0.1:${server.port}` })
    t.after(() => connection.close())
    await (await jetstreamManager(connection)).streams.add({ name: 'ORDERS', subjects: ['orders'] })
    const client = jetstream(connection)
    const proxy = await FaultProxy.start(t, server.port, { lateMs })
    return {
      source: 'nats:orders',
      settings: [
        `connectors.nats.matrix={server="127.0.0.1:${proxy.port}",${connectTimeout}}`,
        'sources.nats.orders={connector=matrix,parameters={subject=orders,jetstream=true,deliver_policy=all,max_pending=10}}',
      ],
      proxies: proxy,
      maxConnections: 1 + overlap,
      send: async (number) => void (await client.publish('orders', String(number))),
    }
  },

  kafka: async (t) => {
    const proxies: FaultProxy[] = []
    const cluster = await KafkaCluster.startBehind(t, 1, async (port, rewrite) => {
      const proxy = await FaultProxy.start(t, port, { lateMs, rewrite })
      proxies.push(proxy)
      return proxy
    })
    return {
      source: 'kafka_consumer:orders',
      settings: [
        `connectors.kafka_consumer.matrix={bootstrap_hosts="${cluster.servers}",${connectTimeout}}`,
        'sources.kafka_consumer.orders={connector=matrix,parameters={topic=orders,offset_reset_policy=earliest,session_timeout=6000}}',
      ],
      proxies: togetherWith(proxies),
      maxConnections: 4 + overlap,
      send: (number) => cluster.write('orders', [String(number)]),
    }
  },

  mqtt: async (t) => {
    const { port } = await startMosquitto(t)
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`)
    t.after(() => client.end(true))
    const proxy = await FaultProxy.start(t, port, { lateMs })
    return {
      source: 'mqtt:orders',
      settings: [
        `connectors.mqtt.matrix={server="127.0.0.1:${proxy.port}",keepalive=2s,clientid_prefix=matrix,${connectTimeout}}`,
        'sources.mqtt.orders={connector=matrix,parameters={topic="orders",qos=1}}',
      ],
      proxies: proxy,
      maxConnections: 1 + overlap,
      send: async (number) => void (await client.publishAsync('orders', String(number), { qos: 1 })),
    }
  },
}
