// connectors.influxdb, actions.influxdb: points for InfluxDB.

import { section, setting } from '../../schema/setting.ts'
import { choice } from '../../schema/setting-type.ts'
import { outgoingTls } from '../../schema/outgoing-tls.ts'
import {
  actionSettings,
  connectorSettings,
  connectTimeout,
  maybeText,
  listNamedSinks,
  poolSize,
  createResourceOptions,
  template,
} from './sink-parts.ts'

const influxdbConnector = section('A connection to an InfluxDB server.', {
  ...connectorSettings,
  server: setting(maybeText, undefined, {
    description: 'Address of the InfluxDB server, such as 127.0.0.1:8086.',
    isRequired: true,
  }),
  parameters: section('API version, database or bucket, and credentials.', {
    influxdb_type: setting(choice(['influxdb_api_v1', 'influxdb_api_v2']), 'influxdb_api_v2', {
      description: 'Version of the write API that the server has: version 1 names a database, version 2 a bucket.',
    }),
    database: setting(maybeText, undefined, { description: 'Name of the database (API version 1).' }),
    username: setting(maybeText, undefined, { description: 'User name (API version 1).' }),
    password: setting(maybeText, undefined, { description: 'Password (API version 1).', isSecret: true }),
    bucket: setting(maybeText, undefined, { description: 'Name of the bucket (API version 2).' }),
    org: setting(maybeText, undefined, { description: 'Name of the organization (API version 2).' }),
    token: setting(maybeText, undefined, { description: 'Access token (API version 2).', isSecret: true }),
  }),
  connect_timeout: connectTimeout,
  pool_size: poolSize,
  ssl: outgoingTls,
})

const influxdbAction = section('An action that writes points for each result.', {
  ...actionSettings,
  parameters: section('The points in the line protocol of InfluxDB.', {
    write_syntax: setting(template, '', {
      description:
        'Lines of the line protocol with ${...} for values: readings,client=${clientid} value=${payload.value},count=${payload.count}i ${timestamp}.',
      isRequired: true,
    }),
    precision: setting(choice(['ns', 'us', 'ms', 's']), 'ms', {
      description: 'Unit of the timestamps in write_syntax.',
    }),
  }),
  resource_opts: createResourceOptions({ batchSize: 100, inflightWindow: 400 }),
})

export const influxdbConnectors = listNamedSinks('Connections to InfluxDB servers.', influxdbConnector)
export const influxdbActions = listNamedSinks('Actions that write points to InfluxDB.', influxdbAction)
