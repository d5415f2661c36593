// connectors, actions: services that receive results of rules. A new type adds two lines here.

import { appliedAtOnce, section } from '../../schema/setting.ts'
import { prometheusActions, prometheusConnectors } from './prometheus-settings.ts'
import { clickhouseActions, clickhouseConnectors } from './clickhouse-settings.ts'
import { elasticsearchActions, elasticsearchConnectors } from './elasticsearch-settings.ts'
import { databaseActions, databaseConnectors } from './database-settings.ts'
import { diskLogActions, diskLogConnectors } from './disk-log-settings.ts'
import { httpActions, httpConnectors } from './http-settings.ts'
import { influxdbActions, influxdbConnectors } from './influxdb-settings.ts'
import { kafkaActions, kafkaConnectors, kafkaSources } from './kafka-settings.ts'
import { mongodbActions, mongodbConnectors } from './mongodb-settings.ts'
import { mqttActions, mqttConnectors, mqttSources } from './mqtt-settings.ts'
import { natsActions, natsConnectors, natsSources } from './nats-settings.ts'
import { rabbitmqActions, rabbitmqConnectors, rabbitmqSources } from './rabbitmq-settings.ts'
import { redisActions, redisConnectors } from './redis-settings.ts'
import { s3Actions, s3Connectors } from './s3-settings.ts'
import { sqliteActions, sqliteConnectors } from './sqlite-settings.ts'

export const connectors = appliedAtOnce(
  section('Connectors: connections to the services that actions send to and sources receive from.', {
    http: httpConnectors,
    ...databaseConnectors,
    kafka_producer: kafkaConnectors,
    kafka_consumer: kafkaConnectors,
    mqtt: mqttConnectors,
    mongodb: mongodbConnectors,
    nats: natsConnectors,
    rabbitmq: rabbitmqConnectors,
    redis: redisConnectors,
    disk_log: diskLogConnectors,
    influxdb: influxdbConnectors,
    s3: s3Connectors,
    sqlite: sqliteConnectors,
    elasticsearch: elasticsearchConnectors,
    clickhouse: clickhouseConnectors,
    prometheus_remote_write: prometheusConnectors,
  }),
)

export const actions = appliedAtOnce(
  section(
    'Actions: they send the results of rules to services. Each action stores results until the service has confirmed them.',
    {
      http: httpActions,
      mqtt: mqttActions,
      ...databaseActions,
      kafka_producer: kafkaActions,
      mongodb: mongodbActions,
      nats: natsActions,
      rabbitmq: rabbitmqActions,
      redis: redisActions,
      disk_log: diskLogActions,
      influxdb: influxdbActions,
      s3: s3Actions,
      sqlite: sqliteActions,
      elasticsearch: elasticsearchActions,
      clickhouse: clickhouseActions,
      prometheus_remote_write: prometheusActions,
    },
  ),
)

export const sources = appliedAtOnce(
  section('Sources: they receive messages from services. A rule reads a source with FROM "$bridges/type:name".', {
    mqtt: mqttSources,
    kafka_consumer: kafkaSources,
    nats: natsSources,
    rabbitmq: rabbitmqSources,
  }),
)
