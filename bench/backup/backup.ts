// Measures the time and the memory that a broker needs to restore and to export an archive.
//
//   node bench/backup/backup.ts [--retained 1000000] [--credentials 100000]
//
// This script creates the archive; the broker is a separate process with an empty data directory.

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { writeArchive } from '../../src/archives/index.ts'
import { toTableMember, metaMember, ownFormat, ownProduct, writeMeta } from '../../src/backup/index.ts'
import { createClient, type Result } from '../../src/contract/index.ts'
import { endpoints } from '../../src/api/endpoints.ts'

const { values } = parseArgs({
  options: { retained: { type: 'string', default: '1000000' }, credentials: { type: 'string', default: '100000' } },
})
const retained = Number(values.retained)
const credentials = Number(values.credentials)
const folder = mkdtempSync(join(tmpdir(), 'godwit-bench-backup-'))
const base = 'godwit-export-2026-01-01-00-00-00.000'
const atMs = 1_767_000_000_000
const linesAtOnce = 1_000

function* linesOf(count: number, line: (number: number) => object): Generator<Buffer> {
  for (let start = 0; start < count; start += linesAtOnce) {
    let text = ''
    for (let number = start; number < Math.min(count, start + linesAtOnce); number++) {
      text += `${JSON.stringify(line(number))}\n`
    }
    yield Buffer.from(text)
  }
}

const tables = [
  {
    table: 'credentials' as const,
    count: credentials,
    lines: () =>
      linesOf(credentials, (number) => ({
        by: 'username',
        id: `user-${number}`,
        algorithm: 'sha256',
        saltPosition: 'prefix',
        salt: createHash('sha256').update(`salt ${number}`).digest().toString('base64'),
        hash: createHash('sha256').update(`hash ${number}`).digest().toString('base64'),
        isSuperuser: false,
        createdAtMs: atMs + number,
      })),
  },
  {
    table: 'retained-messages' as const,
    count: retained,
    lines: () =>
      linesOf(retained, (number) => ({
        topic: `plant/line-${number % 1_000}/sensor-${number}/temperature`,
        payload: Buffer.from(`{"value":${number / 7},"unit":"C","at":${atMs + number}}`.padEnd(64)).toString('base64'),
        qos: 1,
        publisher: `sensor-${number}`,
        isByOwnRight: false,
        publishedAtMs: atMs + number,
      })),
  },
]

async function makeArchive(): Promise<void> {
  const members = tables.map(({ table, lines }) => {
    const hash = createHash('sha256')
    let bytes = 0
    for (const piece of lines()) {
      hash.update(piece)
      bytes += piece.length
    }
    return { name: toTableMember(table), bytes, sha256: hash.digest('hex'), readContent: lines }
  })
  const meta = writeMeta({
    product: ownProduct,
    format: ownFormat,
    version: '0.1.0',
    edition: 'ce',
    profile: 'hardened',
    createdAtMs: atMs,
    namespace: undefined,
    counts: Object.fromEntries(tables.map(({ table, count }) => [table, count])),
    members: members.map(({ name, bytes, sha256 }) => ({ name, bytes, sha256 })),
  })
  await mkdir(join(folder, 'backup'))
  await writeArchive(createWriteStream(join(folder, 'backup', `${base}.tar.gz`)), {
    folder: base,
    createdAtMs: atMs,
    members: [{ name: metaMember, bytes: meta.length, readContent: () => [meta] }, ...members],
  })
}

/** Memory of the process of the broker in MiB: now, and the maximum since the last reset. */
function memoryOf(pid: number): { readonly now: number; readonly most: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const of = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1_024
  return { now: of('VmRSS'), most: of('VmHWM') }
}

const mebibytes = (value: number): string => `${Math.round(value)} MiB`

async function timed<Reply>(what: string, pid: number, call: () => Promise<Result<Reply>>): Promise<void> {
  const before = memoryOf(pid)
  let most = before.now
  const watch = setInterval(() => (most = Math.max(most, memoryOf(pid).now)), 50)
  const startedAt = performance.now()
  const result = await call()
  clearInterval(watch)
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
  const outcome = 'failure' in result ? `FAILED: ${result.failure.message}` : 'done'
  const after = memoryOf(pid).now
  process.stdout.write(
    `${what.padEnd(8)} ${seconds} s, ${outcome}; resident before ${mebibytes(before.now)}, at most ${mebibytes(most)}, after ${mebibytes(after)}\n`,
  )
}

await makeArchive()
process.stdout.write(`${retained} retained messages, ${credentials} credentials\n`)
const program = fileURLToPath(new URL('../../bin/godwit.js', import.meta.url))
const settings = ['listeners.tcp.bind="127.0.0.1:0"', 'http_server.port=0', 'log.level=warn']
const broker = spawn(
  process.execPath,
  [program, 'start', '--data', folder, ...settings.flatMap((setting) => ['--set', setting])],
  { stdio: ['ignore', 'pipe', 'inherit'] },
)
try {
  for await (const line of createInterface({ input: broker.stdout })) if (line.includes('management API')) break
  const client = createClient(endpoints, { at: { socketPath: join(folder, 'ctl.sock') } })
  const pid = broker.pid ?? 0
  await timed('import', pid, () => client.import_backup({ body: { filename: `${base}.tar.gz` } }))
  await timed('export', pid, () => client.export_backup({ body: {} }))
  await timed('verify', pid, () => client.verify_backup({ body: { filename: `${base}.tar.gz` } }))
  await timed('again', pid, () => client.import_backup({ body: { filename: `${base}.tar.gz` } }))
} finally {
  broker.kill('SIGTERM')
  broker.once('close', () => rmSync(folder, { recursive: true, force: true }))
}
