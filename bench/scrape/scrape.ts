// Measures the cost of one scrape of the metrics per second, and whether the API responds while the broker transfers 200,000 messages per second.
// Starts its own broker; see README.md.
//
//   node bench/scrape/scrape.ts [--pairs 5] [--seconds 10] [--rate 200000]

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { godwit, pinnedTo, pinSelf, startBroker, type RunningBroker } from '../load/brokers.ts'
import { Latencies } from '../load/latencies.ts'
import { generateLoad, plainLoad } from '../load/run-generator.ts'
import { scenarios } from '../load/scenarios.ts'
import { median, number, printTable } from '../load/table.ts'

const { values } = parseArgs({
  options: {
    pairs: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '10' },
    rate: { type: 'string', default: '200000' },
  },
})
const seconds = Number(values.seconds)
const pairs = Number(values.pairs)
const ratePerSecond = Number(values.rate)

const password = 'measuring'
const headers = { authorization: `Basic ${Buffer.from(`admin:${password}`).toString('base64')}` }
const program = fileURLToPath(new URL('../../bin/godwit.js', import.meta.url))
const run = promisify(execFile)
const intervalMs = 1_000
const usPerSecond = 1_000_000

pinSelf()
const settings = ['http_server.port=0', `http_server.password=${password}`, 'log.level=error']
const broker = await startBroker(godwit(settings))
try {
  const api = urlOfApi(broker)
  await compareThroughput(broker, api)
  await requestMeanwhile(broker, api)
} finally {
  await broker.stop()
}

function urlOfApi({ folder }: RunningBroker): string {
  const [url] = /http:\/\/127\.0\.0\.1:\d+\/api\/v4/.exec(readFileSync(join(folder, 'output.log'), 'utf8')) ?? []
  if (url === undefined) throw new Error('the broker did not say where its API is')
  return url
}

/** With and without, one after the other, each time in the other order: so slower phases of the machine affect both. */
async function compareThroughput({ port, pid }: RunningBroker, api: string): Promise<void> {
  const scraped = new Latencies()
  const ratios: number[] = []
  const rows: string[][] = []
  for (const name of ['p2p0', 'p2p1']) {
    const scenario = scenarios[name]
    const load = { ...plainLoad, ...scenario.load, port, brokerPid: pid, seconds }
    for (let pair = 0; pair < pairs; pair++) {
      const delivered = { without: 0, with: 0 }
      const costUs = { without: NaN, with: NaN }
      for (const way of pair % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const)) {
        const stop = way === 'with' ? scrapeOften(api, scraped) : undefined
        const { deliveredPerSecond, lost, brokerCpuShare = NaN } = await generateLoad(load)
        await stop?.()
        if (lost > 0) throw new Error(`${lost} messages were lost`)
        delivered[way] = deliveredPerSecond
        costUs[way] = (brokerCpuShare / deliveredPerSecond) * usPerSecond
      }
      const ratio = delivered.with / delivered.without
      ratios.push(ratio)
      const costs = [number(costUs.without, 3), number(costUs.with, 3)]
      rows.push([scenario.title, number(delivered.without), number(delivered.with), number(ratio, 3), ...costs])
    }
  }
  printTable(['messages/s', 'without', 'with a scrape each second', 'ratio', 'µs of processor each', 'with'], rows)
  console.log(`median ratio ${number(median(ratios), 3)}; a scrape took ${inWords(scraped)}`)
}

/** Returns a function that ends the scraper. */
function scrapeOften(api: string, took: Latencies): () => Promise<void> {
  const ending = new AbortController()
  const scraping = (async (): Promise<void> => {
    while (!ending.signal.aborted) {
      const beganAtMs = performance.now()
      await request(`${api}/prometheus`)
      const tookMs = performance.now() - beganAtMs
      took.add(tookMs)
      await pause(Math.max(0, intervalMs - tookMs), undefined, ending).catch(() => {
        // The run is over.
      })
    }
  })()
  return () => {
    ending.abort()
    return scraping
  }
}

/** Requests lists and runs commands repeatedly, while messages are sent at a rate that the broker can sustain. */
async function requestMeanwhile({ port, pid, folder }: RunningBroker, api: string): Promise<void> {
  const requests: Record<string, () => Promise<unknown>> = {
    'GET /clients': () => request(`${api}/clients`),
    'GET /clients?_limit=10&_page=2': () => request(`${api}/clients?_limit=10&_page=2`),
    'GET /subscriptions': () => request(`${api}/subscriptions`),
    'GET /prometheus': () => request(`${api}/prometheus`),
    'godwit ctl clients list': () => ctl(folder, ['clients', 'list']),
    'godwit ctl status': () => ctl(folder, ['status']),
  }
  const took = new Map(Object.keys(requests).map((what) => [what, new Latencies()]))
  const counts = new Map<string, number>()
  const load = { ...plainLoad, ...scenarios['p2p0'].load, window: 10_000, ratePerSecond, port, brokerPid: pid, seconds }
  const ending = { isOver: false }
  const loaded = generateLoad(load).finally(() => (ending.isOver = true))
  loaded.catch(() => {
    // The promise is awaited below, which reports the error.
  })
  await pause(plainLoad.warmSeconds * 1_000)
  while (!ending.isOver) {
    for (const [what, act] of Object.entries(requests)) {
      const beganAtMs = performance.now()
      await act()
      took.get(what)?.add(performance.now() - beganAtMs)
      counts.set(what, (counts.get(what) ?? 0) + 1)
    }
  }
  const { deliveredPerSecond, lost, brokerCpuShare } = await loaded
  console.log(
    `\n${number(deliveredPerSecond)} messages a second delivered meanwhile, ${lost} lost; the broker used ${number(brokerCpuShare, 2)} of its processor`,
  )
  const rows = [...took].map(([what, latencies]) => [
    what,
    number(counts.get(what)),
    number(latencies.percentileMs(0.5), 1),
    number(latencies.maxMs, 1),
  ])
  printTable(['request', 'times', 'median ms', 'longest ms'], rows)
}

async function request(url: string): Promise<number> {
  const response = await fetch(url, { headers })
  const { length } = await response.text()
  if (!response.ok) throw new Error(`${url}: ${response.status}`)
  return length
}

function ctl(folder: string, words: readonly string[]): Promise<unknown> {
  const [first, ...rest] = [...pinnedTo(1), process.execPath, program, 'ctl', ...words, '--data', join(folder, 'data')]
  return run(first, rest)
}

function inWords(latencies: Latencies): string {
  const [median, most] = [latencies.percentileMs(0.5), latencies.percentileMs(0.99)]
  return `${number(median, 1)} ms, 99 of 100 ${number(most, 1)} ms at most, the longest ${number(latencies.maxMs, 1)} ms`
}
