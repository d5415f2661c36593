// Retained messages of this shard for a session of another shard: retained-from-peers.ts says why a response waits and
// what it omits.

import type { RetainedState } from '../state/retained-state.ts'
import type { Parts } from '../state/parts.ts'
import { resolveRetainedMessage, readAhead, releasePayload, stopReading } from '../retained/retained-reads.ts'
import { toSentCounts } from '../peers/retained-from-peers.ts'
import type { Message } from '../messages/message.ts'
import type { RetainedMessage } from '../messages/retained-message.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { LinkState, Peer } from '../state/peers/peer.ts'
import type { RetainedRequest } from '../state/peers/retained-request.ts'
import type { PeerRetainedResponse, PeerRetainedRequest } from '../model/peer-messages.ts'

/** Topics in one slice, and maximum bytes of one response after its first message. */
const sliceTopics = 1_000
const maxResponseBytes = 256 * 1_024

export function handleRetainedRequest(
  retained: RetainedState,
  peer: Peer,
  { requestId, filter, after, limit }: PeerRetainedRequest,
): void {
  const requests = peer.link?.retainedRequests
  if (filter !== undefined) {
    const request = {
      peer: peer.number,
      requestId,
      cursor: retained.tree.walkMatching(filter),
      after: toSentCounts(after),
      found: [],
      isAtEnd: false,
      requested: limit,
      isReading: false,
    }
    requests?.set(requestId, request)
    return
  }
  const request = requests?.get(requestId)
  if (request !== undefined) request.requested = limit
}

/** Returns whether a response to a waiting request can be sent now. */
export function hasReadyRequest(peers: PeerTable): boolean {
  for (const { link } of peers.all) {
    if (link === undefined || link.retainedRequests.size === 0) continue
    for (const request of link.retainedRequests.values())
      if (request.requested > 0 && !request.isReading && isReady(peers, request)) return true
  }
  return false
}

/**
 * A request waits for messages that its peer has named. It does not wait for a shard whose link has ended (`dropAwaitedMessages`), or for a local
 * shard that has left.
 */
function isReady(peers: PeerTable, { after }: RetainedRequest): boolean {
  for (const [number, count] of after) {
    const peer = peers.find(number)
    if (peer !== undefined && (peer.link?.received ?? 0) < count) return false
  }
  return true
}

/** The link of the peer has ended, and everything that it had sent was handled: no request waits for it any more. */
export function dropAwaitedMessages({ all }: PeerTable, { number }: Peer): void {
  for (const { link } of all) for (const { after } of link?.retainedRequests.values() ?? []) after.delete(number)
}

/** Sends one slice for each request. */
export function sendRetainedResponses(state: Parts<'outputs' | 'peers' | 'requests' | 'retained'>): void {
  for (const { link } of state.peers.all) {
    if (link === undefined) continue
    for (const request of link.retainedRequests.values()) {
      if (request.requested === 0 || request.isReading || !isReady(state.peers, request)) continue
      if (sendResponse(state, request)) cancelRequest(state.retained, link, request.requestId)
    }
  }
}

/** Sends the next slice, if there is one. Returns whether it was the last. */
function sendResponse(state: Parts<'outputs' | 'peers' | 'requests' | 'retained'>, request: RetainedRequest): boolean {
  if (request.found.length === 0) findNextMessages(state.peers, request)
  if (request.found.length === 0 && !request.isAtEnd) return false
  const messages = takeFound(state, request)
  const isEnd = request.isAtEnd && request.found.length === 0
  if (request.isReading && messages.length === 0) return false
  request.requested = 0
  state.outputs.peerSends.push({
    to: request.peer,
    message: { kind: 'retained-response', requestId: request.requestId, messages, isEnd },
  })
  return isEnd
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
export function cancelRequest(retained: RetainedState, { retainedRequests }: LinkState, requestId: number): void {
  const request = retainedRequests.get(requestId)
  if (request === undefined) return
  retainedRequests.delete(requestId)
  stopReading(retained, request)
}

/** The requesting shard has failed: its requests are removed, one with each step. Requests to it are sent again when it is back. */
export function* dropRetainedRequests(retained: RetainedState, link: LinkState): Generator<void> {
  for (const requestId of link.retainedRequests.keys()) {
    cancelRequest(retained, link, requestId)
    yield
  }
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
