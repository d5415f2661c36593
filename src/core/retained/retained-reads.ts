// Reads large retained messages from disk for the sessions and shards that need them. `sessions/retained-payloads.ts`
// limits their memory.

import { createAssertionError } from '../../protocol/index.ts'
import type { Parts } from '../state/parts.ts'
import type { RetainedReader, RetainedState } from '../state/retained-state.ts'
import { createMessageFromStored, type Message } from '../messages/message.ts'
import type { StoredMessage } from '../../records/index.ts'
import { Session } from '../state/sessions/session.ts'
import { StoredRetained, toMessage, type RetainedMessage } from '../messages/retained-message.ts'

/**
 * Maximum bytes that one reader requests in advance, except for a single larger message. One message at a time would
 * cost a turn for each.
 */
const maxAheadBytes = 256 * 1_024
const maxAheadMessages = 64

/** Returns the message, `stale` if it was replaced or deleted, or `waits` if it must be read first. */
export function resolveRetainedMessage(
  { tree, payloads }: RetainedState,
  found: RetainedMessage,
): Message | 'stale' | 'waits' {
  if (!(found instanceof StoredRetained)) return toMessage(found)
  // Replaced or deleted meanwhile: a new message is delivered separately.
  if (tree.get(found.topicName) !== found) return 'stale'
  const message = payloads.get(found)
  return message === 'lost' ? 'stale' : (message ?? 'waits')
}

/**
 * Requests the next messages from `first` on. Returns false if there is no memory for the first; the reader is woken
 * later.
 */
export function readAhead(
  state: Parts<'outputs' | 'requests' | 'retained'>,
  reader: RetainedReader,
  found: readonly RetainedMessage[],
  first: number,
): boolean {
  let bytes = 0
  for (let index = first; index < found.length && index - first < maxAheadMessages; index++) {
    const one = found[index]
    if (!(one instanceof StoredRetained) || resolveRetainedMessage(state.retained, one) !== 'waits') continue
    if (bytes > 0 && bytes + one.size > maxAheadBytes) break
    bytes += one.size
    const wanted = state.retained.payloads.addReader(one, reader)
    if (wanted === 'full') return index > first
    if (wanted === 'not-requested') requestPayload(state, one)
  }
  return true
}

function requestPayload(state: Parts<'outputs' | 'requests'>, retained: StoredRetained): void {
  const requestId = state.requests.add({ for: 'retained', retained })
  state.outputs.requests.push({ kind: 'load-message', requestId, of: { kind: 'retained', topic: retained.topicName } })
}

/** Handles the response to `load-message`; undefined if the record is damaged, which the store reported. */
export function handleRetainedRead(
  retained: RetainedState,
  retainedMessage: StoredRetained,
  stored: StoredMessage | undefined,
): void {
  const isPresent = retained.tree.get(retainedMessage.topicName) === retainedMessage
  // Memory is never behind the disk: what is read for the current message is this message.
  if (isPresent && stored !== undefined && stored.payload.length !== retainedMessage.payloadBytes)
    throw createAssertionError(`the retained message of ${retainedMessage.topicName} on disk is another one`)
  const message = stored === undefined ? undefined : createMessageFromStored(stored, retainedMessage.topic)
  wake(retained, retained.payloads.recordRead(retainedMessage, message))
  wakeNextReader(retained)
}

/** The message of the topic was replaced or deleted. */
export function forgetPayload(retained: RetainedState, retainedMessage: StoredRetained): void {
  wake(retained, retained.payloads.forget(retainedMessage))
  wakeNextReader(retained)
}

/** The reader needs nothing for now. */
export function stopReading(retained: RetainedState, reader: RetainedReader): void {
  retained.payloads.removeReader(reader)
  wakeNextReader(retained)
}

/** The reader has the message, or no longer needs it. */
export function releasePayload({ payloads }: RetainedState, reader: RetainedReader, found: RetainedMessage): void {
  if (found instanceof StoredRetained) payloads.release(found, reader)
}

export function wakeNextReader(retained: RetainedState): void {
  wake(retained, retained.payloads.takeInLine())
}

function wake({ replaying }: RetainedState, readers: readonly RetainedReader[]): void {
  for (const reader of readers) {
    if (reader instanceof Session) replaying.add(reader)
    else reader.isReading = false
  }
}
