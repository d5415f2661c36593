// General state of the node.

import type { ReplyOf } from '../../contract/index.ts'
import { type Handlers, checkNodeName, formatLocalTime, formatUptime } from '../../management/index.ts'
import { readCounters } from '../../telemetry/index.ts'
import type { ApiContext } from '../context/api-context.ts'
import type { brokerEndpoints } from './endpoints.ts'

type Known = typeof brokerEndpoints
type Dependencies = Pick<
  ApiContext,
  'nodeName' | 'version' | 'startedAtMs' | 'counters' | 'config' | 'supervisor' | 'observation'
>

const sysdescr = 'Godwit MQTT broker'

export function createBrokerHandlers(node: Dependencies): Handlers<Known> {
  return {
    list_brokers: () => ({ code: 0, data: [describeBroker(node)] }),
    get_broker: ({ params }) => checkNodeName(node, params.node) ?? { code: 0, data: describeBroker(node) },
    list_nodes: () => ({ code: 0, data: [describeNode(node)] }),
    get_node: ({ params }) => checkNodeName(node, params.node) ?? { code: 0, data: describeNode(node) },
  }
}

function describeBroker({ startedAtMs, version }: Dependencies): ReplyOf<Known['get_broker']>['data'] {
  const uptime = formatUptime(performance.now() - startedAtMs)
  return { datetime: formatLocalTime(Date.now()), node_status: 'Running', sysdescr, uptime, version }
}

function describeNode(node: Dependencies): ReplyOf<Known['get_node']>['data'] {
  const { nodeName, version, startedAtMs, counters, config, supervisor, observation } = node
  const { gauges, memory } = observation
  return {
    connections: readCounters(counters).connectionsOpen,
    node_status: 'Running',
    uptime: formatUptime(performance.now() - startedAtMs),
    version,
    node: nodeName,
    security_profile: config.node.securityProfile,
    shards: supervisor.size,
    memory_used: gauges.read().memoryBytes,
    memory_limit: memory.watch.limitBytes,
    memory_level: memory.watch.level,
  }
}
