import type { Caller } from '../../contract/index.ts'
import type { RuleProblem } from './rules.ts'
import type { ShardUnavailable } from './lists.ts'

export interface GatewayListener {
  /** `udp` or `tcp`. */
  readonly type: string
  readonly name: string
  readonly bind: string
  readonly isOpen: boolean
  readonly maxClients: number
  readonly clients: number
  /** As plain values; secrets are masked. */
  readonly settings: Readonly<Record<string, unknown>>
}

/** A gateway is unloaded if it has no listener, and stopped if it is disabled. */
export interface Gateway {
  readonly name: string
  readonly protocolName: string
  readonly status: 'running' | 'stopped' | 'unloaded'
  /** Of this run of the broker. */
  readonly createdAtMs: number | undefined
  readonly startedAtMs: number | undefined
  readonly stoppedAtMs: number | undefined
  readonly listeners: readonly GatewayListener[]
  /** As plain values; secrets are masked. */
  readonly settings: Readonly<Record<string, unknown>>
  /** Datagrams since the start, by outcome. */
  readonly counters: Readonly<Record<string, number>>
}

/** A request to one client of a gateway. */
export type GatewayRequest =
  | {
      readonly kind: 'coap-request'
      readonly method: 'get' | 'post' | 'put' | 'delete'
      readonly token: string
      /** Content format of the payload; undefined: there is none. */
      readonly format: number | undefined
      readonly payload: Uint8Array
      readonly timeoutMs: number
    }
  /** The last response to a command. */
  | { readonly kind: 'lwm2m-lookup'; readonly path: string; readonly action: string }
  /** `command`: as over MQTT. */
  | { readonly kind: 'lwm2m-command'; readonly command: Readonly<Record<string, unknown>> }

/** The outcome. */
export type GatewayResponse =
  | {
      readonly kind: 'coap-response'
      readonly messageId: number
      /** `2.05` */
      readonly code: string
      readonly payload: Uint8Array
    }
  /** `data` of the response; undefined: there is none. */
  | { readonly kind: 'lwm2m-answer'; readonly answer: Readonly<Record<string, unknown>> | undefined }
  | { readonly kind: 'accepted' }
  /** The client did not respond in time, or rejected the message. */
  | { readonly kind: 'unanswered' }
  /** A sentence. */
  | { readonly kind: 'refused'; readonly problem: string }

export interface GatewayOperations {
  gateways(): Promise<readonly Gateway[] | ShardUnavailable>
  /** Replaces the configuration. Undefined: success. */
  change(name: string, settings: Readonly<Record<string, unknown>>, by: Caller): Promise<RuleProblem | undefined>
  enable(name: string, isEnabled: boolean, by: Caller): Promise<RuleProblem | undefined>
  /** Replaces one listener. `settings` undefined: removes it. */
  changeListener(
    listener: { readonly gateway: string; readonly type: string; readonly name: string },
    settings: Readonly<Record<string, unknown>> | undefined,
    by: Caller,
  ): Promise<RuleProblem | undefined>
  /** Undefined: there is no such client. */
  request(
    name: string,
    clientId: string,
    request: GatewayRequest,
  ): Promise<GatewayResponse | ShardUnavailable | undefined>
}
