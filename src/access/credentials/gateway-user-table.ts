// Users of gateways and of their listeners: a list for each that has an authentication of its own.

import type { AccessRecordKey, GatewayUserRecord } from '../../records/index.ts'

type GatewayUserKey = Extract<AccessRecordKey, { kind: 'gateway-user' }>

const nobody: ReadonlyMap<string, GatewayUserRecord> = new Map()

export class GatewayUsers {
  readonly #chains = new Map<string, Map<string, GatewayUserRecord>>()

  /** By their names. */
  findUsers(chain: string): ReadonlyMap<string, GatewayUserRecord> {
    return this.#chains.get(chain) ?? nobody
  }

  put(record: GatewayUserRecord): void {
    const users = this.#chains.get(record.chain) ?? new Map<string, GatewayUserRecord>()
    users.set(record.id, record)
    this.#chains.set(record.chain, users)
  }

  delete({ chain, id }: GatewayUserKey): void {
    const users = this.#chains.get(chain)
    users?.delete(id)
    if (users?.size === 0) this.#chains.delete(chain)
  }
}
