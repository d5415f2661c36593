// connectors.prometheus_remote_write, actions.prometheus_remote_write: samples for Prometheus.

import { textMap } from '../../schema/collections.ts'
import { section, setting } from '../../schema/setting.ts'
import { clientCertificates } from '../bridges.ts'
import {
  actionSettings,
  anyText,
  connectorSettings,
  connectTimeout,
  maybeText,
  namedSinks,
  poolSize,
  resourceOptions,
} from './sink-parts.ts'

const prometheusConnector = section('One Prometheus, or another receiver of remote write.', {
  ...connectorSettings,
  url: setting(maybeText, undefined, {
    description: 'Address, such as http://127.0.0.1:9090/api/v1/write.',
    isRequired: true,
  }),
  headers: setting(textMap, new Map(), { description: 'Headers of each request.', isSecret: true }),
  connect_timeout: connectTimeout,
  pool_size: poolSize,
  ssl: clientCertificates,
})

const prometheusAction = section('One kind of sample.', {
  ...actionSettings,
  parameters: section('The sample. Texts are templates with ${...}.', {
    metric: setting(anyText, '', { description: 'Name of the metric, such as temperature_celsius.', isRequired: true }),
    labels: setting(textMap, new Map(), {
      description: 'Labels, such as {client = "${clientid}"}. Empty ones are left out.',
    }),
    value: setting(anyText, '', { description: 'A number, such as ${payload.value}.', isRequired: true }),
    timestamp: setting(anyText, '${timestamp}', {
      description: 'Time in milliseconds since 1970. If it has no value, the time at which the rule ran.',
    }),
  }),
  resource_opts: resourceOptions,
})

export const prometheusConnectors = namedSinks('Prometheus.', prometheusConnector)
export const prometheusActions = namedSinks('Samples for Prometheus.', prometheusAction)
