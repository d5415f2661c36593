// connectors.mqtt, sources.mqtt: messages of remote brokers for rules.

import { duration } from '../../schema/quantities.ts'
import { section, setting } from '../../schema/setting.ts'
import { choice } from '../../schema/setting-type.ts'
import { connectTimeout, maybeText, namedSinks, serverSettings, sourceSettings } from './sink-parts.ts'

const maxKeepAliveMs = 65_535_000

const mqttConnector = section('One MQTT broker.', {
  ...serverSettings,
  server: setting(maybeText, undefined, { description: 'Address of the broker, such as 127.0.0.1:1883.' }),
  proto_ver: setting(choice(['v5', 'v4', 'v3', '5', '4', '3']), 'v5', {
    description: 'MQTT version: v3 is 3.1, v4 is 3.1.1, v5 is 5.0.',
  }),
  clientid_prefix: setting(maybeText, undefined, {
    description: 'Client IDs begin so. They must be different for each broker that uses the connector.',
    defaultWords: 'made of an ID of this broker',
  }),
  keepalive: setting(duration({ minMs: 0, maxMs: maxKeepAliveMs }), 60_000, { description: 'Keep alive.' }),
  connect_timeout: connectTimeout,
})

const mqttSource = section('A subscription at a remote broker. Rules name it $bridges/mqtt:NAME.', {
  ...sourceSettings,
  parameters: section('The subscription.', {
    topic: setting(maybeText, undefined, { description: 'Topic filter, such as plant/#.' }),
    qos: setting(choice(['0', '1', '2']), '1', { description: 'Maximum QoS.' }),
  }),
})

export const mqttConnectors = namedSinks('MQTT brokers.', mqttConnector)
export const mqttSources = namedSinks('MQTT.', mqttSource)
