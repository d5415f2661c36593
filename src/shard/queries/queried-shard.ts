// The part of a shard that queries of the node read. A shard provides it; the handlers of queries know nothing else of a shard.

import type { AccessControl } from '../../access/index.ts'
import type { BrokerCore } from '../../core/index.ts'
import type { PendingCommands } from '../runtime/pending-commands.ts'
import type { EventLog } from '../observe/event-log.ts'
import type { BridgeReport } from '../messages/bridge-assignment.ts'

export interface QueriedShard {
  readonly core: BrokerCore
  readonly access: Pick<AccessControl, 'explain' | 'flapping'>
  readonly commands: Pick<PendingCommands, 'run'>
  readonly eventLog: Pick<EventLog, 'ledger' | 'timelines'>
  /** Undefined until the shard accepts clients. */
  readonly bridges: { reports(): readonly BridgeReport[] } | undefined
}
