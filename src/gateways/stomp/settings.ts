import type { ClientInfoOverride } from '../client-info.ts'

/** Of one gateway, as the configuration has them: `gateway.stomp`. */
export interface StompSettings {
  readonly maxHeaders: number
  readonly maxHeaderBytes: number
  readonly maxBodyBytes: number
  /** For CONNECT. */
  readonly idleTimeoutMs: number
  readonly override: ClientInfoOverride
}
