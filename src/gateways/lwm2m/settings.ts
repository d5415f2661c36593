import type { QoS } from '../../protocol/index.ts'
import type { ClientInfoOverride } from '../client-info.ts'
import type { ObjectDefinitions } from './objects.ts'

export interface Translator {
  /** Below the mount point. */
  readonly topic: string
  readonly qos: QoS
}

/** Of one gateway, as the configuration has them: `gateway.lwm2m`. */
export interface Lwm2mSettings {
  readonly lifetimeMinSeconds: number
  readonly lifetimeMaxSeconds: number
  /** After its last datagram a device in queue mode is reached so long. */
  readonly queueModeWindowMs: number
  readonly observesAll: boolean
  /** False: only updates that bring an object list are published. */
  readonly publishesAllUpdates: boolean
  /** With `${endpoint_name}`. */
  readonly mountpoint: string
  readonly translators: Readonly<Record<'command' | 'response' | 'notify' | 'register' | 'update', Translator>>
  /** Also those that the configuration adds. */
  readonly objects: ObjectDefinitions
  readonly maxClients: number
  readonly override: ClientInfoOverride
}
