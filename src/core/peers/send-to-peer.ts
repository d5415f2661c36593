// The last step towards another shard: numbered, at once where that may be, else behind what waits in its outbox.

import type { BrokerState } from '../state/broker-state.ts'
import { copyOut, type Message } from '../model/message.ts'
import type { LinkState, Peer } from '../state/peers/peer.ts'
import type { PeerPublish, PeerRelease } from '../model/peer-messages.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'

/** What nobody keeps: gone with the link if that breaks. */
export function sendNumbered(
  state: BrokerState,
  peer: Peer,
  link: LinkState,
  message: PeerPublish | PeerRelease,
): void {
  link.sent++
  state.peerSends.push({ to: peer.number, message })
}

/** The same of a plain message (`PeerLine`): it needs nothing said beside it. */
export function sendPlainNumbered(state: BrokerState, peer: Peer, link: LinkState, message: Message): void {
  link.sent++
  state.peerSends.sendPlain(peer.number, message)
}

/**
 * Kept until the peer has it on disk, and sent at once or behind what still waits for the peer to come back. The vow waits
 * for it, where there is one. False: there was no room, and it is dropped and counted.
 */
export function storeAndSend(
  state: BrokerState,
  peer: Peer,
  send: PeerPublish,
  barrier: CommitBarrier | undefined,
): boolean {
  const { maxUnconfirmedMessages, maxUnconfirmedBytes } = state.settings
  // Clients have been asked to wait before: this is a will, a command, or what a session had to pass on.
  if (peer.outbox.length >= maxUnconfirmedMessages * 2 || peer.outbox.bytes >= maxUnconfirmedBytes * 2) {
    state.countDrop(undefined, send.message, 'peer-behind')
    return false
  }
  copyOut(send.message, state.buffers)
  barrier?.expect()
  if (send.message.qos === 2 && send.exactlyOnce === undefined) storeUnderOwnName(state, peer, send, barrier)
  else peer.outbox.push(send, barrier)
  sendNext(state, peer)
  return true
}

/** Of the one message that a name stands for: its sender needs no second one. */
const onlyPacketId = 1

/**
 * QoS 2 of nobody who would send it again (an operator, a will) goes twice all the same, where the peer dies that has it
 * on disk and has not said so. So it has a name there like that of a client, which is over once the peer has it.
 */
function storeUnderOwnName(
  state: BrokerState,
  peer: Peer,
  send: PeerPublish,
  barrier: CommitBarrier | undefined,
): void {
  const name = { publisher: `${state.identity}.${state.nextSerial().toString(36)}`, packetId: onlyPacketId }
  const taken = new CommitBarrier()
  taken.whenComplete(() => {
    peer.outbox.push({ kind: 'release', ...name }, undefined)
    sendNext(state, peer)
    barrier?.arrive(taken.refusal)
  })
  peer.outbox.push({ ...send, exactlyOnce: name }, taken)
}

/**
 * `leave` is called at once, or behind what does not leave yet for the peer. `isDecided`: nothing of the batch that gathers
 * has to be on disk before.
 */
export function sendInTurn(
  state: BrokerState,
  { uncommitted }: Peer,
  { message, isDecided }: { message: Message | undefined; isDecided: boolean },
  leave: () => void,
): void {
  if (isDecided && uncommitted.length === 0) return leave()
  if (message !== undefined) copyOut(message, state.buffers)
  const decide = uncommitted.push(message?.payloadBytes ?? 0, leave)
  if (isDecided) return decide()
  const onDisk = new CommitBarrier()
  onDisk.whenComplete(decide)
  state.barriersByBatch.push({ batch: state.openBatch.number, barrier: onDisk })
}

/** What was just put into the outbox leaves at once, if nothing is in front of it. */
export function sendNext(state: BrokerState, peer: Peer): void {
  const { link, outbox } = peer
  if (link === undefined || peer.isCongested || outbox.unsentCount !== 1) return
  const message = outbox.takeUnsent(link.sent + 1)
  if (message !== undefined) sendNumbered(state, peer, link, message)
}
