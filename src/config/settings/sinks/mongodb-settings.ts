// connectors.mongodb, actions.mongodb: documents for MongoDB.

import { openSection, section, setting } from '../../schema/setting.ts'
import { choice, optional } from '../../schema/setting-type.ts'
import { clientCertificates } from '../bridges.ts'
import {
  actionSettings,
  anyText,
  connectorSettings,
  connectTimeout,
  maybeText,
  namedSinks,
  ofEmqx,
  poolSize,
  resourceOptionsWith,
  template,
} from './sink-parts.ts'

const mongodbConnector = section('One database of MongoDB.', {
  ...connectorSettings,
  parameters: section('Where it is.', {
    mongo_type: setting(choice(['single', 'rs', 'sharded']), 'single', {
      description: 'single: one server. rs: a replica set. sharded: mongos routers.',
    }),
    server: setting(maybeText, undefined, { description: 'Address of the server, such as 127.0.0.1:27017.' }),
    servers: setting(maybeText, undefined, {
      description: 'Addresses of a replica set or of routers, separated by commas.',
    }),
    replica_set_name: setting(maybeText, undefined, { description: 'Name of the replica set.' }),
    w_mode: ofEmqx,
    r_mode: ofEmqx,
  }),
  database: setting(maybeText, undefined, { description: 'Name of the database.', isRequired: true }),
  username: setting(maybeText, undefined, { description: 'User name.' }),
  password: setting(maybeText, undefined, { description: 'Password.', isSecret: true }),
  auth_source: setting(anyText, 'admin', { description: 'Database that has the user.' }),
  pool_size: poolSize,
  srv_record: ofEmqx,
  use_legacy_protocol: ofEmqx,
  topology: openSection('Settings of EMQX.'),
  connect_timeout: connectTimeout,
  ssl: clientCertificates,
})

const mongodbAction = section('One kind of document.', {
  ...actionSettings,
  parameters: section('The document.', {
    collection: setting(template, '', { description: 'Collection, a template such as readings.', isRequired: true }),
    payload_template: setting(optional(template, 'none'), undefined, {
      description: 'The document as JSON, a template.',
      defaultWords: 'all columns as JSON',
    }),
  }),
  resource_opts: resourceOptionsWith({ batchSize: 100, inflightWindow: 100 }),
})

export const mongodbConnectors = namedSinks('MongoDB.', mongodbConnector)
export const mongodbActions = namedSinks('MongoDB.', mongodbAction)
