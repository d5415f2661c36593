// Asks the services of sources whether they are there. Nothing is subscribed to, and no record is read.

import type { GodwitConfig } from '../../config/index.ts'
import { checkKafka, checkMqtt, problemOfKafka, problemOfKafkaSource, problemOfServer } from '../../sinks/index.ts'

const mqttPort = 1_883

/** Types of sources. */
export const sourceTypes = ['mqtt', 'kafka_consumer'] as const

export type SourceType = (typeof sourceTypes)[number]

interface Asked {
  /** Of the source that is probed; undefined: its connector alone is asked. */
  readonly source: string | undefined
  readonly connector: string
  readonly timeoutMs: number
}

/** Undefined: success. The source and the connector are in `config`. */
export async function probeSource(config: GodwitConfig, type: SourceType, asked: Asked): Promise<string | undefined> {
  return type === 'mqtt' ? await probeMqtt(config, asked) : await probeKafka(config, asked)
}

async function probeMqtt(
  { connectors, sources }: GodwitConfig,
  { source, connector: name, timeoutMs }: Asked,
): Promise<string | undefined> {
  const connector = connectors.mqtt.named.get(name)
  if (connector === undefined) return `connector: there is no connector mqtt:${name}`
  const { topic } = sources.mqtt.named.get(source ?? '')?.parameters ?? {}
  if (source !== undefined && topic === undefined) return 'parameters.topic: write a topic filter, such as plant/#'
  return problemOfServer(connector, mqttPort) ?? (await checkMqtt(connector, timeoutMs))
}

async function probeKafka(
  { connectors, sources }: GodwitConfig,
  { source: name, connector: connectorName, timeoutMs }: Asked,
): Promise<string | undefined> {
  const connector = connectors.kafka_consumer.named.get(connectorName)
  if (connector === undefined) return `connector: there is no connector kafka_consumer:${connectorName}`
  const source = name === undefined ? undefined : sources.kafka_consumer.named.get(name)
  const problem = problemOfKafka(connector) ?? (source === undefined ? undefined : problemOfKafkaSource(source))
  return problem ?? (await checkKafka(connector, source?.parameters.topic, timeoutMs))
}
