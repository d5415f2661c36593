// Plans the sources: settings are checked, and connectors looked up. A problem starts with the key of a setting.

import type { GodwitConfig } from '../../config/index.ts'
import {
  type SourceConnectorSettings,
  type SourceSettings,
  type SourceTypeName,
  sourceTypes,
} from '../../sinks/index.ts'
import { describeConnectorProblem } from './plan-actions.ts'
import type { PlanProblem, SourceAssignment } from './rule-plan.ts'

/** Reads the sources. The settings of MQTT sources are read with the bridges. */
export function planSources({
  sources,
  connectors,
}: GodwitConfig): { readonly sources: readonly SourceAssignment[] } | PlanProblem {
  const planned: SourceAssignment[] = [...sources.mqtt.named].map(([name, { connector }]) => ({
    id: `mqtt:${name}`,
    server: connectors.mqtt.named.get(connector ?? '')?.server ?? '',
    service: undefined,
  }))
  for (const type of Object.keys(sourceTypes) as SourceTypeName[]) {
    const kind = sourceTypes[type]
    const configured: ReadonlyMap<string, SourceSettings> = sources[type].named
    const known: ReadonlyMap<string, SourceConnectorSettings> = connectors[type].named
    for (const [name, source] of configured) {
      const key = `sources.${type}.${name}`
      const connector = known.get(source.connector ?? '')
      if (connector === undefined)
        return { problem: `${key}.connector: ${describeConnectorProblem(type, source.connector)}` }
      const reason = kind.findConnectorProblem(connector)
      if (reason !== undefined) return { problem: `connectors.${type}.${source.connector}.${reason}` }
      const problem = kind.findSourceProblem(source)
      if (problem !== undefined) return { problem: `${key}.${problem}` }
      planned.push({
        id: `${type}:${name}`,
        server: kind.formatServer(connector),
        service: { type, source, connector },
      })
    }
  }
  return { sources: planned }
}
