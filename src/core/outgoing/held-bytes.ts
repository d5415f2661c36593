// What messages on their way to clients take in memory: counted for the session, for what is in flight to it, and for the shard.
//
//   hold ──> delivery.heldBytes ──> session.heldBytes ──> account 'queues'
//                    '── while it is in flight ──> window.bytes
//
// A delivery is held from the moment that it stays longer than its turn until it is forgotten or is on disk alone. A message
// that waits for several sessions counts for each of them, and once for the shard.

import type { MessageProperties } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import { memoryColumns } from '../model/memory-account.ts'
import type { Message } from '../model/message.ts'
import type { Session, SessionDelivery } from '../state/sessions/session.ts'

/** A delivery, its places in lists, and its part of what they have free. */
export const deliveryBytes = 192
/** A message without its bytes. */
const messageBytes = 256
/** A pair of texts, without their characters. */
const pairBytes = 96

const { queues } = memoryColumns

/** A message as it waits: its bytes, its properties, its object. */
export function bytesInMemory(message: Message): number {
  const bytes = message.frameEnd - message.frameStart + messageBytes
  return message.properties === undefined ? bytes : bytes + propertiesBytes(message.properties)
}

/** It stays in memory from now on. Does nothing where it is counted already. */
export function holdDelivery(state: BrokerState, session: Session, delivery: SessionDelivery, message: Message): void {
  if (delivery.heldBytes !== 0) return
  const heldBytes = bytesInMemory(message) + deliveryBytes
  delivery.heldBytes = heldBytes
  session.heldBytes += heldBytes
  state.memory.cells[queues] += message.holders++ === 0 ? heldBytes : deliveryBytes
}

/** It is out of the window, or was never in it, and stays no longer. Does nothing where it is not counted. */
export function releaseDelivery(state: BrokerState, session: Session, delivery: SessionDelivery): void {
  const { heldBytes, message } = delivery
  if (heldBytes === 0) return
  delivery.heldBytes = 0
  session.heldBytes -= heldBytes
  const isLast = message !== undefined && --message.holders === 0
  state.memory.cells[queues] -= isLast ? heldBytes : deliveryBytes
}

/** The same where it may be in flight, and keeps its packet id there. */
export function lightenDelivery(state: BrokerState, session: Session, delivery: SessionDelivery): void {
  session.outgoing?.lighten(delivery)
  releaseDelivery(state, session, delivery)
}

/** Bytes of what waits in memory for room in the window. */
export function waitingBytes(session: Session): number {
  return session.outgoing === undefined ? session.heldBytes : session.heldBytes - session.outgoing.bytes
}

/** An estimate: texts count with their characters. */
function propertiesBytes(properties: MessageProperties): number {
  const { userProperties, contentType = '', responseTopic = '', correlationData } = properties
  let bytes = pairBytes + contentType.length + responseTopic.length + (correlationData?.length ?? 0)
  for (const [name, value] of userProperties ?? []) bytes += pairBytes + name.length + value.length
  return bytes
}
