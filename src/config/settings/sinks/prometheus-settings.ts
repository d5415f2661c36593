// connectors.prometheus_remote_write, actions.prometheus_remote_write: samples for Prometheus.

import { textMap } from '../../schema/collections.ts'
import { section, setting } from '../../schema/setting.ts'
import { outgoingTls } from '../../schema/outgoing-tls.ts'
import {
  actionSettings,
  anyText,
  connectorSettings,
  connectTimeout,
  maybeText,
  listNamedSinks,
  poolSize,
  resourceOptions,
} from './sink-parts.ts'

const prometheusConnector = section('A connection to Prometheus, or to another receiver of remote write.', {
  ...connectorSettings,
  url: setting(maybeText, undefined, {
    description: 'URL of the remote-write endpoint, such as http://127.0.0.1:9090/api/v1/write.',
    isRequired: true,
  }),
  headers: setting(textMap, new Map(), { description: 'HTTP headers of each request.', isSecret: true }),
  connect_timeout: connectTimeout,
  pool_size: poolSize,
  ssl: outgoingTls,
})

const prometheusAction = section('An action that sends a sample for each result.', {
  ...actionSettings,
  parameters: section('Metric, labels, value and time of the sample. Texts are templates with ${...}.', {
    metric: setting(anyText, '', { description: 'Name of the metric, such as temperature_celsius.', isRequired: true }),
    labels: setting(textMap, new Map(), {
      description: 'Labels of the sample, such as {client = "${clientid}"}. Labels with an empty value are left out.',
    }),
    value: setting(anyText, '', {
      description: 'Value of the sample, which must be a number, such as ${payload.value}.',
      isRequired: true,
    }),
    timestamp: setting(anyText, '${timestamp}', {
      description:
        'Time of the sample, in milliseconds since 1970. If the placeholder has no value, the time at which the rule ran.',
    }),
  }),
  resource_opts: resourceOptions,
})

export const prometheusConnectors = listNamedSinks('Connections to Prometheus servers.', prometheusConnector)
export const prometheusActions = listNamedSinks('Actions that send samples to Prometheus.', prometheusAction)
