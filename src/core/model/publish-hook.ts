// Hooks of plugins for publications, as the core knows them: a request with a later response. The module plugins implements them.

import type { MessageProperties, QoS, ReasonCode, TopicName } from '../../protocol/index.ts'
import type { Connection } from './connection.ts'

/** Where a message comes from. */
export type PublicationSource = 'mqtt' | 'will' | 'http' | 'bridge' | 'gateway' | 'rule' | 'plugin'

/** The client for which a message is published. */
export interface HookedClient {
  /** Undefined: the client is not connected. */
  readonly connection: Connection | undefined
  /** Name of the session. */
  readonly clientId: string
  readonly username: string | undefined
  /** From its authentication. */
  readonly attributes?: Readonly<Record<string, string>> | undefined
  /** The client is not authenticated: what is known of it is for one call. */
  readonly isUnauthenticated?: boolean | undefined
}

/** A message as a hook sees it. Its bytes may be in a chunk that is used again after the turn. */
export interface HookedPublication {
  /** Undefined: no client published it. */
  readonly client: HookedClient | undefined
  /** Without namespace and mount point. */
  readonly topic: string
  readonly payload: Buffer
  readonly qos: QoS
  readonly retain: boolean
  readonly dup: boolean
  /** 0: it is delivered at once. */
  readonly delaySeconds: number
  readonly properties: MessageProperties | undefined
  readonly source: PublicationSource
  /** Number of publications of plugins, one after the other, that have led to it. */
  readonly depth: number
  /** Name of the plugin that published it: its own hooks do not see it. */
  readonly plugin?: string | undefined
}

/** `plugin`: name of the plugin that decided. */
export type PublishHookResult =
  | { readonly action: 'pass' }
  /** Undefined fields are unchanged. `properties: null`: it has none. The topic is without namespace and mount point. */
  | {
      readonly action: 'change'
      readonly plugin: string
      readonly topic: TopicName | undefined
      readonly payload: Buffer | undefined
      readonly qos: QoS | undefined
      readonly retain: boolean | undefined
      readonly properties: MessageProperties | null | undefined
    }
  | { readonly action: 'drop'; readonly plugin: string; readonly reasonCode: ReasonCode }
  /** A plugin failed whose failures deny (`on_failure = deny`). */
  | { readonly action: 'deny'; readonly plugin: string }

export interface PublishHook {
  /** False: no plugin has a hook for publications. */
  readonly isActive: boolean
  /** More calls wait than `max_pending`: publishers are not read. */
  readonly isFull: boolean
  /** Returns whether a hook must see a message of this topic. */
  matches(client: HookedClient | undefined, topic: string, plugin?: string): boolean
}

/** No plugin is enabled. */
export const noPublishHook: PublishHook = { isActive: false, isFull: false, matches: () => false }
