// Each configuration of README.md and docs/ is valid, as a reader writes it: in a folder with the files that it names.

import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../e2e/godwit-process.ts'
import { blocksOf, checkout } from '../pages/page-reader.ts'
import { Authority } from '../transports/certificates.ts'
import { runHere } from './run-here.ts'

const authority = new Authority('The test authority')
const server = authority.issue('broker.example', { hostNames: ['broker.example'] })
const keys = 'plant-7:00112233445566778899aabbccddeeff\n'
/** The files that configurations name. */
const files: Readonly<Record<string, string>> = {
  'users.conf': 'dashboard = "a password"\n',
  'cert.pem': server.certificate,
  'key.pem': server.key,
  'broker.pem': server.certificate,
  'broker-key.pem': server.key,
  'devices-ca.pem': authority.certificate,
  'keys.psk': keys,
  'keys.txt': keys,
}
/** What the text before a configuration presupposes. */
const presupposed: Readonly<Record<string, string>> = {
  'docs/sinks/mqtt.md': `
    connectors.pgsql.plant { server = "127.0.0.1:5432", database = plant, username = plant }
    actions.pgsql.readings { connector = plant, parameters.sql = "INSERT INTO readings VALUES (\${payload})" }
  `,
}

/** Returns what `godwit config check` reports for the text, in the current folder. */
async function check(text: string): Promise<string> {
  await writeFile('godwit.conf', text)
  const { code, output, errors } = await runHere(['config', 'check', 'godwit.conf'])
  return code === 0 ? '' : `${output}${errors}`
}

test('each configuration in the documentation is valid, alone or with those before it on its page', async (t) => {
  const folder = join(await temporaryFolder(t), 'reader')
  await mkdir(folder)
  for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content)
  const before = process.cwd()
  t.after(() => process.chdir(before))
  // Files of listeners count from the directory in which the broker is started.
  process.chdir(folder)
  let found = 0
  for (const page of ['README.md', ...globSync('docs/**/*.md', { cwd: checkout })]) {
    let earlier = presupposed[page] ?? ''
    for (const { word, text } of blocksOf(page)) {
      if (word !== 'conf' && word !== 'hocon') continue
      const problem = await check(text)
      if (problem !== '') assert.equal(await check(`${earlier}\n${text}`), '', `${page}:\n${text}\n${problem}`)
      earlier += `\n${text}`
      found += 1
    }
  }
  assert.ok(found >= 60, `only ${found}`)
})
