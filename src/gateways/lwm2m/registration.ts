// What a device has said of itself, and what is kept of it.

import type { PeerAddress } from '../gateway.ts'
import type { KeptCommand } from './command-queue.ts'

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
export interface KeptDevice {
  readonly registration: Registration
  readonly lostAtMs: number
  readonly peer: PeerAddress
  readonly observations: readonly { readonly fields: Readonly<Record<string, unknown>>; readonly token: string }[]
  /** Undefined: it was kept by an earlier version. */
  readonly commands?: readonly KeptCommand[]
}
