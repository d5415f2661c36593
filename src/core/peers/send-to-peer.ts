// The last step towards a peer: messages are numbered, and sent at once or after those that wait in its outbox.

import type { Parts, PeerSendParts } from '../state/parts.ts'
import type { OutputLists } from '../state/output-lists.ts'
import { copyOut, type Message } from '../messages/message.ts'
import type { LinkState, Peer } from '../state/peers/peer.ts'
import type { PeerPublish, PeerRelease } from '../model/peer-messages.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'

/** Sends a message that is not stored: it is lost if the link fails. */
export function sendNumbered(
  outputs: OutputLists,
  peer: Peer,
  link: LinkState,
  message: PeerPublish | PeerRelease,
): void {
  link.sent++
  outputs.peerSends.push({ to: peer.number, message })
}

/** Does the same for a plain message (`PeerSender`), which needs no other fields. */
export function sendPlainNumbered(outputs: OutputLists, peer: Peer, link: LinkState, message: Message): void {
  link.sent++
  outputs.peerSends.sendPlain(peer.number, message)
}

/**
 * Stores the message in the outbox until the peer has committed it. Sends it at once if no earlier message waits. The barrier, if
 * there is one, waits for the commit. Returns false if the outbox is full: the message is dropped and counted.
 */
export function storeAndSend(
  state: PeerSendParts,
  peer: Peer,
  send: PeerPublish,
  barrier: CommitBarrier | undefined,
): boolean {
  const { maxUnconfirmedMessages, maxUnconfirmedBytes } = state.settings
  // Publishing clients wait already because of backpressure. This message is a will, or is from a command or a reassigning session.
  if (peer.outbox.length >= maxUnconfirmedMessages * 2 || peer.outbox.bytes >= maxUnconfirmedBytes * 2) {
    state.counts.countDrop(undefined, send.message, 'peer-behind')
    return false
  }
  copyOut(send.message, state.payloads.buffers)
  barrier?.expect()
  if (send.message.qos === 2 && send.exactlyOnce === undefined) storeUnderUniqueName(state, peer, send, barrier)
  else peer.addToOutbox(send, barrier)
  sendNext(state.outputs, peer)
  return true
}

/** Packet identifier of all unique names, because each unique name is used for one message. */
const onlyPacketId = 1

/**
 * A QoS 2 message of a sender that would not send it again (the API, a will) could be delivered twice if the peer fails
 * after the commit and before the confirmation. So it gets a unique name, which is released when the peer has confirmed
 * it.
 */
function storeUnderUniqueName(
  state: Parts<'ids' | 'outputs'>,
  peer: Peer,
  send: PeerPublish,
  barrier: CommitBarrier | undefined,
): void {
  const name = { publisher: state.ids.nextName(), packetId: onlyPacketId }
  const confirmed = new CommitBarrier()
  confirmed.runWhenComplete(() => {
    peer.addToOutbox({ kind: 'release', ...name }, undefined)
    sendNext(state.outputs, peer)
    barrier?.arrive(confirmed.refusal)
  })
  peer.addToOutbox({ ...send, exactlyOnce: name }, confirmed)
}

/**
 * Calls `send`, which sends a message, at once or after earlier messages that wait for the peer. `isCommitted`: `send` need not wait for
 * the commit of the open batch.
 */
export function sendInTurn(
  state: Parts<'batches' | 'payloads' | 'storage'>,
  { uncommitted }: Peer,
  { message, isCommitted }: { message: Message | undefined; isCommitted: boolean },
  send: () => void,
): void {
  if (isCommitted && uncommitted.length === 0) return send()
  if (message !== undefined) copyOut(message, state.payloads.buffers)
  const noteCommitted = uncommitted.push(message?.payloadBytes ?? 0, send)
  if (isCommitted) return noteCommitted()
  const onDisk = new CommitBarrier()
  onDisk.runWhenComplete(noteCommitted)
  state.storage.barriersByBatch.push({ batch: state.batches.openBatch.number, barrier: onDisk })
}

/** Sends the last message of the outbox at once, if no other message waits before it. */
export function sendNext(outputs: OutputLists, peer: Peer): void {
  const { link, outbox } = peer
  if (link === undefined || peer.isCongested || outbox.unsentCount !== 1) return
  const message = outbox.takeUnsent(link.sent + 1)
  if (message !== undefined) sendNumbered(outputs, peer, link, message)
}
