// Messages between a shard and the process of a plugin, as data. Each channel carries frames:
//
//   length (uint32) | kind (uint8) | fields ...
//
// Numbers are big-endian; a text has its length before it. Everything that is rare is JSON, so that only the fields of messages have a
// layout of their own.

import type { HookName } from '../manifest/plugin-manifest.ts'
import type { MessageSource } from '../manifest/plugin-types.ts'

export const frameKinds = {
  client: 1,
  forgetClient: 2,
  call: 3,
  publishCall: 4,
  response: 5,
  pass: 16,
  answer: 17,
  change: 18,
  failure: 19,
  request: 20,
  publishRequest: 21,
} as const

/** Sources of messages; the position is the number in the frame. */
export const messageSources = [
  'mqtt',
  'will',
  'http',
  'bridge',
  'gateway',
  'rule',
  'plugin',
] as const satisfies readonly MessageSource[]

/** The part of a message that a hook sees. */
export interface CallMessage {
  readonly topic: string
  readonly payload: Uint8Array
  readonly qos: 0 | 1 | 2
  readonly retain: boolean
  readonly dup: boolean
  /** In seconds; 0: none. */
  readonly delaySeconds: number
  readonly source: MessageSource
  /** Number of publications of plugins, one after the other, that have led to it. */
  readonly depth: number
  /** JSON of the properties, '' if there are none. */
  readonly properties: string
}

/** What a hook replaces. Undefined: unchanged. */
export interface MessageChange {
  readonly topic: string | undefined
  readonly payload: Uint8Array | undefined
  readonly qos: 0 | 1 | 2 | undefined
  readonly retain: boolean | undefined
  /** JSON of all properties, '' for none. */
  readonly properties: string | undefined
}

/** From the shard. `client` 0: no client. A call without an answer (`callId` 0) reports an event. */
export type FrameToProcess =
  | { readonly kind: 'client'; readonly client: number; readonly info: unknown }
  | { readonly kind: 'forget-client'; readonly client: number }
  | {
      readonly kind: 'call'
      readonly callId: number
      readonly hook: HookName
      readonly client: number
      readonly fields: unknown
    }
  | {
      readonly kind: 'publish-call'
      readonly callId: number
      readonly hook: HookName
      readonly client: number
      readonly message: CallMessage
    }
  | {
      readonly kind: 'response'
      readonly requestId: number
      readonly error: string | undefined
      readonly value: unknown
    }

/** From the process. `pass`: the hook returned nothing. */
export type FrameFromProcess =
  | { readonly kind: 'pass'; readonly callId: number }
  | { readonly kind: 'answer'; readonly callId: number; readonly value: unknown }
  | { readonly kind: 'change'; readonly callId: number; readonly change: MessageChange }
  | { readonly kind: 'failure'; readonly callId: number; readonly text: string }
  | { readonly kind: 'request'; readonly requestId: number; readonly request: unknown }
  | {
      readonly kind: 'publish-request'
      readonly requestId: number
      readonly topic: string
      readonly payload: Uint8Array
      readonly qos: 0 | 1 | 2
      readonly retain: boolean
      /** `depth` of the message whose hook published it; 0: it was published outside of such a hook. */
      readonly depth: number
    }
