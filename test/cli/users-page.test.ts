// docs/USERS.md: its commands and its configuration, as they are on the page.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import mqtt, { type IClientOptions } from 'mqtt'
import { startBroker, temporaryFolder } from '../e2e/godwit-process.ts'
import { runHere } from './run-here.ts'

const page = readFileSync(new URL('../../docs/USERS.md', import.meta.url), 'utf8')
const fences = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, word, text = '']) => ({ word, text }))
const commands = fences
  .filter(({ word }) => word === 'sh')
  .flatMap(({ text }) => text.split('\n'))
  .map((line) => line.replace(/\s+#.*$/, '').replaceAll("'", ''))
  .filter((line) => line.startsWith('godwit ctl ') && !/[A-Z]{2}/.test(line))

test('the commands of the page create a user that can use its own topics only', async (t) => {
  const dataDirectory = await temporaryFolder(t)
  await writeFile(join(dataDirectory, 'godwit.conf'), '')
  const broker = await startBroker(t, { dataDirectory, set: ['node.shards=1'] })
  const run = async (line: string): Promise<string> => {
    const words = [...line.split(' ').slice(1), '--data', dataDirectory]
    const { code, output, errors } = await runHere(words, { lines: ['a password'] })
    assert.equal(code, 0, `${line}: ${errors}`)
    return output
  }
  const deletion = 'godwit ctl user del anna'
  assert.ok(commands.includes(deletion))
  for (const line of commands.filter((one) => one !== deletion)) await run(line)
  await run('godwit ctl config set auth.no_match=deny')
  assert.match(await run('godwit ctl acl list --user anna'), /anna\/#/)

  const url = `mqtt://127.0.0.1:${broker.port}`
  const connect = (more: IClientOptions) => mqtt.connectAsync(url, { reconnectPeriod: 0, protocolVersion: 5, ...more })
  const anna = await connect({ username: 'anna', password: 'a password' })
  t.after(() => anna.end(true))
  await anna.publishAsync('anna/door', 'open', { qos: 1 })
  await assert.rejects(anna.publishAsync('bert/door', 'open', { qos: 1 }), /[Nn]ot authorized/)
  const [granted] = await anna.subscribeAsync('news/#')
  assert.equal(granted?.qos, 0)
  await assert.rejects(connect({}))
  await run(deletion)
  await assert.rejects(connect({ username: 'anna', password: 'a password' }))
})

test('each configuration in the documentation of users and TLS is read without errors', async (t) => {
  const folder = await temporaryFolder(t)
  const others = readFileSync(new URL('../../docs/TLS.md', import.meta.url), 'utf8')
  const all = [...`${page}\n${others}`.matchAll(/^```(?:hocon|conf)\n(.*?)^```$/gms)].map(([, text = '']) => text)
  assert.ok(all.length >= 5)
  await writeFile(join(folder, 'users.conf'), 'dashboard = "a password"\n')
  for (const [index, text] of all.entries()) {
    const file = join(folder, `${index}.conf`)
    await writeFile(file, text)
    const checked = await runHere(['config', 'check', file])
    // The only reported errors are about files that a reader has and this test does not.
    const faults = checked.errors
      .split('\n')
      .filter((line) => /\.conf:\d+/.test(line) && !/ENOENT|no such file/.test(line))
    assert.deepEqual(faults, [], `${text}\n${checked.errors}`)
  }
})
