import type { Caller } from '../../contract/index.ts'
import type { GatewayRequest, GatewayResponse } from '../../gateways/index.ts'
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

/** A gateway is unloaded where it has no listener, and stopped where it is disabled. */
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
  /** Datagrams since the start, by what became of them. */
  readonly counters: Readonly<Record<string, number>>
}

export interface GatewayOperations {
  gateways(): Promise<readonly Gateway[] | ShardUnavailable>
  /** Replaces what is configured. Undefined: done. */
  change(name: string, settings: Readonly<Record<string, unknown>>, by: Caller): Promise<RuleProblem | undefined>
  enable(name: string, isEnabled: boolean, by: Caller): Promise<RuleProblem | undefined>
  /** Replaces one listener. `settings` undefined: it is taken away. */
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
