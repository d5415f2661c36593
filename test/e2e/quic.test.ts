// QUIC needs a library that is not installed on each machine.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import mqtt from 'mqtt'
import { Authority } from '../transports/certificates.ts'
import { fastStart, runGodwit, temporaryFolder } from './godwit-process.ts'

test('without the QUIC library, the broker starts, reports the unavailable listener, and serves the others', async (t) => {
  const folder = await temporaryFolder(t)
  const { certificate, key } = new Authority('plant').issue('localhost', { hostNames: ['localhost'] })
  const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  await Promise.all([writeFile(certFile, certificate), writeFile(keyFile, key)])
  const set = [
    'listeners.tcp.bind="127.0.0.1:0"',
    'http_server.port=0',
    'http_server.password="a-password-for-tests"',
    'node.shards=1',
    `listeners.quic.plant={ bind="127.0.0.1:0", certfile="${certFile}", keyfile="${keyFile}" }`,
  ].flatMap((setting) => ['--set', setting])
  const hook = pathToFileURL(join(import.meta.dirname, 'without-quic.ts')).href
  const environment = { ...process.env, ...fastStart, NODE_OPTIONS: `${fastStart.NODE_OPTIONS} --import=${hook}` }
  const godwit = runGodwit(t, ['start', '--data', join(folder, 'data'), ...set], environment)
  const [, port] = await godwit.until(/listening +mqtt:\/\/127\.0\.0\.1:(\d+)\s/)
  await godwit.until(/listener not available.*quic:plant.*@currentspace\/http3 is not installed/)
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { reconnectPeriod: 0 })
  client.end(true)
  await godwit.stop()
  assert.doesNotMatch(godwit.output, /mqtt-quic:/)
})
