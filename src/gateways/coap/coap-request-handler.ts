// Handles the requests of CoAP clients: they become connections, publications and subscriptions of a client of the broker.
//
//   POST, PUT, DELETE /mqtt/connection     a connection with a token, and its heartbeat
//   POST, PUT         /ps/{topic}          publishes
//   GET               /ps/{topic}          Observe 0: subscribes, Observe 1: unsubscribes, else: reads the retained message
//
// `/mqtt/{topic}` is the older form of `/ps/{topic}`.

import { randomBytes } from 'node:crypto'
import { hasWildcard, parseTopicFilter, parseTopicName, reasonCodes, type TopicFilter } from '../../protocol/index.ts'
import type { CoapClient } from './coap-client.ts'
import type { CoapClients } from './coap-clients.ts'
import { type CoapRequest, readRequest } from './coap-request.ts'
import type { CoapSettings } from './coap-settings.ts'
import { type CoapEndpoint, type CoapResponse, type Exchange, linkResponse } from './endpoint/coap-endpoint.ts'
import {
  createBlockOption,
  code,
  methods,
  options,
  readTarget,
  readUint,
  createUintOption,
} from './endpoint/coap-message.ts'
import { toRefusalCode } from './endpoint/refusal-codes.ts'
import { copyPayload, readQos, chooseQos } from './mqtt-mapping.ts'

/** Random bytes of the token of a connection, which is sent as a decimal number. */
const tokenBytes = 8
/** Links of `/.well-known/core`. */
const coreLinks = '</ps>;rt="core.ps";ct=0,</mqtt>,</mqtt/connection>'

/** The parts of the gateway that requests need. */
interface RequestDependencies {
  readonly settings: CoapSettings
  readonly endpoint: CoapEndpoint
  readonly clients: CoapClients
}

export class CoapRequestHandler {
  readonly #gateway: RequestDependencies

  constructor(gateway: RequestDependencies) {
    this.#gateway = gateway
  }

  handle(exchange: Exchange): void {
    const { request, peer } = exchange
    const { endpoint } = this.#gateway
    const read = readRequest(request)
    if ('code' in read) {
      if (read.isDropped === true || !endpoint.canRespondToUnauthenticated(peer)) return
      return this.#respond(exchange, { code: read.code })
    }
    const later = endpoint.continueBody(exchange)
    if (later !== undefined) return this.#respond(exchange, later)
    const { resource, segments } = read
    if (resource === 'core')
      return this.#respond(exchange, request.code === methods.get ? linkResponse(coreLinks) : { code: code(4, 5) })
    if (resource === 'connection') return this.#handleConnection(exchange, read)
    if (resource === undefined) return this.#respond(exchange, { code: code(4, 4) })
    const topic = segments.join('/')
    if (topic === '') return this.#respond(exchange, { code: code(4, 0) })
    if (request.code === methods.get) return this.#handleGet(exchange, read, topic)
    if (request.code === methods.post || request.code === methods.put) return this.#handlePublish(exchange, read, topic)
    this.#respond(exchange, { code: code(4, 5) })
  }

  #handleConnection(exchange: Exchange, { query }: CoapRequest): void {
    const { request, peer } = exchange
    if (request.code === methods.get) return this.#respond(exchange, { code: code(4, 5) })
    const clientId = query.get('clientid')
    if (clientId === undefined || clientId === '') return this.#respond(exchange, { code: code(4, 0) })
    if (request.code === methods.post) return this.#connect(exchange, query, clientId)
    const client = this.#gateway.clients.findByToken(clientId, query.get('token'), peer)
    if (client === undefined) return this.#respond(exchange, { code: code(4, 1) })
    if (request.code === methods.put) return this.#respond(exchange, { code: code(2, 4) })
    client.end('normal')
    this.#respond(exchange, { code: code(2, 2) })
  }

  #connect(exchange: Exchange, query: ReadonlyMap<string, string>, clientId: string): void {
    const token = randomBytes(tokenBytes).readBigUInt64BE().toString()
    const client = this.#gateway.clients.connect(query, clientId, token, exchange.peer)
    if (client === undefined) return this.#respond(exchange, { code: code(5, 3) })
    client.runWhenOpen((reasonCode) => {
      if (reasonCode !== reasonCodes.success) return this.#respond(exchange, { code: toRefusalCode(reasonCode) })
      this.#respond(exchange, { code: code(2, 1), payload: Buffer.from(token) })
    })
  }

  /** Returns the client of a request; if there is none, a response was sent. */
  #resolveClient(exchange: Exchange, parsed: CoapRequest): CoapClient | undefined {
    const { peer } = exchange
    const client = this.#gateway.clients.resolveClient(parsed, peer)
    if (typeof client !== 'string') return client
    if (client === 'full') this.#respond(exchange, { code: code(5, 3) })
    else if (this.#gateway.endpoint.canRespondToUnauthenticated(peer)) this.#respond(exchange, { code: code(4, 1) })
    return undefined
  }

  // Publishing

  #handlePublish(exchange: Exchange, parsed: CoapRequest, topic: string): void {
    const { request } = exchange
    const name = parseTopicName(topic)
    const qos = readQos(parsed.query)
    if (name === undefined || qos === 'bad') return this.#respond(exchange, { code: code(4, 0) })
    const expiry = parsed.query.get('expiry')
    if (expiry !== undefined && !/^\d{1,9}$/.test(expiry)) return this.#respond(exchange, { code: code(4, 0) })
    const received = this.#gateway.endpoint.receiveBody(exchange, readTarget)
    if (received === undefined) return
    const client = this.#resolveClient(exchange, parsed)
    if (client === undefined) return
    const message = {
      topic: name,
      payload: received.payload,
      qos: qos ?? this.#gateway.settings.publishQoS ?? chooseQos(request),
      retain: parsed.query.get('retain') === 'true' || parsed.query.get('retain') === '1',
      expirySeconds: expiry === undefined ? undefined : Number(expiry),
    }
    const { block } = received
    const acknowledged = block === undefined ? {} : { options: [createBlockOption(options.block1, block)] }
    this.#runWhenOpen(exchange, client, () =>
      client.publish(message, (reasonCode) => {
        const isDone = reasonCode < reasonCodes.unspecifiedError
        this.#respond(exchange, isDone ? { code: code(2, 4), ...acknowledged } : { code: toRefusalCode(reasonCode) })
      }),
    )
  }

  #runWhenOpen(exchange: Exchange, client: CoapClient, work: () => void): void {
    client.runWhenOpen((reasonCode) => {
      if (reasonCode === reasonCodes.success) work()
      else this.#respond(exchange, { code: toRefusalCode(reasonCode) })
    })
  }

  // Observing and reading

  #handleGet(exchange: Exchange, parsed: CoapRequest, topic: string): void {
    const { request } = exchange
    const observe = readUint(request, options.observe)
    const filter = parseTopicFilter(topic)
    const qos = readQos(parsed.query)
    const isBad = filter === undefined || qos === 'bad' || (observe !== undefined && request.token.length === 0)
    if (isBad || (observe === undefined && hasWildcard(topic))) return this.#respond(exchange, { code: code(4, 0) })
    const client = this.#resolveClient(exchange, parsed)
    if (client === undefined) return
    if (observe === 1) return this.#runWhenOpen(exchange, client, () => this.#endObserving(exchange, client, filter))
    if (observe === undefined) return this.#readRetained(exchange, client, parsed)
    const { query } = parsed
    const wanted = {
      filter,
      qos: qos ?? this.#gateway.settings.subscribeQoS ?? chooseQos(request),
      target: readTarget(request),
      noLocal: query.get('nl') === '1',
      retainHandling: (['0', '1', '2'].includes(query.get('rh') ?? '') ? Number(query.get('rh')) : 0) as 0 | 1 | 2,
    }
    this.#runWhenOpen(exchange, client, () => {
      const isBegun = client.observe(wanted, request.token, (reasonCode, { sequence }) => {
        if (reasonCode >= reasonCodes.unspecifiedError)
          return this.#respond(exchange, { code: toRefusalCode(reasonCode) })
        this.#respond(exchange, { code: code(2, 5), options: [createUintOption(options.observe, sequence - 1)] })
      })
      if (!isBegun) this.#respond(exchange, { code: code(5, 3) })
    })
  }

  #endObserving(exchange: Exchange, client: CoapClient, filter: TopicFilter): void {
    const observation = client.findObservation(exchange.request.token)
    if (observation?.filter === filter) client.cancel(observation)
    this.#respond(exchange, { code: code(2, 7) })
  }

  #readRetained(exchange: Exchange, client: CoapClient, parsed: CoapRequest): void {
    const topic = parseTopicName(parsed.segments.join('/'))
    if (topic === undefined) return this.#respond(exchange, { code: code(4, 0) })
    this.#runWhenOpen(exchange, client, () => {
      const isSent = client.readRetained(topic, (packet, reasonCode) => {
        if (reasonCode !== reasonCodes.success) return this.#respond(exchange, { code: toRefusalCode(reasonCode) })
        if (packet === undefined) return this.#respond(exchange, { code: code(4, 4) })
        const { payload, block } = this.#gateway.endpoint.beginBody(copyPayload(packet), exchange)
        const more = block === undefined ? [] : [createBlockOption(options.block2, block)]
        this.#respond(exchange, { code: code(2, 5), options: more, payload })
      })
      if (!isSent) this.#respond(exchange, { code: code(5, 3) })
    })
  }

  #respond(exchange: Exchange, response: CoapResponse): void {
    this.#gateway.endpoint.respond(exchange, response)
  }
}
