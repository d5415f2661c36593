// Files of TLS listeners are checked before the node serves clients, and errors name the key of the setting.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { loadConfig } from '../../src/config/index.ts'
import { resolveListeners } from '../../src/node/listeners/listener-addresses.ts'
import { placeListener } from '../../src/node/listeners/listener-placement.ts'
import { Authority } from '../transports/certificates.ts'

const authority = new Authority('The test authority')
const server = authority.issue('localhost')

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'godwit-listeners-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'cert.pem'), server.certificate)
  writeFileSync(join(folder, 'key.pem'), server.key)
  writeFileSync(join(folder, 'other.pem'), authority.issue('other').key)
  return folder
}

async function resolveWith(text: string): Promise<Awaited<ReturnType<typeof resolveListeners>>> {
  const loaded = loadConfig({ text, overrides: [] })
  assert.ok('config' in loaded, JSON.stringify(loaded))
  return resolveListeners(loaded.config)
}

const plant = (more: string): string => `listeners.ssl.plant { bind = "127.0.0.1:0", ${more} }`

test('the error for an unusable file is one sentence with its key, and no port stays in use', async (t) => {
  const folder = folderOf(t)
  const missing = `certfile = "${folder}/none.pem", keyfile = "${folder}/key.pem"`
  assert.deepEqual(await resolveWith(plant(missing)), {
    problem: `listeners.ssl.plant.certfile: cannot read ${folder}/none.pem: there is no such file`,
  })
  const good = `certfile = "${folder}/cert.pem", keyfile = "${folder}/key.pem"`
  const shop = `sni.shop { server_name = a, certfile = "${folder}/cert.pem", keyfile = "${folder}/other.pem" }`
  const resolved = await resolveWith(plant(`${good}, ${shop}`))
  assert.ok('problem' in resolved)
  assert.match(resolved.problem, /^listeners\.ssl\.plant\.sni\.shop\.keyfile: \S+other\.pem is not the key of/)
  const unverified = await resolveWith(plant(`${good}, verify_peer = true, cacertfile = "${folder}/key.pem"`))
  assert.ok('problem' in unverified)
  assert.match(unverified.problem, /^listeners\.ssl\.plant\.cacertfile: /)
})

test('file names are relative to the directory in which the program was started, and resolved once', async (t) => {
  const folder = folderOf(t)
  const before = process.cwd()
  process.chdir(folder)
  t.after(() => process.chdir(before))
  const resolved = await resolveWith('listeners.ssl { bind = "127.0.0.1:0", certfile = cert.pem, keyfile = key.pem }')
  assert.ok('listeners' in resolved)
  const [listener] = resolved.listeners
  assert.ok(listener?.kind === 'ssl')
  assert.deepEqual(listener.tls.certificate, {
    certFile: join(process.cwd(), 'cert.pem'),
    keyFile: join(process.cwd(), 'key.pem'),
    keyPassword: undefined,
  })
})

test('shards share the connection rate of a listener and its secret for session tickets, which no other listener has', async (t) => {
  const folder = folderOf(t)
  const files = `certfile = "${folder}/cert.pem", keyfile = "${folder}/key.pem"`
  const resolved = await resolveWith(
    `listeners.ssl { max_connection_rate = 6, bind = "127.0.0.1:0", ${files}, plant { bind = "127.0.0.1:0", ${files} } }`,
  )
  assert.ok('listeners' in resolved)
  const [one, other] = resolved.listeners.map((listener, index) => placeListener(listener, 4, index))
  assert.equal(one?.maxConnectionRate, 1.5)
  assert.equal(one.ticketSecret?.length, 32)
  assert.notDeepEqual(one.ticketSecret, other?.ticketSecret)
})

test('one shard opens a QUIC listener with its whole connection rate, and all shards know it by the same number', async (t) => {
  const folder = folderOf(t)
  const files = `certfile = "${folder}/cert.pem", keyfile = "${folder}/key.pem"`
  const resolved = await resolveWith(
    `listeners.quic { max_connection_rate = 6, bind = "127.0.0.1:0", ${files} }\nlisteners.tcp.bind = "127.0.0.1:0"`,
  )
  assert.ok('listeners' in resolved)
  const [tcp, quic] = resolved.listeners.map((listener, index) => placeListener(listener, 4, index))
  assert.equal(tcp?.onlyOnShard, undefined)
  assert.ok(quic?.onlyOnShard !== undefined && quic.onlyOnShard < 4)
  assert.equal(quic.maxConnectionRate, 6)
  assert.equal(quic.sharesPort, false)
})
