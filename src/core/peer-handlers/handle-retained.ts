// Retained messages of this shard for a session of another shard: retained-from-peers.ts says why a response waits and
// what it omits.

import { createAssertionError } from '../../protocol/index.ts'
import type { RetainedState } from '../state/retained-state.ts'
import type { Parts } from '../state/parts.ts'
import { resolveRetainedMessage, readAhead, releasePayload, stopReading } from '../retained/retained-reads.ts'
import { toSentCounts } from '../peers/retained-from-peers.ts'
import type { Message } from '../messages/message.ts'
import type { RetainedMessage } from '../messages/retained-message.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Peer } from '../state/peers/peer.ts'
import type { RetainedRequest } from '../state/peers/retained-request.ts'
import type { PeerRetainedResponse, PeerRetainedRequest } from '../model/peer-messages.ts'

/** Topics in one slice, and maximum bytes of one response after its first message. */
const sliceTopics = 1_000
const maxResponseBytes = 256 * 1_024

/** Numbers of a failed shard restart at 0. Messages that it sent before are awaited at most this long. */
const maxWaitMs = 1_000

export const toRequestKey = ({ number }: Peer, requestId: number): string => `${number} ${requestId}`

export function handleRetainedRequest(
  state: Parts<'deadlines' | 'nowMs' | 'peers' | 'retained'>,
  peer: Peer,
  { requestId, filter, after, limit }: PeerRetainedRequest,
): void {
  const key = toRequestKey(peer, requestId)
  if (filter !== undefined) {
    const deadlineAtMs = state.nowMs + maxWaitMs
    const cursor = state.retained.tree.walkMatching(filter)
    const request = {
      peer: peer.number,
      requestId,
      cursor,
      after: toSentCounts(after),
      deadlineAtMs,
      found: [],
      isAtEnd: false,
      requested: limit,
      isReading: false,
    }
    state.peers.retained.received.set(key, request)
    if (!isReady(state.nowMs, state.peers, request)) state.deadlines.set('retained-wait', key, deadlineAtMs)
    return
  }
  const request = state.peers.retained.received.get(key)
  if (request === undefined)
    throw createAssertionError(`shard ${peer.number} requests more messages of an unknown request`)
  request.requested = limit
}

/** Returns whether a response to a waiting request can be sent now. */
export function hasReadyRequest(nowMs: number, peers: PeerTable): boolean {
  for (const request of peers.retained.received.values()) {
    if (request.requested > 0 && !request.isReading && isReady(nowMs, peers, request)) return true
  }
  return false
}

function isReady(nowMs: number, peers: PeerTable, { after, deadlineAtMs }: RetainedRequest): boolean {
  if (nowMs >= deadlineAtMs) return true
  return peers.all.every(({ number, link }) => link === undefined || link.received >= (after.get(number) ?? 0))
}

/** Sends one slice for each request. */
export function sendRetainedResponses(
  state: Parts<'deadlines' | 'nowMs' | 'outputs' | 'peers' | 'requests' | 'retained'>,
): void {
  for (const [key, request] of state.peers.retained.received) {
    if (request.requested === 0 || request.isReading || !isReady(state.nowMs, state.peers, request)) continue
    if (request.found.length === 0) findNextMessages(state.peers, request)
    if (request.found.length === 0 && !request.isAtEnd) continue
    const messages = takeFound(state, request)
    const isEnd = request.isAtEnd && request.found.length === 0
    if (request.isReading && messages.length === 0) continue
    request.requested = 0
    state.outputs.peerSends.push({
      to: request.peer,
      message: { kind: 'retained-response', requestId: request.requestId, messages, isEnd },
    })
    if (!isEnd) continue
    cancelRequest(state.retained, state.peers, key)
    state.deadlines.cancel('retained-wait', key)
  }
}

function findNextMessages(peers: PeerTable, request: RetainedRequest): void {
  const { messages, isEnd } = request.cursor.next(sliceTopics)
  request.isAtEnd = isEnd
  request.found = messages.filter((message) => !isSentLater(peers, request, message))
}

/** Returns whether the message was published after its shard had sent the number in `after`. */
function isSentLater(
  peers: PeerTable,
  { after }: RetainedRequest,
  { retainedOrigin: origin }: RetainedMessage,
): boolean {
  return origin !== undefined && peers.isOfCurrentLink(origin) && origin.number > (after.get(origin.shard) ?? 0)
}

/**
 * Returns the messages of one response, or none while one of them is being read (`isReading`). If there is no memory to
 * read the next one, the messages found so far are sent first, because they occupy memory that other requests wait for.
 */
function takeFound(state: Parts<'outputs' | 'requests' | 'retained'>, request: RetainedRequest): Message[] {
  const messages: Message[] = []
  let bytes = 0
  let looked = 0
  for (const found of request.found) {
    if (messages.length >= request.requested) break
    if (messages.length > 0 && bytes + found.payloadBytes > maxResponseBytes) break
    const message = resolveRetainedMessage(state.retained, found)
    if (message === 'waits') {
      const isComing = readAhead(state, request, request.found, looked)
      request.isReading = isComing || messages.length === 0
      if (isComing) return []
      break
    }
    looked++
    if (message === 'stale') continue
    bytes += message.payloadBytes
    messages.push(message)
  }
  for (const found of request.found.splice(0, looked)) releasePayload(state.retained, request, found)
  return messages
}

/** Removes a request that is complete or cancelled. */
export function cancelRequest(retained: RetainedState, peers: PeerTable, key: string): void {
  const request = peers.retained.received.get(key)
  if (request === undefined) return
  peers.retained.received.delete(key)
  stopReading(retained, request)
}

/** The requesting shard has failed: its requests are removed. Requests to it are sent again when it is back. */
export function dropRetainedRequests(retained: RetainedState, peers: PeerTable, peer: Peer): void {
  for (const [key, request] of peers.retained.received)
    if (request.peer === peer.number) cancelRequest(retained, peers, key)
}

export function handleRetainedResponse(
  retained: RetainedState,
  peers: PeerTable,
  { requestId, messages, isEnd }: PeerRetainedResponse,
): void {
  const pending = peers.retained.requests.get(requestId)
  if (pending === undefined || 'cursor' in pending.scan.source) return // The client disconnected or unsubscribed.
  const { session, scan } = pending
  pending.scan.source.isRequested = false
  pending.scan.source.hasBegun = true
  scan.found = [...messages]
  scan.isAtEnd = isEnd
  if (isEnd) peers.retained.requests.delete(requestId)
  retained.replaying.add(session)
}
