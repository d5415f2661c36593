// The section "A secure broker in five minutes" of the README, step by step.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import mqtt from 'mqtt'
import { runGodwit, temporaryFolder } from '../e2e/godwit-process.ts'
import { runHere } from './run-here.ts'

const run = promisify(execFile)
const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const [, section = ''] = /## A secure broker in five minutes\n([^]*?)\n## /.exec(readme) ?? []
const fences = [...section.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, word, text = '']) => ({ word, text }))

test('a user with a password can use its own topics over TLS, and no other client can connect', async (t) => {
  const folder = await temporaryFolder(t)
  const [makeCertificate, configuration, steps] = fences
  assert.deepEqual([makeCertificate?.word, configuration?.word, steps?.word], ['sh', 'conf', 'sh'])
  await run('sh', ['-c', makeCertificate?.text ?? ''], { cwd: folder })
  const written = (configuration?.text ?? '').replace('0.0.0.0:8883', '127.0.0.1:0')
  const absolute = written.replaceAll(/= (cert|key)\.pem/g, `= "${folder}/$1.pem"`)
  assert.notEqual(absolute, written)
  const file = join(folder, 'godwit.conf')
  await writeFile(file, absolute)
  const lines = (steps?.text ?? '').split('\n').map((line) => line.replace(/\s+#.*$/, ''))
  const wordsOf = (start: string): string[] => {
    const line = lines.find((one) => one.startsWith(`godwit ${start}`)) ?? assert.fail(`no step ${start}`)
    return line.replace('godwit.conf', file).replace('--data data', `--data ${folder}/data`).split(' ').slice(1)
  }
  const checked = await runHere(wordsOf('config check'))
  assert.equal(checked.code, 0, checked.errors)
  const broker = runGodwit(t, [...wordsOf('start'), '--set', 'http_server.port=0', '--set', 'node.shards=1'])
  const [, port = ''] = await broker.until(/mqtts:\/\/127\.0\.0\.1:(\d+)/)
  const added = await runHere(wordsOf('ctl user add'), { lines: ['a password'] })
  assert.equal(added.code, 0, added.errors)

  const ca = readFileSync(join(folder, 'cert.pem'))
  const url = `mqtts://localhost:${port}`
  const options = { ca, reconnectPeriod: 0, protocolVersion: 5 } as const
  const anna = await mqtt.connectAsync(url, { ...options, username: 'anna', password: 'a password' })
  t.after(() => anna.end(true))
  await anna.publishAsync('anna/door', 'open', { qos: 1 })
  await assert.rejects(anna.publishAsync('bert/door', 'open', { qos: 1 }), /[Nn]ot authorized/)
  await assert.rejects(mqtt.connectAsync(url, { ...options, username: 'anna', password: 'wrong' }))
  await assert.rejects(mqtt.connectAsync(url, options))
  await broker.stop()
  assert.doesNotMatch(broker.output, /mqtt:\/\//, 'nothing listens without TLS')
})
