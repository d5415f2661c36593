import type { QoS } from '../../protocol/index.ts'
import type { ClientInfoOverride } from '../client-info.ts'
import type { ObjectDefinitions } from './objects.ts'

export interface Translator {
  /** Below the mount point. */
  readonly topic: string
  readonly qos: QoS
}

/** Settings of one gateway: `gateway.lwm2m`. */
export interface Lwm2mSettings {
  readonly lifetimeMinSeconds: number
  readonly lifetimeMaxSeconds: number
  /** Time after its last datagram for which a device in queue mode is awake. */
  readonly queueModeWindowMs: number
  readonly observesAll: boolean
  /** False: only updates with an object list are published. */
  readonly publishesAllUpdates: boolean
  /** With `${endpoint_name}`. */
  readonly mountpoint: string
  readonly translators: Readonly<Record<'command' | 'response' | 'notify' | 'register' | 'update', Translator>>
  /** Including configured ones. */
  readonly objects: ObjectDefinitions
  readonly maxClients: number
  readonly override: ClientInfoOverride
}
