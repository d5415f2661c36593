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
function byName<Action, Connector>(type: SinkType<Action, Connector>): SinkType<ActionSettings, ConnectorSettings> {
  return type as unknown as SinkType<ActionSettings, ConnectorSettings>
}

export const sinkTypes = {
  http: byName(httpSinkType),
  mqtt: byName(mqttSinkType),
  pgsql: byName(postgresqlSinkType),
  timescale: byName(postgresqlSinkType),
  mysql: byName(mysqlSinkType),
  kafka_producer: byName(kafkaProducerSinkType),
  mongodb: byName(mongodbSinkType),
  nats: byName(natsSinkType),
  rabbitmq: byName(rabbitmqSinkType),
  redis: byName(redisSinkType),
  disk_log: byName(diskLogSinkType),
  influxdb: byName(influxdbSinkType),
  s3: byName(s3SinkType),
  sqlite: byName(sqliteSinkType),
  elasticsearch: byName(elasticsearchSinkType),
  clickhouse: byName(clickhouseSinkType),
  prometheus_remote_write: byName(prometheusSinkType),
}

export type SinkTypeName = keyof typeof sinkTypes
