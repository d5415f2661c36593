// A separate process for failing-disk.test.ts: its files may not grow beyond the limit that its shell has set. It
// commits until a commit fails, checks that no other commit is accepted before the store is reopened, reopens it, continues, and
// prints the results.

import { openLevelStore, StorageFailure } from '../../src/storage/index.ts'
import { put, readAll } from './read-all.ts'
import { queued } from './sample-records.ts'

// Without a listener the signal would end the process; with one the write fails.
process.on('SIGXFSZ', () => {})

const scenario: string[] = []
const alarms: string[] = []
const store = await openLevelStore({
  directory: process.argv[2] ?? '',
  sync: 'commit',
  syncIntervalMs: 1_000,
  onAlarm: ({ text }) => alarms.push(text),
})
let committed = 0
while (scenario.filter((line) => line === 'commit failed').length < 2) await commitNext()
const found = (await readAll(store, { kind: 'queued', clientId: 'client' })).length
await store.close()
console.log(JSON.stringify({ scenario, committed, found, alarms }))

async function commitNext(): Promise<void> {
  const batch = put(...Array.from({ length: 50 }, (_, index) => queued('client', committed + index, 'x'.repeat(1_000))))
  try {
    await store.commit(batch)
  } catch (error) {
    if (!(error instanceof StorageFailure)) throw error
    scenario.push('commit failed')
    const seen = (await readAll(store, { kind: 'queued', clientId: 'client' })).length
    scenario.push(seen === committed ? 'reads go on' : `reads show ${seen} of ${committed}`)
    await store.commit([]).catch((failure: Error) => scenario.push(failure.message))
    await store.reopen()
    await store.commit(batch)
    scenario.push('committed again')
  }
  committed += batch.length
}
