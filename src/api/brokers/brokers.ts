// General state of the node: operations of the node, and handlers.

import type { brokerEndpoints } from './endpoints.ts'
import type { ReplyOf } from '../../contract/index.ts'
import { type Handlers, otherNode, type ApiError, localTime, uptimeText } from '../../management/index.ts'
import type { NodeReading } from '../metrics/metrics.ts'

/** General state of the node, for the API. */

export interface BrokerOperations {
  /** Current state. */
  describe(): BrokerDescription
}

export interface BrokerDescription {
  readonly nodeName: string
  readonly version: string
  readonly uptimeMs: number
  /** Wall clock. */
  readonly nowMs: number
  readonly connections: number
  readonly securityProfile: 'hardened' | 'legacy'
  readonly shards: number
  readonly memory: Pick<NodeReading, 'memoryBytes' | 'memoryLimitBytes' | 'memoryLevel'>
}

const sysdescr = 'Godwit MQTT broker'

export function brokerHandlers(broker: BrokerOperations): Handlers<typeof brokerEndpoints> {
  const unknown = (node: string): ApiError | undefined => otherNode(broker.describe(), node)
  return {
    list_brokers: () => ({ code: 0, data: [brokerRecord(broker.describe())] }),
    get_broker: ({ params }) => unknown(params.node) ?? { code: 0, data: brokerRecord(broker.describe()) },
    list_nodes: () => ({ code: 0, data: [nodeRecord(broker.describe())] }),
    get_node: ({ params }) => unknown(params.node) ?? { code: 0, data: nodeRecord(broker.describe()) },
  }
}

type Described = ReturnType<BrokerOperations['describe']>

function brokerRecord({ nowMs, uptimeMs, version }: Described): ReplyOf<typeof brokerEndpoints.get_broker>['data'] {
  return {
    datetime: localTime(nowMs),
    node_status: 'Running',
    sysdescr,
    uptime: uptimeText(uptimeMs),
    version,
  }
}

function nodeRecord({
  nodeName,
  uptimeMs,
  version,
  connections,
  securityProfile,
  shards,
  memory: { memoryBytes, memoryLimitBytes, memoryLevel },
}: Described): ReplyOf<typeof brokerEndpoints.get_node>['data'] {
  const ours = { node: nodeName, security_profile: securityProfile, shards }
  const memory = { memory_used: memoryBytes, memory_limit: memoryLimitBytes, memory_level: memoryLevel }
  return { connections, node_status: 'Running', uptime: uptimeText(uptimeMs), version, ...ours, ...memory }
}
