// Plugins that decide about clients, as this module sees them: one more authenticator, and one more source of access rules. Both come before
// the others.

import type { Connection, Identity } from '../../core/index.ts'
import type { Attempt } from '../authenticators/authenticator.ts'

/** `by`: name of the plugin. */
export type PluginAuthentication =
  | {
      readonly result: 'allow'
      readonly by: string
      readonly isSuperuser: boolean
      /** Access rules in the form of a token's claim; undefined: those of the broker apply. */
      readonly acl: unknown
      readonly attributes: Readonly<Record<string, string>> | undefined
      readonly expiresAtMs: number | undefined
    }
  /** `reason` is for administrators. */
  | { readonly result: 'deny'; readonly by: string; readonly reason: string }
  /** The plugin failed: the client is refused. */
  | { readonly result: 'failed'; readonly by: string }
  /** Too many calls wait for the plugin: the client is refused, and may retry. */
  | { readonly result: 'busy'; readonly by: string }
  | { readonly result: 'ignore' }

export interface PluginAuthorization {
  readonly result: 'allow' | 'deny' | 'ignore'
  /** False: for this packet only. */
  readonly isCached: boolean
}

export interface PluginAuthorizationRequest {
  readonly connection: Connection
  readonly identity: Identity
  readonly action: 'publish' | 'subscribe'
  readonly topic: string
  readonly qos: number
  readonly retain: boolean
}

export interface AccessPlugins {
  /** Undefined: no plugin concerns the client. */
  authenticate(attempt: Attempt): Promise<PluginAuthentication> | undefined
  /** Whether a plugin can grant rights to its clients: then the rights of every client are checked. */
  readonly canAuthenticate: boolean
  readonly canAuthorize: boolean
  /** Whether a plugin must be asked. `topic` is as the client sent it. */
  mustAuthorize(identity: Identity, topic: string): boolean
  authorize(request: PluginAuthorizationRequest): Promise<PluginAuthorization>
}
