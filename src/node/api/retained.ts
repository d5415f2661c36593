// Retained messages: each shard has those of its topics.

import type { RetainedOperations, RetainedRow } from '../../management/index.ts'
import type { Store } from '../../storage/index.ts'
import type { ShardSupervisor } from '../shards/shard-supervisor.ts'

export function retainedOperations(supervisor: ShardSupervisor, store: Pick<Store, 'read'>): RetainedOperations {
  return {
    list: async (filter, most) => {
      const rows: RetainedRow[] = []
      for (let shard = 0; shard < supervisor.size && rows.length <= most; shard++) {
        const found = await supervisor.ask(shard, { question: 'retained', filter, most: most - rows.length })
        if (found === undefined) return undefined
        rows.push(...found)
      }
      return { rows: rows.slice(0, most), hasMore: rows.length > most }
    },
    find: async (topic) => {
      for (let shard = 0; shard < supervisor.size; shard++) {
        const found = await supervisor.ask(shard, { question: 'retained-message', topic })
        if (found === undefined) return undefined
        if (found === null) continue
        const payload = found.payload ?? (await storedPayload(store, topic))
        // It was replaced or deleted meanwhile.
        if (payload === undefined) return null
        return { ...found, payload }
      }
      return null
    },
    forget: async (topic) => {
      let matched = 0
      for (let shard = 0; shard < supervisor.size; shard++) {
        const result = await supervisor.ask(shard, { question: 'forget-retained', topics: [topic] })
        if (result === undefined || !result.done) return { why: result?.why ?? 'no-answer' }
        matched += result.matched ?? 0
      }
      return matched > 0
    },
  }
}

/** Payloads of larger messages are on disk only. */
async function storedPayload(store: Pick<Store, 'read'>, topic: string): Promise<Uint8Array | undefined> {
  for await (const record of store.read({ kind: 'retained', topic })) {
    if (record.kind === 'retained') return record.message.payload
  }
  return undefined
}
