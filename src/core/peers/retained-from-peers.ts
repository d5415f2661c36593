// Retained messages of other shards, for a session of this shard. Three things may overtake each other: the request, a message
// on its way to its subscribers, and the same message on its way to the shard of its topic. The client must get each message
// exactly once. So every shard first reports how many messages it had sent to each other shard when it learned of the
// subscription:
//
//   published before that    part of the response: the shard of the topic waits until it has all of these
//   published after that     delivered live, and omitted from the response
//
// A message in a response may also be older than a message that was delivered live meanwhile. Then it is skipped.

import { removeFilterPrefix, hasWildcard, type TopicFilter } from '../../protocol/index.ts'
import type { OutputLists } from '../state/output-lists.ts'
import type { Parts } from '../state/parts.ts'
import type { Message } from '../messages/message.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Peer } from '../state/peers/peer.ts'
import type { PeerCount } from '../model/peer-messages.ts'
import type { PeerNumber } from '../model/peer-names.ts'
import type { RetainedMarks, RetainedReplay, RetainedSource } from '../state/sessions/retained-replay-queue.ts'
import type { Session } from '../state/sessions/session.ts'
import type { RetainedMessage } from '../messages/retained-message.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import { addOpenBatch } from '../outgoing/deferred-acks.ts'

/** Maximum number of messages in one response, because they are in memory until they are sent to the client. */
const maxMessagesPerResponse = 100

/**
 * Maximum number of topics with live messages that a waiting session remembers. With more, an older message may follow
 * a newer one.
 */
const maxLiveTopics = 10_000

type RemoteSource = Extract<RetainedSource, { owner: PeerNumber }>

/** Returns the shards whose retained messages may match the filter, this one included. */
export function createRetainedSources(
  state: Parts<'batches' | 'peers' | 'retained' | 'storage'>,
  session: Session,
  filter: TopicFilter,
): RetainedSource[] {
  const bare = removeFilterPrefix(filter)
  const marks = startMarks(state, session)
  const here: RetainedSource = { cursor: state.retained.tree.walkMatching(bare), marks }
  const createPeerSource = ({ number }: Peer): RetainedSource => ({
    owner: number,
    marks,
    requestId: 0,
    isRequested: false,
    hasBegun: false,
  })
  state.peers.awaitRetained(session)
  // Local shards have no retained messages.
  if (hasWildcard(bare)) return [here, ...state.peers.all.filter(({ isLocal }) => !isLocal).map(createPeerSource)]
  const owner = state.peers.findOwner(bare)
  return [owner === undefined ? here : createPeerSource(owner)]
}

/** Returns marks that are complete when every running shard has reported its numbers. */
function startMarks(state: Parts<'batches' | 'peers' | 'retained' | 'storage'>, session: Session): RetainedMarks {
  const marks: RetainedMarks = { sentBy: new Map(), isComplete: false }
  marks.sentBy.set(state.peers.shard.own, toSentCounts(state.peers.countSentToEach()))
  const version = state.peers.interest.nextVersion()
  const barrier = new CommitBarrier()
  let isAwaitingPeers = false
  for (const { link } of state.peers.all) {
    if (link === undefined) continue
    barrier.expect()
    link.awaited.push({ version, barrier, marks })
    isAwaitingPeers = true
  }
  // SUBACK waits for the same barrier and is sent first.
  if (isAwaitingPeers && session.stored !== undefined) addOpenBatch(state, barrier)
  barrier.runWhenComplete(() => {
    marks.isComplete = true
    if (session.retainedReplays !== undefined) state.retained.replaying.add(session)
  })
  barrier.arrive()
  return marks
}

/** Returns the counts by shard. */
export function toSentCounts(counts: readonly PeerCount[]): Map<PeerNumber, number> {
  return new Map(counts.map(({ peer, count }) => [peer, count]))
}

export function hasMarks({ marks }: RetainedSource): boolean {
  return marks.isComplete
}

/** Requests the next messages, unless a request is pending. A request to a failed shard is sent when the shard has restarted. */
export function requestMoreRetained(
  state: Parts<'ids' | 'outputs' | 'peers'>,
  session: Session,
  { scan, source }: { scan: RetainedReplay; source: RemoteSource },
): void {
  const { owner } = source
  if (source.isRequested || state.peers.requirePeer(owner).link === undefined) return
  source.isRequested = true
  const limit = maxMessagesPerResponse
  if (source.hasBegun) {
    const more = { kind: 'retained-request', requestId: source.requestId, filter: undefined, after: [], limit } as const
    state.outputs.peerSends.push({ to: owner, message: more })
    return
  }
  source.requestId = state.ids.nextSerial()
  state.peers.retained.requests.set(source.requestId, { session, scan })
  const after: PeerCount[] = []
  for (const [peer, sent] of source.marks.sentBy) {
    const count = sent.get(owner)
    if (count !== undefined) after.push({ peer, count })
  }
  const { requestId } = source
  state.outputs.peerSends.push({
    to: owner,
    message: { kind: 'retained-request', requestId, filter: removeFilterPrefix(scan.filter), after, limit },
  })
}

/** Returns whether the client has received the message live, or will: the response would be a duplicate, or older. */
export function arrivesLive(
  peers: PeerTable,
  session: Session,
  { scan, message }: { scan: RetainedReplay; message: RetainedMessage },
): boolean {
  if (peers.retained.waiting.get(session)?.has(message.topicName) === true) return true
  const { source } = scan
  const { retainedOrigin: origin } = message
  if (!('cursor' in source) || origin === undefined || !peers.isOfCurrentLink(origin)) return false
  return origin.number > (source.marks.sentBy.get(origin.shard)?.get(peers.shard.own) ?? 0)
}

/** Called when a retained message is delivered to sessions of this shard. Records its topic for sessions that wait for responses. */
export function recordLive(peers: PeerTable, message: Message): void {
  const { name } = message.topic
  for (const [session, known] of peers.retained.waiting) {
    if (session.retainedReplays?.awaitsTopic(name) !== true) continue
    const liveTopics = known ?? new Set<string>()
    if (known === undefined) peers.retained.waiting.set(session, liveTopics)
    if (liveTopics.size < maxLiveTopics) liveTopics.add(name)
  }
}

/** Cancels a request whose response is no longer needed. */
export function cancelRetainedRequest(outputs: OutputLists, peers: PeerTable, { source }: RetainedReplay): void {
  if ('cursor' in source || !peers.retained.requests.delete(source.requestId)) return
  if (peers.requirePeer(source.owner).link === undefined) return
  outputs.peerSends.push({ to: source.owner, message: { kind: 'retained-cancelled', requestId: source.requestId } })
}

export function endRetainedWait(peers: PeerTable, session: Session): void {
  peers.retained.waiting.delete(session)
}

/** Called when a peer has restarted, so that it does not have the requests any more. They start again from the beginning. */
export function repeatRetainedRequests(
  state: Parts<'batches' | 'outputs' | 'peers' | 'retained' | 'storage'>,
  peer: Peer,
): void {
  restartRequests(state, ({ owner }) => owner === peer.number)
}

/**
 * Called when the link of a peer has ended. Owners of topics would wait for messages of the peer that never arrive, so requests that name it
 * and have no response yet start again, without the peer.
 */
export function restartRequestsAfter(
  state: Parts<'batches' | 'outputs' | 'peers' | 'retained' | 'storage'>,
  { number }: Peer,
): void {
  restartRequests(state, ({ hasBegun, marks }) => !hasBegun && marks.sentBy.has(number))
}

/** Called when the numbers are void that `reporter` has reported for the owner `failed`: its link to that shard has ended. */
export function restartVoidRequests(
  state: Parts<'batches' | 'outputs' | 'peers' | 'retained' | 'storage'>,
  { number: reporter }: Peer,
  failed: PeerNumber,
): void {
  restartRequests(
    state,
    ({ hasBegun, marks, owner }) => !hasBegun && owner === failed && marks.sentBy.get(reporter)?.has(failed) === true,
  )
}

function restartRequests(
  state: Parts<'batches' | 'outputs' | 'peers' | 'retained' | 'storage'>,
  isAffected: (source: RemoteSource) => boolean,
): void {
  for (const session of state.peers.retained.waiting.keys()) {
    for (const scan of session.retainedReplays?.all() ?? []) {
      const { source } = scan
      if ('cursor' in source || !isAffected(source)) continue
      cancelRetainedRequest(state.outputs, state.peers, scan)
      source.marks = startMarks(state, session)
      source.isRequested = false
      source.hasBegun = false
    }
  }
}
