// The registration of an LwM2M device, and the state that is stored across restarts.

import type { StoredPeer } from '../peer-identity.ts'
import type { StoredCommand } from './command-queue.ts'

export interface Registration {
  readonly endpointName: string
  readonly clientId: string
  readonly username: string
  readonly password: string | undefined
  readonly lifetimeSeconds: number
  /** Version as the device sent it: `1`, `1.0`, `1.1`. */
  readonly version: string
  /** Binding as the device sent it: `UQ`. */
  readonly binding: string | undefined
  readonly isQueueMode: boolean
  readonly alternatePath: string
  readonly objects: readonly string[]
}

/** The state of a device that is stored across restarts. */
export interface StoredDevice {
  readonly registration: Registration
  readonly lostAtMs: number
  readonly peer: StoredPeer
  /** Whether the address has proven itself. Undefined: an earlier version of Godwit stored the device. */
  readonly isProven?: boolean
  readonly observations: readonly { readonly fields: Readonly<Record<string, unknown>>; readonly token: string }[]
  /** Undefined: an earlier version of Godwit stored the device. */
  readonly commands?: readonly StoredCommand[]
}
