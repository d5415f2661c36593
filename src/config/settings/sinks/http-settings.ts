// connectors.http, actions.http: requests to HTTP services.

import { textMap } from '../../schema/collections.ts'
import { section, setting } from '../../schema/setting.ts'
import { choice, integer, optional } from '../../schema/setting-type.ts'
import { outgoingTls } from '../../schema/outgoing-tls.ts'
import {
  actionSettings,
  anyText,
  connectorSettings,
  connectTimeout,
  maybeText,
  listNamedSinks,
  pipelining,
  poolSize,
  ofEmqx,
  resourceOptions,
  template,
} from './sink-parts.ts'

export const httpConnector = section('A connection to an HTTP service.', {
  ...connectorSettings,
  url: setting(maybeText, undefined, {
    description: 'URL of the service, such as http://127.0.0.1:8080/base. The path of an action is appended to it.',
    isRequired: true,
  }),
  headers: setting(textMap, new Map(), { description: 'HTTP headers of each request.', isSecret: true }),
  connect_timeout: connectTimeout,
  pool_size: poolSize,
  pool_type: ofEmqx,
  enable_pipelining: pipelining,
  max_inactive: ofEmqx,
  ssl: outgoingTls,
})

export const httpAction = section('An action that sends an HTTP request for each result.', {
  ...actionSettings,
  parameters: section('The HTTP request. Texts are templates with ${...}.', {
    method: setting(choice(['post', 'put', 'get', 'delete']), 'post', { description: 'HTTP method of the requests.' }),
    path: setting(anyText, '', { description: 'Path that is appended to the URL of the connector. It is a template.' }),
    headers: setting(textMap, new Map(), {
      description: 'HTTP headers that are added to those of the connector. Names and values are templates.',
      isSecret: true,
    }),
    body: setting(optional(template, 'none'), undefined, {
      description: 'Template of the request body. Empty: the result of the rule as JSON.',
      defaultWords: 'all columns as JSON',
    }),
    max_retries: setting(optional(integer({ min: 0, max: 100 }), 'none'), undefined, {
      description:
        'The same as resource_opts.max_retries, at the place where EMQX has it. If both are set, parameters.max_retries applies.',
      defaultWords: 'resource_opts.max_retries',
    }),
  }),
  resource_opts: resourceOptions,
})

export const httpConnectors = listNamedSinks('Connections to HTTP services.', httpConnector)
export const httpActions = listNamedSinks('Actions that send HTTP requests.', httpAction)
