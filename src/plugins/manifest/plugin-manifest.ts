// The manifest of a plugin: `godwit` in its `package.json`, after it was parsed. Only the parser of manifests creates these objects.

/** Hooks whose caller waits for the answer. */
export const decidingHooks = [
  'client.authenticate',
  'client.authorize',
  'client.connect',
  'client.subscribe',
  'client.unsubscribe',
  'message.publish',
] as const

/** Hooks that report something that has happened: nothing waits for them. */
export const notifyingHooks = [
  'client.connack',
  'client.connected',
  'client.disconnected',
  'session.created',
  'session.resumed',
  'session.takenover',
  'session.discarded',
  'session.terminated',
  'session.subscribed',
  'session.unsubscribed',
  'message.delivered',
  'message.acked',
  'message.dropped',
] as const

export const hookNames = [...decidingHooks, ...notifyingHooks] as const

export type DecidingHook = (typeof decidingHooks)[number]
export type NotifyingHook = (typeof notifyingHooks)[number]
export type HookName = (typeof hookNames)[number]

/** The version of the interface between broker and plugin. */
export const pluginApiVersion = 1

/** `net`, `fs:read:PATH` or `fs:write:PATH`. */
export type PluginPermission =
  | { readonly kind: 'net' }
  | { readonly kind: 'fs-read'; readonly path: string }
  | { readonly kind: 'fs-write'; readonly path: string }

export interface PluginManifest {
  /** `[a-z][a-z0-9._-]{0,63}`; `@acme/filter` is `acme-filter`. */
  readonly name: string
  /** SemVer. */
  readonly version: string
  readonly api: typeof pluginApiVersion
  readonly hooks: readonly HookName[]
  /** Topic filters; empty: all topics. */
  readonly topics: readonly string[]
  /** Patterns of client IDs, in which `*` stands for any characters; empty: all clients. */
  readonly clients: readonly string[]
  /** Names of listeners; empty: all listeners. */
  readonly listeners: readonly string[]
  /** Path of the JSON Schema of the configuration, relative to the plugin's directory; undefined: there is none. */
  readonly configSchema: string | undefined
  readonly permissions: readonly PluginPermission[]
  /** Path of the entry, relative to the plugin's directory. */
  readonly main: string
  readonly description: string | undefined
  readonly author: string | undefined
}
