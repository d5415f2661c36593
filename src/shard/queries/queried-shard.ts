// The part of a shard that queries of the node read. Handlers of queries depend on nothing else of a shard.

import type { RetryProgress } from '../../sinks/index.ts'
import type { AccessControl } from '../../access/index.ts'
import type { BrokerCore } from '../../core/index.ts'
import type { PendingCommands } from '../runtime/pending-commands.ts'
import type { EventLog } from '../observe/event-log.ts'
import type {
  DeadLetterReport,
  QueuedResultReport,
  RuleEngineReport,
  TopicMetricsReport,
} from '../messages/rule-plan.ts'
import type { TopicFilter } from '../../protocol/index.ts'
import type { LiveBatch } from '../messages/live-batch.ts'
import type { GatewayRequest, GatewayResponse } from '../../gateways/index.ts'
import type { GatewayReport, GatewayType } from '../messages/gateway-plan.ts'
import type { BridgeReport } from '../messages/bridge-assignment.ts'

/** Rules and their actions. */
export interface QueriedRules {
  report(): RuleEngineReport
  /** Returns messages of a watch; `filter` and `maxBytes` are used when it starts. */
  takeWatch(
    query: { readonly watch: string; readonly filter: TopicFilter; readonly maxBytes: number },
    nowMs: number,
  ): LiveBatch
  endWatch(watch: string): void
  topicMetrics(): readonly TopicMetricsReport[]
  /** Undefined: of all topics. */
  resetTopicMetrics(topic: string | undefined): void
  resetRule(rule: string): void
  resetAction(action: string): void
  controlAction(action: string, what: 'start' | 'stop' | 'restart'): void
  controlSource(source: string, what: 'start' | 'stop' | 'restart'): void
  discardAction(action: string): Promise<void>
  queuedResults(action: string): readonly QueuedResultReport[]
  discardQueuedResults(action: string, entry: string | undefined): number
  deadLetters(action: string): readonly DeadLetterReport[]
  deleteDeadLetters(action: string, letter: number | undefined): number
  retryDeadLetters(action: string, letter: number | undefined): Promise<RetryProgress>
  retryProgress(action: string): RetryProgress
}

export interface QueriedShard {
  readonly core: BrokerCore
  readonly access: Pick<AccessControl, 'explain' | 'flapping'>
  readonly commands: Pick<PendingCommands, 'run'>
  readonly eventLog: Pick<EventLog, 'recentDrops' | 'timelines'>
  readonly rules: QueriedRules
  readonly gateways: {
    reports(): readonly GatewayReport[]
    request(type: GatewayType, clientId: string, request: GatewayRequest): Promise<GatewayResponse> | undefined
  }
  /** Undefined until the shard accepts clients. */
  readonly bridges:
    | { reports(): readonly BridgeReport[]; controlSource(source: string, what: 'start' | 'stop' | 'restart'): void }
    | undefined
}
