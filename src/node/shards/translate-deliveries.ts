// After a change of `node.shards`, translates the records of deliveries that were not complete when the node ended. It runs before the
// shards start. If the node fails meanwhile, the next start does the rest.

import { ShardChange, shardChangeKinds } from '../../core/index.ts'
import type { StoredChange } from '../../records/index.ts'
import { formerShardsDone, type Store } from '../../storage/index.ts'

/** A commit has about this number of changes. */
const changesPerCommit = 1_000

export async function translateDeliveries(
  store: Store,
  shards: { readonly from: number; readonly to: number },
): Promise<void> {
  const change = new ShardChange(shards)
  for (const kind of shardChangeKinds) for await (const record of store.read({ kind })) change.add(record)
  let changes: StoredChange[] = []
  for (const group of change.takeGroups()) {
    changes.push(...group)
    if (changes.length < changesPerCommit) continue
    await store.commit(changes)
    changes = []
  }
  await store.commit([...changes, formerShardsDone])
}
