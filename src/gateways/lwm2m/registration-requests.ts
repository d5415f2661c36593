// The registration interface of a server [LwM2M 1.1 Core 6.2]:
//
//   POST   /rd?ep=...       registers           -> 2.01, Location-Path rd/<id>
//   POST   /rd/<id>         updates             -> 2.04
//   DELETE /rd/<id>         deregisters         -> 2.02

import { randomBytes } from 'node:crypto'
import { toTopicPart, reasonCodes } from '../../protocol/index.ts'
import { type CoapEndpoint, type Exchange, linkResponse } from '../coap/endpoint/coap-endpoint.ts'
import { code, type CoapMessage, methods, options, readTexts } from '../coap/endpoint/coap-message.ts'
import { toRefusalCode } from '../coap/endpoint/refusal-codes.ts'
import { canBeSameDevice, hasSameIdentity, isSamePeer } from '../peer-identity.ts'
import { createOwnName } from '../shard-place.ts'
import { Device, type DeviceDependencies } from './device.ts'
import { type ObjectList, parseObjectList } from './link-format.ts'
import type { RegisteredDevices } from './registered-devices.ts'
import type { Registration } from './registration.ts'

const locationBytes = 8
const defaultLifetimeSeconds = 86_400
const maxEndpointNameBytes = 512
const versions: ReadonlySet<string> = new Set(['1', '1.0', '1.1'])
const defaultVersion = '1.0'
/** Links of `/.well-known/core`. */
const coreLinks = '</rd>;rt="core.rd"'
/** A device sends one list of objects at a time, so its blocks need no other name. */
const toObjectsTarget = (): string => 'rd'

/** The parts of the gateway that requests need. */
interface RegistrationDependencies extends DeviceDependencies {
  readonly endpoint: CoapEndpoint
  readonly devices: RegisteredDevices
}

export class RegistrationRequests {
  readonly #gateway: RegistrationDependencies

  constructor(gateway: RegistrationDependencies) {
    this.#gateway = gateway
  }

  handle(exchange: Exchange): void {
    const { request, peer } = exchange
    const { devices, endpoint } = this.#gateway
    const path = readTexts(request, options.uriPath)
    const queries = readTexts(request, options.uriQuery)
    if (path === undefined || queries === undefined) return this.refuse(exchange, code(4, 0))
    const [first, location, more] = path
    if (first === '.well-known' && location === 'core') return endpoint.respond(exchange, linkResponse(coreLinks))
    if (first !== 'rd' || more !== undefined) return this.refuse(exchange, code(4, 4))
    const query = readQuery(queries)
    if (location === undefined) {
      if (request.code !== methods.post) return this.refuse(exchange, code(4, 5))
      return this.#register(exchange, query)
    }
    const device = devices.findByLocation(location)
    // Over DTLS, the identity must be the identity of the device.
    if (device === undefined || !hasSameIdentity(device.peer, peer)) return this.refuse(exchange, code(4, 4))
    // The location was sent to this address. At another one it shows which device this is, and not that it receives there.
    if (isSamePeer(device.firstPeer, peer)) endpoint.proofs.recordProof(peer)
    if (request.code === methods.delete) {
      device.end('gone')
      return endpoint.respond(exchange, { code: code(2, 2) })
    }
    if (request.code !== methods.post && request.code !== methods.put) return this.refuse(exchange, code(4, 5))
    this.#update(exchange, device, query)
  }

  #register(exchange: Exchange, query: ReadonlyMap<string, string>): void {
    const { peer } = exchange
    const { settings, dependencies, devices, endpoint } = this.#gateway
    const endpointName = query.get('ep') ?? ''
    const version = query.get('lwm2m') ?? defaultVersion
    if (!versions.has(version)) return this.refuse(exchange, code(4, 12))
    const lifetimeSeconds = this.#readLifetime(query, defaultLifetimeSeconds)
    const objects = this.#receiveObjects(exchange)
    if (objects === 'responded') return
    const isBadName = endpointName === '' || Buffer.byteLength(endpointName) > maxEndpointNameBytes
    if (isBadName || toTopicPart(endpointName) === undefined || lifetimeSeconds === undefined || objects === undefined)
      return this.refuse(exchange, code(4, 0))
    const known = devices.withEndpointName(endpointName)
    const names = readNames(query, endpointName)
    // For the same client ID, the broker decides who may take over. Another client must not end the registration of this one.
    if (known !== undefined && known.registration.clientId !== names.clientId && !canBeSameDevice(known.peer, peer))
      return this.refuse(exchange, code(4, 3))
    const isFull = devices.all.size >= settings.maxClients || !dependencies.hasSpace()
    if ((known === undefined && isFull) || !dependencies.addresses.takeClient(peer.address)) {
      dependencies.counters.dropped.limit++
      return this.refuse(exchange, code(5, 3))
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
    const location = createOwnName(dependencies.place, () => randomBytes(locationBytes).toString('hex'))
    const device: Device = new Device(this.#gateway, registration, { peer, location }, (reasonCode) => {
      if (reasonCode !== reasonCodes.success) return this.refuse(exchange, toRefusalCode(reasonCode))
      // Only an accepted device replaces the earlier registration, which may have ended: the session was taken over.
      const before = devices.withEndpointName(endpointName) ?? known
      device.commands.add(before?.commands.toStore() ?? [])
      before?.end('replaced')
      devices.accept(device)
      const path = ['rd', location].map((segment) => ({ number: options.locationPath, value: Buffer.from(segment) }))
      dependencies.runWhenDurable(() => {
        endpoint.respond(exchange, { code: code(2, 1), options: path })
        device.sendWaiting()
      })
    })
    devices.add(device)
    this.#gateway.schedule(device)
  }

  #update(exchange: Exchange, device: Device, query: ReadonlyMap<string, string>): void {
    const { peer, request } = exchange
    const { dependencies, devices, endpoint } = this.#gateway
    const { lifetimeSeconds: before, alternatePath, objects: listed } = device.registration
    const lifetimeSeconds = this.#readLifetime(query, before)
    const hasObjects = request.payload.length > 0
    const objects = hasObjects ? this.#receiveObjects(exchange) : { alternatePath, objects: listed }
    if (objects === 'responded') return
    if (lifetimeSeconds === undefined || objects === undefined) return this.refuse(exchange, code(4, 0))
    const binding = query.get('b')
    devices.removeAddress(device)
    const bound = binding === undefined ? {} : { binding, isQueueMode: isQueueMode(query) }
    device.update({ lifetimeSeconds, ...objects, ...bound }, peer, hasObjects)
    devices.addAddress(device)
    dependencies.runWhenDurable(() => {
      endpoint.respond(exchange, { code: code(2, 4) })
      device.sendWaiting()
    })
  }

  /** Undefined: not a number. */
  #readLifetime(query: ReadonlyMap<string, string>, otherwise: number): number | undefined {
    const text = query.get('lt')
    const { lifetimeMinSeconds, lifetimeMaxSeconds } = this.#gateway.settings
    if (text !== undefined && !/^\d{1,10}$/.test(text)) return undefined
    const seconds = text === undefined ? otherwise : Number(text)
    return Math.min(Math.max(seconds, lifetimeMinSeconds), lifetimeMaxSeconds)
  }

  /** Returns the objects in a request; undefined: invalid. */
  #receiveObjects(exchange: Exchange): ObjectList | 'responded' | undefined {
    const body = this.#gateway.endpoint.receiveBody(exchange, toObjectsTarget)
    return body === undefined ? 'responded' : parseObjectList(body.payload.toString('utf8'))
  }

  /** Refuses a request. The number of responses to an address without a device is limited. */
  refuse(exchange: Exchange, responseCode: number): void {
    const { devices, endpoint } = this.#gateway
    if (devices.findByPeer(exchange.peer) !== undefined || endpoint.canRespondToUnauthenticated(exchange.peer))
      endpoint.respond(exchange, { code: responseCode })
  }
}

/** Returns the name with which a request names its device: the location, or the endpoint name. */
export function readDeviceName(request: CoapMessage): string | undefined {
  const [first, location] = readTexts(request, options.uriPath) ?? []
  if (first !== 'rd') return undefined
  return location ?? readQuery(readTexts(request, options.uriQuery) ?? []).get('ep')
}

function readNames(query: ReadonlyMap<string, string>, endpointName: string) {
  return {
    clientId: query.get('device_id') ?? endpointName,
    username: query.get('imei') ?? endpointName,
    password: query.get('password'),
  }
}

/** `b=UQ` of 1.0, `Q` of 1.1; `apn=psm`: a network with sleep mode. */
function isQueueMode(query: ReadonlyMap<string, string>): boolean {
  return query.get('b')?.includes('Q') === true || query.has('Q') || query.get('apn')?.toUpperCase() === 'PSM'
}

function readQuery(queries: readonly string[]): ReadonlyMap<string, string> {
  const query = new Map<string, string>()
  for (const text of queries) {
    const at = text.indexOf('=')
    const name = at < 0 ? text : text.slice(0, at)
    if (!query.has(name)) query.set(name, at < 0 ? '' : text.slice(at + 1))
  }
  return query
}
