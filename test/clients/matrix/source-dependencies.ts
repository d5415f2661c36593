// The services of sources in the fault matrix: the settings of a source that receives through a proxy, and how to send to it without the proxy.

import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import type { Scope } from '../../e2e/godwit-process.ts'
import { type ProxiedService, startKafka, startNats, startRabbitmq, startRemoteBroker } from './proxied-services.ts'

export interface SourceDependency extends Pick<ProxiedService<unknown>, 'proxies' | 'maxConnections'> {
  /** `type:name` */
  readonly source: string
  readonly settings: readonly string[]
  send(number: number): Promise<void>
}

export const sourceDependencies: Readonly<Record<string, (t: Scope) => Promise<SourceDependency>>> = {
  rabbitmq: async (t) => {
    const { client: channel, connector, ...service } = await startRabbitmq(t)
    await channel.assertQueue('orders', { durable: true })
    return {
      ...service,
      source: 'rabbitmq:orders',
      settings: [
        `connectors.rabbitmq.matrix={${connector},heartbeat=2s}`,
        'sources.rabbitmq.orders={connector=matrix,parameters={queue="orders",prefetch=10}}',
      ],
      send: async (number) => {
        channel.sendToQueue('orders', Buffer.from(String(number)), { persistent: true })
        await channel.waitForConfirms()
      },
    }
  },

  nats: async (t) => {
    const { client, connector, ...service } = await startNats(t)
    await (await jetstreamManager(client)).streams.add({ name: 'ORDERS', subjects: ['orders'] })
    const stream = jetstream(client)
    return {
      ...service,
      source: 'nats:orders',
      settings: [
        `connectors.nats.matrix={${connector}}`,
        'sources.nats.orders={connector=matrix,parameters={subject=orders,jetstream=true,deliver_policy=all,max_pending=10}}',
      ],
      send: async (number) => void (await stream.publish('orders', String(number))),
    }
  },

  kafka: async (t) => {
    const { client: cluster, connector, ...service } = await startKafka(t)
    return {
      ...service,
      source: 'kafka_consumer:orders',
      settings: [
        `connectors.kafka_consumer.matrix={${connector}}`,
        'sources.kafka_consumer.orders={connector=matrix,parameters={topic=orders,offset_reset_policy=earliest,session_timeout=6000}}',
      ],
      send: (number) => cluster.write('orders', [String(number)]),
    }
  },

  mqtt: async (t) => {
    const { client, connector, ...service } = await startRemoteBroker(t)
    return {
      ...service,
      source: 'mqtt:orders',
      settings: [
        `connectors.mqtt.matrix={${connector},keepalive=2s,clientid_prefix=matrix}`,
        'sources.mqtt.orders={connector=matrix,parameters={topic="orders",qos=1}}',
      ],
      send: async (number) => void (await client.publishAsync('orders', String(number), { qos: 1 })),
    }
  },
}
