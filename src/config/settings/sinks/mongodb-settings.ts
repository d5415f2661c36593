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
      description:
        'Kind of deployment. single: one server. rs: a replica set. sharded: a cluster behind mongos routers.',
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
  username: setting(maybeText, undefined, { description: 'User name for MongoDB.' }),
  password: setting(maybeText, undefined, { description: 'Password for MongoDB.', isSecret: true }),
  auth_source: setting(anyText, 'admin', { description: 'Name of the database in which the user is defined.' }),
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
    collection: setting(template, '', {
      description: 'Name of the collection that documents are inserted into, such as readings. It is a template.',
      isRequired: true,
    }),
    payload_template: setting(optional(template, 'none'), undefined, {
      description: 'The document as JSON, a template.',
      defaultWords: 'all columns as JSON',
    }),
  }),
  resource_opts: resourceOptionsWith({ batchSize: 100, inflightWindow: 100 }),
})

export const mongodbConnectors = namedSinks('MongoDB.', mongodbConnector)
export const mongodbActions = namedSinks('MongoDB.', mongodbAction)
