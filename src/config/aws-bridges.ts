// Bridges to AWS IoT are bridges like others, with TLS, of which less can be said. They have names of their own kind: no bridge
// of `bridges.mqtt` can be called so.

import { checkSettings } from './check/check-settings.ts'
import type { BridgesConfig, MqttBridgeConfig } from './godwit-config.ts'
import { mqttBridge } from './settings/bridges.ts'

const at = { file: 'defaults', line: 0, column: 0 }

const awsPrefix = 'aws.'

/** By name: `aws.` and the name in the configuration. */
export function bridgesOfAws({ aws }: BridgesConfig): ReadonlyMap<string, MqttBridgeConfig> {
  if (aws.named.size === 0) return new Map()
  const { values: usual } = checkSettings(mqttBridge, { kind: 'object', entries: new Map(), at })
  return new Map(
    [...aws.named].map(([name, { server, max_parallel_processes: _connections, ...own }]) => {
      const url = server === undefined || server === '' ? undefined : `tls+mqtt-tcp://${server}`
      // Its brokers know nobody who says that he is a bridge.
      return [awsPrefix + name, { ...usual, ...own, server: url, no_local_v4: false }] as const
    }),
  )
}
