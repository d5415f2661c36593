// Measures how many results per second an action delivers, from the first message of twenty publishers to the last result at the service: to
// PostgreSQL in batches, and to an HTTP service with one POST per message. For comparison, it also measures the client library alone with the
// same service.
//
//   node bench/sinks/throughput.ts [--rows 300000] [--posts 100000] [--runs 3] [--only postgresql|http]
//
// The broker has processor 0, the service and the publisher have processor 1.

import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import pg from 'pg'
import { Pool } from 'undici'
import { DatabaseServer } from '../../test/clients/database-server.ts'
import { publisher } from '../bridge/publisher.ts'
import { godwit, pinSelf, startBroker } from '../load/brokers.ts'
import { cpuSeconds } from '../load/process-facts.ts'
import { median, number, printTable } from '../load/table.ts'

const { values: options } = parseArgs({
  options: {
    rows: { type: 'string', default: '300000' },
    posts: { type: 'string', default: '100000' },
    runs: { type: 'string', default: '3' },
    only: { type: 'string' },
  },
})

/** An action keeps the order of each publisher: the messages of one publisher are sent one after the other. */
const publishers = 20
const windowOfEach = 50
const batchRows = 500
const httpConnections = 4
const httpPipelining = 8
const requestsAtATime = 100
const payload = 'x'.repeat(64)
const insert = 'INSERT INTO readings (topic, text) VALUES (${topic}, ${payload})'
const rule = (action: string): string =>
  `'rule_engine.rules.all={sql="SELECT topic, payload FROM \\"load/#\\"",actions=["${action}"]}'`

interface Rates {
  readonly published: number
  readonly delivered: number
  /** Processor time of the broker for each result, all threads together. */
  readonly microseconds: number
}

/** Publishes `count` messages, and returns results per second until `delivered` counts them all. */
async function deliveredPerSecond(
  settings: readonly string[],
  count: number,
  delivered: () => Promise<number>,
): Promise<Rates> {
  const broker = await startBroker(godwit(['http_server.port=0', ...settings]))
  try {
    const startedAtMs = performance.now()
    const startedAtCpu = cpuSeconds(broker.pid) ?? NaN
    const share = { window: windowOfEach, most: count / publishers }
    const each = await Promise.all(
      Array.from({ length: publishers }, (_, at) => publisher(broker.port, share, `publisher-${at}`)),
    )
    let publishedAtMs = NaN
    const done = Promise.all(each.map((one) => one.done)).then(() => (publishedAtMs = performance.now()))
    const limitMs = startedAtMs + 300_000
    for (let counted = await delivered(); counted < count; counted = await delivered()) {
      const nowMs = performance.now()
      if (nowMs > limitMs) throw new Error(`${counted} of ${count} were delivered in time`)
      await pause(pauseMs({ counted, missing: count - counted, passedMs: nowMs - startedAtMs }))
    }
    const seconds = (performance.now() - startedAtMs) / 1_000
    const microseconds = (((cpuSeconds(broker.pid) ?? NaN) - startedAtCpu) / count) * 1_000_000
    await done
    return { published: (count / (publishedAtMs - startedAtMs)) * 1_000, delivered: count / seconds, microseconds }
  } finally {
    await broker.stop()
  }
}

const minPauseMs = 20
const maxPauseMs = 1_000

/** Half of the estimated remaining time: counting takes processor time of the service, more with each row. */
function pauseMs({ counted, missing, passedMs }: Readonly<Record<'counted' | 'missing' | 'passedMs', number>>): number {
  const restMs = counted === 0 ? 0 : (missing * passedMs) / counted
  return Math.min(maxPauseMs, Math.max(minPauseMs, restMs / 2))
}

function rowOf(name: string, own: readonly number[], rates: readonly Rates[]): readonly string[] {
  const medianOf = (of: (rate: Rates) => number): string => number(median(rates.map(of)))
  return [
    name,
    number(median(own)),
    medianOf(({ delivered }) => delivered),
    medianOf(({ published }) => published),
    medianOf(({ microseconds }) => microseconds),
  ]
}

async function postgresql(runs: number, count: number): Promise<readonly string[]> {
  const ends: (() => unknown)[] = []
  const server = await DatabaseServer.postgresql({ after: (work) => ends.push(work) })
  await server.start()
  const client = new pg.Client({ host: '127.0.0.1', port: server.port, user: 'godwit', database: 'postgres' })
  await client.connect()
  try {
    const own: number[] = []
    const rates: Rates[] = []
    for (let run = 0; run < runs; run++) {
      await client.query('DROP TABLE IF EXISTS readings; CREATE TABLE readings (topic text, text text)')
      own.push(await ownRowsPerSecond(client, count))
      await client.query('TRUNCATE readings')
      const parameters = `parameters.sql="${insert}",resource_opts={batch_size=${batchRows},batch_time=20ms}`
      rates.push(
        await deliveredPerSecond(
          [
            `'connectors.pgsql.db={server="127.0.0.1:${server.port}",username=godwit,database=postgres}'`,
            `'actions.pgsql.rows={connector=db,${parameters}}'`,
            rule('pgsql:rows'),
          ],
          count,
          async () => Number((await client.query('SELECT count(*) AS count FROM readings')).rows[0].count),
        ),
      )
    }
    return rowOf('PostgreSQL, rows/s', own, rates)
  } finally {
    await client.end()
    for (const end of ends.toReversed()) await end()
  }
}

/** The library alone, with statements of 512 rows as the action makes them. */
async function ownRowsPerSecond(client: pg.Client, count: number): Promise<number> {
  const rows = 512
  const places = Array.from({ length: rows }, (_, row) => `($${row * 2 + 1}, $${row * 2 + 2})`).join(', ')
  const values = Array.from({ length: rows * 2 }, (_, at) => (at % 2 === 0 ? 'load/bridge' : payload))
  const startedAtMs = performance.now()
  let written = 0
  while (written < count) {
    await client.query(`INSERT INTO readings (topic, text) VALUES ${places}`, values)
    written += rows
  }
  return (written / (performance.now() - startedAtMs)) * 1_000
}

async function http(runs: number, count: number): Promise<readonly string[]> {
  const service = new Worker(new URL(import.meta.url))
  const [port] = (await once(service, 'message')) as [number]
  const counted = async (): Promise<number> => {
    service.postMessage('count')
    const [posts] = (await once(service, 'message')) as [number]
    return posts
  }
  try {
    const own: number[] = []
    const rates: Rates[] = []
    for (let run = 0; run < runs; run++) {
      own.push(await ownPostsPerSecond(port, count))
      const before = await counted()
      const options = `resource_opts={inflight_window=${requestsAtATime}}`
      rates.push(
        await deliveredPerSecond(
          [
            `'connectors.http.service={url="http://127.0.0.1:${port}",pool_size=${httpConnections},enable_pipelining=${httpPipelining}}'`,
            `'actions.http.posts={connector=service,parameters={path="/",method=post,body="\${payload}"},${options}}'`,
            rule('http:posts'),
          ],
          count,
          async () => (await counted()) - before,
        ),
      )
    }
    return rowOf('HTTP, POST/s', own, rates)
  } finally {
    await service.terminate()
  }
}

/** `undici` alone, with as many connections. */
async function ownPostsPerSecond(port: number, count: number): Promise<number> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: httpConnections, pipelining: httpPipelining })
  const post = async (): Promise<void> => {
    const { body } = await pool.request({ path: '/', method: 'POST', body: payload, idempotent: true, blocking: false })
    await body.dump()
  }
  const startedAtMs = performance.now()
  let begun = 0
  const inTurn = async (): Promise<void> => {
    while (begun++ < count) await post()
  }
  await Promise.all(Array.from({ length: publishers }, inTurn))
  await pool.close()
  return (count / (performance.now() - startedAtMs)) * 1_000
}

/**
 * The HTTP service, in a worker thread, which counts its requests. It does not use the HTTP server of Node, which takes more processor time for a
 * request than its client and would limit the result.
 */
async function serve(port: NonNullable<typeof parentPort>): Promise<void> {
  let posts = 0
  const server = createServer((socket) => {
    let rest = ''
    socket.setNoDelay(true).on('data', (chunk) => {
      const text = rest + chunk.toString('latin1')
      let at = 0
      let responses = ''
      for (;;) {
        const end = requestEnd(text, at)
        if (end === undefined) break
        at = end
        posts++
        responses += noContent
      }
      rest = text.slice(at)
      if (responses !== '') socket.write(responses, 'latin1')
    })
    socket.on('error', () => socket.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  port.on('message', () => port.postMessage(posts))
  port.postMessage((server.address() as AddressInfo).port)
}

const noContent = 'HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n'

/** Returns the end of the request that begins there; undefined if it is incomplete. */
function requestEnd(text: string, start: number): number | undefined {
  const head = text.indexOf('\r\n\r\n', start)
  if (head < 0) return undefined
  const length = /content-length: (\d+)/i.exec(text.slice(start, head))
  const end = head + 4 + Number(length?.[1] ?? 0)
  return end <= text.length ? end : undefined
}

if (isMainThread) {
  pinSelf()
  const runs = Number(options.runs)
  const rows: (readonly string[])[] = []
  if (options.only !== 'http') rows.push(await postgresql(runs, Number(options.rows)))
  if (options.only !== 'postgresql') rows.push(await http(runs, Number(options.posts)))
  printTable(
    ['median of the runs', 'library alone', 'action', 'accepted from the publishers', 'µs of the broker per result'],
    rows,
  )
} else if (parentPort !== null) await serve(parentPort)
