// One listener of the CoAP gateway: it passes datagrams to the exchanges and the request handler, and messages of the broker to observers.

import { Deadlines } from '../../core/index.ts'
import { type PublishPacket, TopicTable } from '../../protocol/index.ts'
import { AddressProofs } from '../address-proofs.ts'
import {
  type DatagramGateway,
  type GatewayDependencies,
  type GatewayRequest,
  type GatewayResponse,
} from '../gateway.ts'
import { peerKey } from '../peer-identity.ts'
import type { PeerAddress } from '../../transports/index.ts'
import { BlockTransfers } from './endpoint/block-transfers.ts'
import type { CoapClient, CoapClientDependencies } from './coap-client.ts'
import { CoapClients } from './coap-clients.ts'
import { CoapRequestHandler } from './coap-request-handler.ts'
import { DeviceRequests } from './endpoint/device-requests.ts'
import { Exchanges } from './endpoint/exchanges.ts'
import {
  blockOption,
  code,
  coapTypes,
  type CoapMessage,
  methods,
  options,
  readMessage,
  uintOption,
} from './endpoint/coap-message.ts'
import type { Observation } from './coap-observations.ts'
import { readRequest } from './coap-request.ts'
import { payloadOf } from './mqtt-mapping.ts'
import { ownerOfName, Routes } from '../shard-place.ts'
import type { CoapSettings } from './coap-settings.ts'

const dayMs = 86_400_000
const maxCachedTopics = 1_024
export class CoapGateway implements DatagramGateway, CoapClientDependencies {
  readonly settings: CoapSettings
  readonly dependencies: GatewayDependencies
  readonly topics = new TopicTable(maxCachedTopics)
  readonly #exchanges: Exchanges
  readonly #requests: DeviceRequests
  readonly #blocks: BlockTransfers
  readonly #proofs: AddressProofs
  readonly #clients: CoapClients
  readonly #handler: CoapRequestHandler
  readonly #routes = new Routes()
  readonly #deadlines = new Deadlines<'client', CoapClient>()

  constructor(settings: CoapSettings, dependencies: GatewayDependencies) {
    this.settings = settings
    this.dependencies = dependencies
    this.#proofs = new AddressProofs(() => dependencies.nowMs())
    this.#clients = new CoapClients(this, this.#proofs)
    this.#exchanges = new Exchanges(dependencies, this.#proofs)
    this.#requests = new DeviceRequests(this.#exchanges, dependencies)
    this.#blocks = new BlockTransfers(settings.maxBodyBytes, settings.maxBlockBytes)
    this.#handler = new CoapRequestHandler({
      settings,
      dependencies,
      exchanges: this.#exchanges,
      blocks: this.#blocks,
      proofs: this.#proofs,
      clients: this.#clients,
    })
  }

  get clients(): number {
    return this.#clients.size
  }

  handleDatagram(bytes: Buffer, peer: PeerAddress, isForwarded = false): void {
    const { counters, place } = this.dependencies
    if (!isForwarded) counters.received++
    const read = readMessage(bytes)
    if (read === undefined || !('message' in read)) {
      counters.dropped.malformed++
      if (read?.type === coapTypes.con) this.#reset(read.messageId, peer)
      return
    }
    const { message } = read
    const owner = isForwarded || place.shards === 1 ? place.own : this.#ownerOf(message, peer)
    if (owner !== place.own) return this.dependencies.forward(owner, bytes, peer)
    this.#proofs.noteReceived(peer, bytes.length)
    if (this.dependencies.isBanned(peer.address))
      return this.#handler.refuseBanned({ request: message, peer, bytes: bytes.length })
    if (message.type === coapTypes.ack || message.type === coapTypes.rst)
      this.#exchanges.handleAckOrReset(message, peer)
    else if (message.code === 0) {
      // An empty confirmable message is a ping [RFC 7252 4.3].
      if (message.type === coapTypes.con) this.#reset(message.messageId, peer)
    } else if (message.code >> 5 === 0) this.#handler.handle({ request: message, peer, bytes: bytes.length })
    else this.#handleResponse(message, peer)
    this.#plan()
  }

  /** Returns the shard of the client of a message. */
  #ownerOf(message: CoapMessage, peer: PeerAddress): number {
    const { place } = this.dependencies
    const key = peerKey(peer)
    if (message.type === coapTypes.ack || message.type === coapTypes.rst) return message.messageId % place.shards
    if (message.code >> 5 !== 0) return this.#routes.ownerOf(key) ?? place.own
    const read = message.code === 0 ? undefined : readRequest(message)
    const clientId = read === undefined || 'code' in read ? undefined : read.query.get('clientid')
    if (clientId === undefined || clientId === '') return place.own
    const owner = ownerOfName(clientId, place)
    this.#routes.note(key, owner === place.own ? undefined : owner)
    return owner
  }

  tick(): void {
    const nowMs = this.dependencies.nowMs()
    this.#exchanges.tick()
    this.#requests.tick()
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
    this.dependencies.wakeAt(Math.min(this.#exchanges.dueAtMs, this.#requests.dueAtMs, this.#deadlines.nextMs()))
  }

  /** Sends a confirmable request to a client. */
  request(clientId: string, request: GatewayRequest): Promise<GatewayResponse> | undefined {
    const client = this.#clients.get(clientId)
    if (client === undefined) return undefined
    if (request.kind !== 'coap-request')
      return Promise.resolve({ kind: 'refused', problem: 'a CoAP client accepts only CoAP requests' })
    return new Promise((resolve) => {
      this.#requests.request({
        peer: client.peer,
        token: Buffer.from(request.token),
        timeoutMs: request.timeoutMs,
        message: {
          code: methods[request.method],
          options: request.format === undefined ? [] : [uintOption(options.contentFormat, request.format)],
          payload: Buffer.from(request.payload),
        },
        acknowledged: () => {},
        settled: (result) => {
          if (result.outcome !== 'response') return resolve({ kind: 'no-response' })
          client.noteReceived(client.peer)
          const { code: value, messageId } = result.response
          const text = `${value >> 5}.${String(value & 31).padStart(2, '0')}`
          resolve({ kind: 'coap-response', messageId, code: text, payload: Buffer.from(result.body) })
        },
      })
      this.#plan()
    })
  }

  noteEnded(client: CoapClient): void {
    this.dependencies.addresses.releaseClient(client.firstAddress)
    this.#deadlines.cancel('client', client)
    this.#clients.noteEnded(client)
  }

  /** Handles a separate response. A response without a request is rejected. */
  #handleResponse(message: CoapMessage, peer: PeerAddress): void {
    const isExpected = this.#requests.handleResponse(message, peer)
    if (message.type !== coapTypes.con) return
    if (isExpected) this.#exchanges.acknowledge(message.messageId, peer)
    else this.#reset(message.messageId, peer)
  }

  #reset(messageId: number, peer: PeerAddress): void {
    if (this.dependencies.addresses.takeResponse(peer, this.dependencies.nowMs()))
      this.#exchanges.reset(messageId, peer)
  }

  /** Sends a message of an observation. */
  notify(client: CoapClient, observation: Observation, packet: PublishPacket, settled: () => void): void {
    const { notifyType } = this.settings
    const nowMs = this.dependencies.nowMs()
    // [RFC 7641 4.5] A client that gets only non-confirmable messages must confirm one per day.
    const isDue = nowMs - observation.confirmedAtMs >= dayMs
    const isProven = this.#proofs.isProven(client.peer)
    const isConfirmable = notifyType === 'con' || (notifyType === 'qos' && packet.qos > 0) || isDue || !isProven
    observation.sequence = (observation.sequence + 1) & 0xffffff
    const { target } = observation
    const { peer } = client
    const { payload, block } = this.#blocks.begin(payloadOf(packet), {
      peer: peerKey(peer),
      target,
      // Also for an address that has not proven itself: a message that is too large for it waits for the response to a ping.
      maxBytes: this.settings.maxBlockBytes,
      nowMs,
    })
    const message = {
      code: code(2, 5),
      token: observation.token,
      options: [
        uintOption(options.observe, observation.sequence),
        ...(block === undefined ? [] : [blockOption(options.block2, block)]),
      ],
      payload,
    }
    if (!isConfirmable) {
      this.#exchanges.sendNonConfirmable(message, peer, () => client.cancel(observation))
      return settled()
    }
    this.#exchanges.sendConfirmable(
      {
        message,
        settled: (outcome) => {
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
