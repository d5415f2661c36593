// All kinds of services that actions send to. A new one adds its line here, and its settings to `config/settings`.

import { httpSinkType, type HttpAction, type HttpConnector } from './http/http-sink.ts'
import { redisSinkType, type RedisAction, type RedisConnector } from './redis/redis-sink.ts'
import type { SinkType } from './sink.ts'
import { mysqlSinkType } from './sql/mysql-sink.ts'
import { postgresqlSinkType } from './sql/postgresql-sink.ts'
import type { SqlAction, SqlConnector } from './sql/sql-settings.ts'

export type ConnectorSettings = HttpConnector | SqlConnector | RedisConnector
export type ActionSettings = HttpAction | SqlAction | RedisAction

/** The settings of a type are those of the section that has its name: whoever looks one up by that name may forget which. */
function byName<Action, Connector>(type: SinkType<Action, Connector>): SinkType<ActionSettings, ConnectorSettings> {
  return type as unknown as SinkType<ActionSettings, ConnectorSettings>
}

export const sinkTypes = {
  http: byName(httpSinkType),
  pgsql: byName(postgresqlSinkType),
  timescale: byName(postgresqlSinkType),
  mysql: byName(mysqlSinkType),
  redis: byName(redisSinkType),
}

export type SinkTypeName = keyof typeof sinkTypes
