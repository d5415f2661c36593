// The command in the banner works with the configured listener.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { formatTrialCommand } from '../../src/cli/trial-command.ts'
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
    formatTrialCommand(listener, { allowsAnonymous: true, deniesByDefault: false }),
    "mosquitto_sub -h localhost -p 1883 -t '#' -v",
  )
  assert.equal(
    formatTrialCommand(listener, { allowsAnonymous: false, deniesByDefault: false }),
    "mosquitto_sub -h localhost -p 1883 -u NAME -P PASSWORD -t '#' -v",
  )
})

test('the command has a placeholder for the topic if no rule allows all topics', () => {
  for (const [kind, words] of [
    ['tcp', 'mosquitto_sub -h 127.0.0.1 -p 1883 -u NAME -P PASSWORD -t TOPIC -v'],
    ['ws', 'npx mqtt sub -l ws -h 127.0.0.1 -p 1883 --path /mqtt -u NAME -P PASSWORD -t TOPIC -v'],
  ] as const) {
    const listener = addressed(`listeners.${kind}.bind = "127.0.0.1:1883"`, '127.0.0.1', 1_883)
    assert.equal(formatTrialCommand(listener, { allowsAnonymous: false, deniesByDefault: true }), words)
  }
})

test('the command for a TLS listener uses a host name of its certificate', async (t) => {
  const command = formatTrialCommand(await tlsListener(t, 'broker.example.org'), {
    allowsAnonymous: true,
    deniesByDefault: false,
  })
  assert.match(command ?? '', /^mosquitto_sub -h broker\.example\.org -p 8883 --cafile CA\.pem -t '#' -v$/)
})

test('the banner has no command for a listener behind a proxy', () => {
  const listener = addressed('listeners.tcp { bind = 1883, proxy_protocol = true }', '127.0.0.1', 1_883)
  assert.equal(formatTrialCommand(listener, { allowsAnonymous: true, deniesByDefault: false }), undefined)
})

const anyAddresses = ['0.0.0.0', '::', '::ffff:0.0.0.0', '0:0:0:0:0:0:0:0']
const loopbackAddresses = ['127.0.0.1', '::1', '127.8.8.8']
const hosts = [...anyAddresses, ...loopbackAddresses, '::ffff:192.0.2.1', '192.0.2.1', 'fe80::1%eth0', 'broker.local']

/** Names of a certificate, with the name that a client uses for each kind of address. */
const certificates: readonly { name: string; hostNames: readonly string[]; subject?: []; any: string }[] = [
  { name: 'localhost', hostNames: ['localhost'], any: 'localhost' },
  { name: 'localhost', hostNames: [], any: 'localhost' },
  { name: 'x', hostNames: ['127.0.0.1'], any: '127.0.0.1' },
  { name: 'broker.example', hostNames: ['broker.example', 'localhost'], any: 'localhost' },
  { name: 'broker.example', hostNames: ['*.example', 'broker.example'], any: 'broker.example' },
  { name: '*.example', hostNames: ['*.example'], any: 'localhost' },
  { name: 'no name', hostNames: [], subject: [], any: 'localhost' },
  { name: '', hostNames: [''], any: 'localhost' },
  { name: '$(reboot)', hostNames: ['$(reboot)', '`reboot`', "a'b", 'a\nb', 'a\0b', 'DNS:x'], any: 'localhost' },
  { name: 'x'.repeat(300), hostNames: ['y'.repeat(300)], any: 'y'.repeat(300) },
  { name: 'ü', hostNames: ['ü.example', '192.0.2.7'], any: 'localhost' },
]

for (const { name, hostNames, subject, any } of certificates) {
  test(`each address has a command with a certificate for ${JSON.stringify([name, ...hostNames]).slice(0, 80)}`, async (t) => {
    const folder = await temporaryFolder(t)
    const { certificate, key } = authority.issue(name, { hostNames, ...(subject === undefined ? {} : { subject }) })
    await writeFile(join(folder, 'cert.pem'), certificate)
    await writeFile(join(folder, 'key.pem'), key)
    for (const host of hosts) {
      for (const kind of ['ssl', 'wss']) {
        const files = `certfile = "${folder}/cert.pem", keyfile = "${folder}/key.pem"`
        const listener = addressed(`listeners.${kind} { bind = 8883, ${files} }`, host, 8_883)
        const command = formatTrialCommand(listener, { allowsAnonymous: true, deniesByDefault: false }) ?? ''
        const [, named] = / -h (\S+) /.exec(command) ?? []
        assert.match(command, /^[\w '#./:%-]+$/, `${host}: ${command}`)
        if (anyAddresses.includes(host)) assert.equal(named, any, host)
      }
    }
  })
}

test('a file name or path with special characters is one word of the command', async (t) => {
  const folder = await temporaryFolder(t)
  const file = join(folder, "it's $(mine).pem")
  await writeFile(file, authority.certificate)
  const text = `listeners.ssl { bind = 8883, certfile = "${file}", keyfile = "${file}" }`
  const command = formatTrialCommand(addressed(text, '127.0.0.1', 8_883), {
    allowsAnonymous: true,
    deniesByDefault: false,
  })
  const shown = execFileSync('sh', ['-c', `set -- ${command}; echo "$7"`], { encoding: 'utf8' })
  assert.equal(shown, `${file}\n`)
})
