// The message layer of CoAP [RFC 7252 section 4] between this gateway and its peers: a repeated request is handled
// once, and confirmable messages are sent until they are confirmed, one at a time for each peer (NSTART 1).

import { Deadlines } from '../../../core/index.ts'
import type { AddressProofs } from '../../address-proofs.ts'
import { type GatewayDependencies } from '../../gateway.ts'
import { toAssociationKey, toRequestKey } from '../../peer-identity.ts'
import type { PeerAddress } from '../../../transports/index.ts'
import { ReplyCache } from './reply-cache.ts'
import { coapTypes, type CoapMessage, type CoapType, writeMessage } from './coap-message.ts'

/** EXCHANGE_LIFETIME and NON_LIFETIME [4.8.2]. */
const exchangeLifetimeMs = 247_000
const nonLifetimeMs = 145_000
/** ACK_TIMEOUT, ACK_RANDOM_FACTOR, MAX_RETRANSMIT [4.8]. */
const ackTimeoutMs = 2_000
const ackRandomFactor = 1.5
const maxRetransmit = 4
const messageIds = 65_536
/** Maximum non-confirmable messages whose reset is expected. */
const maxNonConfirmable = 65_536
/** Maximum waiting messages for one peer. */
const maxWaiting = 256
/** An address that has not proven itself may guess this number of message IDs. */
const maxGuesses = 16
const pingBytes = 4

/** `dropped`: too many messages wait for the peer. */
export type Outcome = 'acknowledged' | 'reset' | 'timeout' | 'dropped'

export interface Confirmable {
  readonly message: Omit<CoapMessage, 'type' | 'messageId'>
  /**
   * `reset`: the peer does not know the context. `timeout`: it does not respond. `response`: the acknowledgement, which
   * may contain the response to a request.
   */
  onSettled(outcome: Outcome, response?: CoapMessage): void
}

interface Sending {
  readonly confirmable: Confirmable
  messageId: number
  bytes: Buffer
  attempts: number
  timeoutMs: number
  /** The message was sent, not only a ping in its place. */
  isSent: boolean
  /** The last datagram was a ping. */
  isPinged: boolean
  guesses: number
}

interface PeerQueue {
  readonly peer: PeerAddress
  sending: Sending | undefined
  readonly waiting: Confirmable[]
}

export class Exchanges {
  readonly #dependencies: GatewayDependencies
  readonly #proofs: AddressProofs
  readonly #replies = new ReplyCache()
  readonly #queues = new Map<string, PeerQueue>()
  readonly #deadlines = new Deadlines<'sending', PeerQueue>()
  /** By message ID: callback for a reset of a non-confirmable message. */
  readonly #nonConfirmable = new Map<string, (outcome: 'reset') => void>()
  #messages = 0

  constructor(dependencies: GatewayDependencies, proofs: AddressProofs) {
    this.#dependencies = dependencies
    this.#proofs = proofs
    this.renumber()
  }

  /** Continues with other message IDs: a peer still remembers those that the broker used before it restarted. */
  renumber(): void {
    this.#messages = Math.floor(this.#dependencies.random() * messageIds)
  }

  /** Time at which `tick` must be called. */
  get dueAtMs(): number {
    return this.#deadlines.findNextMs()
  }

  /** Returns true if the request is a duplicate, and repeats its reply. */
  isRepeated({ type, messageId, token }: CoapMessage, peer: PeerAddress): boolean {
    const nowMs = this.#dependencies.nowMs()
    const lifetimeMs = type === coapTypes.con ? exchangeLifetimeMs : nonLifetimeMs
    const known = this.#replies.begin(toRequestKey(peer), messageId, { nowMs, lifetimeMs })
    if (known === 'new') return false
    const reply = typeof known === 'number' ? encodeBareReply(known, messageId, token) : known
    if (reply === undefined) return true
    this.#proofs.recordResponse(peer, reply.length)
    this.#transmit(reply, peer)
    return true
  }

  /** Replies to a request: in the acknowledgement of a confirmable one. */
  reply(request: CoapMessage, response: Omit<CoapMessage, 'type' | 'messageId' | 'token'>, peer: PeerAddress): void {
    const { token, messageId } = request
    const isConfirmable = request.type === coapTypes.con
    const isBare = isConfirmable && response.options.length === 0 && response.payload.length === 0
    const bytes = isBare
      ? encodeBareReply(response.code, messageId, token)
      : writeMessage({
          ...response,
          token,
          type: isConfirmable ? coapTypes.ack : coapTypes.non,
          messageId: isConfirmable ? messageId : this.#takeMessageId(),
        })
    this.#replies.setReply(toRequestKey(peer), messageId, isBare ? response.code : bytes)
    this.#proofs.recordResponse(peer, bytes.length)
    this.#transmit(bytes, peer)
  }

  /** Rejects a message that is invalid or without context. */
  reset(messageId: number, peer: PeerAddress): void {
    this.#transmit(encodeEmptyMessage(coapTypes.rst, messageId), peer)
  }

  /** Acknowledges a separate response. */
  acknowledge(messageId: number, peer: PeerAddress): void {
    this.#transmit(encodeEmptyMessage(coapTypes.ack, messageId), peer)
  }

  /** The response came before the acknowledgement [RFC 7252 5.2.2]: the request is not sent again. */
  recordResponse(token: Buffer, peer: PeerAddress): void {
    const queue = this.#queues.get(toAssociationKey(peer))
    if (queue?.sending?.confirmable.message.token.equals(token) === true) this.#settle(queue, 'acknowledged')
  }

  /** Withdraws messages with this token: sent messages are not sent again, and waiting ones are not sent. */
  withdraw(token: Buffer, peer: PeerAddress): void {
    const queue = this.#queues.get(toAssociationKey(peer))
    const at = queue?.waiting.findIndex(({ message }) => message.token.equals(token)) ?? -1
    if (at >= 0) queue?.waiting.splice(at, 1)
    this.recordResponse(token, peer)
  }

  sendConfirmable(confirmable: Confirmable, peer: PeerAddress): void {
    const key = toAssociationKey(peer)
    let queue = this.#queues.get(key)
    if (queue === undefined) this.#queues.set(key, (queue = { peer, sending: undefined, waiting: [] }))
    if (queue.sending === undefined) return this.#begin(queue, confirmable)
    if (queue.waiting.length >= maxWaiting) {
      this.#dependencies.counters.dropped['queue-full']++
      return confirmable.onSettled('dropped')
    }
    queue.waiting.push(confirmable)
  }

  /** Only to an address that has proven itself. */
  sendNonConfirmable(message: Omit<CoapMessage, 'type' | 'messageId'>, peer: PeerAddress, onReset: () => void): void {
    const messageId = this.#takeMessageId()
    const key = toMessageKey(peer, messageId)
    if (this.#nonConfirmable.size >= maxNonConfirmable) {
      const [first] = this.#nonConfirmable.keys()
      if (first !== undefined) this.#nonConfirmable.delete(first)
    }
    this.#nonConfirmable.delete(key)
    this.#nonConfirmable.set(key, onReset)
    this.#transmit(writeMessage({ ...message, type: coapTypes.non, messageId }), peer)
  }

  /** Handles an acknowledgement or a reset. Unexpected ones are ignored. */
  handleAckOrReset(message: CoapMessage, peer: PeerAddress): void {
    const { type, messageId } = message
    const key = toAssociationKey(peer)
    const queue = this.#queues.get(key)
    const sending = queue?.sending
    if (queue !== undefined && sending?.messageId === messageId) {
      // Only the receiver of the message knows its ID. Over DTLS, a device may have another address now.
      this.#proofs.recordProof(queue.peer)
      if (sending.isPinged) return this.#sendAfterPing(queue, sending)
      return this.#settle(queue, type === coapTypes.rst ? 'reset' : 'acknowledged', message)
    }
    if (queue !== undefined && sending !== undefined && !this.#proofs.isProven(peer) && ++sending.guesses >= maxGuesses)
      return this.#handleTimeout(queue)
    const onReset = this.#nonConfirmable.get(toMessageKey(peer, messageId))
    this.#nonConfirmable.delete(toMessageKey(peer, messageId))
    if (type === coapTypes.rst) onReset?.('reset')
  }

  tick(): void {
    const nowMs = this.#dependencies.nowMs()
    for (let due = this.#deadlines.takeDue(nowMs); due !== undefined; due = this.#deadlines.takeDue(nowMs)) {
      const { sending, peer } = due.subject
      if (sending === undefined) continue
      if (sending.attempts >= maxRetransmit) {
        this.#handleTimeout(due.subject)
        continue
      }
      sending.attempts++
      sending.timeoutMs *= 2
      this.#deadlines.set('sending', due.subject, nowMs + sending.timeoutMs)
      this.#dependencies.counters.retransmitted++
      this.#transmitUnasked(sending, peer)
    }
  }

  #begin(queue: PeerQueue, confirmable: Confirmable): void {
    const { peer } = queue
    const messageId = this.#proofs.isProven(peer) ? this.#takeMessageId() : this.#createMessageId()
    const bytes = writeMessage({ ...confirmable.message, type: coapTypes.con, messageId })
    const timeoutMs = this.#computeAckTimeoutMs()
    const sending = {
      confirmable,
      messageId,
      bytes,
      attempts: 0,
      timeoutMs,
      isSent: false,
      isPinged: false,
      guesses: 0,
    }
    queue.sending = sending
    this.#deadlines.set('sending', queue, this.#dependencies.nowMs() + timeoutMs)
    this.#transmitUnasked(sending, peer)
  }

  #computeAckTimeoutMs(): number {
    return ackTimeoutMs * (1 + this.#dependencies.random() * (ackRandomFactor - 1))
  }

  /**
   * An address that has not proven itself gets an empty message [RFC 7252 4.3] instead of a message that is too large for it. Its response, a
   * reset or an acknowledgement, proves it.
   */
  #transmitUnasked(sending: Sending, peer: PeerAddress): void {
    sending.isPinged = !this.#proofs.take(peer, sending.bytes.length)
    if (!sending.isPinged) {
      sending.isSent = true
      return this.#transmit(sending.bytes, peer)
    }
    this.#dependencies.counters.dropped.unproven++
    if (this.#proofs.take(peer, pingBytes)) this.#transmit(encodeEmptyMessage(coapTypes.con, sending.messageId), peer)
  }

  /** The peer may know the ID of the ping. A message that was sent before keeps its ID, by which the peer recognizes its copies. */
  #sendAfterPing(queue: PeerQueue, sending: Sending): void {
    if (!sending.isSent) {
      sending.messageId = this.#takeMessageId()
      const { messageId, confirmable } = sending
      sending.bytes = writeMessage({ ...confirmable.message, type: coapTypes.con, messageId })
    }
    sending.attempts = 0
    sending.timeoutMs = this.#computeAckTimeoutMs()
    this.#deadlines.set('sending', queue, this.#dependencies.nowMs() + sending.timeoutMs)
    this.#transmitUnasked(sending, queue.peer)
  }

  /** To an address that never proved itself, the waiting messages are not sent either. */
  #handleTimeout(queue: PeerQueue): void {
    const dropped = this.#proofs.isProven(queue.peer) ? [] : queue.waiting.splice(0)
    this.#settle(queue, 'timeout')
    for (const confirmable of dropped) confirmable.onSettled('timeout')
  }

  #settle(queue: PeerQueue, outcome: Outcome, response?: CoapMessage): void {
    const { sending } = queue
    queue.sending = undefined
    this.#deadlines.cancel('sending', queue)
    const next = queue.waiting.shift()
    if (next === undefined) this.#queues.delete(toAssociationKey(queue.peer))
    else this.#begin(queue, next)
    sending?.confirmable.onSettled(outcome, response)
  }

  /** The ID in an acknowledgement determines the shard: see `shard-place.ts`. */
  #takeMessageId(): number {
    const { own, shards } = this.#dependencies.place
    this.#messages = (this.#messages + 1) % Math.floor(messageIds / shards)
    return this.#messages * shards + own
  }

  /** Cannot be guessed. */
  #createMessageId(): number {
    const { own, shards } = this.#dependencies.place
    return this.#dependencies.randomBelow(Math.floor(messageIds / shards)) * shards + own
  }

  #transmit(bytes: Buffer, peer: PeerAddress): void {
    this.#dependencies.counters.sent++
    this.#dependencies.send(bytes, peer)
  }
}

const noBytes = Buffer.alloc(0)

function encodeEmptyMessage(type: CoapType, messageId: number): Buffer {
  return writeMessage({ type, code: 0, messageId, token: noBytes, options: [], payload: noBytes })
}

/** An acknowledgement with nothing but a code, as most are. */
function encodeBareReply(code: number, messageId: number, token: Buffer): Buffer {
  return writeMessage({ type: coapTypes.ack, code, messageId, token, options: [], payload: noBytes })
}

function toMessageKey(peer: PeerAddress, messageId: number): string {
  return `${toAssociationKey(peer)}|${messageId}`
}
