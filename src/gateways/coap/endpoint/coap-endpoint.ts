// An endpoint of CoAP [RFC 7252], which the gateways of CoAP and LwM2M share:
//
//   datagram ─> message ─> shard of its client ─> banned? ─┬─> acknowledgement, reset ─> exchanges
//                                                          ├─> request ─> repeated? ─> handleRequest of the gateway
//                                                          └─> response, notification ─> handleResponse of the gateway

import type { PeerAddress } from '../../../transports/index.ts'
import { AddressProofs } from '../../address-proofs.ts'
import type { GatewayDependencies } from '../../gateway.ts'
import { toAssociationKey } from '../../peer-identity.ts'
import { type BodyPart, BlockTransfers, type ReceivedBody } from './block-transfers.ts'
import {
  readBlock,
  createBlockOption,
  code,
  coapTypes,
  type CoapMessage,
  type CoapOption,
  linkFormat,
  options,
  readMessage,
  readTarget,
  createUintOption,
} from './coap-message.ts'
import { DeviceRequests } from './device-requests.ts'
import { Exchanges } from './exchanges.ts'

/** Maximum size of a response to an unverified address: this multiple of the request, and at least this number of bytes. */
const maxAmplification = 3
const minResponseBytes = 64
const responseHeadBytes = 24
const noOptions: readonly CoapOption[] = []
const noPayload = Buffer.alloc(0)

/** A request with the address to which the response is sent. */
export interface Exchange {
  readonly request: CoapMessage
  readonly peer: PeerAddress
  /** Size of the datagram. */
  readonly bytes: number
}

export interface CoapResponse {
  readonly code: number
  readonly options?: readonly CoapOption[]
  readonly payload?: Buffer
}

/** The gateway of an endpoint. */
export interface CoapEndpointCallbacks {
  /** Returns the shard of the client of a request or a response. */
  findOwner(message: CoapMessage, peer: PeerAddress): number
  /** Called once for each request, also if the client repeats it. */
  handleRequest(exchange: Exchange): void
  /** Handles a separate response or a notification. */
  handleResponse(message: CoapMessage, peer: PeerAddress): void
  /** Refuses a request with an invalid block. */
  refuse(exchange: Exchange, responseCode: number): void
}

export interface BodyLimits {
  readonly maxBodyBytes: number
  readonly maxBlockBytes: number
}

export class CoapEndpoint {
  readonly proofs: AddressProofs
  readonly exchanges: Exchanges
  /** Requests to devices. */
  readonly requests: DeviceRequests
  readonly blocks: BlockTransfers
  readonly #dependencies: GatewayDependencies
  readonly #gateway: CoapEndpointCallbacks
  readonly #maxBodyBytes: number

  constructor(
    dependencies: GatewayDependencies,
    gateway: CoapEndpointCallbacks,
    { maxBodyBytes, maxBlockBytes }: BodyLimits,
  ) {
    this.#dependencies = dependencies
    this.#gateway = gateway
    this.#maxBodyBytes = maxBodyBytes
    this.proofs = new AddressProofs(() => dependencies.nowMs())
    this.exchanges = new Exchanges(dependencies, this.proofs)
    this.requests = new DeviceRequests(this.exchanges, dependencies)
    this.blocks = new BlockTransfers(maxBodyBytes, maxBlockBytes)
  }

  /** Time at which `tick` must be called. */
  get dueAtMs(): number {
    return Math.min(this.exchanges.dueAtMs, this.requests.dueAtMs)
  }

  tick(): void {
    this.exchanges.tick()
    this.requests.tick()
  }

  handleDatagram(bytes: Buffer, peer: PeerAddress, isForwarded: boolean): void {
    const { counters, place } = this.#dependencies
    if (!isForwarded) counters.received++
    const read = readMessage(bytes)
    if (read === undefined || !('message' in read)) {
      counters.dropped.malformed++
      if (read?.type === coapTypes.con) this.reset(read.messageId, peer)
      return
    }
    const { message } = read
    const owner = isForwarded || place.shards === 1 ? place.own : this.#findOwner(message, peer)
    if (owner !== place.own) return this.#dependencies.forward(owner, bytes, peer)
    this.proofs.recordReceived(peer, bytes.length)
    if (this.#dependencies.isBanned(peer.address))
      return this.#refuseBanned({ request: message, peer, bytes: bytes.length })
    if (message.type === coapTypes.ack || message.type === coapTypes.rst) this.exchanges.handleAckOrReset(message, peer)
    else if (message.code === 0) {
      // An empty confirmable message is a ping [RFC 7252 4.3].
      if (message.type === coapTypes.con) this.reset(message.messageId, peer)
    } else if (message.code >> 5 !== 0) this.#gateway.handleResponse(message, peer)
    else if (!this.exchanges.isRepeated(message, peer))
      this.#gateway.handleRequest({ request: message, peer, bytes: bytes.length })
  }

  #findOwner(message: CoapMessage, peer: PeerAddress): number {
    const { place } = this.#dependencies
    if (message.type === coapTypes.ack || message.type === coapTypes.rst) return message.messageId % place.shards
    return message.code === 0 ? place.own : this.#gateway.findOwner(message, peer)
  }

  #refuseBanned(exchange: Exchange): void {
    const { request, peer } = exchange
    this.#dependencies.counters.dropped.banned++
    const isRequest = request.code > 0 && request.code >> 5 === 0 && request.type <= coapTypes.non
    if (isRequest && this.canRespondToUnauthenticated(peer)) this.respond(exchange, { code: code(4, 3) })
  }

  respond(
    { request, peer }: Exchange,
    { code: responseCode, options: list = noOptions, payload = noPayload }: CoapResponse,
  ): void {
    this.exchanges.reply(request, { code: responseCode, options: list, payload }, peer)
  }

  /** Rejects a message that is invalid or without context, within the limit of responses to unauthenticated peers. */
  reset(messageId: number, peer: PeerAddress): void {
    if (this.canRespondToUnauthenticated(peer)) this.exchanges.reset(messageId, peer)
  }

  /** Counts a response to a peer that is no known client. Returns false if it must not be sent. */
  canRespondToUnauthenticated(peer: PeerAddress): boolean {
    return this.#dependencies.addresses.takeResponse(peer, this.#dependencies.nowMs())
  }

  // Bodies in blocks [RFC 7959]

  /**
   * Returns the body of a request when it is complete. Otherwise the endpoint responds, and returns undefined. `targetOf` returns the resource to
   * which the blocks of one body belong.
   */
  receiveBody(exchange: Exchange, targetOf: (request: CoapMessage) => string): ReceivedBody | undefined {
    const received = this.blocks.receive(exchange, this.#dependencies.nowMs(), targetOf)
    switch (received.outcome) {
      case 'whole':
        return received
      case 'continue':
        this.respond(exchange, { code: code(2, 31), options: [createBlockOption(options.block1, received.block)] })
        return undefined
      case 'too-large':
        this.respond(exchange, { code: code(4, 13), options: [createUintOption(options.size1, this.#maxBodyBytes)] })
        return undefined
      case 'incomplete':
        this.#gateway.refuse(exchange, code(4, 8))
        return undefined
      case 'bad':
        this.#gateway.refuse(exchange, code(4, 0))
        return undefined
      default:
        return received satisfies never
    }
  }

  /** Returns the first block of the body of a response, in the size that the client has requested. The rest is stored for later requests. */
  beginBody(payload: Buffer, exchange: Exchange): BodyPart {
    const { peer, request } = exchange
    const block = readBlock(request, options.block2)
    const requestedBytes = block === undefined || block === 'bad' ? Infinity : block.bytes
    const maxBytes = Math.min(requestedBytes, this.#computeMaxPayloadBytes(exchange))
    const nowMs = this.#dependencies.nowMs()
    return this.blocks.begin(payload, { peer: toAssociationKey(peer), target: readTarget(request), maxBytes, nowMs })
  }

  /** Returns the response to a request for a later block of an earlier response; undefined: the request is another one. */
  continueBody(exchange: Exchange): CoapResponse | undefined {
    const { request, peer } = exchange
    const block = readBlock(request, options.block2)
    if (block === 'bad') return { code: code(4, 0) }
    if (block === undefined || block.number === 0) return undefined
    const next = this.blocks.next(block, {
      peer: toAssociationKey(peer),
      target: readTarget(request),
      maxBytes: this.#computeMaxPayloadBytes(exchange),
    })
    if (next === undefined) return { code: code(4, 8) }
    return { code: code(2, 5), options: [createBlockOption(options.block2, next.block)], payload: next.payload }
  }

  /** Returns the maximum payload of a response. It is limited for an address that has not proven itself, which may be forged. */
  #computeMaxPayloadBytes({ peer, bytes }: Exchange): number {
    if (this.proofs.isProven(peer)) return Infinity
    return Math.max(minResponseBytes, bytes * maxAmplification) - responseHeadBytes
  }
}

/** Returns the response to GET `/.well-known/core` [RFC 6690]. */
export function linkResponse(links: string): CoapResponse {
  return {
    code: code(2, 5),
    options: [createUintOption(options.contentFormat, linkFormat)],
    payload: Buffer.from(links),
  }
}
