import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { runProgram, startBroker, type WatchedProcess } from '../e2e/godwit-process.ts'

test('the two commands of the README for clients work', async (t) => {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
  const [, lines = ''] = /```sh\n(mosquitto_sub .*?)```/s.exec(readme) ?? []
  const [subscribe = '', publish = ''] = lines.split('\n')
  const broker = await startBroker(t)
  const run = (line: string): WatchedProcess =>
    runProgram(t, 'bash', ['-c', `exec ${line.replace('1883', `${broker.port}`).replace(/ &$/, '')}`])
  // With -d the client prints the receipt of SUBACK. Line buffering lets the test see each line at once.
  const subscriber = run(subscribe.replace('mosquitto_sub', 'stdbuf -oL mosquitto_sub -d'))
  await subscriber.until(/Subscribed \(mid/)
  assert.equal(await run(publish).ended, 0)
  await subscriber.until(/^birds\/godwit landed$/m)
})
