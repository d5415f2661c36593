// What rules, actions and sources use of the broker in which they run. A shard implements it.

import type { AccessControl } from '../access/index.ts'
import type {
  BrokerView,
  Command,
  CommandResult,
  CountedTopic,
  MatchedRule,
  PeerNumber,
  RuleTriggerKind,
} from '../core/index.ts'
import type { PacketLimits, TopicFilter } from '../protocol/index.ts'
import type { AlarmName, Log } from '../telemetry/index.ts'
import type { ByteStream } from '../transports/index.ts'
import type { StoredValueChange } from './plan/rule-plan.ts'

export interface ActionBroker {
  readonly nodeName: string
  readonly dataDirectory: string
  /** Number of this shard. */
  readonly own: PeerNumber
  /** Number of shards. */
  readonly shards: number
  readonly log: Log
  readonly view: Pick<
    BrokerView,
    'findClient' | 'findInternalSession' | 'waitingForActions' | 'listClientsWaitingForActions'
  >
  readonly access: Pick<AccessControl, 'explain'>
  readonly commands: { run(command: Command): Promise<CommandResult> }
  nowMs(): number
  /** Limits of clients' packets. */
  limits(): PacketLimits
  /** Opens a connection of a client inside the broker. */
  openConnection(stream: ByteStream): void
  /** Returns the client IDs of the sessions of this shard with this prefix. Searches in slices, between turns. */
  findSessions(prefix: string): Promise<readonly string[]>
  /** Replaces the rules, the events for which rules run, and the counted topics by name; `rules` contains these topics too. */
  setRules(
    rules: readonly (readonly [filter: TopicFilter, rule: MatchedRule])[],
    triggers: ReadonlySet<RuleTriggerKind>,
    countedTopics: ReadonlyMap<string, CountedTopic>,
  ): void
  /** Sends changed values of `kv_store_*` to the main thread, which passes them to all shards. */
  sendStoredValues(changes: readonly StoredValueChange[]): void
  /** Adds an entry to the timelines of publishers that wait for an action. */
  recordWaiting(clientIds: readonly string[], text: string): void
  raiseAlarm(name: AlarmName, message: string): void
  endAlarm(name: AlarmName, message: string): void
  /** Reports an internal error, which ends the shard. */
  fail(error: unknown): void
}
