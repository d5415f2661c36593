// One listener of the LwM2M gateway: it passes requests to the registration interface, and responses and notifications to their devices.

import { Deadlines } from '../../core/index.ts'
import { TopicTable } from '../../protocol/index.ts'
import type { PeerAddress } from '../../transports/index.ts'
import type { AddressProofs } from '../address-proofs.ts'
import { CoapEndpoint, type CoapEndpointCallbacks, type Exchange } from '../coap/endpoint/coap-endpoint.ts'
import { coapTypes, type CoapMessage } from '../coap/endpoint/coap-message.ts'
import type { DeviceRequests } from '../coap/endpoint/device-requests.ts'
import {
  type DatagramGateway,
  type GatewayDependencies,
  type GatewayRequest,
  type GatewayResponse,
  type MqttConnection,
  type MqttConnectionCallbacks,
} from '../gateway.ts'
import { restorePeer } from '../peer-identity.ts'
import { RestoredConnections } from '../restored-connections.ts'
import { findOwnerShard } from '../shard-place.ts'
import { Device, type DeviceDependencies } from './device.ts'
import type { Lwm2mSettings } from './lwm2m-settings.ts'
import { RegisteredDevices } from './registered-devices.ts'
import type { StoredDevice } from './registration.ts'
import { readDeviceName, RegistrationRequests } from './registration-requests.ts'

const bodyLimits = { maxBodyBytes: 65_536, maxBlockBytes: 1_024 }
const maxCachedTopics = 1_024
/** Header, token, path and endpoint name. */
const minRegistrationBytes = 16

export class Lwm2mGateway implements DatagramGateway, DeviceDependencies, CoapEndpointCallbacks {
  readonly settings: Lwm2mSettings
  readonly dependencies: GatewayDependencies
  readonly endpoint: CoapEndpoint
  readonly requests: DeviceRequests
  readonly proofs: AddressProofs
  readonly topics = new TopicTable(maxCachedTopics)
  readonly devices = new RegisteredDevices()
  readonly #registrations: RegistrationRequests
  readonly #restored: RestoredConnections
  readonly #deadlines = new Deadlines<'device', Device>()

  constructor(settings: Lwm2mSettings, dependencies: GatewayDependencies) {
    this.settings = settings
    this.dependencies = dependencies
    this.endpoint = new CoapEndpoint(dependencies, this, bodyLimits)
    this.requests = this.endpoint.requests
    this.proofs = this.endpoint.proofs
    this.#registrations = new RegistrationRequests(this)
    this.#restored = new RestoredConnections(dependencies, () => this.#plan())
  }

  get clients(): number {
    return this.devices.accepted
  }

  handleDatagram(bytes: Buffer, peer: PeerAddress, isForwarded = false): void {
    this.endpoint.handleDatagram(bytes, peer, isForwarded)
    this.#plan()
  }

  tick(): void {
    const nowMs = this.dependencies.nowMs()
    this.endpoint.tick()
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
      const peer = restorePeer(restored.peer)
      this.dependencies.addresses.takeClient(peer.address)
      if (restored.isProven !== false) this.proofs.recordProof(peer)
      // The bytes that the device has sent are not stored. With none, it would get no command, and no ping, until it sends something.
      else this.proofs.recordReceived(peer, minRegistrationBytes)
      const device: Device = new Device(this, registration, { peer, location, restored }, () => {})
      this.devices.add(device)
      this.devices.accept(device)
      this.schedule(device)
    }
  }

  /** Registrations remain, and queued commands are in the sessions of the devices. */
  close(): void {
    for (const device of this.devices.all) device.end('closed')
  }

  request(clientId: string, request: GatewayRequest): Promise<GatewayResponse> | undefined {
    const device = this.devices.withClientId(clientId)
    if (device === undefined) return undefined
    if (request.kind === 'lwm2m-lookup')
      return Promise.resolve({
        kind: 'lwm2m-response',
        response: device.commands.findResponse(request.path, request.action),
      })
    if (request.kind !== 'lwm2m-command')
      return Promise.resolve({ kind: 'refused', problem: 'a device of LwM2M takes commands only' })
    const problem = device.commands.runForApi(request.command)
    return Promise.resolve(problem === undefined ? { kind: 'accepted' } : { kind: 'refused', problem })
  }

  #plan(): void {
    this.dependencies.wakeAt(Math.min(this.endpoint.dueAtMs, this.#restored.dueAtMs, this.#deadlines.findNextMs()))
  }

  // Calls of devices

  schedule(device: Device): void {
    this.#deadlines.set('device', device, device.dueAtMs)
    this.#plan()
  }

  openMqtt(device: Device, isRestored: boolean): MqttConnection {
    const open = (callbacks: MqttConnectionCallbacks) => this.dependencies.openMqtt(device.peer, callbacks, device)
    return isRestored ? this.#restored.open(open, device) : open(device)
  }

  onEnded(device: Device): void {
    this.dependencies.addresses.releaseClient(device.firstAddress)
    this.#deadlines.cancel('device', device)
    this.devices.delete(device)
  }

  // Messages of the endpoint

  /** The token of a response, and the name in a request, determine the shard of their device. */
  findOwner(message: CoapMessage): number {
    const { place } = this.dependencies
    const name = message.code >> 5 === 0 ? readDeviceName(message) : message.token.toString('hex')
    return name === undefined ? place.own : findOwnerShard(name, place)
  }

  handleRequest(exchange: Exchange): void {
    this.#registrations.handle(exchange)
  }

  /** A separate response, or a notification [RFC 7252 5.2.2, RFC 7641]. */
  handleResponse(message: CoapMessage, peer: PeerAddress): void {
    const isResponse = this.requests.handleResponse(message, peer)
    const device = this.devices.findByPeer(peer) ?? this.devices.findObserving(message.token, peer)
    const isExpected = isResponse || device?.handleNotification(message) === true
    if (!isExpected) return this.endpoint.reset(message.messageId, peer)
    if (device !== undefined) this.devices.handleReceived(device, peer)
    if (message.type === coapTypes.con) this.endpoint.exchanges.acknowledge(message.messageId, peer)
    // A device in queue mode that sends a notification is awake.
    device?.sendWaiting()
  }

  refuse(exchange: Exchange, responseCode: number): void {
    this.#registrations.refuse(exchange, responseCode)
  }
}
