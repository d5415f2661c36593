// QoS 2 messages of a bridge between PUBREC and PUBCOMP. For other clients the message is delivered with PUBREC. A bridge
// passes it to a remote broker, which may accept it, lose it before it delivers it, and report this when the bridge
// reconnects:
//
//   sent --PUBREC--> received --PUBCOMP--> done         the queued record exists until the message is done
//    ^                  |
//    '------ lost ------'      sent again with the same packet identifier, as a duplicate

import type { PacketId } from '../../protocol/index.ts'
import type { QueuedRecord } from '../../records/index.ts'
import type { MemoryAccount } from '../model/memory-account.ts'
import type { Batches } from '../model/batches.ts'
import type { Parts, QueueParts } from '../state/parts.ts'
import { Delivery } from '../state/sessions/delivery.ts'
import type { Session, PersistentQueue, SessionDelivery } from '../state/sessions/session.ts'
import type { SharedGroup } from '../topics/index.ts'
import type { Message } from '../messages/message.ts'
import { allocateDelivery } from '../outgoing/delivery-memory.ts'
import { deleteDelivery, putRecord, releasePayload } from '../queues/persistent-queue.ts'
import { recordGapsBelow } from '../queues/queue-gaps.ts'

/** Handles PUBCOMP. After a restart, the record may not be read into memory yet. */
export function removeCompleted(state: QueueParts, session: Session, delivery: SessionDelivery): void {
  const { stored } = session
  // Earlier versions deleted the record with PUBREC.
  if (stored === undefined || stored.count === 0) return
  if (delivery.message === undefined && stored.receivedIds?.delete(delivery.sequence) === true) {
    stored.completed ??= new Set()
    stored.completed.add(delivery.sequence)
    recordGapsBelow(stored, delivery.sequence + 1)
  }
  deleteDelivery(state, session, delivery)
}

/** The remote broker lost its session: the broker sends the messages again that the remote broker had accepted. */
export function requeueForRemote(batches: Batches, session: Session): void {
  const { stored } = session
  if (stored === undefined) return
  for (const delivery of session.outgoing.inflight?.listInSendOrder() ?? []) {
    if (delivery.stage !== 'received' || !restoreMessage(stored, delivery)) continue
    // PUBLISH waits for this batch. Otherwise the record would say after a crash that the message need not be sent
    // again.
    delivery.sentWithBatch = batches.openBatch.number
    const { packetId, sequence } = delivery
    putRecord(batches, { kind: 'outgoing', clientId: session.clientId, packetId, sequence, stage: 'sent' })
  }
}

/** Returns false if there is nothing to send. */
function restoreMessage(stored: PersistentQueue, delivery: SessionDelivery): boolean {
  if (delivery.message !== undefined) {
    delivery.stage = 'sent'
    return true
  }
  if (stored.receivedIds?.delete(delivery.sequence) !== true) return false
  delivery.stage = 'waiting'
  stored.packetIds ??= new Map()
  stored.packetIds.set(delivery.sequence, delivery.packetId)
  return true
}

/**
 * Handles the record that was read after a restart for a delivery with PUBREC. Returns true if the record belonged to
 * one and needs nothing else.
 */
export function restoreReceived(
  state: Parts<'batches' | 'memory' | 'payloads'>,
  session: Session,
  stored: PersistentQueue,
  read: { readonly record: QueuedRecord; readonly message: Message },
): boolean {
  const { record, message } = read
  if (stored.completed?.delete(record.sequence) === true) {
    if (record.payloadId !== undefined) releasePayload(state, record.payloadId)
    return true
  }
  const packetId = stored.receivedIds?.get(record.sequence)
  if (packetId === undefined) return false
  stored.receivedIds?.delete(record.sequence)
  replaceReservedDelivery(state.memory, session, packetId, { record, message })
  return true
}

function replaceReservedDelivery(
  memory: MemoryAccount,
  session: Session,
  packetId: PacketId,
  { record, message }: { readonly record: QueuedRecord; readonly message: Message },
): void {
  const reserved = session.outgoing.ensureWindow().get(packetId)
  if (reserved === undefined) return
  const delivery = new Delivery<SharedGroup<Session>>(message, { ...record, group: undefined })
  delivery.sequence = record.sequence
  delivery.stage = 'received'
  delivery.wasSent = true
  allocateDelivery(memory, session, delivery, message)
  session.outgoing.ensureWindow().remove(reserved)
  session.outgoing.ensureWindow().addWithId(delivery, packetId)
}
