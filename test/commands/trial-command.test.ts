// The command in the banner works with the configured listener.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { trialCommand } from '../../src/cli/trial-command.ts'
import { loadConfig } from '../../src/config/index.ts'
import type { ListenerAddress } from '../../src/node/index.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'
import { Authority } from '../transports/certificates.ts'

const authority = new Authority('The test authority')

function addressed(text: string, host: string, port: number): ListenerAddress {
  const loaded = loadConfig({ text, overrides: [] })
  assert.ok('config' in loaded, JSON.stringify(loaded))
  const listener = loaded.config.listeners.find(({ kind }) => text.includes(`listeners.${kind}`))
  assert.ok(listener !== undefined)
  return { ...listener, host, port, isLoopback: host.startsWith('127.') }
}

async function tlsListener(t: TestContext, names: string): Promise<ListenerAddress> {
  const folder = await temporaryFolder(t)
  const { certificate, key } = authority.issue(names)
  await writeFile(join(folder, 'cert.pem'), certificate)
  await writeFile(join(folder, 'key.pem'), key)
  const files = `certfile = "${folder}/cert.pem", keyfile = "${folder}/key.pem"`
  return addressed(`listeners.ssl { bind = 8883, ${files} }`, '127.0.0.1', 8_883)
}

test('the command has a user name if anonymous clients are refused', () => {
  const listener = addressed('listeners.tcp.bind = 1883', '0.0.0.0', 1_883)
  assert.equal(
    trialCommand(listener, { allowsAnonymous: true, deniesByDefault: false }),
    "mosquitto_sub -h localhost -p 1883 -t '#' -v",
  )
  assert.equal(
    trialCommand(listener, { allowsAnonymous: false, deniesByDefault: false }),
    "mosquitto_sub -h localhost -p 1883 -u NAME -P PASSWORD -t '#' -v",
  )
})

test('the command has a placeholder for the topic if no rule allows all topics', () => {
  for (const [kind, words] of [
    ['tcp', 'mosquitto_sub -h 127.0.0.1 -p 1883 -u NAME -P PASSWORD -t TOPIC -v'],
    ['ws', 'npx mqtt sub -l ws -h 127.0.0.1 -p 1883 --path /mqtt -u NAME -P PASSWORD -t TOPIC -v'],
  ] as const) {
    const listener = addressed(`listeners.${kind}.bind = "127.0.0.1:1883"`, '127.0.0.1', 1_883)
    assert.equal(trialCommand(listener, { allowsAnonymous: false, deniesByDefault: true }), words)
  }
})

test('the command for a TLS listener uses a host name of its certificate', async (t) => {
  const command = trialCommand(await tlsListener(t, 'broker.example.org'), {
    allowsAnonymous: true,
    deniesByDefault: false,
  })
  assert.match(command ?? '', /^mosquitto_sub -h broker\.example\.org -p 8883 --cafile CA\.pem -t '#' -v$/)
})

test('the banner has no command for a listener behind a proxy', () => {
  const listener = addressed('listeners.tcp { bind = 1883, proxy_protocol = true }', '127.0.0.1', 1_883)
  assert.equal(trialCommand(listener, { allowsAnonymous: true, deniesByDefault: false }), undefined)
})
