// The part of a shard that queries of the node read. Handlers of queries depend on nothing else of a shard.

import type { RuleEngine } from '../../actions/index.ts'
import type { AccessControl } from '../../access/index.ts'
import type { BrokerCore } from '../../core/index.ts'
import type { PluginHooks } from '../../plugins/index.ts'
import type { PendingCommands } from '../runtime/pending-commands.ts'
import type { EventLog } from '../observe/event-log.ts'
import type { GatewayRequest, GatewayResponse } from '../../gateways/index.ts'
import type { GatewayReport, GatewayType } from '../messages/gateway-plan.ts'
import type { BridgeReport } from '../messages/bridge-assignment.ts'

export interface QueriedShard {
  readonly core: BrokerCore
  readonly access: Pick<AccessControl, 'explain' | 'listFlappingBans'>
  readonly commands: Pick<PendingCommands, 'run'>
  readonly eventLog: Pick<EventLog, 'recentDrops' | 'timelines'>
  readonly plugins: Pick<PluginHooks, 'openChannel' | 'releaseDescriptor' | 'closeChannel'>
  readonly rules: RuleEngine
  readonly gateways: {
    listReports(): readonly GatewayReport[]
    request(type: GatewayType, clientId: string, request: GatewayRequest): Promise<GatewayResponse> | undefined
  }
  /** Undefined until the shard accepts clients. */
  readonly bridges:
    | {
        listReports(): readonly BridgeReport[]
        controlSource(source: string, operation: 'start' | 'stop' | 'restart'): void
      }
    | undefined
}
