// Memory of messages on their way to clients, counted for the session, for its in-flight window and for the shard.
//
//   hold ──> delivery.heldBytes ──> outgoing.heldBytes ──> account 'queues'
//                    '── while it is in flight ──> window.bytes
//
// A delivery is counted from the moment when it outlives its turn until it is deleted or is on disk only. A message queued for
// several sessions counts for each of them, and once for the shard.

import type { MessageProperties } from '../../protocol/index.ts'
import { memoryColumns, type MemoryAccount } from '../model/memory-account.ts'
import type { Message } from '../messages/message.ts'
import type { Session, SessionDelivery } from '../state/sessions/session.ts'

/** A delivery with its list entries. */
export const deliveryBytes = 192
/** A message without its bytes. */
const messageBytes = 256
/** A user property without its characters. */
const pairBytes = 96

const { queues } = memoryColumns

/** Returns the memory of a queued message: its bytes, its properties, its object. */
export function measureMessageMemory(message: Message): number {
  const bytes = message.frameEnd - message.frameStart + messageBytes
  return message.properties === undefined ? bytes : bytes + measurePropertiesMemory(message.properties)
}

/** Starts counting a delivery. Does nothing if it is counted already. */
export function allocateDelivery(
  memory: MemoryAccount,
  session: Session,
  delivery: SessionDelivery,
  message: Message,
): void {
  if (delivery.heldBytes !== 0) return
  const heldBytes = measureMessageMemory(message) + deliveryBytes
  delivery.heldBytes = heldBytes
  session.outgoing.heldBytes += heldBytes
  memory.cells[queues] += message.holders++ === 0 ? heldBytes : deliveryBytes
}

/** Stops counting a delivery that is not in the in-flight window. Does nothing if it is not counted. */
export function releaseDelivery(memory: MemoryAccount, session: Session, delivery: SessionDelivery): void {
  const { heldBytes, message } = delivery
  if (heldBytes === 0) return
  delivery.heldBytes = 0
  session.outgoing.heldBytes -= heldBytes
  const isLast = message !== undefined && --message.holders === 0
  memory.cells[queues] -= isLast ? heldBytes : deliveryBytes
}

/** Does the same for a delivery that may be in flight and keeps its packet identifier. */
export function releaseInFlightMemory(memory: MemoryAccount, session: Session, delivery: SessionDelivery): void {
  session.outgoing.inflight?.releaseMemory(delivery)
  releaseDelivery(memory, session, delivery)
}

/** Returns the bytes of messages in memory that wait for the in-flight window. */
export function countWaitingBytes({ outgoing }: Session): number {
  return outgoing.inflight === undefined ? outgoing.heldBytes : outgoing.heldBytes - outgoing.inflight.bytes
}

/** An estimate: one byte per character. */
function measurePropertiesMemory(properties: MessageProperties): number {
  const { userProperties, contentType = '', responseTopic = '', correlationData } = properties
  let bytes = pairBytes + contentType.length + responseTopic.length + (correlationData?.length ?? 0)
  for (const [name, value] of userProperties ?? []) bytes += pairBytes + name.length + value.length
  return bytes
}
