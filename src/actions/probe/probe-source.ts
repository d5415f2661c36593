// Checks whether the services of sources can be reached. It subscribes to nothing and reads no record.

import type { GodwitConfig } from '../../config/index.ts'
import {
  checkMqtt,
  findServerProblem,
  type SourceConnectorSettings,
  type SourceSettings,
  type SourceTypeName,
  sourceTypes,
} from '../../sinks/index.ts'

const mqttPort = 1_883

/** Types of sources. */
export const sourceTypeNames: readonly SourceType[] = ['mqtt', ...(Object.keys(sourceTypes) as SourceTypeName[])]

export type SourceType = 'mqtt' | SourceTypeName

interface SourceProbe {
  /** Name of the source; undefined: only the connector is checked. */
  readonly source: string | undefined
  readonly connector: string
  readonly timeoutMs: number
}

/** Returns why the service cannot be reached; undefined: it can. The source and the connector are in `config`. */
export async function probeSource(
  config: GodwitConfig,
  type: SourceType,
  probe: SourceProbe,
): Promise<string | undefined> {
  return type === 'mqtt' ? await probeMqtt(config, probe) : await probeOther(config, type, probe)
}

async function probeMqtt(
  { connectors, sources }: GodwitConfig,
  { source, connector: name, timeoutMs }: SourceProbe,
): Promise<string | undefined> {
  const connector = connectors.mqtt.named.get(name)
  if (connector === undefined) return `connector not found: mqtt:${name}`
  const { topic } = sources.mqtt.named.get(source ?? '')?.parameters ?? {}
  if (source !== undefined && topic === undefined) return 'parameters.topic: write a topic filter, such as plant/#'
  return findServerProblem(connector, mqttPort) ?? (await checkMqtt(connector, timeoutMs))
}

async function probeOther(
  { connectors, sources }: GodwitConfig,
  type: SourceTypeName,
  { source: name, connector: connectorName, timeoutMs }: SourceProbe,
): Promise<string | undefined> {
  const knownConnectors: ReadonlyMap<string, SourceConnectorSettings> = connectors[type].named
  const knownSources: ReadonlyMap<string, SourceSettings> = sources[type].named
  const kind = sourceTypes[type]
  const connector = knownConnectors.get(connectorName)
  if (connector === undefined) return `connector not found: ${type}:${connectorName}`
  const source = name === undefined ? undefined : knownSources.get(name)
  const problem =
    kind.findConnectorProblem(connector) ?? (source === undefined ? undefined : kind.findSourceProblem(source))
  return problem ?? (await kind.check(connector, source, timeoutMs))
}
