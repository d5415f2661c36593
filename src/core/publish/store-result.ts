// Results of rules whose message is not published again after a failure: a QoS 2 message, whose repeated PUBLISH is a duplicate, a will,
// and a delayed message. A result has records until the other shards have it:
//
//   PUBLISH ──► rule ──► result ──► [ record of a published will: subscribers and retained topic ] ──► commit ──► shards 1 and 2
//                               ──► [ handoff record: one member of a group ] ─────────────────────► commit ──► shard 2
//
// Both are in the batch of the message. They are sent after it, so that a message that is published again (its batch was lost) does not
// meet an earlier result of itself on another shard. After a restart, they are sent again as wills and handoffs are.

import type { RemainingReceivers } from '../../records/index.ts'
import type { Message } from '../messages/message.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import type { PeerPublish } from '../model/peer-messages.ts'
import { reserveDelayedName } from '../namespaces/internal-session-names.ts'
import type { Parts, ReleaseParts } from '../state/parts.ts'
import type { KeptHandoffs } from '../delivery/peer-deliveries.ts'
import { createOnceKey, storeUntilCommitted } from './stored-wills.ts'

export interface KeptResult extends KeptHandoffs {
  /** Name of its record. */
  readonly name: string
  readonly onceKey: PeerPublish['exactlyOnce']
  /** Barrier of the message for which the rule runs; undefined if that message does not wait for its results. */
  readonly outer: CommitBarrier | undefined
}

/** A delayed message that is published. Its record exists, and no acknowledgement waits for it. */
export function createKeptResult(name: string, onceKey: KeptResult['onceKey']): KeptResult {
  return { name, onceKey, outer: undefined, handoffs: [] }
}

/** Call it before the result is routed. */
export function beginResult({ ids, peers, rules }: Parts<'ids' | 'peers' | 'rules'>, message: Message): KeptResult {
  const outer = peers.takeBarrier()
  const name = reserveDelayedName(ids, '')
  return {
    name,
    onceKey: createOnceKey(name, message),
    outer: rules.resultsOf === 'publisher' ? (outer ?? new CommitBarrier()) : outer,
    handoffs: [],
  }
}

/** Stores the result until all peers have it. Call it when the result was routed, and before its own rules run. */
export function storeResult(
  state: ReleaseParts & Parts<'memory' | 'nowMs' | 'router' | 'rules' | 'wills'>,
  message: Message,
  { name, outer, handoffs }: KeptResult,
): void {
  const own = state.peers.currentBarrier
  // Its publisher waits for the other shards, so that it does not publish faster than they store.
  if (state.rules.resultsOf === 'publisher')
    for (const barrier of own === undefined ? handoffs : [...handoffs, own]) {
      outer?.expect()
      barrier.runWhenComplete(() => outer?.arrive())
    }
  if (own !== undefined) storeUntilCommitted(state, name, message, createRemainingReceivers(state, message))
  state.peers.currentBarrier = outer
}

/** Groups have records of their own. Subscribers of other shards that come later must not get the message after newer ones. */
function createRemainingReceivers(
  { peers, router }: Parts<'peers' | 'router'>,
  { topic }: Message,
): RemainingReceivers {
  const { shard } = peers
  const { peerMatches } = router.resolvePlan(topic)
  return {
    // A record names no local shard: after a restart, the result is not sent again to subscribers there.
    subscribersOf: peerMatches
      .filter(({ peer }) => !peer.isLocal)
      .map(({ peer }) => ({ shard: peer.number, of: shard.count })),
    doneOn: [{ shard: shard.own, of: shard.count }],
    groups: [],
    doneGroups: [],
    isDoneHere: true,
  }
}
