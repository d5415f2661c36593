// A broker with an operator: its tokens are accepted, and changed files are applied without a request.

import assert from 'node:assert/strict'
import { createHash, generateKeyPairSync } from 'node:crypto'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { signToken } from '../../src/access/index.ts'
import { eventually } from '../e2e/eventually.ts'
import { type Scope, shared, temporaryFolder } from '../e2e/godwit-process.ts'
import { Authority } from '../transports/certificates.ts'
import { portOfListener, startBrokerWithApi } from './api.ts'

const { publicKey, privateKey } = generateKeyPairSync('ed25519')
const publicPem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
const privatePem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const authority = new Authority('test')

/** Replaces the files of a folder at once, as the kubelet does it: `..data` names another folder. */
function swapFiles(folder: string, files: Readonly<Record<string, string>>): void {
  const version = `..${Math.random().toString(36).slice(2)}`
  mkdirSync(join(folder, version), { recursive: true })
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, version, name), text)
    rmSync(join(folder, name), { force: true })
    symlinkSync(join('..data', name), join(folder, name))
  }
  symlinkSync(version, join(folder, '..next'))
  renameSync(join(folder, '..next'), join(folder, '..data'))
}

const allowAll = '{allow, all, pubsub, ["#"]}.\n'

async function startOperated(t: Scope) {
  const folder = await temporaryFolder(t)
  const [config, acl, certificates] = ['config', 'acl', 'certificates'].map((name) => join(folder, name))
  assert.ok(config && acl && certificates)
  swapFiles(config, { 'godwit.conf': 'mqtt.max_packet_size = 100KB\n' })
  swapFiles(acl, { 'acl.conf': allowAll })
  const own = authority.issue('first', { hostNames: ['localhost'] })
  swapFiles(certificates, { 'tls.crt': own.certificate, 'tls.key': own.key })
  const keyFile = join(folder, 'operator.pem')
  writeFileSync(keyFile, publicPem)
  const broker = await startBrokerWithApi(t, {
    config: join(config, 'godwit.conf'),
    set: [
      `http_server.operator_keyfile="${keyFile}"`,
      `auth.acl.file="${join(acl, 'acl.conf')}"`,
      'auth.allow_anonymous=true',
      'listeners.ssl.bind="127.0.0.1:0"',
      `listeners.ssl.certfile="${join(certificates, 'tls.crt')}"`,
      `listeners.ssl.keyfile="${join(certificates, 'tls.key')}"`,
    ],
  })
  return { broker, config, acl, certificates }
}

const sharedNode = shared(startOperated)

function nowSeconds(): number {
  return Math.floor(Date.now() / 1_000)
}

async function sign(claims: { readonly iat: number; readonly exp?: number }, key = privatePem): Promise<string> {
  const signed = await signToken(claims, key)
  assert.ok('token' in signed)
  return `Bearer ${signed.token}`
}

async function requestFiles(): Promise<ReadonlyMap<string, { sha256: string | null; problem: string | null }>> {
  const { broker } = await sharedNode()
  const { json } = await broker.request('/api/v5/configuration_files')
  assert.equal(json.data.watched, true)
  const files: readonly { path: string; sha256: string | null; problem: string | null }[] = json.data.files
  return new Map(files.map(({ path, ...file }) => [path, file]))
}

/** Waits until the file with this text is applied. */
async function untilApplied(file: string, text: string): Promise<void> {
  const hash = createHash('sha256').update(text).digest('hex')
  await eventually(async () => assert.equal((await requestFiles()).get(file)?.sha256, hash))
}

test('a token of the operator is accepted for at most five minutes', async () => {
  const { broker } = await sharedNode()
  const status = async (authorization: string): Promise<number> =>
    (await broker.request('/api/v5/drain', { as: null, headers: { authorization } })).status
  const iat = nowSeconds()
  assert.equal(await status(await sign({ iat, exp: iat + 60 })), 200)
  assert.equal(await status(await sign({ iat, exp: iat + 3_600 })), 401)
  assert.equal(await status(await sign({ iat: iat - 120, exp: iat - 60 })), 401)
  const other = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  assert.equal(await status(await sign({ iat, exp: iat + 60 }, other)), 401)
  assert.equal((await broker.request('/api/v5/drain')).status, 200, 'the administrator uses a password as before')
})

test('a changed file of settings is applied, and a faulty one is reported and changes nothing', async () => {
  const { broker, config } = await sharedNode()
  const file = join(config, 'godwit.conf')
  const readSize = async (): Promise<unknown> => {
    const { json } = await broker.request('/api/v4/configuration/mqtt')
    return json.data.mqtt?.max_packet_size ?? json.data.max_packet_size
  }
  const before = await readSize()
  const changed = 'mqtt.max_packet_size = 200KB\n'
  swapFiles(config, { 'godwit.conf': changed })
  await untilApplied(file, changed)
  assert.notEqual(await readSize(), before)
  const applied = await readSize()
  swapFiles(config, { 'godwit.conf': 'mqtt.max_packet_size = many\n' })
  await eventually(async () =>
    assert.match((await requestFiles()).get(file)?.problem ?? '', /godwit\.conf:1:.*max_packet_size/),
  )
  assert.equal(await readSize(), applied)
  swapFiles(config, { 'godwit.conf': changed })
  await eventually(async () => assert.equal((await requestFiles()).get(file)?.problem, null))
})

test('changed access rules apply to clients that are connected', async (t) => {
  const { broker, acl } = await sharedNode()
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { protocolVersion: 5, reconnectPeriod: 0 })
  t.after(() => client.endAsync(true))
  assert.deepEqual((await client.subscribeAsync('plant/1'))[0]?.qos, 0)
  const denied = `{deny, all, subscribe, ["plant/#"]}.\n${allowAll}`
  swapFiles(acl, { 'acl.conf': denied })
  await untilApplied(join(acl, 'acl.conf'), denied)
  await assert.rejects(client.subscribeAsync('plant/2'), /Not authorized|Subscribe error|0x87/i)
})

test('a changed certificate is presented to the next client, and an unusable one is reported', async (t) => {
  const { broker, certificates } = await sharedNode()
  const port = await portOfListener(broker, 'ssl')
  const connectTls = async (): Promise<string> => {
    const client = await connectAsync(`mqtts://localhost:${port}`, { ca: authority.certificate, reconnectPeriod: 0 })
    t.after(() => client.endAsync(true))
    const { stream } = client as unknown as { stream: { getPeerCertificate(): { subject: { CN: string } } } }
    return stream.getPeerCertificate().subject.CN
  }
  assert.equal(await connectTls(), 'first')
  const file = join(certificates, 'tls.crt')
  swapFiles(certificates, { 'tls.crt': 'none', 'tls.key': 'none' })
  await eventually(async () => assert.match((await requestFiles()).get(file)?.problem ?? '', /certificate|PEM/))
  assert.equal(await connectTls(), 'first')
  const { certificate, key } = authority.issue('second', { hostNames: ['localhost'] })
  swapFiles(certificates, { 'tls.crt': certificate, 'tls.key': key })
  await untilApplied(file, certificate)
  assert.equal(await connectTls(), 'second')
})
