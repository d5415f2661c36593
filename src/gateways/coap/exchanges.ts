// The message layer of CoAP [RFC 7252 section 4] between this gateway and its peers: a repeated request is handled
// once, and confirmable messages are sent until they are confirmed, one at a time for each peer (NSTART 1).

import { Deadlines } from '../../core/index.ts'
import { type GatewayDependencies, type PeerAddress, peerKey } from '../gateway.ts'
import { ReplyCache } from './reply-cache.ts'
import { coapTypes, type CoapMessage, type CoapType, writeMessage } from './message.ts'

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

export type Outcome = 'acknowledged' | 'reset' | 'timeout'

export interface Confirmable {
  readonly message: Omit<CoapMessage, 'type' | 'messageId'>
  /**
   * `reset`: the peer does not know the context. `timeout`: it does not respond. `response`: the acknowledgement, which
   * may contain the response to a request.
   */
  settled(outcome: Outcome, response?: CoapMessage): void
}

interface Sending {
  readonly confirmable: Confirmable
  readonly messageId: number
  readonly bytes: Buffer
  attempts: number
  timeoutMs: number
}

interface PeerQueue {
  readonly peer: PeerAddress
  sending: Sending | undefined
  readonly waiting: Confirmable[]
}

export class Exchanges {
  readonly #dependencies: GatewayDependencies
  readonly #replies = new ReplyCache()
  readonly #queues = new Map<string, PeerQueue>()
  readonly #deadlines = new Deadlines<'sending', PeerQueue>()
  /** By message ID: callback for a reset of a non-confirmable message. */
  readonly #nonConfirmable = new Map<string, (outcome: 'reset') => void>()
  #messages = 0

  constructor(dependencies: GatewayDependencies) {
    this.#dependencies = dependencies
    this.renumber()
  }

  /** Continues with other message IDs: a peer still remembers those that the broker used before it restarted. */
  renumber(): void {
    this.#messages = Math.floor(this.#dependencies.random() * messageIds)
  }

  /** Time at which `tick` must be called. */
  get dueAtMs(): number {
    return this.#deadlines.nextMs()
  }

  /** Returns true if the request is a duplicate, and repeats its reply. */
  isRepeated({ type, messageId, token }: CoapMessage, peer: PeerAddress): boolean {
    const nowMs = this.#dependencies.nowMs()
    const lifetimeMs = type === coapTypes.con ? exchangeLifetimeMs : nonLifetimeMs
    const known = this.#replies.begin(peerKey(peer), messageId, { nowMs, lifetimeMs })
    if (known === 'new') return false
    if (typeof known === 'number') this.#transmit(bareReply(known, messageId, token), peer)
    else if (known !== undefined) this.#transmit(known, peer)
    return true
  }

  /** Replies to a request: in the acknowledgement of a confirmable one. */
  reply(request: CoapMessage, response: Omit<CoapMessage, 'type' | 'messageId' | 'token'>, peer: PeerAddress): void {
    const { token, messageId } = request
    const isConfirmable = request.type === coapTypes.con
    const isBare = isConfirmable && response.options.length === 0 && response.payload.length === 0
    const bytes = isBare
      ? bareReply(response.code, messageId, token)
      : writeMessage({
          ...response,
          token,
          type: isConfirmable ? coapTypes.ack : coapTypes.non,
          messageId: isConfirmable ? messageId : this.#takeMessageId(),
        })
    this.#replies.setReply(peerKey(peer), messageId, isBare ? response.code : bytes)
    this.#transmit(bytes, peer)
  }

  /** Rejects a message that is invalid or without context. */
  reset(messageId: number, peer: PeerAddress): void {
    this.#transmit(emptyMessage(coapTypes.rst, messageId), peer)
  }

  /** Acknowledges a separate response. */
  acknowledge(messageId: number, peer: PeerAddress): void {
    this.#transmit(emptyMessage(coapTypes.ack, messageId), peer)
  }

  /** The response came before the acknowledgement [RFC 7252 5.2.2]: the request is not sent again. */
  noteResponse(token: Buffer, peer: PeerAddress): void {
    const queue = this.#queues.get(peerKey(peer))
    if (queue?.sending?.confirmable.message.token.equals(token) === true) this.#settle(queue, 'acknowledged')
  }

  /** Withdraws messages with this token: sent messages are not sent again, and waiting ones are not sent. */
  withdraw(token: Buffer, peer: PeerAddress): void {
    const queue = this.#queues.get(peerKey(peer))
    const at = queue?.waiting.findIndex(({ message }) => message.token.equals(token)) ?? -1
    if (at >= 0) queue?.waiting.splice(at, 1)
    this.noteResponse(token, peer)
  }

  sendConfirmable(confirmable: Confirmable, peer: PeerAddress): void {
    const key = peerKey(peer)
    let queue = this.#queues.get(key)
    if (queue === undefined) this.#queues.set(key, (queue = { peer, sending: undefined, waiting: [] }))
    if (queue.sending === undefined) return this.#begin(queue, confirmable)
    if (queue.waiting.length >= maxWaiting) {
      this.#dependencies.counters.dropped['queue-full']++
      return confirmable.settled('acknowledged')
    }
    queue.waiting.push(confirmable)
  }

  sendNonConfirmable(message: Omit<CoapMessage, 'type' | 'messageId'>, peer: PeerAddress, onReset: () => void): void {
    const messageId = this.#takeMessageId()
    const key = keyOf(peer, messageId)
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
    const key = peerKey(peer)
    const queue = this.#queues.get(key)
    if (queue?.sending?.messageId === messageId)
      return this.#settle(queue, type === coapTypes.rst ? 'reset' : 'acknowledged', message)
    const onReset = this.#nonConfirmable.get(keyOf(peer, messageId))
    this.#nonConfirmable.delete(keyOf(peer, messageId))
    if (type === coapTypes.rst) onReset?.('reset')
  }

  tick(): void {
    const nowMs = this.#dependencies.nowMs()
    for (let due = this.#deadlines.takeDue(nowMs); due !== undefined; due = this.#deadlines.takeDue(nowMs)) {
      const { sending, peer } = due.subject
      if (sending === undefined) continue
      if (sending.attempts >= maxRetransmit) {
        this.#settle(due.subject, 'timeout')
        continue
      }
      sending.attempts++
      sending.timeoutMs *= 2
      this.#deadlines.set('sending', due.subject, nowMs + sending.timeoutMs)
      this.#dependencies.counters.retransmitted++
      this.#transmit(sending.bytes, peer)
    }
  }

  #begin(queue: PeerQueue, confirmable: Confirmable): void {
    const messageId = this.#takeMessageId()
    const bytes = writeMessage({ ...confirmable.message, type: coapTypes.con, messageId })
    const timeoutMs = ackTimeoutMs * (1 + this.#dependencies.random() * (ackRandomFactor - 1))
    queue.sending = { confirmable, messageId, bytes, attempts: 0, timeoutMs }
    this.#deadlines.set('sending', queue, this.#dependencies.nowMs() + timeoutMs)
    this.#transmit(bytes, queue.peer)
  }

  #settle(queue: PeerQueue, outcome: Outcome, response?: CoapMessage): void {
    const { sending } = queue
    queue.sending = undefined
    this.#deadlines.cancel('sending', queue)
    const next = queue.waiting.shift()
    if (next === undefined) this.#queues.delete(peerKey(queue.peer))
    else this.#begin(queue, next)
    sending?.confirmable.settled(outcome, response)
  }

  /** The ID in an acknowledgement determines the shard: see `shard-place.ts`. */
  #takeMessageId(): number {
    const { own, shards } = this.#dependencies.place
    this.#messages = (this.#messages + 1) % Math.floor(messageIds / shards)
    return this.#messages * shards + own
  }

  #transmit(bytes: Buffer, peer: PeerAddress): void {
    this.#dependencies.counters.sent++
    this.#dependencies.send(bytes, peer)
  }
}

const noBytes = Buffer.alloc(0)

function emptyMessage(type: CoapType, messageId: number): Buffer {
  return writeMessage({ type, code: 0, messageId, token: noBytes, options: [], payload: noBytes })
}

/** An acknowledgement with nothing but a code, as most are. */
function bareReply(code: number, messageId: number, token: Buffer): Buffer {
  return writeMessage({ type: coapTypes.ack, code, messageId, token, options: [], payload: noBytes })
}

function keyOf(peer: PeerAddress, messageId: number): string {
  return `${peerKey(peer)}|${messageId}`
}
