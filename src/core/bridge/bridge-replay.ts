// The QoS 2 messages of a bridge between PUBREC and PUBCOMP. Anybody else has his message with PUBREC. Behind a bridge there
// is another broker, which may have taken it, forget it before it gives it out, and say so when the bridge comes back:
//
//   sent --PUBREC--> received --PUBCOMP--> done         the queued record is there until it is done
//    ^                  |
//    '--- forgotten ----'      sent once more, under its old packet id, as a repeat

import type { PacketId } from '../../protocol/index.ts'
import type { QueuedRecord } from '../../records/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import { Delivery } from '../state/sessions/delivery.ts'
import type { Session, SessionDelivery, PersistentQueue } from '../state/sessions/session.ts'
import type { SharedGroup } from '../topics/index.ts'
import type { Message } from '../model/message.ts'
import { holdDelivery } from '../outgoing/held-bytes.ts'
import { deleteDelivery, putRecord, releasePayload } from '../queues/persistent-queue.ts'
import { noteGapsBelow } from '../queues/queue-gaps.ts'

/** PUBCOMP has come. Its record may be on its way into memory for the first time since a restart. */
export function removeCompleted(state: BrokerState, session: Session, delivery: SessionDelivery): void {
  const { stored } = session
  // An earlier version deleted the record with PUBREC.
  if (stored === undefined || stored.count === 0) return
  if (delivery.message === undefined && stored.receivedIds?.delete(delivery.sequence) === true) {
    stored.completed ??= new Set()
    stored.completed.add(delivery.sequence)
    noteGapsBelow(stored, delivery.sequence + 1)
  }
  deleteDelivery(state, session, delivery)
}

/** The broker behind the bridge knows nothing of it: what that had taken goes to it again. */
export function requeueForRemote(state: BrokerState, session: Session): void {
  const { stored } = session
  if (stored === undefined) return
  for (const delivery of session.outgoing?.inSendOrder() ?? []) {
    if (delivery.stage !== 'received' || !restoreMessage(stored, delivery)) continue
    // PUBLISH may not leave before this: after a crash the record would say that it need not be sent again.
    delivery.sentWithBatch = state.openBatch.number
    const { packetId, sequence } = delivery
    putRecord(state, { kind: 'outgoing', clientId: session.clientId, packetId, sequence, stage: 'sent' })
  }
}

/** False: there is nothing to send. */
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

/** After a restart: the message of a delivery with PUBREC is read. True: it was one, and nothing else is to be done. */
export function restoreReceived(
  state: BrokerState,
  session: Session,
  stored: PersistentQueue,
  read: { readonly record: QueuedRecord; readonly message: Message },
): boolean {
  const { record, message } = read
  if (stored.completed?.delete(record.sequence) === true) {
    if (record.bodyId !== undefined) releasePayload(state, record.bodyId)
    return true
  }
  const packetId = stored.receivedIds?.get(record.sequence)
  if (packetId === undefined) return false
  stored.receivedIds?.delete(record.sequence)
  replace(state, session, packetId, { record, message })
  return true
}

function replace(
  state: BrokerState,
  session: Session,
  packetId: PacketId,
  { record, message }: { readonly record: QueuedRecord; readonly message: Message },
): void {
  const reserved = session.window().get(packetId)
  if (reserved === undefined) return
  const delivery = new Delivery<SharedGroup<Session>>(message, { ...record, group: undefined })
  delivery.sequence = record.sequence
  delivery.stage = 'received'
  delivery.wasSent = true
  holdDelivery(state, session, delivery, message)
  session.window().remove(reserved)
  session.window().addWithId(delivery, packetId)
}
