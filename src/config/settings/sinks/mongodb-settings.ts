// connectors.mongodb, actions.mongodb: documents for MongoDB.

import { openSection, section, setting } from '../../schema/setting.ts'
import { choice, optional } from '../../schema/setting-type.ts'
import { outgoingTls } from '../../schema/outgoing-tls.ts'
import {
  actionSettings,
  anyText,
  connectorSettings,
  connectTimeout,
  maybeText,
  listNamedSinks,
  ofEmqx,
  poolSize,
  createResourceOptions,
  template,
} from './sink-parts.ts'

const mongodbConnector = section('A connection to a MongoDB database.', {
  ...connectorSettings,
  parameters: section('Kind of the MongoDB deployment, and addresses of its servers.', {
    mongo_type: setting(choice(['single', 'rs', 'sharded']), 'single', {
      description:
        'Kind of deployment. single: one server. rs: a replica set. sharded: a cluster behind mongos routers.',
    }),
    server: setting(maybeText, undefined, {
      description: 'Address of the server, such as 127.0.0.1:27017.',
    }),
    servers: setting(maybeText, undefined, {
      description:
        'Addresses of the members of the replica set or of the routers, separated by commas. They are used in addition to server.',
    }),
    replica_set_name: setting(maybeText, undefined, { description: 'Name of the replica set if mongo_type is rs.' }),
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
  topology: openSection('Settings of EMQX, which are accepted so that its files can be used unchanged.'),
  connect_timeout: connectTimeout,
  ssl: outgoingTls,
})

const mongodbAction = section('An action that inserts a document for each result.', {
  ...actionSettings,
  parameters: section('The document and its collection.', {
    collection: setting(template, '', {
      description: 'Name of the collection that documents are inserted into, such as readings. It is a template.',
      isRequired: true,
    }),
    payload_template: setting(optional(template, 'none'), undefined, {
      description: 'The document as JSON, a template.',
      defaultWords: 'all columns as JSON',
    }),
  }),
  resource_opts: createResourceOptions({ batchSize: 100, inflightWindow: 100 }),
})

export const mongodbConnectors = listNamedSinks('Connections to MongoDB databases.', mongodbConnector)
export const mongodbActions = listNamedSinks('Actions that insert documents into MongoDB.', mongodbAction)
