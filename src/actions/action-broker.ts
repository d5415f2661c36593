// What rules, actions and sources use of the broker in which they run. A shard implements it.

import type { AccessControl } from '../access/index.ts'
import type { BrokerView, Command, CommandResult, CountedTopic, MatchedRule, RuleTriggerKind } from '../core/index.ts'
import type { TopicFilter } from '../protocol/index.ts'
import type { ByteStream } from '../transports/index.ts'

export interface ActionBroker {
  readonly view: Pick<BrokerView, 'client' | 'internalSession' | 'waitingForActions' | 'clientsWaitingForActions'>
  readonly access: Pick<AccessControl, 'explain'>
  readonly commands: { run(command: Command): Promise<CommandResult> }
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
  /** Adds an entry to the timelines of publishers that wait for an action. */
  noteWaiting(clientIds: readonly string[], text: string): void
}
