// What topics of other shards remember, for a session here. Three things may cross: the question, a message on its way to
// its subscribers, and the same message on its way to the shard of its topic. So that the client misses none and has none
// twice every shard says first how much it had sent to each other one when it learned of the subscription:
//
//   published before that    given with the answer: the topic's shard waits until it has all of these
//   published after that     heard live, and left out of the answer
//
// And an answer may be older than what the client has heard live meanwhile: then it is passed over.

import { bareFilter, hasWildcard, type TopicFilter } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Message } from '../model/message.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Peer } from '../state/peers/peer.ts'
import { ownerOf, type PeerNumber } from '../model/peer-messages.ts'
import type { RetainedMarks, RetainedReplay, RetainedSource } from '../state/sessions/retained-replay-queue.ts'
import type { Session } from '../state/sessions/session.ts'
import type { RetainedMessage } from '../model/retained-message.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import { deferUntilBatch } from '../outgoing/deferred-acks.ts'

/** So many messages in one answer at most: they wait in memory until the client takes them. */
const maxAskedAtOnce = 100

/** So many topics of which a session has heard live while it waits; of more an older message may come behind a newer. */
const maxLiveTopics = 10_000

type RemoteSource = Extract<RetainedSource, { owner: PeerNumber }>

/** Here and elsewhere, as the filter may match. */
export function sourcesOf(
  state: BrokerState,
  peerTable: PeerTable,
  session: Session,
  filter: TopicFilter,
): RetainedSource[] {
  const { own, count } = peerTable.shard
  const bare = bareFilter(filter)
  const marks = startMarks(state, peerTable, session)
  const here: RetainedSource = { cursor: state.retained.matching(bare), marks, begunAfter: 0 }
  const away = (owner: PeerNumber): RetainedSource => ({ owner, marks, question: 0, isAsked: false, hasBegun: false })
  peerTable.waitingForRetained.add(session)
  if (hasWildcard(bare)) return [here, ...peerTable.peers.map(({ number }) => away(number))]
  const owner = ownerOf(bare, count)
  return [owner === own ? here : away(owner)]
}

/** Complete when every shard that is there has said how far it was. */
function startMarks(state: BrokerState, peerTable: PeerTable, session: Session): RetainedMarks {
  const marks: RetainedMarks = { sentBy: Array.from({ length: peerTable.shard.count }), isComplete: false }
  marks.sentBy[peerTable.shard.own] = peerTable.sentToEach()
  const version = peerTable.interest.nextVersion()
  const barrier = new CommitBarrier()
  for (const { link } of peerTable.peers) {
    if (link === undefined) continue
    barrier.expect()
    link.awaited.push({ version, barrier, marks })
  }
  // SUBACK waits for the same, and comes first.
  if (session.stored !== undefined) deferUntilBatch(state, barrier)
  barrier.whenComplete(() => {
    marks.isComplete = true
    if (session.retainedReplays !== undefined) state.replaying.add(session)
  })
  barrier.arrive()
  return marks
}

export function hasMarks({ marks }: RetainedSource): boolean {
  return marks === undefined || marks.isComplete
}

/** Asks for the next messages, if that has not been done. One that is away is asked when it is back. */
export function askForMore(
  state: BrokerState,
  peerTable: PeerTable,
  session: Session,
  { scan, source }: { scan: RetainedReplay; source: RemoteSource },
): void {
  const { owner } = source
  if (source.isAsked || peerTable.peer(owner).link === undefined) return
  source.isAsked = true
  const limit = maxAskedAtOnce
  if (source.hasBegun) {
    const more = { kind: 'retained-wanted', question: source.question, filter: undefined, after: [], limit } as const
    state.peerSends.push({ to: owner, message: more })
    return
  }
  source.question = state.nextSerial()
  peerTable.retainedRequests.set(source.question, { session, scan })
  const after = source.marks.sentBy.map((sent) => sent?.[owner] ?? 0)
  const { question } = source
  state.peerSends.push({
    to: owner,
    message: { kind: 'retained-wanted', question, filter: bareFilter(scan.filter), after, limit },
  })
}

/** The client has heard it, or will: its answer would be the second, or older. */
export function arrivesLive(
  peerTable: PeerTable,
  session: Session,
  { scan, message }: { scan: RetainedReplay; message: RetainedMessage },
): boolean {
  if (session.liveTopics?.has(message.topicName) === true) return true
  const { source } = scan
  if (!('cursor' in source) || source.marks === undefined) return false
  const { own } = peerTable.shard
  const after = source.marks.sentBy.map((sent) => sent?.[own] ?? 0)
  return peerTable.isNewerThan(message.retainedOrigin, after)
}

/** A message that its topic remembers is on its way to the sessions here. */
export function recordLive(peerTable: PeerTable, message: Message): void {
  const { name } = message.topic
  for (const session of peerTable.waitingForRetained) {
    if (session.retainedReplays?.awaits(name) !== true) continue
    session.liveTopics ??= new Set()
    if (session.liveTopics.size < maxLiveTopics) session.liveTopics.add(name)
  }
}

/** Nobody waits for the answer any more. */
export function cancelRetainedRequest(state: BrokerState, peerTable: PeerTable, { source }: RetainedReplay): void {
  if ('cursor' in source || !peerTable.retainedRequests.delete(source.question)) return
  if (peerTable.peer(source.owner).link === undefined) return
  state.peerSends.push({ to: source.owner, message: { kind: 'retained-cancelled', question: source.question } })
}

export function endRetainedWait(peerTable: PeerTable, session: Session): void {
  peerTable.waitingForRetained.delete(session)
  session.liveTopics = undefined
}

/** A shard is back, and knows of no question: those to it are put from their beginning. */
export function repeatRetainedRequests(state: BrokerState, peerTable: PeerTable, peer: Peer): void {
  for (const session of peerTable.waitingForRetained) {
    for (const { source } of session.retainedReplays?.all() ?? []) {
      if ('cursor' in source || source.owner !== peer.number) continue
      peerTable.retainedRequests.delete(source.question)
      source.marks = startMarks(state, peerTable, session)
      source.isAsked = false
      source.hasBegun = false
    }
  }
}
