// The devices of one LwM2M listener, by everything with which a message can name its device.

import type { PeerAddress } from '../../transports/index.ts'
import { toAssociationKey } from '../peer-identity.ts'
import type { Device } from './device.ts'

export class RegisteredDevices {
  readonly #byLocation = new Map<string, Device>()
  readonly #byEndpointName = new Map<string, Device>()
  readonly #byPeer = new Map<string, Device>()
  /** Devices over DTLS, by their identity. */
  readonly #byIdentity = new Map<string, Set<Device>>()
  /** Including those that the broker has not accepted yet. */
  readonly #all = new Set<Device>()

  /** Number of devices that the broker has accepted. */
  get accepted(): number {
    return this.#byLocation.size
  }

  /** All devices, including those that the broker has not accepted yet. */
  get all(): ReadonlySet<Device> {
    return this.#all
  }

  findByLocation(location: string): Device | undefined {
    return this.#byLocation.get(location)
  }

  withEndpointName(endpointName: string): Device | undefined {
    return this.#byEndpointName.get(endpointName)
  }

  findByPeer(peer: PeerAddress): Device | undefined {
    return this.#byPeer.get(toAssociationKey(peer))
  }

  withClientId(clientId: string): Device | undefined {
    return [...this.#byLocation.values()].find((one) => one.clientId === clientId)
  }

  /** Returns the device that sends a notification over a new association: its identity is the same, and its observation has the token. */
  findObserving(token: Buffer, { secure }: PeerAddress): Device | undefined {
    const identity = secure?.identity
    for (const device of (identity === undefined ? undefined : this.#byIdentity.get(identity)) ?? [])
      if (device.observes(token)) return device
    return undefined
  }

  /** Adds a device that the broker has not accepted yet: no message can name it. */
  add(device: Device): void {
    this.#all.add(device)
  }

  /** The broker has accepted the device. It replaces one of the same endpoint name. */
  accept(device: Device): void {
    this.#byLocation.set(device.location, device)
    this.#byEndpointName.set(device.registration.endpointName, device)
    this.addAddress(device)
  }

  /** The device has sent something from this address. */
  handleReceived(device: Device, peer: PeerAddress): void {
    this.removeAddress(device)
    device.recordReceived(peer)
    this.addAddress(device)
  }

  /** Called before the address of the device changes. */
  removeAddress(device: Device): void {
    const { peer } = device
    const key = toAssociationKey(peer)
    if (this.#byPeer.get(key) === device) this.#byPeer.delete(key)
    const identity = peer.secure?.identity ?? ''
    const devices = this.#byIdentity.get(identity)
    if (devices?.delete(device) === true && devices.size === 0) this.#byIdentity.delete(identity)
  }

  /** Called after the address of the device has changed. */
  addAddress(device: Device): void {
    const { peer } = device
    this.#byPeer.set(toAssociationKey(peer), device)
    const identity = peer.secure?.identity
    if (identity === undefined) return
    const devices = this.#byIdentity.get(identity) ?? new Set()
    this.#byIdentity.set(identity, devices.add(device))
  }

  delete(device: Device): void {
    this.#all.delete(device)
    this.#byLocation.delete(device.location)
    const { endpointName } = device.registration
    if (this.#byEndpointName.get(endpointName) === device) this.#byEndpointName.delete(endpointName)
    this.removeAddress(device)
  }
}
