// Retained messages: each shard has those of its topics.

import type { RetainedOperations, RetainedRow } from './retained.ts'
import type { Store } from '../../storage/index.ts'
import type { ShardSupervisor } from '../../node/index.ts'

export function retainedOperations(supervisor: ShardSupervisor, store: Pick<Store, 'read'>): RetainedOperations {
  return {
    list: async (filter, maxRows, from = { shard: 0, place: 0, offset: 0 }) => {
      const rows: RetainedRow[] = []
      let skip = from.offset
      for (let shard = from.shard; shard < supervisor.size; shard++) {
        const left = maxRows - rows.length
        const found = await supervisor.query(shard, { kind: 'retained', filter, maxRows: left, skip })
        if (found === undefined) return undefined
        rows.push(...found.slice(0, left))
        if (found.length > left) return { rows, next: { shard, place: 0, offset: skip + left } }
        skip = 0
      }
      return { rows, next: undefined }
    },
    find: async (topic) => {
      for (let shard = 0; shard < supervisor.size; shard++) {
        const found = await supervisor.query(shard, { kind: 'retained-message', topic })
        if (found === undefined) return undefined
        if (found === null) continue
        const payload = found.payload ?? (await storedPayload(store, topic))
        // The message was replaced or deleted meanwhile.
        if (payload === undefined) return null
        return { ...found, payload }
      }
      return null
    },
    forget: async (topic) => {
      let matched = 0
      for (let shard = 0; shard < supervisor.size; shard++) {
        const result = await supervisor.query(shard, { kind: 'forget-retained', topics: [topic] })
        if (result === undefined || !result.done) return { why: result?.why ?? 'no-response' }
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
