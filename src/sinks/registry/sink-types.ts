// All types of services to which actions send. A new type needs a line here, and its settings in `config/settings`.

import type { ActionsConfig, ConnectorsConfig } from '../../config/index.ts'
import { diskLogSinkType } from '../file/disk-log-sink.ts'
import { httpSinkType } from '../http/http-sink.ts'
import { prometheusSinkType } from '../prometheus/prometheus-sink.ts'
import { clickhouseSinkType } from '../clickhouse/clickhouse-sink.ts'
import { elasticsearchSinkType } from '../elasticsearch/elasticsearch-sink.ts'
import { influxdbSinkType } from '../influxdb/influxdb-sink.ts'
import { kafkaProducerSinkType } from '../kafka/kafka-producer-sink.ts'
import { mongodbSinkType } from '../mongodb/mongodb-sink.ts'
import { mqttSinkType } from '../mqtt/mqtt-sink.ts'
import { natsSinkType } from '../nats/nats-sink.ts'
import { rabbitmqSinkType } from '../rabbitmq/rabbitmq-sink.ts'
import { redisSinkType } from '../redis/redis-sink.ts'
import { s3SinkType } from '../s3/s3-sink.ts'
import type { NamedValue, SinkType } from '../sink.ts'
import { sqliteSinkType } from '../sqlite/sqlite-sink.ts'
import { mysqlSinkType } from '../sql/mysql-sink.ts'
import { postgresqlSinkType } from '../sql/postgresql-sink.ts'

/** Keys of a section whose connectors or actions have names. */
type SinkSections<Sections> = Exclude<keyof Sections, 'isSet' | 'isSetItself' | 'named'>

export type ConnectorSettings = NamedValue<ConnectorsConfig[SinkSections<ConnectorsConfig>]>
export type ActionSettings = NamedValue<ActionsConfig[SinkSections<ActionsConfig>]>

/** Makes the settings of a type general. This is valid because code that finds a type by its name passes the settings of the section with that name. */
function toGeneralType<Action, Connector>(
  type: SinkType<Action, Connector>,
): SinkType<ActionSettings, ConnectorSettings> {
  return type as unknown as SinkType<ActionSettings, ConnectorSettings>
}

export const sinkTypes = {
  http: toGeneralType(httpSinkType),
  mqtt: toGeneralType(mqttSinkType),
  pgsql: toGeneralType(postgresqlSinkType),
  timescale: toGeneralType(postgresqlSinkType),
  mysql: toGeneralType(mysqlSinkType),
  kafka_producer: toGeneralType(kafkaProducerSinkType),
  mongodb: toGeneralType(mongodbSinkType),
  nats: toGeneralType(natsSinkType),
  rabbitmq: toGeneralType(rabbitmqSinkType),
  redis: toGeneralType(redisSinkType),
  disk_log: toGeneralType(diskLogSinkType),
  influxdb: toGeneralType(influxdbSinkType),
  s3: toGeneralType(s3SinkType),
  sqlite: toGeneralType(sqliteSinkType),
  elasticsearch: toGeneralType(elasticsearchSinkType),
  clickhouse: toGeneralType(clickhouseSinkType),
  prometheus_remote_write: toGeneralType(prometheusSinkType),
}

export type SinkTypeName = keyof typeof sinkTypes
