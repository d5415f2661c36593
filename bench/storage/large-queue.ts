// Measures a session with a million stored messages: the start of the store, resuming and ending the session, and the delays of the event loop
// meanwhile. See README.md.

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import type { StoredChange } from '../../src/records/index.ts'
import { openLevelStore, readAllQueueBounds, readQueue } from '../../src/storage/index.ts'

const { values } = parseArgs({
  options: { messages: { type: 'string', default: '1000000' }, payload: { type: 'string', default: '64' } },
})
const messages = Number(values.messages)
const payload = Buffer.alloc(Number(values.payload), 'x')
const directory = mkdtempSync(join(tmpdir(), 'godwit-bench-'))
const options = {
  directory: join(directory, 'messages'),
  sync: 'commit',
  syncIntervalMs: 1_000,
  onAlarm: ({ text }: { text: string }) => console.log(text),
} as const
const perBatch = 1_000
const statusFile = '/proc/self/status'

let store = await openLevelStore(options)
console.log(memoryText())
await measure('an event loop with turns of half a millisecond, for comparison', turnsOnly)
await measure(`store ${messages} messages for one session`, async () => {
  for (let first = 0; first < messages; first += perBatch) await store.commit(queued(first))
})
await measure('acknowledge the first half', async () => {
  for (let first = 0; first < messages / 2; first += perBatch) await store.commit(acknowledged(first))
})
await store.close()
await measure('open the store again', async () => {
  store = await openLevelStore(options)
})
await measure('find out how long each queue is, as at a start', async () => {
  for await (const bounds of readAllQueueBounds(store)) console.log(`  ${JSON.stringify(bounds)}`)
})
await measure('count the references to bodies, as at a start', async () => {
  for await (const counts of store.countPayloadReferences()) console.log(counts.length)
})
await measure('read the first 1,000 messages', async () => {
  await readQueue(store, 'offline', messages / 2, 1_000)
})
await measure('read the whole queue in parts of 1,000', async () => {
  for (let from = messages / 2; ; from += 1_000) if ((await readQueue(store, 'offline', from, 1_000)).isEnd) return
})
await measure('end the session', async () => {
  await store.commit([{ change: 'delete-session', clientId: 'offline' }])
})
await measure('2,000 commits while it is swept away', async () => {
  for (let first = 0; first < 2_000; first++) await store.commit(queued(messages + first * 10, 10))
})
await measure('close', () => store.close())
rmSync(directory, { recursive: true })

async function measure(what: string, act: () => Promise<void>): Promise<void> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const startedAt = performance.now()
  await act()
  const tookMs = performance.now() - startedAt
  delay.disable()
  const maxMs = Number.isFinite(delay.max) ? (delay.max / 1e6).toFixed(1) : '0'
  console.log(`${what}: ${tookMs.toFixed(1)} ms, event loop held for ${maxMs} ms at most, ${memoryText()}`)
}

async function turnsOnly(): Promise<void> {
  const startedAt = performance.now()
  while (performance.now() < startedAt + 2_000) {
    const turnEndsAt = performance.now() + 0.5
    while (performance.now() < turnEndsAt);
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Mapped files are counted separately where the system reports them, because the operating system can take their pages back. */
function memoryText(): string {
  const { rss, heapUsed } = process.memoryUsage()
  const anonymous = existsSync(statusFile) ? /RssAnon:\s+(\d+)/.exec(readFileSync(statusFile, 'utf8'))?.[1] : undefined
  const ownBytes = anonymous === undefined ? rss : Number(anonymous) * 1_024
  return `memory ${mebibytes(ownBytes)} MiB, of that ${mebibytes(heapUsed)} MiB objects`
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / 1_048_576)
}

function queued(first: number, count = perBatch): StoredChange[] {
  return Array.from({ length: count }, (_, index) => ({
    change: 'put',
    record: {
      kind: 'queued',
      clientId: 'offline',
      sequence: first + index,
      qos: 1,
      retain: false,
      subscriptionIdentifiers: undefined,
      sharedFilter: undefined,
      message: {
        topic: 'bench/topic',
        payload,
        qos: 1,
        retain: false,
        properties: undefined,
        publisher: 'publisher-1',
        publisherUsername: undefined,
        isByOwnRight: false,
        publisherMountpoint: '',
        isRepeat: false,
        publishedAtMs: 1_700_000_000_000 + index,
        expiresAtMs: undefined,
      },
    },
  }))
}

function acknowledged(first: number): StoredChange[] {
  return Array.from({ length: perBatch }, (_, index) => ({
    change: 'delete',
    key: { kind: 'queued', clientId: 'offline', sequence: first + index },
  }))
}
