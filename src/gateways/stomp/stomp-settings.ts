import type { ClientInfoOverride } from '../client-info.ts'

/** Settings of one gateway: `gateway.stomp`. */
export interface StompSettings {
  readonly maxHeaders: number
  readonly maxHeaderBytes: number
  readonly maxBodyBytes: number
  /** For CONNECT. */
  readonly idleTimeoutMs: number
  readonly override: ClientInfoOverride
}
