// Rules, as the core knows them: entries of the match plan, and the interface through which they run and act. The rule
// language and the actions are in other modules.

import type { QoS, MessageProperties } from '../../protocol/index.ts'
import type { Message } from '../messages/message.ts'
import type { RuleTrigger, RuleTriggerKind } from './rule-trigger.ts'

/** A rule that a topic filter leads to. */
export interface MatchedRule {
  readonly id: string
  /** Client IDs of the action queues that its actions use. */
  readonly actionQueues: readonly string[]
}

/** A message that a rule publishes. */
export interface RulePublication {
  readonly topic: string
  readonly payload: Buffer
  readonly qos: QoS
  readonly retain: boolean
  readonly properties: MessageProperties | undefined
  /** An event of the broker (`event_message`), to a topic below `$event/` that rules cannot publish to. */
  readonly isEvent?: boolean
}

/** Reason why an action of a rule failed. */
export type RuleActionFailure =
  | 'invalid-topic'
  /** Too many rules led to the message, one after the other. */
  | 'too-deep'
  | 'too-large'
  | 'not-available'
  | 'storage-failing'
  | 'receiver-full'
  | 'shard-behind'
  /** The action queue is full. */
  | 'action-queue-full'
  /** The session does not exist. */
  | 'no-action-queue'

/** Effects of rule actions in the core, within the turn of the message that triggered the rule. */
export interface RuleActions {
  /** Number of rules, one after the other, that have led to this run: 1 for a message of a client, 0 for an event. */
  readonly depth: number
  /**
   * Publishes a message. It becomes durable together with the triggering message. Returns undefined if it succeeded.
   */
  publish(publication: RulePublication): RuleActionFailure | undefined
  /** Stores a message in the session `clientId`, whatever that subscribes to. Returns undefined if it succeeded. */
  storeInActionQueue(clientId: string, publication: RulePublication): RuleActionFailure | undefined
}

export interface RuleHook {
  /**
   * Runs the rules for `message`, as it was published. Its bytes may be in a chunk that is used again after the call. Returns the work in
   * steps that cost as much as many messages (`BrokerCore.costlySteps`), if it is not a part of another call.
   */
  run(rules: readonly MatchedRule[], message: Message, actions: RuleActions): number
  /**
   * Runs rules for triggers, in order. Returns the number handled in the available time, at least one. The others are
   * passed again later.
   */
  runTriggers(triggers: readonly RuleTrigger[], actions: RuleActions): number
  /** Reports triggers that were dropped because they arrived faster than rules ran. */
  recordLost(lost: ReadonlyMap<RuleTriggerKind, number>): void
}

/** A topic whose messages are counted: an entry of the match plan, as a rule is. Only such topics pay for it. */
export class CountedTopic implements MatchedRule {
  /** The topic. */
  readonly id: string
  readonly actionQueues: readonly string[] = []
  /** Messages that were published to it on this shard, by their QoS. */
  readonly published: [number, number, number] = [0, 0, 0]
  /** Messages that were sent to subscribers of this shard, by the QoS of the delivery. */
  readonly sent: [number, number, number] = [0, 0, 0]
  /** Messages without any receiver. */
  dropped = 0

  constructor(topic: string) {
    this.id = topic
  }

  reset(): void {
    this.published.fill(0)
    this.sent.fill(0)
    this.dropped = 0
  }
}
