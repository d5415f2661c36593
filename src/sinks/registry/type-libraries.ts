// The client library of each type of actions and sources.

import type { LibraryName } from '../failed-library.ts'
import type { SinkTypeName } from './sink-types.ts'
import type { SourceTypeName } from './source-types.ts'

/** The library of each type of actions and sources; undefined: the type has none. */
const librariesOfTypes: Readonly<Record<SinkTypeName | SourceTypeName, LibraryName | undefined>> = {
  http: 'undici',
  mqtt: undefined,
  pgsql: 'pg',
  timescale: 'pg',
  mysql: 'mysql2',
  kafka_producer: 'kafkajs',
  kafka_consumer: 'kafkajs',
  mongodb: 'mongodb',
  nats: 'nats',
  rabbitmq: 'amqplib',
  redis: 'redis',
  disk_log: undefined,
  influxdb: 'undici',
  s3: 'undici',
  sqlite: undefined,
  elasticsearch: 'undici',
  clickhouse: 'undici',
  prometheus_remote_write: 'undici',
}

export function usesLibrary(type: SinkTypeName | SourceTypeName, library: LibraryName): boolean {
  return librariesOfTypes[type] === library
}
