// Delayed messages: each shard has those of its clients.

import type { DelayedOperations, DelayedRow } from './delayed.ts'
import type { Store } from '../../storage/index.ts'
import type { ConfigManager, ShardSupervisor } from '../../node/index.ts'
import { SettingWriter } from '../context/setting-writer.ts'

export interface DelayedFacts {
  readonly nodeName: string
  readonly configuration: ConfigManager
  readonly supervisor: ShardSupervisor
  readonly store: Pick<Store, 'read'>
}

/** Implements the operations for delayed messages. */
export function delayedOperations({ nodeName, configuration, supervisor, store }: DelayedFacts): DelayedOperations {
  const writer = new SettingWriter(configuration)
  return {
    nodeName,
    settings: () => {
      const { delaysMessages, maxDelayedMessages } = configuration.config.core
      return { enable: delaysMessages, max_delayed_messages: maxDelayedMessages ?? 0 }
    },
    changeSettings: (settings, by) => writer.change({ delayed: settings }, by),
    list: async (skip, maxRows) => {
      const rows: DelayedRow[] = []
      let count = 0
      for (let shard = 0; shard < supervisor.size; shard++) {
        const wanted = { skip: Math.max(0, skip - count), maxRows: maxRows - rows.length }
        const found = await supervisor.query(shard, { kind: 'delayed-messages', ...wanted })
        if (found === undefined) return undefined
        count += found.count
        rows.push(...found.rows)
      }
      return { count, rows }
    },
    find: async (id) => {
      for (let shard = 0; shard < supervisor.size; shard++) {
        const found = await supervisor.query(shard, { kind: 'delayed-message', id })
        if (found === undefined) return undefined
        if (found === null) continue
        const payload = found.payload ?? (await storedPayload(store, found.record))
        // It was published meanwhile.
        return payload === undefined ? null : { ...found, payload }
      }
      return null
    },
    remove: async (id) => {
      let matched = 0
      for (let shard = 0; shard < supervisor.size; shard++) {
        const result = await supervisor.query(shard, { kind: 'delete-delayed', id })
        if (result === undefined) return undefined
        if (!result.done) return result.why
        matched += result.matched
      }
      return matched > 0
    },
  }
}

/** Payloads of larger messages are on disk only. */
async function storedPayload(store: Pick<Store, 'read'>, clientId: string): Promise<Uint8Array | undefined> {
  for await (const record of store.read({ kind: 'will', clientId })) {
    if (record.kind === 'will') return record.message.payload
  }
  return undefined
}
