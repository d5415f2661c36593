// One listener of the LwM2M gateway: the registration interface of a server [LwM2M 1.1 Core 6.2], and responses of devices.
//
//   POST   /rd?ep=...       registers           -> 2.01, Location-Path rd/<id>
//   POST   /rd/<id>         updates             -> 2.04
//   DELETE /rd/<id>         deregisters         -> 2.02

import { randomBytes } from 'node:crypto'
import { Deadlines } from '../../core/index.ts'
import { asTopicPart, reasonCodes, TopicTable } from '../../protocol/index.ts'
import { BlockTransfers } from '../coap/endpoint/block-transfers.ts'
import { Exchanges } from '../coap/endpoint/exchanges.ts'
import {
  blockOption,
  code,
  coapTypes,
  type CoapMessage,
  type CoapOption,
  methods,
  options,
  readMessage,
  textsOf,
  uintOption,
} from '../coap/endpoint/coap-message.ts'
import {
  type DatagramGateway,
  type GatewayDependencies,
  type GatewayRequest,
  type GatewayResponse,
  type MqttConnection,
  type MqttConnectionCallbacks,
} from '../gateway.ts'
import { canBeSameDevice, hasSameIdentity, isSamePeer, peerKey, restoredPeer } from '../peer-identity.ts'
import type { PeerAddress } from '../../transports/index.ts'
import { AddressProofs } from '../address-proofs.ts'
import { formats } from './content.ts'
import { Device, type DeviceDependencies } from './device.ts'
import { RestoredConnections } from '../restored-connections.ts'
import type { StoredDevice, Registration } from './registration.ts'
import { DeviceRequests } from '../coap/endpoint/device-requests.ts'
import { type ObjectList, parseObjectList } from './link-format.ts'
import { ownerOfName, ownName } from '../shard-place.ts'
import type { Lwm2mSettings } from './lwm2m-settings.ts'

const locationBytes = 8
const defaultLifetimeSeconds = 86_400
const maxBodyBytes = 65_536
const maxBlockBytes = 1_024
const maxEndpointNameBytes = 512
const maxCachedTopics = 1_024
const versions: ReadonlySet<string> = new Set(['1', '1.0', '1.1'])
const defaultVersion = '1.0'

interface Exchange {
  readonly request: CoapMessage
  readonly peer: PeerAddress
}

interface Response {
  readonly code: number
  readonly options?: readonly CoapOption[]
  readonly payload?: Buffer
}

/** Header, token, path and endpoint name. */
const minRegistrationBytes = 16

export class Lwm2mGateway implements DatagramGateway, DeviceDependencies {
  readonly settings: Lwm2mSettings
  readonly dependencies: GatewayDependencies
  readonly requests: DeviceRequests
  readonly topics = new TopicTable(maxCachedTopics)
  readonly proofs: AddressProofs
  readonly #restored: RestoredConnections
  readonly #exchanges: Exchanges
  readonly #blocks = new BlockTransfers(maxBodyBytes, maxBlockBytes)
  /** By location. */
  readonly #devices = new Map<string, Device>()
  readonly #byEndpoint = new Map<string, Device>()
  readonly #byPeer = new Map<string, Device>()
  /** Devices over DTLS, by their identity. */
  readonly #byIdentity = new Map<string, Set<Device>>()
  /** Including those that the broker has not accepted yet. */
  readonly #all = new Set<Device>()
  readonly #deadlines = new Deadlines<'device', Device>()

  constructor(settings: Lwm2mSettings, dependencies: GatewayDependencies) {
    this.settings = settings
    this.dependencies = dependencies
    this.proofs = new AddressProofs(() => dependencies.nowMs())
    this.#restored = new RestoredConnections(dependencies, () => this.#plan())
    this.#exchanges = new Exchanges(dependencies, this.proofs)
    this.requests = new DeviceRequests(this.#exchanges, dependencies)
  }

  get clients(): number {
    return this.#devices.size
  }

  handleDatagram(bytes: Buffer, peer: PeerAddress, isForwarded = false): void {
    const { counters, place } = this.dependencies
    if (!isForwarded) counters.received++
    const read = readMessage(bytes)
    if (read === undefined || !('message' in read)) {
      counters.dropped.malformed++
      if (read?.type === coapTypes.con && this.#mayRespondToUnauthenticated(peer))
        this.#exchanges.reset(read.messageId, peer)
      return
    }
    const { message } = read
    const owner = isForwarded || place.shards === 1 ? place.own : this.#ownerOf(message)
    if (owner !== place.own) return this.dependencies.forward(owner, bytes, peer)
    this.proofs.noteReceived(peer, bytes.length)
    if (this.dependencies.isBanned(peer.address)) return this.#refuseBanned({ request: message, peer })
    if (message.type === coapTypes.ack || message.type === coapTypes.rst)
      this.#exchanges.handleAckOrReset(message, peer)
    else if (message.code === 0) {
      if (message.type === coapTypes.con && this.#mayRespondToUnauthenticated(peer))
        this.#exchanges.reset(message.messageId, peer)
    } else if (message.code >> 5 === 0) this.#handleRequest({ request: message, peer })
    else this.#handleResponse(message, peer)
    this.#plan()
  }

  /** Returns the shard of the device of a message. */
  #ownerOf(message: CoapMessage): number {
    const { place } = this.dependencies
    if (message.type === coapTypes.ack || message.type === coapTypes.rst) return message.messageId % place.shards
    if (message.code === 0) return place.own
    if (message.code >> 5 !== 0) return ownerOfName(message.token.toString('hex'), place)
    const [first, location] = textsOf(message, options.uriPath) ?? []
    if (first !== 'rd') return place.own
    const name = location ?? queryOf(textsOf(message, options.uriQuery) ?? []).get('ep')
    return name === undefined ? place.own : ownerOfName(name, place)
  }

  tick(): void {
    const nowMs = this.dependencies.nowMs()
    this.#exchanges.tick()
    this.requests.tick()
    this.#restored.tick()
    for (let due = this.#deadlines.takeDue(nowMs); due !== undefined; due = this.#deadlines.takeDue(nowMs)) {
      due.subject.tick()
      if (!due.subject.isEnded) this.schedule(due.subject)
    }
    this.#plan()
  }

  restore(stored: ReadonlyMap<string, string>): void {
    for (const [location, value] of stored) {
      const restored = JSON.parse(value) as StoredDevice
      const { registration } = restored
      const peer = restoredPeer(restored.peer)
      this.dependencies.addresses.takeClient(peer.address)
      if (restored.isProven !== false) this.proofs.noteProven(peer)
      // The bytes that the device has sent are not stored. With none, it would get no command, and no ping, until it sends something.
      else this.proofs.noteReceived(peer, minRegistrationBytes)
      const device: Device = new Device(this, registration, { peer, location, restored }, () => {})
      this.#all.add(device)
      this.#enter(device)
      this.schedule(device)
    }
  }

  /** Registrations remain, and queued commands are in the sessions of the devices. */
  close(): void {
    for (const device of this.#all) device.end('closed')
  }

  schedule(device: Device): void {
    this.#deadlines.set('device', device, device.dueAtMs)
    this.#plan()
  }

  request(clientId: string, request: GatewayRequest): Promise<GatewayResponse> | undefined {
    const device = [...this.#devices.values()].find((one) => one.clientId === clientId)
    if (device === undefined) return undefined
    if (request.kind === 'lwm2m-lookup')
      return Promise.resolve({
        kind: 'lwm2m-response',
        response: device.commands.responseFor(request.path, request.action),
      })
    if (request.kind !== 'lwm2m-command')
      return Promise.resolve({ kind: 'refused', problem: 'a device of LwM2M takes commands only' })
    const problem = device.commands.runForApi(request.command)
    return Promise.resolve(problem === undefined ? { kind: 'accepted' } : { kind: 'refused', problem })
  }

  openMqtt(device: Device, isRestored: boolean): MqttConnection {
    const open = (callbacks: MqttConnectionCallbacks) => this.dependencies.openMqtt(device.peer, callbacks, device)
    return isRestored ? this.#restored.open(open, device) : open(device)
  }

  noteEnded(device: Device): void {
    this.dependencies.addresses.releaseClient(device.firstAddress)
    this.#deadlines.cancel('device', device)
    this.#all.delete(device)
    this.#devices.delete(device.location)
    const { endpointName } = device.registration
    if (this.#byEndpoint.get(endpointName) === device) this.#byEndpoint.delete(endpointName)
    this.#leave(device)
  }

  #plan(): void {
    this.dependencies.wakeAt(
      Math.min(this.#exchanges.dueAtMs, this.requests.dueAtMs, this.#restored.dueAtMs, this.#deadlines.nextMs()),
    )
  }

  // Responses of devices

  /** A separate response, or a notification [RFC 7252 5.2.2, RFC 7641]. */
  #handleResponse(message: CoapMessage, peer: PeerAddress): void {
    const isResponse = this.requests.handleResponse(message, peer)
    const device = this.#byPeer.get(peerKey(peer)) ?? this.#observedOf(message.token, peer)
    const isWanted = isResponse || device?.handleNotification(message) === true
    if (!isWanted) {
      if (this.#mayRespondToUnauthenticated(peer)) this.#exchanges.reset(message.messageId, peer)
      return
    }
    if (device !== undefined) this.#moveTo(device, peer)
    if (message.type === coapTypes.con) this.#exchanges.acknowledge(message.messageId, peer)
    // A device in queue mode that sends a notification is awake.
    device?.sendWaiting()
  }

  /** Returns the device that sends a notification over a new association: its identity is the same, and its observation has the token. */
  #observedOf(token: Buffer, { secure }: PeerAddress): Device | undefined {
    const identity = secure?.identity
    for (const device of (identity === undefined ? undefined : this.#byIdentity.get(identity)) ?? [])
      if (device.observes(token)) return device
    return undefined
  }

  #moveTo(device: Device, peer: PeerAddress): void {
    this.#leave(device)
    device.noteReceived(peer)
    this.#place(device)
  }

  // Registration

  #handleRequest(exchange: Exchange): void {
    const { request, peer } = exchange
    if (this.#exchanges.isRepeated(request, peer)) return
    const path = textsOf(request, options.uriPath)
    const queries = textsOf(request, options.uriQuery)
    if (path === undefined || queries === undefined) return this.#refuse(exchange, code(4, 0))
    const [first, location, more] = path
    if (first === '.well-known' && location === 'core') return this.#respond(exchange, coreLinks())
    if (first !== 'rd' || more !== undefined) return this.#refuse(exchange, code(4, 4))
    const query = queryOf(queries)
    if (location === undefined) {
      if (request.code !== methods.post) return this.#refuse(exchange, code(4, 5))
      return this.#register(exchange, query)
    }
    const device = this.#devices.get(location)
    // Over DTLS, the identity must be the identity of the device.
    if (device === undefined || !hasSameIdentity(device.peer, peer)) return this.#refuse(exchange, code(4, 4))
    // The location was sent to this address. At another one it shows which device this is, and not that it receives there.
    if (isSamePeer(device.firstPeer, peer)) this.proofs.noteProven(peer)
    if (request.code === methods.delete) {
      device.end('gone')
      return this.#respond(exchange, { code: code(2, 2) })
    }
    if (request.code !== methods.post && request.code !== methods.put) return this.#refuse(exchange, code(4, 5))
    this.#update(exchange, device, query)
  }

  #register(exchange: Exchange, query: ReadonlyMap<string, string>): void {
    const { peer } = exchange
    const endpointName = query.get('ep') ?? ''
    const version = query.get('lwm2m') ?? defaultVersion
    if (!versions.has(version)) return this.#refuse(exchange, code(4, 12))
    const lifetimeSeconds = this.#lifetimeIn(query, defaultLifetimeSeconds)
    const objects = this.#objectsIn(exchange)
    if (objects === 'responded') return
    const isBadName = endpointName === '' || Buffer.byteLength(endpointName) > maxEndpointNameBytes
    if (isBadName || asTopicPart(endpointName) === undefined || lifetimeSeconds === undefined || objects === undefined)
      return this.#refuse(exchange, code(4, 0))
    const known = this.#byEndpoint.get(endpointName)
    const names = this.#namesIn(query, endpointName)
    // For the same client ID, the broker decides who may take over. Another client must not end the registration of this one.
    if (known !== undefined && known.registration.clientId !== names.clientId && !canBeSameDevice(known.peer, peer))
      return this.#refuse(exchange, code(4, 3))
    const isFull = this.#all.size >= this.settings.maxClients || !this.dependencies.hasSpace()
    if ((known === undefined && isFull) || !this.dependencies.addresses.takeClient(peer.address)) {
      this.dependencies.counters.dropped.limit++
      return this.#refuse(exchange, code(5, 3))
    }
    const binding = query.get('b')
    const registration: Registration = {
      endpointName,
      ...names,
      lifetimeSeconds,
      version,
      binding,
      isQueueMode: isQueueMode(query),
      alternatePath: objects.alternatePath,
      objects: objects.objects,
    }
    const location = ownName(this.dependencies.place, () => randomBytes(locationBytes).toString('hex'))
    const device: Device = new Device(this, registration, { peer, location }, (reasonCode) => {
      if (reasonCode !== reasonCodes.success) return this.#refuse(exchange, codeOf(reasonCode))
      // Only an accepted device replaces the earlier registration, which may have ended: the session was taken over.
      const before = this.#byEndpoint.get(endpointName) ?? known
      device.commands.add(before?.commands.toStore() ?? [])
      before?.end('replaced')
      this.#enter(device)
      const path = ['rd', location].map((segment) => ({ number: options.locationPath, value: Buffer.from(segment) }))
      this.dependencies.whenDurable(() => {
        this.#respond(exchange, { code: code(2, 1), options: path })
        device.sendWaiting()
      })
    })
    this.#all.add(device)
    this.schedule(device)
  }

  #namesIn(query: ReadonlyMap<string, string>, endpointName: string) {
    return {
      clientId: query.get('device_id') ?? endpointName,
      username: query.get('imei') ?? endpointName,
      password: query.get('password'),
    }
  }

  #enter(device: Device): void {
    this.#devices.set(device.location, device)
    this.#byEndpoint.set(device.registration.endpointName, device)
    this.#place(device)
  }

  #place(device: Device): void {
    const { peer } = device
    this.#byPeer.set(peerKey(peer), device)
    const identity = peer.secure?.identity
    if (identity === undefined) return
    const devices = this.#byIdentity.get(identity) ?? new Set()
    this.#byIdentity.set(identity, devices.add(device))
  }

  #leave(device: Device): void {
    const { peer } = device
    const key = peerKey(peer)
    if (this.#byPeer.get(key) === device) this.#byPeer.delete(key)
    const identity = peer.secure?.identity ?? ''
    const devices = this.#byIdentity.get(identity)
    if (devices?.delete(device) === true && devices.size === 0) this.#byIdentity.delete(identity)
  }

  #update(exchange: Exchange, device: Device, query: ReadonlyMap<string, string>): void {
    const { peer, request } = exchange
    const { lifetimeSeconds: before, alternatePath, objects: listed } = device.registration
    const lifetimeSeconds = this.#lifetimeIn(query, before)
    const hasObjects = request.payload.length > 0
    const objects = hasObjects ? this.#objectsIn(exchange) : { alternatePath, objects: listed }
    if (objects === 'responded') return
    if (lifetimeSeconds === undefined || objects === undefined) return this.#refuse(exchange, code(4, 0))
    const binding = query.get('b')
    this.#leave(device)
    const bound = binding === undefined ? {} : { binding, isQueueMode: isQueueMode(query) }
    device.update({ lifetimeSeconds, ...objects, ...bound }, peer, hasObjects)
    this.#place(device)
    this.dependencies.whenDurable(() => {
      this.#respond(exchange, { code: code(2, 4) })
      device.sendWaiting()
    })
  }

  /** Undefined: not a number. */
  #lifetimeIn(query: ReadonlyMap<string, string>, otherwise: number): number | undefined {
    const text = query.get('lt')
    const { lifetimeMinSeconds, lifetimeMaxSeconds } = this.settings
    if (text !== undefined && !/^\d{1,10}$/.test(text)) return undefined
    const seconds = text === undefined ? otherwise : Number(text)
    return Math.min(Math.max(seconds, lifetimeMinSeconds), lifetimeMaxSeconds)
  }

  /** Undefined: invalid. */
  #objectsIn(exchange: Exchange): ObjectList | 'responded' | undefined {
    const { request, peer } = exchange
    const received = this.#blocks.receive(request, this.dependencies.nowMs(), () => ({
      peer: peerKey(peer),
      target: 'rd',
    }))
    switch (received.outcome) {
      case 'whole':
        return parseObjectList(received.payload.toString('utf8'))
      case 'continue':
        this.#respond(exchange, { code: code(2, 31), options: [blockOption(options.block1, received.block)] })
        return 'responded'
      case 'too-large':
        this.#respond(exchange, { code: code(4, 13), options: [uintOption(options.size1, maxBodyBytes)] })
        return 'responded'
      case 'incomplete':
        this.#refuse(exchange, code(4, 8))
        return 'responded'
      case 'bad':
        return undefined
      default:
        return received satisfies never
    }
  }

  #refuseBanned(exchange: Exchange): void {
    const { request, peer } = exchange
    this.dependencies.counters.dropped.banned++
    const isRequest = request.code > 0 && request.code >> 5 === 0 && request.type <= coapTypes.non
    if (isRequest && this.#mayRespondToUnauthenticated(peer)) this.#respond(exchange, { code: code(4, 3) })
  }

  #refuse(exchange: Exchange, responseCode: number): void {
    if (this.#byPeer.has(peerKey(exchange.peer)) || this.#mayRespondToUnauthenticated(exchange.peer))
      this.#respond(exchange, { code: responseCode })
  }

  #respond({ request, peer }: Exchange, response: Response): void {
    const { code: value, options: list = [], payload = Buffer.alloc(0) } = response
    this.#exchanges.reply(request, { code: value, options: list, payload }, peer)
  }

  #mayRespondToUnauthenticated(peer: PeerAddress): boolean {
    return this.dependencies.addresses.takeResponse(peer, this.dependencies.nowMs())
  }
}

/** `b=UQ` of 1.0, `Q` of 1.1; `apn=psm`: a network with sleep mode. */
function isQueueMode(query: ReadonlyMap<string, string>): boolean {
  return query.get('b')?.includes('Q') === true || query.has('Q') || query.get('apn')?.toUpperCase() === 'PSM'
}

function queryOf(queries: readonly string[]): ReadonlyMap<string, string> {
  const query = new Map<string, string>()
  for (const text of queries) {
    const at = text.indexOf('=')
    const name = at < 0 ? text : text.slice(0, at)
    if (!query.has(name)) query.set(name, at < 0 ? '' : text.slice(at + 1))
  }
  return query
}

function coreLinks(): Response {
  return {
    code: code(2, 5),
    options: [uintOption(options.contentFormat, formats.link)],
    payload: Buffer.from('</rd>;rt="core.rd"'),
  }
}

/** Returns the CoAP code of a refusal. */
function codeOf(reasonCode: number): number {
  if (reasonCode === reasonCodes.badUserNameOrPassword || reasonCode === reasonCodes.notAuthorized) return code(4, 1)
  if (reasonCode === reasonCodes.banned) return code(4, 3)
  if (reasonCode === reasonCodes.clientIdentifierNotValid) return code(4, 0)
  return code(5, 3)
}
