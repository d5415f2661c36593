// Retained messages of this shard for a session of another shard: retained-from-peers.ts says why a response waits and
// what it omits.

import { failedAssertion } from '../../protocol/index.ts'
import type { RetainedState } from '../state/retained-state.ts'
import type { Parts } from '../state/parts.ts'
import { payloadOf, readAhead, releasePayload, stopReading } from '../retained/retained-reads.ts'
import type { Message } from '../model/message.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Peer } from '../state/peers/peer.ts'
import type { RetainedRequest } from '../state/peers/retained-request.ts'
import type { PeerRetainedResponse, PeerRetainedRequest } from '../model/peer-messages.ts'

/** Topics in one slice, and maximum bytes of one response after its first message. */
const sliceTopics = 1_000
const maxResponseBytes = 256 * 1_024

/** Numbers of a failed shard restart at 0. Messages that it sent before are awaited at most this long. */
const maxWaitMs = 1_000

export const requestKey = ({ number }: Peer, requestId: number): string => `${number} ${requestId}`

export function handleRetainedRequest(
  state: Parts<'deadlines' | 'nowMs' | 'retained'>,
  peerTable: PeerTable,
  peer: Peer,
  { requestId, filter, after, limit }: PeerRetainedRequest,
): void {
  const key = requestKey(peer, requestId)
  if (filter !== undefined) {
    const giveUpAtMs = state.nowMs + maxWaitMs
    const cursor = state.retained.tree.matching(filter)
    const asked = {
      peer: peer.number,
      requestId,
      cursor,
      after,
      giveUpAtMs,
      found: [],
      isAtEnd: false,
      wanted: limit,
      isReading: false,
    }
    peerTable.receivedRetainedRequests.set(key, asked)
    if (!isReady(state.nowMs, peerTable, asked)) state.deadlines.set('retained-wait', key, giveUpAtMs)
    return
  }
  const asked = peerTable.receivedRetainedRequests.get(key)
  if (asked === undefined) throw failedAssertion(`shard ${peer.number} asks for more of what it never asked for`)
  asked.wanted = limit
}

/** Returns whether a response to a waiting request can be sent now. */
export function hasReadyRequest(nowMs: number, peerTable: PeerTable): boolean {
  for (const asked of peerTable.receivedRetainedRequests.values()) {
    if (asked.wanted > 0 && !asked.isReading && isReady(nowMs, peerTable, asked)) return true
  }
  return false
}

function isReady(nowMs: number, peerTable: PeerTable, { after, giveUpAtMs }: RetainedRequest): boolean {
  if (nowMs >= giveUpAtMs) return true
  return peerTable.peers.every(({ number, link }) => link === undefined || link.received >= (after[number] ?? 0))
}

/** Sends one slice for each request. */
export function sendRetainedResponses(
  state: Parts<'deadlines' | 'nowMs' | 'outputs' | 'requests' | 'retained'>,
  peerTable: PeerTable,
): void {
  for (const [key, asked] of peerTable.receivedRetainedRequests) {
    if (asked.wanted === 0 || asked.isReading || !isReady(state.nowMs, peerTable, asked)) continue
    if (asked.found.length === 0) look(peerTable, asked)
    if (asked.found.length === 0 && !asked.isAtEnd) continue
    const messages = takeFound(state, asked)
    const isEnd = asked.isAtEnd && asked.found.length === 0
    if (asked.isReading && messages.length === 0) continue
    asked.wanted = 0
    state.outputs.peerSends.push({
      to: asked.peer,
      message: { kind: 'retained-found', requestId: asked.requestId, messages, isEnd },
    })
    if (!isEnd) continue
    cancelRequest(state.retained, peerTable, key)
    state.deadlines.cancel('retained-wait', key)
  }
}

function look(peerTable: PeerTable, asked: RetainedRequest): void {
  const { messages, isEnd } = asked.cursor.next(sliceTopics)
  asked.isAtEnd = isEnd
  asked.found = messages.filter((message) => !peerTable.isNewerThan(message.retainedOrigin, asked.after))
}

/**
 * Returns the messages of one response, or none while one of them is being read (`isReading`). If there is no memory to
 * read the next one, the messages found so far are sent first, because they occupy memory that other requests wait for.
 */
function takeFound(state: Parts<'outputs' | 'requests' | 'retained'>, asked: RetainedRequest): Message[] {
  const messages: Message[] = []
  let bytes = 0
  let looked = 0
  for (const found of asked.found) {
    if (messages.length >= asked.wanted) break
    if (messages.length > 0 && bytes + found.payloadBytes > maxResponseBytes) break
    const message = payloadOf(state.retained, found)
    if (message === 'waits') {
      const isComing = readAhead(state, asked, asked.found, looked)
      asked.isReading = isComing || messages.length === 0
      if (isComing) return []
      break
    }
    looked++
    if (message === 'stale') continue
    bytes += message.payloadBytes
    messages.push(message)
  }
  for (const found of asked.found.splice(0, looked)) releasePayload(state.retained, asked, found)
  return messages
}

/** Removes a request that is complete or cancelled. */
export function cancelRequest(retained: RetainedState, peerTable: PeerTable, key: string): void {
  const asked = peerTable.receivedRetainedRequests.get(key)
  if (asked === undefined) return
  peerTable.receivedRetainedRequests.delete(key)
  stopReading(retained, asked)
}

/** The shard that asked has failed: its requests are removed. Requests to it are sent again when it is back. */
export function dropRetainedRequests(retained: RetainedState, peerTable: PeerTable, peer: Peer): void {
  for (const [key, asked] of peerTable.receivedRetainedRequests)
    if (asked.peer === peer.number) cancelRequest(retained, peerTable, key)
}

export function handleRetainedResponse(
  retained: RetainedState,
  peerTable: PeerTable,
  { requestId, messages, isEnd }: PeerRetainedResponse,
): void {
  const asking = peerTable.retainedRequests.get(requestId)
  if (asking === undefined || 'cursor' in asking.scan.source) return // The client disconnected or unsubscribed.
  const { session, scan } = asking
  asking.scan.source.isRequested = false
  asking.scan.source.hasBegun = true
  scan.found = [...messages]
  scan.isAtEnd = isEnd
  if (isEnd) peerTable.retainedRequests.delete(requestId)
  retained.replaying.add(session)
}
