// What topics here remember, for a session of another shard: see retained-from-peers.ts for why an answer waits, and what it
// leaves out.

import { failedAssertion } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import { payloadOf, readAhead, releasePayload, stopReading } from '../retained/retained-reads.ts'
import type { Message } from '../model/message.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Peer } from '../state/peers/peer.ts'
import type { RetainedRequest } from '../state/peers/retained-request.ts'
import type { PeerRetainedResponse, PeerRetainedRequest } from '../model/peer-messages.ts'

/** Topics that one slice looks at, and bytes that one answer holds at most beyond its first message. */
const sliceTopics = 1_000
const maxAnswerBytes = 256 * 1_024

/** A shard that has died counts anew: what it had sent before it is waited for no longer than this. */
const longestWaitMs = 1_000

export const requestKey = ({ number }: Peer, question: number): string => `${number} ${question}`

export function handleRetainedRequest(
  state: BrokerState,
  neighbours: PeerTable,
  peer: Peer,
  { question, filter, after, limit }: PeerRetainedRequest,
): void {
  const key = requestKey(peer, question)
  if (filter !== undefined) {
    const giveUpAtMs = state.nowMs + longestWaitMs
    const cursor = state.retained.matching(filter)
    const asked = {
      peer: peer.number,
      question,
      cursor,
      after,
      giveUpAtMs,
      found: [],
      isAtEnd: false,
      wanted: limit,
      isReading: false,
    }
    neighbours.questions.set(key, asked)
    if (!isReady(state, neighbours, asked)) state.deadlines.set('retained-wait', key, giveUpAtMs)
    return
  }
  const asked = neighbours.questions.get(key)
  if (asked === undefined) throw failedAssertion(`shard ${peer.number} asks for more of what it never asked for`)
  asked.wanted = limit
}

/** Some of what was asked can be answered now. */
export function canAnswer(state: BrokerState, neighbours: PeerTable): boolean {
  for (const asked of neighbours.questions.values()) {
    if (asked.wanted > 0 && !asked.isReading && isReady(state, neighbours, asked)) return true
  }
  return false
}

function isReady(state: BrokerState, neighbours: PeerTable, { after, giveUpAtMs }: RetainedRequest): boolean {
  if (state.nowMs >= giveUpAtMs) return true
  return neighbours.peers.every(({ number, link }) => link === undefined || link.received >= (after[number] ?? 0))
}

/** One slice for each question. */
export function answerRetainedRequests(state: BrokerState, neighbours: PeerTable): void {
  for (const [key, asked] of neighbours.questions) {
    if (asked.wanted === 0 || asked.isReading || !isReady(state, neighbours, asked)) continue
    if (asked.found.length === 0) look(neighbours, asked)
    if (asked.found.length === 0 && !asked.isAtEnd) continue
    const messages = takeFound(state, asked)
    const isEnd = asked.isAtEnd && asked.found.length === 0
    if (asked.isReading && messages.length === 0) continue
    asked.wanted = 0
    state.peerSends.push({
      to: asked.peer,
      message: { kind: 'retained-found', question: asked.question, messages, isEnd },
    })
    if (!isEnd) continue
    cancelRequest(state, neighbours, key)
    state.deadlines.cancel('retained-wait', key)
  }
}

function look(neighbours: PeerTable, asked: RetainedRequest): void {
  const { messages, isEnd } = asked.cursor.next(sliceTopics)
  asked.isAtEnd = isEnd
  asked.found = messages.filter((message) => !neighbours.isNewerThan(message.arrival, asked.after))
}

/**
 * The messages of one answer, or none while one of them is being read (`isReading`). Only where there is no room to read the next
 * one, what is there is given first: it would keep the room that others wait for.
 */
function takeFound(state: BrokerState, asked: RetainedRequest): Message[] {
  const messages: Message[] = []
  let bytes = 0
  let looked = 0
  for (const found of asked.found) {
    if (messages.length >= asked.wanted) break
    if (messages.length > 0 && bytes + found.payloadBytes > maxAnswerBytes) break
    const message = payloadOf(state, found)
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
  for (const found of asked.found.splice(0, looked)) releasePayload(state, asked, found)
  return messages
}

/** It is answered, or nobody waits for the answer any more. */
export function cancelRequest(state: BrokerState, neighbours: PeerTable, key: string): void {
  const asked = neighbours.questions.get(key)
  if (asked === undefined) return
  neighbours.questions.delete(key)
  stopReading(state, asked)
}

/** The shard that asked has died: its questions with it, and what it was asked is asked again when it is back. */
export function dropRetainedRequests(state: BrokerState, neighbours: PeerTable, peer: Peer): void {
  for (const [key, asked] of neighbours.questions) if (asked.peer === peer.number) cancelRequest(state, neighbours, key)
}

export function handleRetainedResponse(
  state: BrokerState,
  neighbours: PeerTable,
  { question, messages, isEnd }: PeerRetainedResponse,
): void {
  const asking = neighbours.asking.get(question)
  if (asking === undefined || 'cursor' in asking.scan.source) return // Its client has gone, or wants it no more.
  const { session, scan } = asking
  asking.scan.source.isAsked = false
  asking.scan.source.hasBegun = true
  scan.found = [...messages]
  scan.isAtEnd = isEnd
  if (isEnd) neighbours.asking.delete(question)
  state.scanning.add(session)
}
