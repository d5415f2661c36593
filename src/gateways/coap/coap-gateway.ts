// One listener of the CoAP gateway: it passes requests to the request handler, and messages of the broker to observers.

import { Deadlines } from '../../core/index.ts'
import { type PublishPacket, TopicTable } from '../../protocol/index.ts'
import type { PeerAddress } from '../../transports/index.ts'
import {
  type DatagramGateway,
  type GatewayDependencies,
  type GatewayRequest,
  type GatewayResponse,
} from '../gateway.ts'
import { toAssociationKey } from '../peer-identity.ts'
import { findOwnerShard, Routes } from '../shard-place.ts'
import type { CoapClient, CoapClientDependencies } from './coap-client.ts'
import { CoapClients } from './coap-clients.ts'
import type { Observation } from './coap-observations.ts'
import { readRequest } from './coap-request.ts'
import { CoapRequestHandler } from './coap-request-handler.ts'
import type { CoapSettings } from './coap-settings.ts'
import { CoapEndpoint, type CoapEndpointCallbacks, type Exchange } from './endpoint/coap-endpoint.ts'
import {
  createBlockOption,
  code,
  coapTypes,
  type CoapMessage,
  formatCode,
  methods,
  options,
  createUintOption,
} from './endpoint/coap-message.ts'
import { copyPayload } from './mqtt-mapping.ts'

const dayMs = 86_400_000
const maxCachedTopics = 1_024

export class CoapGateway implements DatagramGateway, CoapClientDependencies, CoapEndpointCallbacks {
  readonly settings: CoapSettings
  readonly dependencies: GatewayDependencies
  readonly topics = new TopicTable(maxCachedTopics)
  readonly #endpoint: CoapEndpoint
  readonly #clients: CoapClients
  readonly #handler: CoapRequestHandler
  readonly #routes = new Routes()
  readonly #deadlines = new Deadlines<'client', CoapClient>()

  constructor(settings: CoapSettings, dependencies: GatewayDependencies) {
    this.settings = settings
    this.dependencies = dependencies
    this.#endpoint = new CoapEndpoint(dependencies, this, settings)
    this.#clients = new CoapClients(this, this.#endpoint.proofs)
    this.#handler = new CoapRequestHandler({ settings, endpoint: this.#endpoint, clients: this.#clients })
  }

  get clients(): number {
    return this.#clients.size
  }

  handleDatagram(bytes: Buffer, peer: PeerAddress, isForwarded = false): void {
    this.#endpoint.handleDatagram(bytes, peer, isForwarded)
    this.#plan()
  }

  tick(): void {
    const nowMs = this.dependencies.nowMs()
    this.#endpoint.tick()
    for (let due = this.#deadlines.takeDue(nowMs); due !== undefined; due = this.#deadlines.takeDue(nowMs)) {
      due.subject.tick()
      if (!due.subject.isEnded) this.schedule(due.subject)
    }
    this.#plan()
  }

  close(): void {
    this.#clients.endAll()
  }

  schedule(client: CoapClient): void {
    if (client.dueAtMs === Infinity) this.#deadlines.cancel('client', client)
    else this.#deadlines.set('client', client, client.dueAtMs)
    this.#plan()
  }

  #plan(): void {
    this.dependencies.wakeAt(Math.min(this.#endpoint.dueAtMs, this.#deadlines.findNextMs()))
  }

  /** Sends a confirmable request to a client. */
  request(clientId: string, request: GatewayRequest): Promise<GatewayResponse> | undefined {
    const client = this.#clients.get(clientId)
    if (client === undefined) return undefined
    if (request.kind !== 'coap-request')
      return Promise.resolve({ kind: 'refused', problem: 'a CoAP client accepts only CoAP requests' })
    return new Promise((resolve) => {
      this.#endpoint.requests.request({
        peer: client.peer,
        token: Buffer.from(request.token),
        timeoutMs: request.timeoutMs,
        message: {
          code: methods[request.method],
          options: request.format === undefined ? [] : [createUintOption(options.contentFormat, request.format)],
          payload: Buffer.from(request.payload),
        },
        onAcknowledged: () => {},
        onSettled: (result) => {
          if (result.outcome !== 'response') return resolve({ kind: 'no-response' })
          client.recordReceived(client.peer)
          const { code: value, messageId } = result.response
          resolve({ kind: 'coap-response', messageId, code: formatCode(value), payload: Buffer.from(result.body) })
        },
      })
      this.#plan()
    })
  }

  onEnded(client: CoapClient): void {
    this.dependencies.addresses.releaseClient(client.firstAddress)
    this.#deadlines.cancel('client', client)
    this.#clients.removeClient(client)
  }

  // Messages of the endpoint

  /** A response has no client ID: its client sent a request from the same address before. */
  findOwner(message: CoapMessage, peer: PeerAddress): number {
    const { place } = this.dependencies
    const key = toAssociationKey(peer)
    if (message.code >> 5 !== 0) return this.#routes.findOwner(key) ?? place.own
    const read = readRequest(message)
    const clientId = 'code' in read ? undefined : read.query.get('clientid')
    if (clientId === undefined || clientId === '') return place.own
    const owner = findOwnerShard(clientId, place)
    this.#routes.setOwner(key, owner === place.own ? undefined : owner)
    return owner
  }

  handleRequest(exchange: Exchange): void {
    this.#handler.handle(exchange)
  }

  /** Handles a separate response. A response without a request is rejected. */
  handleResponse(message: CoapMessage, peer: PeerAddress): void {
    const isExpected = this.#endpoint.requests.handleResponse(message, peer)
    if (message.type !== coapTypes.con) return
    if (isExpected) this.#endpoint.exchanges.acknowledge(message.messageId, peer)
    else this.#endpoint.reset(message.messageId, peer)
  }

  refuse(exchange: Exchange, responseCode: number): void {
    this.#endpoint.respond(exchange, { code: responseCode })
  }

  /** Sends a message of an observation. */
  notify(client: CoapClient, observation: Observation, packet: PublishPacket, settled: () => void): void {
    const { notifyType } = this.settings
    const nowMs = this.dependencies.nowMs()
    // [RFC 7641 4.5] A client that gets only non-confirmable messages must confirm one per day.
    const isDue = nowMs - observation.confirmedAtMs >= dayMs
    const isProven = this.#endpoint.proofs.isProven(client.peer)
    const isConfirmable = notifyType === 'con' || (notifyType === 'qos' && packet.qos > 0) || isDue || !isProven
    observation.sequence = (observation.sequence + 1) & 0xffffff
    const { target } = observation
    const { peer } = client
    const { payload, block } = this.#endpoint.blocks.begin(copyPayload(packet), {
      peer: toAssociationKey(peer),
      target,
      // Also for an address that has not proven itself: a message that is too large for it waits for the response to a ping.
      maxBytes: this.settings.maxBlockBytes,
      nowMs,
    })
    const message = {
      code: code(2, 5),
      token: observation.token,
      options: [
        createUintOption(options.observe, observation.sequence),
        ...(block === undefined ? [] : [createBlockOption(options.block2, block)]),
      ],
      payload,
    }
    if (!isConfirmable) {
      this.#endpoint.exchanges.sendNonConfirmable(message, peer, () => client.cancel(observation))
      return settled()
    }
    this.#endpoint.exchanges.sendConfirmable(
      {
        message,
        onSettled: (outcome) => {
          if (outcome === 'acknowledged') observation.confirmedAtMs = this.dependencies.nowMs()
          else if (outcome !== 'dropped') client.cancel(observation)
          settled()
        },
      },
      peer,
    )
    this.#plan()
  }
}
