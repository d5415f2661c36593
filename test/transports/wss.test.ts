// WebSocket over TLS: certificates are verified here, too.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { connect, type ConnectionOptions } from 'node:tls'
import type { TlsConfig } from '../../src/config/index.ts'
import {
  type ByteStream,
  ConnectionLimit,
  type ReconfigurableListener,
  listenWebSocket,
  TlsUpgrade,
  type WebSocketListenOptions,
} from '../../src/transports/index.ts'
import { Authority } from './certificates.ts'
import { EventQueue } from './event-queue.ts'
import { plainTls } from './tls-stage.ts'
import { binary, upgradeRequest, WebSocketPeer } from './websocket-peer.ts'
import { closed, path, received, written } from './websocket-stage.ts'

interface SecureStage {
  readonly listener: ReconfigurableListener<WebSocketListenOptions>
  readonly options: WebSocketListenOptions
  readonly files: { readonly certFile: string }
  readonly problems: EventQueue<string>
  openGate(): TlsUpgrade
  readonly authority: Authority
  readonly budget: ConnectionLimit
  readonly streams: EventQueue<ByteStream>
  readonly refusals: EventQueue<string>
  peer(options?: ConnectionOptions): WebSocketPeer
}

async function openSecureStage(t: TestContext, overrides: Partial<TlsConfig> = {}): Promise<SecureStage> {
  const folder = await mkdtemp(join(tmpdir(), 'godwit-wss-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const authority = new Authority('plant')
  const { certificate, key } = authority.issue('broker', { hostNames: ['localhost'] })
  const files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem'), keyPassword: undefined }
  const caFile = join(folder, 'ca.pem')
  await Promise.all([
    writeFile(files.certFile, certificate),
    writeFile(files.keyFile, key),
    writeFile(caFile, authority.certificate),
  ])
  const streams = new EventQueue<ByteStream>()
  const refusals = new EventQueue<string>()
  const problems = new EventQueue<string>()
  const settings: TlsConfig = { ...plainTls, certificate: files, caFile, ...overrides }
  const openGate = (): TlsUpgrade => {
    const opening = TlsUpgrade.open({
      settings,
      name: 'wss:default',
      ticketSecret: Buffer.alloc(32),
      onProblem: (problem) => problems.add(problem?.message ?? 'in order again'),
      onRefused: (_, why) => refusals.add(why),
    })
    assert.ok('upgrade' in opening)
    return opening.upgrade
  }
  const limits = new ConnectionLimit(100)
  const options: WebSocketListenOptions = {
    host: '127.0.0.1',
    port: 0,
    limits,
    tls: openGate(),
    path,
    allowedOrigins: [],
    isLoopback: true,
    failsWithoutSubprotocol: true,
    addressHeader: undefined,
    maxMessageBytes: 1_048_576,
    upgradeTimeoutMs: 5_000,
    onStream: (stream) => streams.add(stream),
  }
  const listener = await listenWebSocket(options)
  const peers: WebSocketPeer[] = []
  t.after(async () => {
    for (const { socket } of peers) socket.destroy()
    await listener.close()
  })
  const peer = (options: ConnectionOptions = {}): WebSocketPeer => {
    const { port } = listener
    const made = new WebSocketPeer(
      connect({ port, host: '127.0.0.1', servername: 'localhost', ca: authority.certificate, ...options }),
    )
    peers.push(made)
    return made
  }
  return { listener, options, openGate, files, authority, budget: limits, streams, refusals, problems, peer }
}

test('bytes are sent in both directions, and a client needs no certificate if none is required', async (t) => {
  const stage = await openSecureStage(t)
  const peer = stage.peer()
  assert.match(await peer.request(upgradeRequest(path)), /^HTTP\/1\.1 101/)
  const stream = await stage.streams.next()
  assert.equal(stream.remoteAddress, '127.0.0.1')
  assert.equal(stream.remotePort, peer.socket.localPort)
  assert.equal(stream.credentials?.certificate, undefined)
  const chunks = received(stream)
  peer.send(binary('in secret'))
  assert.equal(await chunks.next(), 'in secret')
  await written(stream, Buffer.alloc(200_000, 7))
  assert.equal((await peer.nextFrame()).payload.length, 200_000)

  assert.equal(stage.budget.used, 1)
  const end = closed(stream)
  peer.socket.destroy()
  await end
  assert.equal(stage.budget.used, 0)
})

const strict = { verifyPeer: true, failIfNoPeerCertificate: true }

test('a client certificate is verified as over plain TLS, and its fields belong to the stream', async (t) => {
  const stage = await openSecureStage(t, strict)
  const { certificate, key } = stage.authority.issue('device-7', {
    subject: [
      ['O', 'Plant'],
      ['CN', 'device-7'],
    ],
  })
  const peer = stage.peer({ cert: certificate, key })
  assert.match(await peer.request(upgradeRequest(path)), /^HTTP\/1\.1 101/)
  const { credentials } = await stage.streams.next()
  assert.equal(credentials?.certificate?.commonName, 'device-7')
  assert.equal(credentials?.certificate?.subject, 'CN=device-7,O=Plant')
})

test('a client without a required certificate, or with one of an unknown authority, gets no response', async (t) => {
  const stage = await openSecureStage(t, strict)
  const unknownAuthority = new Authority('elsewhere').issue('device-7')
  for (const shown of [{}, { cert: unknownAuthority.certificate, key: unknownAuthority.key }]) {
    const peer = stage.peer(shown)
    peer.socket.on('data', () => assert.fail('the client received bytes'))
    peer.socket.write(upgradeRequest(path))
    await peer.ended
    assert.match(await stage.refusals.next(), /certificate/)
  }
  assert.equal(stage.streams.left, 0)
})

test('files are read again when an administrator reloads them, for the settings in force', async (t) => {
  const stage = await openSecureStage(t)
  const [first, second] = [stage.options.tls, stage.openGate()]
  stage.listener.change({ ...stage.options, tls: second })
  await stage.peer().request(upgradeRequest(path))
  await writeFile(stage.files.certFile, 'damaged')
  await first?.reload()
  assert.equal(stage.problems.left, 0, 'the first one is not used any more')
  await stage.listener.reload?.()
  assert.equal(stage.problems.left, 1, 'at once, and not at the next check')
  assert.match(await stage.problems.next(), /no complete PEM block/)
})

test('a client in its handshake is disconnected with its listener', async (t) => {
  const stage = await openSecureStage(t)
  stage.listener.change({ ...stage.options, tls: stage.openGate() })
  // A later client completes its handshake, so the silent one has been accepted.
  const silent = await WebSocketPeer.connect(stage.listener.port)
  await stage.peer().request(upgradeRequest(path))
  await stage.listener.close()
  await silent.ended
})

test('HTTP without TLS is refused', async (t) => {
  const stage = await openSecureStage(t)
  const peer = await WebSocketPeer.connect(stage.listener.port)
  peer.socket.write(upgradeRequest(path))
  await peer.ended
  await stage.refusals.next()
  assert.equal(stage.streams.left, 0)
})

test('a closed listener accepts no client and leaves its open streams alone', async (t) => {
  const stage = await openSecureStage(t)
  const peer = stage.peer()
  await peer.request(upgradeRequest(path))
  const stream = await stage.streams.next()
  await stage.listener.close()
  const late = stage.peer()
  const [error] = await once(late.socket, 'error')
  assert.match(String(error), /ECONNREFUSED/)
  const chunks = received(stream)
  peer.send(binary('still here'))
  assert.equal(await chunks.next(), 'still here')
})

test('access rules for addresses apply to the address that a trusted proxy reports, not to the proxy', async (t) => {
  const streams = new EventQueue<ByteStream>()
  const refusals = new EventQueue<string>()
  const listener = await listenWebSocket({
    host: '127.0.0.1',
    port: 0,
    path,
    allowedOrigins: [],
    isLoopback: true,
    failsWithoutSubprotocol: true,
    addressHeader: 'x-real-ip',
    accessRules: [{ isAllowed: true, range: '203.0.113.0/24' }],
    maxMessageBytes: 1_048_576,
    upgradeTimeoutMs: 5_000,
    onStream: (stream) => streams.add(stream),
    onRefused: (reason, why) => refusals.add(`${reason} ${why}`),
  })
  t.after(() => listener.close())
  const requestUpgrade = async (headers: Record<string, string | undefined>): Promise<WebSocketPeer> => {
    const peer = await WebSocketPeer.connect(listener.port)
    t.after(() => peer.socket.destroy())
    peer.socket.write(upgradeRequest(path, headers))
    return peer
  }
  await requestUpgrade({ 'X-Real-IP': '203.0.113.9' })
  assert.equal((await streams.next()).remoteAddress, '203.0.113.9')
  for (const headers of [{ 'X-Real-IP': '198.51.100.7' }, {}]) {
    const peer = await requestUpgrade(headers)
    await once(peer.socket, 'close')
    assert.match(await refusals.next(), /^address-denied 127\.0\.0\.1: /)
  }
})
