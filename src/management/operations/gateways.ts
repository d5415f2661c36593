import type { Caller } from '../../contract/index.ts'
import type { NotStored, PageFound, PageWanted } from './credentials.ts'
import type { RuleProblem } from './rules.ts'
import type { ShardUnavailable } from '../lists/list-slice.ts'

/** The authentication that is configured for a gateway or a listener. */
export interface GatewayAuthentication {
  /** Settings as plain values; secrets are masked. */
  readonly settings: Readonly<Record<string, unknown>>
  /** Whether its users are stored here. */
  readonly hasUsers: boolean
}

export interface GatewayListener {
  /** `udp` or `tcp`. */
  readonly type: string
  readonly name: string
  readonly bind: string
  readonly isOpen: boolean
  readonly maxClients: number
  readonly clients: number
  /** Settings as plain values; secrets are masked. */
  readonly settings: Readonly<Record<string, unknown>>
  /** Undefined: it has none. */
  readonly authentication: GatewayAuthentication | undefined
}

/** A gateway is unloaded if it has no listener, and stopped if it is disabled. */
export interface Gateway {
  readonly name: string
  readonly protocolName: string
  readonly status: 'running' | 'stopped' | 'unloaded'
  /** Times since the broker started; undefined: not in this run. */
  readonly createdAtMs: number | undefined
  readonly startedAtMs: number | undefined
  readonly stoppedAtMs: number | undefined
  readonly listeners: readonly GatewayListener[]
  /** Settings as plain values; secrets are masked. */
  readonly settings: Readonly<Record<string, unknown>>
  /** Undefined: it has none. */
  readonly authentication: GatewayAuthentication | undefined
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
  | { readonly kind: 'lwm2m-response'; readonly response: Readonly<Record<string, unknown>> | undefined }
  | { readonly kind: 'accepted' }
  /** The client did not respond in time, or rejected the message. */
  | { readonly kind: 'no-response' }
  /** A sentence. */
  | { readonly kind: 'refused'; readonly problem: string }

/** A gateway, or one of its listeners. */
export interface GatewayOrListener {
  readonly gateway: string
  readonly listener?: { readonly type: string; readonly name: string } | undefined
}

export interface GatewayUser {
  readonly id: string
  readonly isSuperuser: boolean
}

export interface GatewayUserQuery {
  /** Names that hold this text. */
  readonly like: string | undefined
  readonly isSuperuser: boolean | undefined
  readonly page: PageWanted
}

/** Changes of a user. Undefined values stay unchanged. */
export interface GatewayUserChange {
  readonly password?: string | undefined
  readonly isSuperuser?: boolean | undefined
}

/** Operations on the users of gateways. When they resolve, the change is on disk and applies to all clients that connect from then on. */
export interface GatewayUserOperations {
  /** The newest first. */
  list(of: GatewayOrListener, query: GatewayUserQuery): Promise<PageFound<GatewayUser>>
  find(of: GatewayOrListener, id: string): GatewayUser | undefined
  create(
    of: GatewayOrListener,
    user: GatewayUser & { readonly password: string },
  ): Promise<'created' | 'existed' | NotStored>
  update(of: GatewayOrListener, id: string, change: GatewayUserChange): Promise<GatewayUser | 'missing' | NotStored>
  delete(of: GatewayOrListener, id: string): Promise<'deleted' | 'missing' | NotStored>
  /** Deletes all users of a gateway or a listener. Users of the listeners of a gateway stay. */
  deleteAll(of: GatewayOrListener): Promise<'deleted' | NotStored>
}

export interface GatewayOperations {
  readonly users: GatewayUserOperations
  /** Replaces it. `settings` undefined: it is taken away; its users stay. */
  changeAuthentication(
    of: GatewayOrListener,
    settings: Readonly<Record<string, unknown>> | undefined,
    by: Caller,
  ): Promise<RuleProblem | undefined>
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
