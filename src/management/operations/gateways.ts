import type { Caller } from '../../contract/index.ts'
import type { RuleProblem } from './rules.ts'
import type { ShardUnavailable } from './lists.ts'

/** A gateway is unloaded where it has no listener, and stopped where it is disabled. */
export interface Gateway {
  readonly name: string
  readonly protocolName: string
  readonly status: 'running' | 'stopped' | 'unloaded'
  readonly listeners: readonly {
    /** `udp` or `tcp`. */
    readonly type: string
    readonly name: string
    readonly bind: string
    readonly isOpen: boolean
    readonly maxClients: number
    readonly clients: number
  }[]
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
}
