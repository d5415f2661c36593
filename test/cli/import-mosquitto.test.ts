// Imports files that a real mosquitto wrote.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import mqtt from 'mqtt'
import { convertDatabase } from '../../lib/imports/index.ts'
import { endWith, runGodwit, temporaryFolder, WatchedProcess } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { runHere } from './run-here.ts'

const run = promisify(execFile)

/** Starts a mosquitto that has a retained message of each version, a session with a queued message, two users and rules. */
async function filesOfMosquitto(t: TestContext): Promise<string> {
  const folder = await temporaryFolder(t)
  const port = await reservePort(t)
  await run('mosquitto_passwd', ['-b', '-c', join(folder, 'pw'), 'alice', 'secret'])
  await run('mosquitto_passwd', ['-b', '-H', 'sha512', join(folder, 'pw'), 'bob', 'hidden'])
  await writeFile(
    join(folder, 'acl'),
    'user alice\ntopic readwrite a/#\ntopic deny a/private\nuser bob\ntopic read a/#\n',
  )
  const conf = [
    `listener ${port} 127.0.0.1`,
    'persistence true',
    `persistence_location ${folder}/`,
    'user root',
    `password_file ${folder}/pw`,
    `acl_file ${folder}/acl`,
    'max_queued_messages 77',
    'persistent_client_expiration 1d',
  ]
  await writeFile(join(folder, 'mosquitto.conf'), `${conf.join('\n')}\n`)
  const program = existsSync('/usr/sbin/mosquitto') ? '/usr/sbin/mosquitto' : 'mosquitto'
  const mosquitto = new WatchedProcess(program, ['-c', join(folder, 'mosquitto.conf')])
  endWith(t, mosquitto)
  await mosquitto.until(/running/)
  const url = `mqtt://127.0.0.1:${port}`
  const alice = { username: 'alice', password: 'secret' }
  const old = await mqtt.connectAsync(url, { ...alice, protocolVersion: 4, clientId: 'sensor', clean: false })
  await old.subscribeAsync('a/queued', { qos: 1 })
  await old.publishAsync('a/one', 'from 3.1.1', { qos: 1, retain: true })
  await old.endAsync()
  const recent = await mqtt.connectAsync(url, { ...alice, protocolVersion: 5 })
  const properties = { contentType: 'text/plain', userProperties: { origin: 'plant' }, messageExpiryInterval: 3_600 }
  await recent.publishAsync('a/two', 'from 5.0', { qos: 1, retain: true, properties })
  await recent.publishAsync('a/queued', 'waits', { qos: 1 })
  await recent.endAsync()
  await mosquitto.stop('SIGTERM')
  return folder
}

test('imported users with both kinds of hashes, rules and retained messages of mosquitto 2.0 work', async (t) => {
  const folder = await filesOfMosquitto(t)
  const output = join(folder, 'converted')
  const words = ['import', 'mosquitto', '--conf', join(folder, 'mosquitto.conf'), '--output', output]
  const imported = await runHere(words)
  assert.equal(imported.code, 0, imported.errors)
  assert.match(imported.output, /not imported: mosquitto\.conf, line 8: persistent_client_expiration: set mqtt\./)
  assert.match(imported.output, /not imported: 1 session with 1 subscription and 1 queued message/)
  assert.doesNotMatch(imported.output, /\$[67]\$/)
  const settings = await readFile(join(output, 'godwit.conf'), 'utf8')
  assert.match(settings, /^mqtt\.max_mqueue_len = 77$/m)
  const check = await runHere(['config', 'check', join(output, 'godwit.conf')])
  assert.equal(check.code, 0, check.errors)

  // As the page says: with the converted file, on its own port.
  const data = await temporaryFolder(t)
  const start = ['start', '--config', join(output, 'godwit.conf'), '--data', data, '--set', 'http_server.port=0']
  const godwit = runGodwit(t, start)
  const [, port] = await godwit.until(/listening +mqtt:\/\/127\.0\.0\.1:(\d+)\s/)
  const [archive = ''] = readdirSync(output).filter((name) => name.endsWith('.tar.gz'))
  const importing = ['ctl', 'data', 'import', join(output, archive), '--allow-security-profile-mismatch']
  const done = await runHere([...importing, '--data', data])
  assert.equal(done.code, 0, done.errors)

  const url = `mqtt://127.0.0.1:${port}`
  for (const [username, password] of [
    ['enable', 'true'],
    ['alice', 'hidden'],
  ] as const)
    await assert.rejects(mqtt.connectAsync(url, { username, password, reconnectPeriod: 0 }), username)
  const bob = await mqtt.connectAsync(url, { username: 'bob', password: 'hidden', protocolVersion: 5 })
  t.after(() => bob.end(true))
  const received = new Map<string, mqtt.IPublishPacket>()
  const both = new Promise<void>((resolve) => {
    bob.on('message', (topic, _payload, packet) => {
      received.set(topic, packet)
      if (received.size === 2) resolve()
    })
  })
  await bob.subscribeAsync('a/#', { qos: 1 })
  await both
  assert.equal(received.get('a/one')?.payload.toString(), 'from 3.1.1')
  const { payload, properties, qos } = received.get('a/two') ?? assert.fail()
  assert.deepEqual([payload.toString(), qos, properties?.contentType], ['from 5.0', 1, 'text/plain'])
  assert.deepEqual({ ...properties?.userProperties }, { origin: 'plant' })
  assert.ok((properties?.messageExpiryInterval ?? 0) > 3_000)

  const alice = await mqtt.connectAsync(url, { username: 'alice', password: 'secret', protocolVersion: 5 })
  t.after(() => alice.end(true))
  await alice.publishAsync('a/three', 'allowed', { qos: 1 })
  await assert.rejects(alice.publishAsync('a/private', 'denied', { qos: 1 }), /[Nn]ot authorized/)
  await assert.rejects(mqtt.connectAsync(url, { username: 'alice', password: 'wrong', reconnectPeriod: 0 }))
})

test('a file that is not a database, has another format, or is incomplete is refused with a sentence', () => {
  const header = Buffer.concat([
    Buffer.from('\0\u00b5\0mosquitto db', 'latin1'),
    Buffer.alloc(4),
    Buffer.from([0, 0, 0, 6]),
  ])
  assert.deepEqual(convertDatabase(header, 0), {
    value: { retained: [], sessions: [] },
    skipped: [],
    stricter: [],
  })
  assert.throws(() => convertDatabase(Buffer.from('nothing'), 0), /it is not a mosquitto database/)
  const newer = Buffer.from(header)
  newer[22] = 7
  assert.throws(() => convertDatabase(newer, 0), /format 7/)
  const cut = Buffer.concat([header, Buffer.from([0, 0, 0, 2, 0, 0, 0, 99, 1])])
  assert.throws(() => convertDatabase(cut, 0), /last chunk is truncated/)
})
