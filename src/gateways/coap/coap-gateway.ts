// One listener of the CoAP gateway: requests become publications and subscriptions of a client of the broker.
//
//   POST, PUT, DELETE /mqtt/connection     a connection with a token, and its heartbeat
//   POST, PUT         /ps/{topic}          publishes
//   GET               /ps/{topic}          Observe 0: subscribes, Observe 1: unsubscribes, else: reads the retained message
//
// `/mqtt/{topic}` is the older form of `/ps/{topic}`.

import { randomBytes } from 'node:crypto'
import { Deadlines } from '../../core/index.ts'
import {
  hasWildcard,
  parseTopicFilter,
  parseTopicName,
  type PublishPacket,
  reasonCodes,
  type TopicFilter,
  TopicTable,
} from '../../protocol/index.ts'
import { AddressProofs } from '../address-proofs.ts'
import {
  type DatagramGateway,
  type GatewayDependencies,
  type GatewayRequest,
  type GatewayResponse,
} from '../gateway.ts'
import { type PeerAddress, peerKey } from '../peer-address.ts'
import { BlockTransfers } from './block-transfers.ts'
import type { CoapClient, CoapClientDependencies } from './coap-client.ts'
import { CoapClients } from './coap-clients.ts'
import { DeviceRequests } from './device-requests.ts'
import { Exchanges } from './exchanges.ts'
import {
  blockOf,
  blockOption,
  code,
  coapTypes,
  type CoapMessage,
  type CoapOption,
  methods,
  options,
  readMessage,
  uintOf,
  uintOption,
} from './message.ts'
import type { Observation } from './observations.ts'
import { type CoapRequest, coreLinks, readRequest, targetOf } from './request.ts'
import { codeOf, payloadOf, qosIn, qosOfType } from './mqtt-mapping.ts'
import { ownerOfName, Routes } from '../shard-place.ts'
import type { CoapSettings } from './settings.ts'

/** Random bytes of the token of a connection, which is sent as a decimal number. */
const tokenBytes = 8
const dayMs = 86_400_000
/**
 * Maximum size of a response to an unverified address: this multiple of the request, and at least this number of bytes.
 */
const maxAmplification = 3
const minResponseBytes = 64
const maxCachedTopics = 1_024
const responseHeadBytes = 24
const noOptions: readonly CoapOption[] = []
const noPayload = Buffer.alloc(0)

interface Response {
  readonly code: number
  readonly options?: readonly CoapOption[]
  readonly payload?: Buffer
}

interface Exchange {
  readonly request: CoapMessage
  readonly peer: PeerAddress
  /** Size of the datagram. */
  readonly bytes: number
}

export class CoapGateway implements DatagramGateway, CoapClientDependencies {
  readonly settings: CoapSettings
  readonly dependencies: GatewayDependencies
  readonly topics = new TopicTable(maxCachedTopics)
  readonly #exchanges: Exchanges
  readonly #requests: DeviceRequests
  readonly #blocks: BlockTransfers
  readonly #proofs: AddressProofs
  readonly #clients: CoapClients
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
      if (read?.type === coapTypes.con && this.#canRespondToUnauthenticated(peer))
        this.#exchanges.reset(read.messageId, peer)
      return
    }
    const { message } = read
    const owner = isForwarded || place.shards === 1 ? place.own : this.#ownerOf(message, peer)
    if (owner !== place.own) return this.dependencies.forward(owner, bytes, peer)
    this.#proofs.noteReceived(peer, bytes.length)
    if (this.dependencies.isBanned(peer.address))
      return this.#refuseBanned({ request: message, peer, bytes: bytes.length })
    if (message.type === coapTypes.ack || message.type === coapTypes.rst)
      this.#exchanges.handleAckOrReset(message, peer)
    else if (message.code === 0) {
      // An empty confirmable message is a ping [RFC 7252 4.3].
      if (message.type === coapTypes.con && this.#canRespondToUnauthenticated(peer))
        this.#exchanges.reset(message.messageId, peer)
    } else if (message.code >> 5 === 0) this.#handleRequest({ request: message, peer, bytes: bytes.length })
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
    else if (this.#canRespondToUnauthenticated(peer)) this.#exchanges.reset(message.messageId, peer)
  }

  // Requests

  #handleRequest(exchange: Exchange): void {
    const { request, peer } = exchange
    if (this.#exchanges.isRepeated(request, peer)) return
    const read = readRequest(request)
    if ('code' in read) {
      if (read.isDropped === true || !this.#canRespondToUnauthenticated(peer)) return
      return this.#respond(exchange, { code: read.code })
    }
    const later = this.#handleLaterBlock(exchange, read)
    if (later !== undefined) return this.#respond(exchange, later)
    const { resource, segments } = read
    if (resource === 'core')
      return this.#respond(exchange, request.code === methods.get ? coreLinks() : { code: code(4, 5) })
    if (resource === 'connection') return this.#handleConnection(exchange, read)
    if (resource === undefined) return this.#respond(exchange, { code: code(4, 4) })
    const topic = segments.join('/')
    if (topic === '') return this.#respond(exchange, { code: code(4, 0) })
    if (request.code === methods.get) return this.#handleGet(exchange, read, topic)
    if (request.code === methods.post || request.code === methods.put) return this.#handlePublish(exchange, read, topic)
    this.#respond(exchange, { code: code(4, 5) })
  }

  /** Returns the response to a GET for a later block of an earlier response; undefined: the request is another one. */
  #handleLaterBlock(exchange: Exchange, parsed: CoapRequest): Response | undefined {
    const { request, peer } = exchange
    const block = blockOf(request, options.block2)
    if (block === 'bad') return { code: code(4, 0) }
    if (block === undefined || block.number === 0) return undefined
    const next = this.#blocks.next(block, {
      peer: peerKey(peer),
      target: targetOf(parsed),
      maxBytes: this.#maxPayloadBytes(exchange),
    })
    if (next === undefined) return { code: code(4, 8) }
    return { code: code(2, 5), options: [blockOption(options.block2, next.block)], payload: next.payload }
  }

  #handleConnection(exchange: Exchange, { query }: CoapRequest): void {
    const { request, peer } = exchange
    if (request.code === methods.get) return this.#respond(exchange, { code: code(4, 5) })
    const clientId = query.get('clientid')
    if (clientId === undefined || clientId === '') return this.#respond(exchange, { code: code(4, 0) })
    if (request.code === methods.post) return this.#connect(exchange, query, clientId)
    const client = this.#clients.withToken(clientId, query.get('token'), peer)
    if (client === undefined) return this.#respond(exchange, { code: code(4, 1) })
    if (request.code === methods.put) return this.#respond(exchange, { code: code(2, 4) })
    client.end('normal')
    this.#respond(exchange, { code: code(2, 2) })
  }

  #connect(exchange: Exchange, query: ReadonlyMap<string, string>, clientId: string): void {
    const token = randomBytes(tokenBytes).readBigUInt64BE().toString()
    const client = this.#clients.connect(query, clientId, token, exchange.peer)
    if (client === undefined) return this.#respond(exchange, { code: code(5, 3) })
    client.whenOpen((reasonCode) => {
      if (reasonCode !== reasonCodes.success) return this.#respond(exchange, { code: codeOf(reasonCode) })
      this.#respond(exchange, { code: code(2, 1), payload: Buffer.from(token) })
    })
  }

  /** Returns the client of a request; if there is none, a response was sent. */
  #clientOf(exchange: Exchange, parsed: CoapRequest): CoapClient | undefined {
    const { peer } = exchange
    const client = this.#clients.clientOf(parsed, peer)
    if (typeof client !== 'string') return client
    if (client === 'full') this.#respond(exchange, { code: code(5, 3) })
    else if (this.#canRespondToUnauthenticated(peer)) this.#respond(exchange, { code: code(4, 1) })
    return undefined
  }

  #refuseBanned(exchange: Exchange): void {
    const { request, peer } = exchange
    this.dependencies.counters.dropped.banned++
    const isRequest = request.code > 0 && request.code >> 5 === 0 && request.type <= coapTypes.non
    if (isRequest && this.#canRespondToUnauthenticated(peer)) this.#respond(exchange, { code: code(4, 3) })
  }

  // Publishing

  #handlePublish(exchange: Exchange, parsed: CoapRequest, topic: string): void {
    const { request, peer } = exchange
    const name = parseTopicName(topic)
    const qos = qosIn(parsed.query)
    if (name === undefined || qos === 'bad') return this.#respond(exchange, { code: code(4, 0) })
    const expiry = parsed.query.get('expiry')
    if (expiry !== undefined && !/^\d{1,9}$/.test(expiry)) return this.#respond(exchange, { code: code(4, 0) })
    const received = this.#blocks.receive(request, this.dependencies.nowMs(), () => ({
      peer: peerKey(peer),
      target: targetOf(parsed),
    }))
    if (received.outcome === 'continue')
      return this.#respond(exchange, { code: code(2, 31), options: [blockOption(options.block1, received.block)] })
    if (received.outcome === 'bad') return this.#respond(exchange, { code: code(4, 0) })
    if (received.outcome === 'incomplete') return this.#respond(exchange, { code: code(4, 8) })
    if (received.outcome === 'too-large') {
      const size = uintOption(options.size1, this.settings.maxBodyBytes)
      return this.#respond(exchange, { code: code(4, 13), options: [size] })
    }
    const client = this.#clientOf(exchange, parsed)
    if (client === undefined) return
    const message = {
      topic: name,
      payload: received.payload,
      qos: qos ?? this.settings.publishQoS ?? qosOfType(request),
      retain: parsed.query.get('retain') === 'true' || parsed.query.get('retain') === '1',
      expirySeconds: expiry === undefined ? undefined : Number(expiry),
    }
    const { block } = received
    const acknowledged = block === undefined ? {} : { options: [blockOption(options.block1, block)] }
    this.#whenOpen(exchange, client, () =>
      client.publish(message, (reasonCode) => {
        const isDone = reasonCode < reasonCodes.unspecifiedError
        this.#respond(exchange, isDone ? { code: code(2, 4), ...acknowledged } : { code: codeOf(reasonCode) })
      }),
    )
  }

  #whenOpen(exchange: Exchange, client: CoapClient, work: () => void): void {
    client.whenOpen((reasonCode) => {
      if (reasonCode === reasonCodes.success) work()
      else this.#respond(exchange, { code: codeOf(reasonCode) })
    })
  }

  // Observing and reading

  #handleGet(exchange: Exchange, parsed: CoapRequest, topic: string): void {
    const { request } = exchange
    const observe = uintOf(request, options.observe)
    const filter = parseTopicFilter(topic)
    const qos = qosIn(parsed.query)
    const isBad = filter === undefined || qos === 'bad' || (observe !== undefined && request.token.length === 0)
    if (isBad || (observe === undefined && hasWildcard(topic))) return this.#respond(exchange, { code: code(4, 0) })
    const client = this.#clientOf(exchange, parsed)
    if (client === undefined) return
    if (observe === 1) return this.#whenOpen(exchange, client, () => this.#endObserving(exchange, client, filter))
    if (observe === undefined) return this.#readRetained(exchange, client, parsed)
    const { query } = parsed
    const wanted = {
      filter,
      qos: qos ?? this.settings.subscribeQoS ?? qosOfType(request),
      target: targetOf(parsed),
      noLocal: query.get('nl') === '1',
      retainHandling: (['0', '1', '2'].includes(query.get('rh') ?? '') ? Number(query.get('rh')) : 0) as 0 | 1 | 2,
    }
    this.#whenOpen(exchange, client, () => {
      const isBegun = client.observe(wanted, request.token, (reasonCode, { sequence }) => {
        if (reasonCode >= reasonCodes.unspecifiedError) return this.#respond(exchange, { code: codeOf(reasonCode) })
        this.#respond(exchange, { code: code(2, 5), options: [uintOption(options.observe, sequence - 1)] })
      })
      if (!isBegun) this.#respond(exchange, { code: code(5, 3) })
    })
  }

  #endObserving(exchange: Exchange, client: CoapClient, filter: TopicFilter): void {
    const observation = client.observationOf(exchange.request.token)
    if (observation?.filter === filter) client.cancel(observation)
    this.#respond(exchange, { code: code(2, 7) })
  }

  #readRetained(exchange: Exchange, client: CoapClient, parsed: CoapRequest): void {
    const topic = parseTopicName(parsed.segments.join('/'))
    if (topic === undefined) return this.#respond(exchange, { code: code(4, 0) })
    this.#whenOpen(exchange, client, () => {
      const isSent = client.readRetained(topic, (packet, reasonCode) => {
        if (reasonCode !== reasonCodes.success) return this.#respond(exchange, { code: codeOf(reasonCode) })
        if (packet === undefined) return this.#respond(exchange, { code: code(4, 4) })
        const { payload, block } = this.#firstBlock(payloadOf(packet), exchange, parsed)
        const more = block === undefined ? [] : [blockOption(options.block2, block)]
        this.#respond(exchange, { code: code(2, 5), options: more, payload })
      })
      if (!isSent) this.#respond(exchange, { code: code(5, 3) })
    })
  }

  #firstBlock(payload: Buffer, exchange: Exchange, parsed: CoapRequest) {
    const { peer, request } = exchange
    const block = blockOf(request, options.block2)
    const requestedBytes = block === undefined || block === 'bad' ? Infinity : block.bytes
    const maxBytes = Math.min(requestedBytes, this.#maxPayloadBytes(exchange))
    const nowMs = this.dependencies.nowMs()
    return this.#blocks.begin(payload, { peer: peerKey(peer), target: targetOf(parsed), maxBytes, nowMs })
  }

  /** Returns the maximum payload of a response. It is limited for an address that has not proven itself, which may be forged. */
  #maxPayloadBytes({ peer, bytes }: Exchange): number {
    if (this.#proofs.isProven(peer)) return Infinity
    return Math.max(minResponseBytes, bytes * maxAmplification) - responseHeadBytes
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

  #respond(
    { request, peer }: Exchange,
    { code: responseCode, options: list = noOptions, payload = noPayload }: Response,
  ): void {
    this.#exchanges.reply(request, { code: responseCode, options: list, payload }, peer)
  }

  #canRespondToUnauthenticated(peer: PeerAddress): boolean {
    return this.dependencies.addresses.takeResponse(peer, this.dependencies.nowMs())
  }
}
