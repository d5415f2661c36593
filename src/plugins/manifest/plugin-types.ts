// The types of the package `godwit/plugin`: what a plugin exports, what its hooks receive, and what they may return. The file has types only
// and imports nothing, because the package contains it as it is.

/** The entry of a plugin exports such a function as default. */
export type Plugin<Config = unknown> = (context: PluginContext<Config>) => Hooks | Promise<Hooks>

/** The broker, as a plugin sees it. */
export interface PluginContext<Config = unknown> {
  /** As its schema allows. */
  readonly config: Config
  /** At most 100 lines in a second; more are dropped and counted. */
  readonly log: PluginLog
  readonly metrics: PluginMetrics
  /** Values that remain after a restart: JSON, 16 MB in all. */
  readonly store: PluginStore
  /** Resolves when the message is stored, rejects when it is refused. Hooks of the same plugin do not see the message. */
  publish(message: PluginMessage): Promise<void>
  /** Disconnects a client. Resolves with false if none has this client ID. */
  kick(clientid: string): Promise<boolean>
  /** Aborted when the plugin is stopped. */
  readonly signal: AbortSignal
}

export interface PluginLog {
  debug(text: string): void
  info(text: string): void
  warn(text: string): void
  error(text: string): void
}

/** Names are `[a-z][a-z0-9_]{0,63}`; at most 100 of them. */
export interface PluginMetrics {
  counter(name: string): { inc(n?: number): void }
  gauge(name: string): { set(n: number): void }
}

export interface PluginStore {
  get(key: string): Promise<unknown>
  set(key: string, value: unknown): Promise<void>
  delete(key: string): Promise<void>
}

export interface PluginMessage {
  readonly topic: string
  readonly payload: string | Uint8Array
  /** Default: 0. */
  readonly qos?: 0 | 1 | 2
  /** Default: false. */
  readonly retain?: boolean
}

export interface ClientInfo {
  readonly clientid: string
  readonly username: string | undefined
  readonly namespace: string | undefined
  /** Address of the client. */
  readonly peerhost: string
  readonly protocol: 'mqtt' | 'mqtt-sn' | 'coap' | 'lwm2m' | 'stomp'
  /** Name of the listener. */
  readonly listener: string
  /** Attributes from its authentication. */
  readonly attributes: Readonly<Record<string, string>>
}

export interface MessageProperties {
  readonly payloadFormatIndicator?: 0 | 1
  /** In seconds. */
  readonly messageExpiryInterval?: number
  readonly contentType?: string
  readonly responseTopic?: string
  readonly correlationData?: Uint8Array
  readonly userProperties?: readonly (readonly [name: string, value: string])[]
}

export interface HookedMessage {
  readonly topic: string
  readonly payload: Uint8Array
  readonly qos: 0 | 1 | 2
  readonly retain: boolean
  readonly dup: boolean
  /** In seconds; 0: it is delivered at once. */
  readonly delay: number
  readonly properties: MessageProperties
}

/** Where a message comes from. */
export type MessageSource = 'mqtt' | 'will' | 'http' | 'bridge' | 'gateway' | 'rule' | 'plugin'

export type Authentication =
  | {
      readonly result: 'allow'
      readonly isSuperuser?: boolean
      readonly attributes?: Readonly<Record<string, string>>
      readonly acl?: readonly AclRule[]
      /** In milliseconds since 1970. */
      readonly expiresAt?: number
    }
  | { readonly result: 'deny'; readonly reason?: string }
  | { readonly result: 'ignore' }

export interface AclRule {
  readonly permission: 'allow' | 'deny'
  readonly action: 'publish' | 'subscribe' | 'all'
  readonly topic: string
}

export interface Authorization {
  readonly result: 'allow' | 'deny' | 'ignore'
  /** False: the decision is for this packet only. */
  readonly cache?: boolean
}

export type PublishResult =
  | {
      readonly topic?: string
      readonly payload?: string | Uint8Array
      readonly qos?: 0 | 1 | 2
      readonly retain?: boolean
      /** Replaces all properties. */
      readonly properties?: MessageProperties
    }
  | { readonly drop: true; /** Default: 0. */ readonly reasonCode?: number }

export type ConnectResult =
  | { readonly refuse: number }
  | { readonly userProperties: readonly (readonly [name: string, value: string])[] }

export type FilterResult = { readonly topic: string; readonly qos?: 0 | 1 | 2 } | { readonly refuse: number }

/** Nothing: no opinion. */
type Answer<Result> = Result | undefined | void | Promise<Result | undefined | void>

interface WithClient {
  readonly client: ClientInfo
}
interface WithFilters extends WithClient {
  readonly filters: readonly { readonly topic: string; readonly qos: 0 | 1 | 2 }[]
}
/** `client` is undefined if no client is concerned. */
interface WithMessage {
  readonly client: ClientInfo | undefined
  readonly message: HookedMessage
}
type Notice<Event> = (event: Event) => void | Promise<void>

/** The hooks of a plugin; each must be named in its manifest. */
export interface Hooks {
  'client.authenticate'?: (event: WithClient & { readonly password: Uint8Array | undefined }) => Answer<Authentication>
  'client.authorize'?: (
    event: WithClient & {
      readonly action: 'publish' | 'subscribe'
      readonly topic: string
      readonly qos: 0 | 1 | 2
      readonly retain: boolean
    },
  ) => Answer<Authorization>
  'client.connect'?: (
    event: WithClient & { readonly properties: Readonly<Record<string, unknown>> },
  ) => Answer<ConnectResult>
  'client.subscribe'?: (event: WithFilters) => Answer<{ readonly filters: readonly FilterResult[] }>
  'client.unsubscribe'?: (event: WithFilters) => Answer<{ readonly filters: readonly FilterResult[] }>
  /** `client` is undefined for messages of rules, plugins and the API. */
  'message.publish'?: (event: WithMessage & { readonly source: MessageSource }) => Answer<PublishResult>
  'client.connack'?: Notice<WithClient & { readonly reasonCode: number }>
  'client.connected'?: Notice<WithClient>
  'client.disconnected'?: Notice<WithClient & { readonly reasonCode: number; readonly reason: string }>
  'session.created'?: Notice<WithClient>
  'session.resumed'?: Notice<WithClient>
  'session.takenover'?: Notice<WithClient>
  'session.discarded'?: Notice<WithClient>
  'session.terminated'?: Notice<WithClient>
  'session.subscribed'?: Notice<WithClient & { readonly topic: string; readonly qos: 0 | 1 | 2 }>
  'session.unsubscribed'?: Notice<WithClient & { readonly topic: string }>
  'message.delivered'?: Notice<WithMessage>
  'message.acked'?: Notice<WithMessage>
  'message.dropped'?: Notice<WithMessage & { readonly reason: string }>
  /** Called instead of a new start when only the configuration changes. */
  configure?: (config: never) => void | Promise<void>
}
