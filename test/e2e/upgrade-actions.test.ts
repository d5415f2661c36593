// Results that an earlier version (commit 8b9b14d4 of November 2026) has stored for actions are sent by this version: its broker was killed while
// they waited. `upgrade/write-fixture.ts` has made the data directory. Entries of that version have the rendered payload only, and those of actions
// with fallbacks have the result as well.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'
import { startBrokerWithApi } from '../management/api.ts'
import { shardNumbers } from '../test-length.ts'
import { eventually } from './eventually.ts'
import { temporaryFolder } from './godwit-process.ts'
import { HttpService, type ReceivedRequest } from './http-service.ts'
import { messages, payloadOf, refusedPath, settings } from './upgrade/waiting-results.ts'

const archive = join(import.meta.dirname, 'upgrade/waiting-results.tar.gz')
/** The broker of the earlier version was killed before this time. */
const recordedBeforeMs = Number(execFileSync('tar', ['-xzOf', archive, './recorded-before-ms'], { encoding: 'utf8' }))
const publishers = 3
const numbers = Array.from({ length: messages / publishers }, (_, n) => n)
const plainBodies = numbers.map((n) => `{"n":${n},"text":"it's "${n}"; --"}`)

/** Starts this version with the data of the earlier one. */
async function upgrade(t: TestContext, service: HttpService, shards: number) {
  const dataDirectory = await temporaryFolder(t)
  execFileSync('tar', ['-xzf', archive, '-C', dataDirectory])
  const database = join(dataDirectory, 'exports/readings.db')
  await mkdir(join(dataDirectory, 'exports'))
  const configured = settings({ port: service.port, database, path: '/right/${n}', shards })
  await writeFile(join(dataDirectory, 'godwit.conf'), configured.join('\n'))
  const start = () => startBrokerWithApi(t, { dataDirectory, set: [`node.shards=${shards}`] })
  return { start, rows: () => rowsOf(database) }
}

function rowsOf(file: string) {
  using database = new DatabaseSync(file, { readOnly: true, timeout: 30_000 })
  return database.prepare('SELECT n, text, payload FROM readings ORDER BY n').all()
}

const isTo = (prefix: string) => (request: ReceivedRequest) => request.path.startsWith(prefix)
const distinct = (values: readonly string[]): readonly string[] => [...new Set(values)].toSorted()

for (const shards of shardNumbers(2, 3)) {
  test(`results that an earlier version has stored are sent with ${shards} shards, also if the broker is killed meanwhile`, async (t) => {
    const service = await HttpService.prepare(t)
    const { start, rows } = await upgrade(t, service, shards)
    const killed = await start()
    await service.start()
    await service.until((received) => received.length > messages)
    await killed.process.stop('SIGKILL')
    const broker = await start()
    const metricsOf = async (action: string) => (await broker.request(`/api/v5/actions/${action}/metrics`)).json.metrics
    await eventually(async () => {
      for (const action of ['http:plain', 'http:corrected', 'influxdb:points', 'sqlite:rows']) {
        const { queuing, inflight } = await metricsOf(action)
        assert.deepEqual([action, queuing, inflight], [action, 0, 0])
      }
    })
    // As they were rendered: an entry without a result cannot be rendered again.
    const plain = service.received.filter(isTo('/plain'))
    assert.deepEqual(distinct(plain.map(({ body }) => body)), plainBodies)
    assert.equal(plain.length >= messages, true)
    // Rendered again, with the present path and encoding.
    const corrected = service.received.filter(isTo('/right'))
    assert.deepEqual(
      distinct(corrected.map(({ path, body }) => `${path} ${JSON.parse(body).text}`)),
      numbers.map((n) => `/right/${n} it's "${n}"; --`),
    )
    assert.equal(service.received.filter(isTo('/wrong')).length, 0)
    const points = service.received
      .filter(isTo('/write'))
      .flatMap(({ body }) => body.split('\n').filter((line) => line !== ''))
    assert.deepEqual(
      distinct(points.map((point) => point.split(' ')[1] ?? '')),
      numbers.map((n) => `n=${n}`),
    )
    for (const point of points) assert.ok(Number(point.split(' ')[2]) < recordedBeforeMs, `the time of ${point}`)
    const stored = new Set(rows().map(({ n, text, payload }) => `${String(n)} ${String(text)} ${String(payload)}`))
    assert.deepEqual(stored, new Set(numbers.map((n) => `${n} it's "${n}"; -- ${payloadOf(n)}`)))
    assert.ok(rows().length >= messages)
    assert.equal((await metricsOf('http:refused')).dead_letters, messages)
    await broker.request('/api/v5/actions/http:refused/dead_letters/retry', { method: 'POST' })
    await service.until((received) => received.filter(isTo(refusedPath)).length >= messages)
    await eventually(async () => assert.equal((await metricsOf('http:refused')).dead_letters, 0))
  })
}
