// A separate process for failing-disk.test.ts: its files may not grow beyond the limit that its shell has set. Three
// stores commit at the same time; one whose commit fails requests that the database is reopened, and commits the same again. It prints
// the committed records, the records at the end, and the stores that closed.

import { StorageFailure, type Store } from '../../src/storage/index.ts'
import { SharedStores } from './shared-stores.ts'
import { put, readAll } from './read-all.ts'
import { queued } from './sample-records.ts'

// Without a listener the signal would end the process; with one the write fails.
process.on('SIGXFSZ', () => {})

const rounds = 60
const stores = new SharedStores(process.argv[2] ?? '')
await stores.begin(3)
let failures = 0
await Promise.all(stores.stores.map((store, own) => commitAll(store, own)))
await stores.begin(3)
const found = await Promise.all(
  stores.stores.map(async (store, own) => (await readAll(store, { kind: 'queued', clientId: `client-${own}` })).length),
)
await stores.end()
const whoLeft = [...new Set(stores.requests.filter((request) => request.endsWith('left')))].sort()
console.log(JSON.stringify({ failures, found, whoLeft, alarms: stores.alarms }))

async function commitAll(store: Store, own: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const records = Array.from({ length: 50 }, (_, index) =>
      queued(`client-${own}`, round * 50 + index, 'x'.repeat(1_000)),
    )
    for (;;) {
      try {
        await store.commit(put(...records))
        break
      } catch (error) {
        if (!(error instanceof StorageFailure)) throw error
        failures += 1
        await store.reopen().catch((failure: unknown) => {
          if (!(failure instanceof StorageFailure)) throw failure
        })
      }
    }
  }
}
