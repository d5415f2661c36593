// What a batch of the store costs the database, beside a bulk insert of the same rows. See README.md.

import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { StoredChange } from '../../src/records/index.ts'
import { OperationList } from '../../src/storage/database/operation-list.ts'
import { encodeChange } from '../../src/storage/database/change-encoder.ts'
import { SessionGenerations } from '../../src/storage/database/session-generations.ts'
import { encodeOperations } from '../../src/storage/postgres/encoded-batch.ts'
import { ServerConnection } from '../../src/storage/postgres/server-connection.ts'
import { message, queued } from '../../test/storage/sample-records.ts'
import { printTable } from '../load/table.ts'
import { openBenchStore, type BenchStore } from './bench-store.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '500' },
    batches: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '5' },
    payload: { type: 'string', default: '100' },
    standby: { type: 'boolean', default: false },
  },
})
const rows = Number(values.rows)
const batches = Number(values.batches)
const payload = Buffer.alloc(Number(values.payload), 'x')
const sessions = 20
/** USER_HZ of Linux. */
const microsecondsPerTick = 10_000

interface Measured {
  readonly rowsPerSecond: number
  /** Processor time of the server process, in microseconds. */
  readonly serverMicroseconds: number
}

/** Of the sessions of the bulk insert. */
const generations = new SessionGenerations(1)
const bench = await openBenchStore({ hasStandby: values.standby })
let next = 1
const bulk = await ServerConnection.open({ address: bench.address, use: 'commit' })
await bulk.run({
  text: 'CREATE TABLE bulk_rows (shard integer, key bytea, value bytea, PRIMARY KEY (shard, key))',
})
await bulk.run({ text: 'ALTER TABLE bulk_rows ALTER COLUMN value SET STORAGE EXTERNAL' })

const results: { store: Measured; bulk: Measured }[] = []
await measureStore(bench)
await measureBulk()
for (let round = 0; round < Number(values.rounds); round++) {
  results.push({ store: await measureStore(bench), bulk: await measureBulk() })
}
const best = (kind: 'store' | 'bulk'): Measured => ({
  rowsPerSecond: Math.max(...results.map((result) => result[kind].rowsPerSecond)),
  serverMicroseconds: Math.min(...results.map((result) => result[kind].serverMicroseconds)),
})
const [store, plain] = [best('store'), best('bulk')]
printTable(
  ['', 'rows/s', 'server us/row'],
  [
    ['store', store.rowsPerSecond.toFixed(0), store.serverMicroseconds.toFixed(2)],
    ['bulk insert', plain.rowsPerSecond.toFixed(0), plain.serverMicroseconds.toFixed(2)],
    [
      'ratio',
      (store.rowsPerSecond / plain.rowsPerSecond).toFixed(2),
      (store.serverMicroseconds / plain.serverMicroseconds).toFixed(2),
    ],
  ],
)
await bulk.close()
await bench.close()

async function measureStore({ store, findCommitBackend }: BenchStore): Promise<Measured> {
  const backend = await findCommitBackend()
  return await measure(backend, async () => store.commit(createRows()))
}

/** The same rows, already encoded: the time of the process is not compared. */
async function measureBulk(): Promise<Measured> {
  const operations = new OperationList()
  return await measure(bulk.facts.backend, async () => {
    operations.clear()
    for (const change of createRows()) encodeChange(operations, change, generations)
    const [part] = encodeOperations(operations).parts
    await bulk.run({
      name: 'bulk',
      text: `INSERT INTO bulk_rows SELECT 0, r.key, r.value FROM unnest($1::bytea[], $2::bytea[]) AS r (key, value)`,
      values: [part?.keys ?? null, part?.values ?? null],
    })
  })
}

function createRows(): StoredChange[] {
  return Array.from({ length: rows }, (_, index): StoredChange => {
    const record = queued(`client-${index % sessions}`, next++)
    return { change: 'put', record: { ...record, message: message('bench/topic', '', { payload }) } }
  })
}

async function measure(backend: number, work: () => Promise<void>): Promise<Measured> {
  const cpuBefore = readCpuTicks(backend)
  const startedAt = performance.now()
  for (let batch = 0; batch < batches; batch++) await work()
  const seconds = (performance.now() - startedAt) / 1_000
  const microseconds = (readCpuTicks(backend) - cpuBefore) * microsecondsPerTick
  return { rowsPerSecond: (rows * batches) / seconds, serverMicroseconds: microseconds / (rows * batches) }
}

/** Processor time of a process in user and system mode (proc_pid_stat(5)). */
function readCpuTicks(process: number): number {
  const fields = readFileSync(`/proc/${process}/stat`, 'latin1')
    .replace(/^.*\) /, '')
    .split(' ')
  return Number(fields[11]) + Number(fields[12])
}
