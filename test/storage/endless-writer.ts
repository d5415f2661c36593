// A thread that joins an open database of its process, and writes until it is told to fail.

import { parentPort, workerData } from 'node:worker_threads'
import { openLevelStore, StoreClient } from '../../src/storage/index.ts'
import { put } from './read-all.ts'
import { queued } from './sample-records.ts'

parentPort?.once('message', () => {
  throw new Error('broken on demand')
})
const { directory, shard } = workerData as { directory: string; shard: number }
const client = new StoreClient((request) => {
  if (request.kind === 'enter') client.handleNotice({ kind: 'granted', sharedPayloadsUpTo: 0 })
})
const store = await openLevelStore({ directory, sync: 'commit', syncIntervalMs: 0, onAlarm: () => {}, shard, client })
for (let sequence = 0; ; sequence++) {
  await store.commit(put(queued('endless', sequence, 'x'.repeat(10_000))))
  if (sequence === 20) parentPort?.postMessage('is at it')
}
