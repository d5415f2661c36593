// Requests to devices and their responses [RFC 7252 5.2]: in the acknowledgement, or later in a separate message; large
// bodies in blocks [RFC 7959], in both directions.

import { randomBytes } from 'node:crypto'
import { Deadlines } from '../../../core/index.ts'
import { type Block, readBlock, createBlockOption, type CoapMessage, code, methods, options } from './coap-message.ts'
import type { Exchanges } from './exchanges.ts'
import type { GatewayDependencies } from '../../gateway.ts'
import type { PeerAddress } from '../../../transports/index.ts'
import { createOwnName, type ShardPlace } from '../../shard-place.ts'

const tokenBytes = 8
/** Timeout of a separate response: EXCHANGE_LIFETIME would block other commands for minutes. */
const responseTimeoutMs = 60_000
const blockBytes = 1_024
const maxBodyBytes = 1_048_576
/** Maximum repetitions under another message ID. */
const maxRenumbered = 3

export interface DeviceRequest {
  readonly peer: PeerAddress
  readonly message: Omit<CoapMessage, 'type' | 'messageId' | 'token'>
  /** Set if further responses follow the first one. */
  readonly token: Buffer | undefined
  /** A message with the first block of the response. Only the others are requested. */
  readonly begun?: CoapMessage | undefined
  /** From the first message on. Undefined: the time of the exchange. */
  readonly timeoutMs?: number | undefined
  /** The device has the request and will respond later. */
  onAcknowledged(): void
  onSettled(result: DeviceResult): void
}

export type DeviceResult =
  | { readonly outcome: 'response'; readonly response: CoapMessage; readonly body: Buffer }
  | { readonly outcome: 'timeout' | 'reset' }

interface Pending {
  readonly request: DeviceRequest
  readonly token: Buffer
  /** Received blocks of the body. */
  readonly blocks: Buffer[]
  bytes: number
  /** Bytes of the payload that the device has received. */
  sent: number
  renumbered: number
}

export class DeviceRequests {
  readonly #exchanges: Exchanges
  readonly #nowMs: () => number
  readonly #place: ShardPlace
  readonly #pending = new Map<string, Pending>()
  readonly #deadlines = new Deadlines<'response', Pending>()

  constructor(exchanges: Exchanges, { nowMs, place }: Pick<GatewayDependencies, 'nowMs' | 'place'>) {
    this.#exchanges = exchanges
    this.#nowMs = nowMs
    this.#place = place
  }

  get dueAtMs(): number {
    return this.#deadlines.findNextMs()
  }

  /** Sends a request. Returns a function that cancels it: then nothing is sent, and no callback follows. */
  request(request: DeviceRequest): () => void {
    const token = request.token ?? this.#createToken()
    const pending: Pending = { request, token, blocks: [], bytes: 0, sent: 0, renumbered: 0 }
    const key = toRequestKey(pending)
    const before = this.#pending.get(key)
    if (before !== undefined) this.#settle(before, { outcome: 'timeout' })
    this.#pending.set(key, pending)
    if (request.timeoutMs !== undefined) this.#deadlines.set('response', pending, this.#nowMs() + request.timeoutMs)
    if (request.begun === undefined) this.#send(pending)
    else this.#take(pending, request.begun)
    return () => {
      if (this.#pending.get(key) !== pending) return
      this.#pending.delete(key)
      this.#deadlines.cancel('response', pending)
      this.#exchanges.withdraw(token, request.peer)
    }
  }

  /** Handles a separate response. Returns true if it belongs to a request. */
  handleResponse(response: CoapMessage, peer: PeerAddress): boolean {
    const pending = this.#pending.get(toRequestKey({ token: response.token, request: { peer } }))
    if (pending === undefined) return false
    this.#deadlines.cancel('response', pending)
    this.#exchanges.recordResponse(response.token, peer)
    this.#take(pending, response)
    return true
  }

  /** The token determines the shard of a separate response. */
  #createToken(): Buffer {
    return Buffer.from(
      createOwnName(this.#place, () => randomBytes(tokenBytes).toString('hex')),
      'hex',
    )
  }

  tick(): void {
    const nowMs = this.#nowMs()
    for (let due = this.#deadlines.takeDue(nowMs); due !== undefined; due = this.#deadlines.takeDue(nowMs))
      this.#settle(due.subject, { outcome: 'timeout' })
  }

  #send(pending: Pending, nextBlock?: Block): void {
    const { request, token } = pending
    const { message, peer } = request
    const isLarge = message.payload.length > blockBytes
    const rest = message.payload.length - pending.sent
    const sending: Block = { number: pending.sent / blockBytes, hasMore: rest > blockBytes, bytes: blockBytes }
    const payload = isLarge ? message.payload.subarray(pending.sent, pending.sent + blockBytes) : message.payload
    const own = {
      ...message,
      token,
      // A request for a later block has no payload.
      payload: nextBlock === undefined ? payload : Buffer.alloc(0),
      options: [
        ...message.options.filter(({ number }) => nextBlock === undefined || number !== options.observe),
        ...(isLarge && nextBlock === undefined ? [createBlockOption(options.block1, sending)] : []),
        ...(nextBlock === undefined ? [] : [createBlockOption(options.block2, nextBlock)]),
      ],
    }
    this.#exchanges.sendConfirmable(
      {
        message: own,
        onSettled: (outcome, response) => {
          if (outcome === 'reset') return this.#settle(pending, { outcome })
          if (outcome !== 'acknowledged') return this.#settle(pending, { outcome: 'timeout' })
          if (response === undefined || response.code === 0) return this.#awaitResponse(pending)
          if (response.token.equals(token)) this.#take(pending, response)
          else this.#sendRenumbered(pending, nextBlock)
        },
      },
      peer,
    )
  }

  /**
   * [RFC 7252 4.2, 5.3.2] The device has repeated its response to an earlier request with the same message ID, which
   * the broker sent before it restarted: the device has not taken this request.
   */
  #sendRenumbered(pending: Pending, nextBlock: Block | undefined): void {
    if (this.#pending.get(toRequestKey(pending)) !== pending) return
    if (pending.renumbered++ >= maxRenumbered) return this.#settle(pending, { outcome: 'timeout' })
    this.#exchanges.renumber()
    this.#send(pending, nextBlock)
  }

  #awaitResponse(pending: Pending): void {
    if (this.#pending.get(toRequestKey(pending)) !== pending) return
    if (pending.request.timeoutMs === undefined)
      this.#deadlines.set('response', pending, this.#nowMs() + responseTimeoutMs)
    pending.request.onAcknowledged()
  }

  #take(pending: Pending, response: CoapMessage): void {
    const { message } = pending.request
    if (response.code === code(2, 31) && pending.sent + blockBytes < message.payload.length) {
      pending.sent += blockBytes
      return this.#send(pending)
    }
    const block = readBlock(response, options.block2)
    if (block === undefined || block === 'bad') return this.#finish(pending, response)
    // A block out of order cannot be appended.
    if (block.number * block.bytes !== pending.bytes) return this.#settle(pending, { outcome: 'timeout' })
    pending.blocks.push(Buffer.from(response.payload))
    pending.bytes += response.payload.length
    if (!block.hasMore || message.code !== methods.get) return this.#finish(pending, response)
    // A part of a body is not a response.
    if (pending.bytes > maxBodyBytes) return this.#settle(pending, { outcome: 'timeout' })
    this.#send(pending, { number: block.number + 1, hasMore: false, bytes: block.bytes })
  }

  #finish(pending: Pending, response: CoapMessage): void {
    const body = pending.blocks.length === 0 ? response.payload : Buffer.concat(pending.blocks)
    this.#settle(pending, { outcome: 'response', response, body })
  }

  #settle(pending: Pending, result: DeviceResult): void {
    const key = toRequestKey(pending)
    if (this.#pending.get(key) !== pending) return
    this.#pending.delete(key)
    this.#deadlines.cancel('response', pending)
    pending.request.onSettled(result)
  }
}

/** A device responds with its identity, or else from its address. */
function toRequestKey({ token, request: { peer } }: { token: Buffer; request: Pick<DeviceRequest, 'peer'> }): string {
  const { address, secure } = peer
  return `${token.toString('hex')} ${secure === undefined ? address : (secure.identity ?? secure.id)}`
}
