// All types of services from which sources receive, except MQTT brokers, whose sources are bridges.

import type { ConnectorsConfig, SourcesConfig } from '../../config/index.ts'
import { kafkaSourceType } from '../kafka/kafka-consumer.ts'
import { natsSourceType } from '../nats/nats-source.ts'
import { rabbitmqSourceType } from '../rabbitmq/rabbitmq-source.ts'
import type { NamedValue } from '../sink.ts'
import type { SourceType } from '../sources/source-type.ts'

type ServiceSections = Exclude<keyof SourcesConfig, 'isSet' | 'isSetItself' | 'named' | 'mqtt'>

export type SourceSettings = NamedValue<SourcesConfig[ServiceSections]>
export type SourceConnectorSettings = NamedValue<ConnectorsConfig[ServiceSections]>

/** The settings of a type are those of the section that has its name. */
function byName<Source, Connector>(
  type: SourceType<Source, Connector>,
): SourceType<SourceSettings, SourceConnectorSettings> {
  return type as unknown as SourceType<SourceSettings, SourceConnectorSettings>
}

export const sourceTypes = {
  kafka_consumer: byName(kafkaSourceType),
  nats: byName(natsSourceType),
  rabbitmq: byName(rabbitmqSourceType),
}

export type SourceTypeName = keyof typeof sourceTypes
