// Converts a source of MQTT into a bridge with one subscription, whose messages go to rules, with topics below
// `$bridges/mqtt:NAME/`.

import { checkSettings } from './check/check-settings.ts'
import type { ConnectorsConfig, MqttBridgeConfig, SourcesConfig } from './godwit-config.ts'
import { mqttBridge } from './settings/bridges.ts'

const at = { file: 'defaults', line: 0, column: 0 }

type NamedOf<Section> = Section extends { readonly named: ReadonlyMap<string, infer Value> } ? Value : never
export type MqttConnectorConfig = NamedOf<ConnectorsConfig['mqtt']>
export type MqttSourceConfig = NamedOf<SourcesConfig['mqtt']>

export interface MqttSource {
  readonly name: string
  readonly source: MqttSourceConfig
  readonly connector: MqttConnectorConfig
}

/** `prefix`: prefix of the topics of the remote broker. */
export function toBridgeConfig({ name, source, connector }: MqttSource, prefix: string): MqttBridgeConfig {
  const { values: usual } = checkSettings(mqttBridge, { kind: 'object', entries: new Map(), at })
  const { clientid_prefix: clientIdPrefix } = connector
  const { topic = '', qos } = source.parameters
  return {
    ...usual,
    enable: source.enable && connector.enable,
    server: formatMqttUrl(connector),
    proto_ver: toProtocolVersion(connector),
    clientid: clientIdPrefix === undefined ? undefined : `${clientIdPrefix}-source-${name}`,
    username: connector.username,
    password: connector.password,
    keepalive: connector.keepalive,
    cancel_timeout: connector.connect_timeout,
    ssl: connector.ssl,
    no_local_v4: false,
    subscription: [
      new Map<string, unknown>([
        ['remote_topic', topic],
        ['local_topic', ''],
        ['prefix', prefix],
        ['qos', qos],
      ]),
    ],
  }
}

/** With a scheme, as for bridges. */
export function formatMqttUrl({ server = '', ssl }: Pick<MqttConnectorConfig, 'server' | 'ssl'>): string | undefined {
  if (server === '') return undefined
  if (server.includes('://')) return server
  return `${ssl.enable ? 'tls+mqtt-tcp' : 'mqtt-tcp'}://${server}`
}

export function toProtocolVersion({ proto_ver: version }: Pick<MqttConnectorConfig, 'proto_ver'>): '3' | '4' | '5' {
  return version.replace('v', '') as '3' | '4' | '5'
}
