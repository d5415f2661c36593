// docs/TUTORIAL.md, step by step, with Debian's PostgreSQL and mosquitto_pub. The output must be that of the page.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { runGodwit, temporaryFolder } from '../e2e/godwit-process.ts'
import { DatabaseServer } from './database-server.ts'

const timeoutMs = 150_000
const run = promisify(execFile)
const page = readFileSync(new URL('../../docs/TUTORIAL.md', import.meta.url), 'utf8')
const program = fileURLToPath(new URL('../../bin/godwit.js', import.meta.url))
const fences = Array.from(page.matchAll(/^```(sh|conf|text)\n(.*?)^```$/gms), ([, word, text]) => ({ word, text }))

test('each step of docs/TUTORIAL.md has the documented output', async (t) => {
  const server = await DatabaseServer.postgresql(t)
  await server.start()
  const folder = await temporaryFolder(t)
  // The PostgreSQL server of the test has another port, and its superuser is `godwit`.
  let exported = `export PGHOST=127.0.0.1 PGPORT=${server.port} PGUSER=godwit PGDATABASE=postgres\n`
  let mqttPort = ''
  const shell = async (text: string): Promise<string> => {
    const script = text
      .replaceAll('sudo -u postgres psql', 'psql')
      .replaceAll('mosquitto_pub ', `mosquitto_pub -p ${mqttPort} `)
    const functions = `godwit() { "${process.execPath}" "${program}" "$@"; }\n`
    const { stdout } = await run('bash', ['-e', '-c', functions + exported + script], { cwd: folder })
    exported += (/^export .*$/m.exec(text)?.[0] ?? '') + '\n'
    return stdout
  }
  const database = /^sudo systemctl (stop|start) postgresql$/
  for (const [index, { word, text }] of fences.entries()) {
    const next = fences.at(index + 1)
    if (word === 'conf') {
      const file = join(folder, 'godwit.conf')
      await writeFile(file, text.replace('127.0.0.1:5432', `127.0.0.1:${server.port}`))
    } else if (word === 'sh' && text.startsWith('godwit start')) {
      const words = text
        .trim()
        .split(' ')
        .slice(1)
        .map((part) => (/^(godwit\.conf|data)$/.test(part) ? join(folder, part) : part))
      const set = ['node.shards=1', 'http_server.port=0', 'listeners.tcp.bind="127.0.0.1:0"'].flatMap((one) => [
        '--set',
        one,
      ])
      const broker = runGodwit(t, [...words, ...set])
      mqttPort = (await broker.until(/listening +mqtt:\/\/127\.0\.0\.1:(\d+)/))[1]
    } else if (word === 'sh' && next?.word === 'text') {
      // A row arrives shortly after its message was acknowledged.
      const endMs = Date.now() + timeoutMs
      for (let printed = ''; printed !== next.text; printed = await shell(text))
        assert.ok(Date.now() < endMs, `${text}prints:\n${printed}`)
    } else if (word === 'sh') {
      for (const line of text.trimEnd().split('\n')) {
        const [, operation] = database.exec(line) ?? []
        if (operation === 'stop') await server.kill()
        else if (operation === 'start') await server.start()
        else await shell(line)
      }
    }
  }
  assert.equal(fences.filter(({ word }) => word === 'text').length, 3)
})
