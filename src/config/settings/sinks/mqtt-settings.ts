// connectors.mqtt, actions.mqtt, sources.mqtt: messages to and from remote brokers.

import { duration } from '../../schema/quantities.ts'
import { section, setting } from '../../schema/setting.ts'
import { choice, optional } from '../../schema/setting-type.ts'
import {
  actionSettings,
  connectTimeout,
  maybeText,
  listNamedSinks,
  ofEmqx,
  resourceOptions,
  serverSettings,
  sourceSettings,
  template,
} from './sink-parts.ts'

const maxKeepAliveMs = 65_535_000

/** Also of what `rules.repub` of NanoMQ makes. */
export const mqttConnector = section('A connection to a remote MQTT broker.', {
  ...serverSettings,
  server: setting(maybeText, undefined, {
    description: 'Address of the remote broker, such as 127.0.0.1:1883.',
    isRequired: true,
  }),
  proto_ver: setting(choice(['v5', 'v4', 'v3', '5', '4', '3']), 'v5', {
    description: 'MQTT version of the connections: v3 is 3.1, v4 is 3.1.1, v5 is 5.0.',
  }),
  clientid_prefix: setting(maybeText, undefined, {
    description:
      'Prefix of the client IDs of the connections. If several brokers have a source with this connector, each needs its own prefix.',
    defaultWords: 'godwit',
  }),
  keepalive: setting(duration({ minMs: 0, maxMs: maxKeepAliveMs }), 60_000, {
    description: 'Keep Alive in CONNECT of the connections.',
  }),
  pool_size: ofEmqx,
  clean_start: ofEmqx,
  bridge_mode: ofEmqx,
  retry_interval: ofEmqx,
  max_inflight: ofEmqx,
  connect_timeout: connectTimeout,
})

/** Also of what `rules.repub` of NanoMQ makes. */
export const mqttAction = section('An action that publishes a message to a remote broker for each result.', {
  ...actionSettings,
  parameters: section('The MQTT message. All texts are templates with ${...}.', {
    topic: setting(template, '${topic}', { description: 'Topic at the remote broker, such as plant/${topic}.' }),
    qos: setting(template, '1', {
      description:
        'QoS of the messages: 0, 1, 2 or ${qos}. A QoS 0 message counts as delivered when the remote broker has responded to a PINGREQ that followed it.',
    }),
    retain: setting(template, 'false', { description: 'Retain flag of the messages: true, false or ${flags.retain}.' }),
    payload: setting(optional(template, 'none'), undefined, {
      description: 'Template of the payload.',
      defaultWords: 'all columns as JSON',
    }),
  }),
  resource_opts: resourceOptions,
})

const mqttSource = section('A source that subscribes at a remote broker. Rules name it $bridges/mqtt:NAME.', {
  ...sourceSettings,
  parameters: section('The subscription at the remote broker.', {
    topic: setting(maybeText, undefined, {
      description: 'Topic filter that the source subscribes to at the remote broker, such as plant/#.',
      isRequired: true,
    }),
    qos: setting(choice(['0', '1', '2']), '1', { description: 'Maximum QoS of the subscription.' }),
    no_local: ofEmqx,
  }),
})

export const mqttConnectors = listNamedSinks('Connections to remote MQTT brokers.', mqttConnector)
export const mqttActions = listNamedSinks('Actions that publish messages to remote MQTT brokers.', mqttAction)
export const mqttSources = listNamedSinks('Sources that subscribe at remote MQTT brokers.', mqttSource)
