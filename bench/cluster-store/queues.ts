// Whether queues stay small and fast while millions of messages pass through them. See README.md.

import { parseArgs } from 'node:util'
import type { StoredChange } from '../../src/records/index.ts'
import { readQueue } from '../../src/storage/index.ts'
import { message, queued } from '../../test/storage/sample-records.ts'
import { openBenchStore } from './bench-store.ts'

const { values } = parseArgs({
  options: {
    messages: { type: 'string', default: '2000000' },
    queues: { type: 'string', default: '200' },
    live: { type: 'string', default: '20000' },
    payload: { type: 'string', default: '200' },
    batch: { type: 'string', default: '500' },
  },
})
const messages = Number(values.messages)
const queues = Number(values.queues)
const live = Number(values.live)
const batch = Number(values.batch)
const payload = Buffer.alloc(Number(values.payload), 'x')
/** One read of a queue for this number of batches. */
const batchesPerRead = 5
const batchesPerReport = 400

const bench = await openBenchStore({ hasStandby: false })
const { store, primary } = bench
const readMs: number[] = []
let maxHeapBytes = 0
const startedAt = performance.now()
for (let done = 0, count = 0; done < messages; done += batch, count++) {
  await store.commit(createChanges(done))
  if (count % batchesPerRead === 0 && done > live) await readHead(done)
  if (count % batchesPerReport === 0) await report(done)
}
await report(messages)
readMs.sort((a, b) => a - b)
const seconds = (performance.now() - startedAt) / 1_000
console.log(`${Math.round(messages / seconds)} messages/s; heap at most ${toMebibytes(maxHeapBytes)} MiB`)
console.log(`head of a queue: p50 ${percentile(0.5)} ms, p99 ${percentile(0.99)} ms, max ${percentile(1)} ms`)
await bench.close()

/** Message n goes to queue n modulo the number of queues; the oldest ones are acknowledged. */
function createChanges(done: number): StoredChange[] {
  const changes: StoredChange[] = []
  for (let index = done; index < done + batch; index++) {
    const record = queued(...locate(index))
    changes.push({ change: 'put', record: { ...record, message: message('bench/topic', '', { payload }) } })
    if (index < live) continue
    const [clientId, sequence] = locate(index - live)
    changes.push({ change: 'delete', key: { kind: 'queued', clientId, sequence } })
  }
  return changes
}

function locate(index: number): [clientId: string, sequence: number] {
  return [`client-${index % queues}`, Math.floor(index / queues) + 1]
}

async function readHead(done: number): Promise<void> {
  const [clientId, sequence] = locate(done + batch - live)
  const startedAt = performance.now()
  const { records } = await readQueue(store, clientId, sequence, 16)
  readMs.push(performance.now() - startedAt)
  if (records.length !== 16) throw new Error(`the queue of ${clientId} has ${records.length} records`)
}

async function report(done: number): Promise<void> {
  const text = `SELECT pg_relation_size('godwit.records_0'), pg_indexes_size('godwit.records_0'),
    pg_relation_size(reltoastrelid) FROM pg_class WHERE oid = 'godwit.records_0'::regclass`
  const [[heap, indexes, toast] = []] = await primary.query(text)
  maxHeapBytes = Math.max(maxHeapBytes, Number(heap))
  const sizes = `heap ${toMebibytes(heap)} MiB, index ${toMebibytes(indexes)} MiB, TOAST ${toMebibytes(toast)} MiB`
  console.log(`${done} messages: ${sizes}`)
}

function toMebibytes(bytes: unknown): string {
  return (Number(bytes) / 1_048_576).toFixed(1)
}

function percentile(part: number): string {
  return (readMs[Math.min(readMs.length - 1, Math.floor(readMs.length * part))] ?? 0).toFixed(2)
}
