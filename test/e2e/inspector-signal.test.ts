// SIGUSR1 opens the inspector of a Node process: any process of the same user could run code in the broker.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fastStart, godwitProgram, runProgram, temporaryFolder } from './godwit-process.ts'
import { connected } from './mqtt-client.ts'

test('SIGUSR1 opens no inspector in the broker', async (t) => {
  const settings = ['listeners.tcp.bind="127.0.0.1:0"', 'http_server.enable=false', 'node.shards=1']
  const words = ['start', '--data', await temporaryFolder(t), ...settings.flatMap((setting) => ['--set', setting])]
  // Without options of Node: the program adds them itself.
  const godwit = runProgram(t, process.execPath, [godwitProgram, ...words], { ...process.env, ...fastStart })
  const [, port] = await godwit.until(/listening +mqtt:\/\/127\.0\.0\.1:(\d+)\s/)
  const { pid = 0 } = godwit.child
  assert.ok(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes('--disable-sigusr1'))
  process.kill(pid, 'SIGUSR1')
  const client = await connected(t, { port: Number(port) }, { clientId: 'after-the-signal' })
  await client.publishAsync('a', 'x', { qos: 1 })
  assert.equal(await godwit.stop(), 0)
  assert.doesNotMatch(godwit.errors, /Debugger listening/)
})
