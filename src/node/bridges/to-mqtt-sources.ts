// Turns MQTT sources of rules into bridges.

import { toBridgeConfig, type GodwitConfig, type MqttBridgeConfig } from '../../config/index.ts'
import { toSourceTopicPrefix } from '../../core/index.ts'
import { findServerProblem } from '../../sinks/index.ts'
import type { Problem } from '../configuration/config-consumers.ts'

const defaultPort = 1_883

/** Returns a bridge for each source, by its name. A problem starts with the key of a setting. */
export function toMqttSources({
  connectors,
  sources,
}: GodwitConfig): { readonly bridges: ReadonlyMap<string, MqttBridgeConfig> } | Problem {
  const bridges = new Map<string, MqttBridgeConfig>()
  for (const [name, source] of sources.mqtt.named) {
    const key = `sources.mqtt.${name}`
    const { connector: connectorName } = source
    if (connectorName === undefined)
      return { problem: `${key}.connector: a source needs the name of a connector: configure connectors.mqtt` }
    const connector = connectors.mqtt.named.get(connectorName)
    if (connector === undefined)
      return {
        problem: `${key}.connector: connector not found: ${JSON.stringify(connectorName)}; configure connectors.mqtt.${connectorName}`,
      }
    const problem = findServerProblem(connector, defaultPort)
    if (problem !== undefined) return { problem: `connectors.mqtt.${connectorName}.${problem}` }
    if (source.parameters.topic === undefined)
      return { problem: `${key}.parameters.topic: write a topic filter, such as plant/#` }
    bridges.set(name, toBridgeConfig({ name, source, connector }, toSourceTopicPrefix(`mqtt:${name}`)))
  }
  return { bridges }
}
