// All types of services from which sources receive, except MQTT brokers, whose sources are bridges.

import type { ConnectorsConfig, SourcesConfig } from '../../config/index.ts'
import { kafkaSourceType } from '../kafka/kafka-consumer.ts'
import { natsSourceType } from '../nats/nats-source.ts'
import { rabbitmqSourceType } from '../rabbitmq/rabbitmq-source.ts'
import type { NamedValue } from '../sink.ts'
import { openSource } from '../sources/open-source.ts'
import type { SourceCallbacks, SourceConnection, SourceType } from '../sources/source-type.ts'

type ServiceSections = Exclude<keyof SourcesConfig, 'isSet' | 'isSetItself' | 'named' | 'mqtt'>

export type SourceSettings = NamedValue<SourcesConfig[ServiceSections]>
export type SourceConnectorSettings = NamedValue<ConnectorsConfig[ServiceSections]>

interface RegisteredSourceType extends Omit<SourceType<SourceSettings, SourceConnectorSettings, unknown>, 'driver'> {
  /** `id`: `type:name`. Rejects if the service does not respond. */
  open(
    id: string,
    source: SourceSettings,
    connector: SourceConnectorSettings,
    callbacks: SourceCallbacks,
  ): Promise<SourceConnection>
}

/** The settings of a type are those of the section that has its name. */
function toGeneralType<Source, Connector, Client>(type: SourceType<Source, Connector, Client>): RegisteredSourceType {
  const general = type as unknown as SourceType<SourceSettings, SourceConnectorSettings, Client>
  return { ...general, open: (...parameters) => openSource(general.driver(...parameters)) }
}

export const sourceTypes = {
  kafka_consumer: toGeneralType(kafkaSourceType),
  nats: toGeneralType(natsSourceType),
  rabbitmq: toGeneralType(rabbitmqSourceType),
}

export type SourceTypeName = keyof typeof sourceTypes
