// Lists of many clients through the API: measures how long a slice occupies a shard, how long a page takes, and the delays of a healthy client. See
// README.md.
//
//   node --expose-gc bench/api-lists/api-lists.ts [--sessions 200000] [--pages 300] [--limit 1000] [--messages 20000]

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PerformanceObserver } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { BrokerCore, type ClientFilter } from '../../src/core/index.ts'
import { defaultCoreSettings } from '../../test/core/default-settings.ts'
import { TopicTable } from '../../src/protocol/index.ts'
import type { StoredRecord } from '../../src/records/index.ts'
import { createSliceWanted } from '../../src/shard/runtime/result-slices.ts'
import { openLevelStore } from '../../src/storage/index.ts'
import { otherBroker, startBroker } from '../load/brokers.ts'
import { publishFrame } from '../load/frames.ts'
import { HealthyProbe } from '../load/healthy-probe.ts'
import { Latencies } from '../load/latencies.ts'
import type { LoadClient } from '../load/load-client.ts'
import { openClient, openSubscriber } from '../load/open-client.ts'
import { number, printTable } from '../load/table.ts'

const { values } = parseArgs({
  options: {
    sessions: { type: 'string', default: '200000' },
    pages: { type: 'string', default: '300' },
    limit: { type: 'string', default: '1000' },
    messages: { type: 'string', default: '20000' },
  },
})
const sessions = Number(values.sessions)
const pages = Number(values.pages)
const limit = Number(values.limit)
const messagesPerSecond = Number(values.messages)

const program = fileURLToPath(new URL('../../bin/godwit.js', import.meta.url))
const recordsPerBatch = 2_000
const slicesMeasured = 1_000
const burstMs = 10
const password = 'a-password-for-measuring'
const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`

await measureSlices()
await measurePages()

/** The core runs in this process without other work. */
async function measureSlices(): Promise<void> {
  const core = new BrokerCore(defaultCoreSettings, { identity: 'bench', topics: new TopicTable(1_000) })
  for (const records of batches()) core.handle({ kind: 'restore', records }, 1)
  // The measurement must not include garbage of the setup.
  globalThis.gc?.()
  const collections: { fromMs: number; toMs: number }[] = []
  const observer = new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries())
      collections.push({ fromMs: startTime, toMs: startTime + duration })
  })
  observer.observe({ entryTypes: ['gc'] })
  const rows: string[][] = []
  for (const [what, filter] of [
    ['all', {}],
    ['one in a thousand', { clientIdPart: '777' }],
    ['none', { username: 'nobody' }],
  ] as const) {
    const slices = walk(core, filter)
    await pause(100)
    const isUndisturbed = ({ fromMs, copiedMs }: TimedSlice): boolean =>
      !collections.some((collection) => collection.fromMs < copiedMs && collection.toMs > fromMs)
    const undisturbed = slices.filter(isUndisturbed)
    const [looking, copying] = [new Latencies(), new Latencies()]
    for (const { lookingMs, heldMs } of undisturbed) {
      looking.add(lookingMs)
      copying.add(heldMs)
    }
    const disturbed = number(slices.length - undisturbed.length)
    rows.push([what, number(slices.length), ...delays(looking), ...delays(copying), disturbed])
  }
  observer.disconnect()
  console.log(
    `${number(sessions)} sessions in one shard: each slice without a collection of V8 in it, in ms of processor time`,
  )
  printTable(['wanted', 'slices', 'looking p99', 'max', 'and copying p99', 'max', 'with a collection'], rows)
}

interface TimedSlice {
  readonly fromMs: number
  readonly copiedMs: number
  /** Processor time, because elapsed time depends on other work of the machine. */
  readonly lookingMs: number
  readonly heldMs: number
}

function processorMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** Reads the list from the first to the last page repeatedly. */
function walk(core: BrokerCore, filter: ClientFilter): TimedSlice[] {
  const slices: TimedSlice[] = []
  let from = { place: 0, offset: 0 }
  while (slices.length < slicesMeasured) {
    const [fromMs, beganMs] = [performance.now(), processorMs()]
    const slice = core.view.listClients(filter, createSliceWanted({ from, skip: 0, maxRows: Number.MAX_SAFE_INTEGER }))
    const lookingMs = processorMs() - beganMs
    structuredClone(slice)
    slices.push({ fromMs, copiedMs: performance.now(), lookingMs, heldMs: processorMs() - beganMs })
    from = slice.next ?? { place: 0, offset: 0 }
  }
  return slices
}

async function measurePages(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-api-lists-'))
  await fill(join(folder, 'store'))
  const words = [
    `--data "${folder}" --set node.shards=1 --set log.level=error --set listeners.tcp.bind=127.0.0.1:PORT`,
    `--set http_server.port=APIPORT --set 'http_server.password="${password}"'`,
  ].join(' ')
  const apiPort = 18_000 + (process.pid % 10_000)
  const command = `"${process.execPath}" "${program}" start ${words}`.replace('APIPORT', String(apiPort))
  const broker = await startBroker(otherBroker(command), '0-1')
  const probe = await HealthyProbe.open(broker.port)
  const subscriber = await openSubscriber({ port: broker.port, clientId: 'load-sub', filters: ['load'], qos: 0 })
  const publisher = await openClient({ port: broker.port, clientId: 'load-pub' })
  const load = startLoad(publisher)
  const rows: string[][] = []
  const note = async (what: string, act: () => Promise<Latencies | undefined>): Promise<void> => {
    probe.take()
    const latencies = await act()
    rows.push([what, ...(latencies === undefined ? ['-', '-'] : delays(latencies)), ...probe.take()])
  }
  const url = `http://127.0.0.1:${apiPort}/api/v4/clients`
  try {
    await note('no request', () => pause(3_000, undefined))
    await note(`pages of ${limit} by cursor`, () => readPages(url))
    await note('page 1 of 100', () => readMany(`${url}?_page=1&_limit=100`, pages))
    await note('one client', () => readMany(`${url}/offline-77`, pages))
    await note('a user name without clients', () => readMany(`${url}?username=nobody`, 5))
    await note('all of it at once', () => readMany(url, 1))
  } finally {
    clearInterval(load)
    for (const client of [subscriber, publisher]) client.close()
    probe.close()
    await broker.stop()
    rmSync(folder, { recursive: true })
  }
  console.log(
    `\n${number(messagesPerSecond)} messages a second meanwhile: time of each response, and of a healthy client, in ms`,
  )
  printTable(['request', 'p99', 'max', 'client p50', 'p99', 'max', 'lost'], rows)
}

function delays(latencies: Latencies): string[] {
  return [number(latencies.percentileMs(0.99), 2), number(latencies.maxMs, 2)]
}

function* batches(): IterableIterator<StoredRecord[]> {
  for (let first = 0; first < sessions; first += recordsPerBatch) {
    const count = Math.min(recordsPerBatch, sessions - first)
    yield Array.from({ length: count }, (_, index) => sessionRecords(first + index)).flat()
  }
}

function sessionRecords(index: number): StoredRecord[] {
  const clientId = `offline-${index}`
  const session = {
    kind: 'session',
    clientId,
    version: 5,
    username: `user-${index % 1_000}`,
    isSuperuser: false,
    principal: undefined,
    mountpoint: '',
    createdAtMs: Date.now(),
    expirySeconds: 100_000,
    disconnectedAtMs: Date.now(),
    queueHead: 1,
    sentBelow: 1,
    receiveMaximum: 100,
  } as const
  const options = {
    qos: 1,
    noLocal: false,
    retainAsPublished: false,
    retainHandling: 0,
    identifier: undefined,
  } as const
  return [session, { kind: 'subscription', clientId, filter: `things/${index}/+`, ...options }]
}

async function fill(directory: string): Promise<void> {
  const store = await openLevelStore({
    directory,
    sync: 'never',
    syncIntervalMs: 1_000,
    onAlarm: ({ text }) => console.log(text),
  })
  for (const records of batches()) await store.commit(records.map((record) => ({ change: 'put', record })))
  await store.close()
}

function startLoad(publisher: LoadClient): NodeJS.Timeout {
  const frame = publishFrame({ version: 4, topic: 'load', qos: 0, packetId: 0, payload: Buffer.alloc(64) })
  const burst = Buffer.concat(Array.from({ length: (messagesPerSecond * burstMs) / 1_000 }, () => frame))
  return setInterval(() => publisher.write(burst), burstMs)
}

async function request(url: string): Promise<Response> {
  const response = await fetch(url, { headers: { authorization } })
  if (response.status !== 200) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  return response
}

async function readPages(url: string): Promise<Latencies> {
  const latencies = new Latencies()
  let cursor = 'first'
  for (let count = 0; count < pages; count++) {
    const atMs = performance.now()
    const text = await (await request(`${url}?_cursor=${cursor}&_limit=${limit}`)).text()
    latencies.add(performance.now() - atMs)
    const { meta } = JSON.parse(text) as { meta: { cursor?: string } }
    cursor = meta.cursor ?? 'first'
  }
  return latencies
}

/** Reads the body without storing it, because it can be larger than the memory of this process. */
async function readMany(url: string, times: number): Promise<Latencies> {
  const latencies = new Latencies()
  for (let count = 0; count < times; count++) {
    const atMs = performance.now()
    for await (const chunk of (await request(url)).body ?? []) void chunk
    latencies.add(performance.now() - atMs)
  }
  return latencies
}
