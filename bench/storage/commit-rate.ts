// Measures how many durable messages per second the store writes. As in a busy broker, each message writes a queued record and deletes an
// acknowledged one. See README.md.

import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { StoredChange } from '../../src/records/index.ts'
import { openLevelStore, type SyncMode } from '../../src/storage/index.ts'

const { values } = parseArgs({
  options: {
    directory: { type: 'string' },
    batches: { type: 'string', default: '1000' },
    messages: { type: 'string', default: '500' },
    payload: { type: 'string', default: '64' },
    sync: { type: 'string', default: 'commit' },
  },
})

const directory = values.directory ?? mkdtempSync(join(tmpdir(), 'godwit-bench-'))
const batches = Number(values.batches)
const messages = Number(values.messages)
const payload = Buffer.alloc(Number(values.payload), 'x')
const sessions = 20

console.log(`fdatasync of 4 KiB: ${syncTimes(directory)}`)
const store = await openLevelStore({
  directory: join(directory, 'messages'),
  sync: values.sync as SyncMode,
  syncIntervalMs: 1_000,
  onAlarm: ({ text }) => console.log(text),
})
await commitAll(100)
const before = process.cpuUsage()
const startedAt = performance.now()
const commitMs = await commitAll(batches)
const seconds = (performance.now() - startedAt) / 1_000
const cpu = process.cpuUsage(before)
const count = batches * messages
console.log(
  `${Math.round(count / seconds).toLocaleString('en')} messages/s (${values.sync}, ${messages} a batch, ${payload.length} bytes)`,
)
console.log(`commit: p50 ${percentile(commitMs, 0.5)} ms, p99 ${percentile(commitMs, 0.99)} ms`)
console.log(`CPU of the process: ${((cpu.user + cpu.system) / count).toFixed(2)} us a message, of all its threads`)
console.log(`memory: ${Math.round(process.memoryUsage().rss / 1_048_576)} MiB`)
await store.close()
if (values.directory === undefined) rmSync(directory, { recursive: true })

async function commitAll(count: number): Promise<number[]> {
  const times: number[] = []
  for (let batch = 0; batch < count; batch++) {
    const changes: StoredChange[] = []
    for (let index = 0; index < messages; index++) addMessage(changes, batch * messages + index)
    const startedAt = performance.now()
    await store.commit(changes)
    times.push(performance.now() - startedAt)
  }
  return times.sort((a, b) => a - b)
}

function addMessage(changes: StoredChange[], number: number): void {
  const clientId = `subscriber-${number % sessions}`
  changes.push({
    change: 'put',
    record: {
      kind: 'queued',
      clientId,
      sequence: number,
      qos: 1,
      retain: false,
      subscriptionIdentifiers: undefined,
      sharedFilter: undefined,
      message: {
        topic: `bench/topic/${number % sessions}`,
        payload,
        qos: 1,
        retain: false,
        properties: undefined,
        publisher: 'publisher-1',
        publisherUsername: undefined,
        isByOwnRight: false,
        publisherMountpoint: '',
        isRepeat: false,
        publishedAtMs: 1_700_000_000_000 + number,
        expiresAtMs: undefined,
      },
    },
  })
  const acknowledged = number - messages
  if (acknowledged >= 0) changes.push({ change: 'delete', key: { kind: 'queued', clientId, sequence: acknowledged } })
}

function syncTimes(where: string): string {
  const path = join(where, 'fdatasync')
  const file = openSync(path, 'w')
  const block = Buffer.alloc(4_096)
  const times: number[] = []
  for (let round = 0; round < 300; round++) {
    writeSync(file, block)
    const startedAt = performance.now()
    fdatasyncSync(file)
    times.push(performance.now() - startedAt)
  }
  closeSync(file)
  rmSync(path)
  times.sort((a, b) => a - b)
  return `p50 ${percentile(times, 0.5)} ms, p99 ${percentile(times, 0.99)} ms`
}

function percentile(sorted: readonly number[], part: number): string {
  return (sorted[Math.floor(sorted.length * part)] ?? 0).toFixed(2)
}
