// All types of services from which sources receive, except MQTT brokers, whose sources are bridges.

import type { Socket } from 'node:net'
import type { ConnectorsConfig, SourcesConfig } from '../../config/index.ts'
import { kafkaSourceType } from '../kafka/kafka-consumer.ts'
import { natsSourceType } from '../nats/nats-source.ts'
import { rabbitmqSourceType } from '../rabbitmq/rabbitmq-source.ts'
import type { NamedValue } from '../sink.ts'
import { destroyLater } from '../connections/open-connection.ts'
import { collectSockets } from '../connections/opened-sockets.ts'
import type { SourceConnection, SourceType } from '../sources/source-type.ts'

type ServiceSections = Exclude<keyof SourcesConfig, 'isSet' | 'isSetItself' | 'named' | 'mqtt'>

export type SourceSettings = NamedValue<SourcesConfig[ServiceSections]>
export type SourceConnectorSettings = NamedValue<ConnectorsConfig[ServiceSections]>

/** The settings of a type are those of the section that has its name. */
function byName<Source, Connector>(
  type: SourceType<Source, Connector>,
): SourceType<SourceSettings, SourceConnectorSettings> {
  const general = type as unknown as SourceType<SourceSettings, SourceConnectorSettings>
  return {
    ...general,
    open: (...parameters) => withSockets(() => general.open(...parameters)),
    check: async (...parameters) => {
      const sockets = new Set<Socket>()
      try {
        return await collectSockets(sockets, () => general.check(...parameters))
      } finally {
        destroyLater(sockets)
      }
    },
  }
}

/** Opens a connection whose sockets are destroyed when it is closed, or when it cannot be opened. */
async function withSockets(open: () => Promise<SourceConnection>): Promise<SourceConnection> {
  const sockets = new Set<Socket>()
  try {
    const connection = await collectSockets(sockets, open)
    return {
      close: async () => {
        destroyLater(sockets)
        await connection.close()
      },
    }
  } catch (error) {
    destroyLater(sockets)
    throw error
  }
}

export const sourceTypes = {
  kafka_consumer: byName(kafkaSourceType),
  nats: byName(natsSourceType),
  rabbitmq: byName(rabbitmqSourceType),
}

export type SourceTypeName = keyof typeof sourceTypes
