// connectors.elasticsearch, actions.elasticsearch: documents for Elasticsearch and OpenSearch.

import { section, setting } from '../../schema/setting.ts'
import { boolean, choice, optional } from '../../schema/setting-type.ts'
import { clientCertificates } from '../bridges.ts'
import {
  actionSettings,
  anyText,
  connectorSettings,
  connectTimeout,
  maybeText,
  namedSinks,
  ofEmqx,
  pipelining,
  poolSize,
  resourceOptionsWith,
  template,
} from './sink-parts.ts'

const elasticsearchConnector = section('One Elasticsearch or OpenSearch.', {
  ...connectorSettings,
  server: setting(maybeText, undefined, { description: 'Address, such as 127.0.0.1:9200.', isRequired: true }),
  authentication: section('Credentials.', {
    username: setting(maybeText, undefined, { description: 'User name.' }),
    password: setting(maybeText, undefined, { description: 'Password.', isSecret: true }),
    api_key: setting(maybeText, undefined, { description: 'API key instead of a user.', isSecret: true }),
  }),
  connect_timeout: connectTimeout,
  pool_size: poolSize,
  pool_type: ofEmqx,
  enable_pipelining: pipelining,
  ssl: clientCertificates,
})

const elasticsearchAction = section('One kind of document.', {
  ...actionSettings,
  parameters: section('The document. Texts are templates with ${...}.', {
    action: setting(choice(['create', 'update', 'delete']), 'create', {
      description: 'What is done with the document.',
    }),
    index: setting(anyText, '', { description: 'Index, such as readings.', isRequired: true }),
    id: setting(maybeText, undefined, {
      description: 'ID of the document. With an ID, a document that is sent twice is one document.',
      defaultWords: 'given by the service',
    }),
    doc: setting(optional(template, 'none'), undefined, {
      description: 'The document: an object of JSON.',
      defaultWords: 'all columns as JSON',
    }),
    routing: setting(maybeText, undefined, {
      description: 'What decides the shard of the document.',
      defaultWords: 'the ID',
    }),
    require_alias: setting(boolean, false, { description: 'Whether the index must be an alias.' }),
    overwrite: setting(boolean, true, {
      description: 'Of create: whether a document that has the ID already is replaced. Otherwise it stays.',
    }),
    max_retries: ofEmqx,
    doc_as_upsert: setting(boolean, false, { description: 'Of update: whether a missing document is created.' }),
  }),
  resource_opts: resourceOptionsWith({ batchSize: 100, inflightWindow: 400 }),
})

export const elasticsearchConnectors = namedSinks('Elasticsearch and OpenSearch.', elasticsearchConnector)
export const elasticsearchActions = namedSinks('Documents for Elasticsearch and OpenSearch.', elasticsearchAction)
