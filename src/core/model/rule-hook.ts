// Rules, as far as the core knows them: entries of the match plan, and the interface by which they run and act. The
// language and the actions are not its concern.

import type { QoS, MessageProperties } from '../../protocol/index.ts'
import type { Message } from './message.ts'
import type { RuleTrigger, RuleTriggerKind } from './rule-trigger.ts'

/** A rule that a topic filter leads to. */
export interface MatchedRule {
  readonly id: string
  /** Client IDs of the sessions that store what its actions send. */
  readonly spools: readonly string[]
}

/** A message that a rule publishes. */
export interface RulePublication {
  readonly topic: string
  readonly payload: Buffer
  readonly qos: QoS
  readonly retain: boolean
  readonly properties: MessageProperties | undefined
}

/** Why an action of a rule did nothing. */
export type RuleActionFailure =
  | 'invalid-topic'
  | 'too-large'
  | 'not-available'
  | 'storage-failing'
  | 'receiver-full'
  | 'shard-behind'
  /** The session that stores for the action holds as many messages as it may. */
  | 'spool-full'
  /** There is no such session. */
  | 'no-spool'

/** What the actions of rules do in the core, within the turn of the message that they run for. */
export interface RuleActions {
  /** Publishes a message of its own. It is durable with the message that the rule ran for. Undefined: done. */
  publish(publication: RulePublication): RuleActionFailure | undefined
  /** Stores a message in the session `clientId`, whatever that subscribes to. Undefined: done. */
  spool(clientId: string, publication: RulePublication): RuleActionFailure | undefined
}

/** Runs rules. Must not throw. */
export interface RuleHook {
  /** `message`: as it was published; its bytes may belong to a chunk that is reused after the call. */
  run(rules: readonly MatchedRule[], message: Message, actions: RuleActions): void
  /** Runs rules for triggers, in order. Returns for how many it had time: the others come again. At least one. */
  runTriggers(triggers: readonly RuleTrigger[], actions: RuleActions): number
  /** So many came faster than rules ran for them, and are lost. */
  noteLost(lost: ReadonlyMap<RuleTriggerKind, number>): void
}
