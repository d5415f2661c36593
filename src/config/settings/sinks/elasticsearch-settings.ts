// connectors.elasticsearch, actions.elasticsearch: documents for Elasticsearch and OpenSearch.

import { section, setting } from '../../schema/setting.ts'
import { boolean, choice, optional } from '../../schema/setting-type.ts'
import { outgoingTls } from '../../schema/outgoing-tls.ts'
import {
  actionSettings,
  anyText,
  connectorSettings,
  connectTimeout,
  maybeText,
  listNamedSinks,
  ofEmqx,
  pipelining,
  poolSize,
  createResourceOptions,
  template,
} from './sink-parts.ts'

const elasticsearchConnector = section('A connection to an Elasticsearch or OpenSearch server.', {
  ...connectorSettings,
  server: setting(maybeText, undefined, {
    description: 'Address of the Elasticsearch or OpenSearch server, such as 127.0.0.1:9200.',
    isRequired: true,
  }),
  authentication: section('Credentials of the server: user name and password, or an API key.', {
    username: setting(maybeText, undefined, { description: 'User name for the server.' }),
    password: setting(maybeText, undefined, { description: 'Password for the server.', isSecret: true }),
    api_key: setting(maybeText, undefined, {
      description: 'API key, in place of user name and password.',
      isSecret: true,
    }),
  }),
  connect_timeout: connectTimeout,
  pool_size: poolSize,
  pool_type: ofEmqx,
  enable_pipelining: pipelining,
  ssl: outgoingTls,
})

const elasticsearchAction = section('An action that writes a document for each result.', {
  ...actionSettings,
  parameters: section('The document, and the operation. Texts are templates with ${...}.', {
    action: setting(choice(['create', 'update', 'delete']), 'create', {
      description: 'Operation for each document: it is created, updated or deleted.',
    }),
    index: setting(anyText, '', {
      description: 'Name of the index that the documents go to, such as readings. It is a template.',
      isRequired: true,
    }),
    id: setting(maybeText, undefined, {
      description: 'ID of the document. With an ID, a document that is sent twice is one document.',
      defaultWords: 'the service creates one',
    }),
    doc: setting(optional(template, 'none'), undefined, {
      description: 'Template of the document, which must be a JSON object.',
      defaultWords: 'all columns as JSON',
    }),
    routing: setting(maybeText, undefined, {
      description: 'Routing value: Elasticsearch selects the shard of the document by it. Empty: by the document ID.',
      defaultWords: 'the ID',
    }),
    require_alias: setting(boolean, false, { description: 'Whether the operation fails if `index` is not an alias.' }),
    overwrite: setting(boolean, true, {
      description:
        'For the operation create: whether a document with the same ID is replaced. If false, the existing document stays.',
    }),
    max_retries: ofEmqx,
    doc_as_upsert: setting(boolean, false, {
      description: 'For the operation update: whether a document that does not exist is created.',
    }),
  }),
  resource_opts: createResourceOptions({ batchSize: 100, inflightWindow: 400 }),
})

export const elasticsearchConnectors = listNamedSinks(
  'Connections to Elasticsearch and OpenSearch servers.',
  elasticsearchConnector,
)
export const elasticsearchActions = listNamedSinks(
  'Actions that write documents to Elasticsearch and OpenSearch.',
  elasticsearchAction,
)
