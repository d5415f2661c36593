// Bridges to AWS IoT are bridges like others, with TLS, of which less can be said. They have names of their own kind: no bridge
// of `bridges.mqtt` can be called so.

import { checkSettings } from './check/check-settings.ts'
import type { BridgesConfig, MqttBridgeConfig } from './godwit-config.ts'
import { awsBridge, mqttBridge } from './settings/bridges.ts'

const at = { file: 'defaults', line: 0, column: 0 }

const awsPrefix = 'aws.'
const scheme = 'tls+mqtt-tcp://'

/** By name: `aws.` and the name in the configuration. */
export function bridgesOfAws({ aws }: BridgesConfig): ReadonlyMap<string, MqttBridgeConfig> {
  if (aws.named.size === 0) return new Map()
  const { values: usual } = checkSettings(mqttBridge, { kind: 'object', entries: new Map(), at })
  return new Map(
    [...aws.named].map(([name, { server, ...own }]) => {
      const url = server === undefined || server === '' ? undefined : `${scheme}${server}`
      // Its brokers know nobody who says that he is a bridge.
      return [awsPrefix + name, { ...usual, ...own, server: url, no_local_v4: false }] as const
    }),
  )
}

/** The name in the configuration of a bridge that is called so; undefined: it is none to AWS IoT. */
export function nameAtAws(bridge: string): string | undefined {
  return bridge.startsWith(awsPrefix) ? bridge.slice(awsPrefix.length) : undefined
}

/** A bridge to AWS IoT has a setting of that name. */
export function isAwsSetting(key: string): boolean {
  return Object.hasOwn(awsBridge.entries, key)
}

/** What is to be written for the URL of one. Another URL than it is shown with is left as it is, for whoever checks it. */
export function addressAtAws(server: unknown): unknown {
  return typeof server === 'string' && server.startsWith(scheme) ? server.slice(scheme.length) : server
}
