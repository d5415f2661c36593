// Writes the limits of namespaces to memory that all shards share. The limits are in the configuration and in the records of
// namespaces.

import type { GodwitConfig } from '../../config/index.ts'
import type { NamespaceRecord } from '../../records/index.ts'
import { type NamespaceCounts, NamespaceTable, type OwnNamespaceLimits } from '../../shard/index.ts'
import type { ConfigConsumer } from '../configuration/config-consumers.ts'

/** Maximum number of namespaces of a node that are created through the API. */
export const maxNamespaces = 10_000

const noLimits: OwnNamespaceLimits = { clients: undefined, retainedMessages: undefined, messagesPerSecond: undefined }
const nothing: NamespaceCounts = { clients: 0, retainedMessages: 0 }

const ownKeys: ReadonlySet<string> = new Set(['max_clients', 'max_retained_messages', 'messages_rate'])

export class NamespaceLimitsInForce {
  readonly #table: NamespaceTable | undefined

  /** `table` undefined: namespaces are disabled until the next start. */
  constructor(config: GodwitConfig, table: SharedArrayBuffer | undefined, shards: number) {
    this.#table = table && new NamespaceTable(table, { shards })
    this.#take(config)
  }

  readonly consumer: ConfigConsumer = {
    canApply: (key) => key.startsWith('namespaces.') && ownKeys.has(key.slice('namespaces.'.length)),
    apply: async (config) => {
      this.#take(config)
      return undefined
    },
  }

  setLimits(name: string, record: NamespaceRecord | undefined): void {
    this.#table?.setOwnLimits(name, record?.limits ?? noLimits)
  }

  readCounts(name: string): NamespaceCounts {
    return this.#table?.readCounts(name) ?? nothing
  }

  #take({ namespaces }: GodwitConfig): void {
    if (namespaces !== undefined) this.#table?.setUsualLimits(namespaces.limits)
  }
}
