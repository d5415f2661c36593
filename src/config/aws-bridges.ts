// Bridges to AWS IoT: TLS bridges with fewer settings. Their names have a prefix that names in `bridges.mqtt` cannot
// have.

import { checkSettings } from './check/check-settings.ts'
import type { BridgesConfig, MqttBridgeConfig } from './godwit-config.ts'
import { awsBridge, mqttBridge } from './settings/bridges.ts'

const at = { file: 'defaults', line: 0, column: 0 }

const awsPrefix = 'aws.'
const scheme = 'tls+mqtt-tcp://'

/** By name: `aws.` and the name in the configuration. */
export function createAwsBridges({ aws }: BridgesConfig): ReadonlyMap<string, MqttBridgeConfig> {
  if (aws.named.size === 0) return new Map()
  const { values: usual } = checkSettings(mqttBridge, { kind: 'object', entries: new Map(), at })
  return new Map(
    [...aws.named].map(([name, { server, ...own }]) => {
      const url = server === undefined || server === '' ? undefined : `${scheme}${server}`
      // AWS IoT does not know the declaration of a bridge in CONNECT.
      return [awsPrefix + name, { ...usual, ...own, server: url, no_local_v4: false }] as const
    }),
  )
}

/** Returns the name in the configuration of an AWS bridge; undefined for other bridges. */
export function parseAwsBridgeName(bridge: string): string | undefined {
  return bridge.startsWith(awsPrefix) ? bridge.slice(awsPrefix.length) : undefined
}

/** Returns whether a bridge to AWS IoT has this setting. */
export function isAwsSetting(key: string): boolean {
  return Object.hasOwn(awsBridge.entries, key)
}

/** Returns the value for the URL. A URL in another form is left unchanged for the check. */
export function toAwsAddress(server: unknown): unknown {
  return typeof server === 'string' && server.startsWith(scheme) ? server.slice(scheme.length) : server
}
