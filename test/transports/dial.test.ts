// Outgoing connections, to listeners of the test and to faulty servers.

import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { type ServerResponse, createServer as createHttpServer } from 'node:http'
import { test, type TestContext } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { type ByteStream, denyAddresses, dial, listenTcp, listenWebSocket } from '../../src/transports/index.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { Authority } from './certificates.ts'
import { dialled, dialSettings, problemOf, target, textOf, writtenTo } from './dial-stage.ts'
import { EventQueue } from './event-queue.ts'
import { authority, TlsStage } from './tls-stage.ts'
import { openWebSocketStage, path } from './websocket-stage.ts'

async function listen(t: TestContext): Promise<{ port: number; streams: EventQueue<ByteStream> }> {
  const streams = new EventQueue<ByteStream>()
  const listener = await listenTcp({ host: '127.0.0.1', port: 0, onStream: (stream) => streams.add(stream) })
  t.after(() => listener.close())
  return { port: listener.port, streams }
}

const unexpected = (): never => assert.fail('it was aborted')

/** Returns its port. The end of the test closes all its sockets. */
async function serve(t: TestContext, server: Server): Promise<number> {
  const sockets: Socket[] = []
  server.on('connection', (socket) => {
    sockets.push(socket.on('error', () => {}))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

async function expectEcho(client: ByteStream, chunks: EventQueue<string>, remote: ByteStream): Promise<void> {
  const received = new EventQueue<string>()
  remote.onData = (chunk) => received.add(chunk.toString('latin1'))
  await writtenTo(client, 'to the other side')
  assert.equal(await textOf(received, 17), 'to the other side')
  await writtenTo(remote, 'and back')
  assert.equal(await textOf(chunks, 8), 'and back')
}

test('bytes are sent in both directions over TCP, and the end of one side is reported to the other', async (t) => {
  const { port, streams } = await listen(t)
  const { stream, chunks, closed } = await dialled(t, target('tcp', port, 'localhost'))
  const remote = await streams.next()
  await expectEcho(stream, chunks, remote)
  assert.equal(stream.remotePort, port)
  remote.end()
  assert.equal(await closed, undefined)
})

test('a refused connection is reported, with the address', async (t) => {
  const port = await reservePort(t)
  const problem = await problemOf(target('tcp', port))
  assert.equal(problem.reason, 'unreachable')
  assert.match(problem.message, new RegExp(`^127\\.0\\.0\\.1:${port}: the connection is refused`))
})

test('link-local addresses, where clouds keep credentials, are never connected to', async () => {
  for (const host of ['169.254.169.254', '::ffff:169.254.169.254', '0.0.0.0', 'fe80::1', 'fd00:ec2::254']) {
    for (const scheme of ['tcp', 'wss', 'quic'] as const) {
      assert.equal((await problemOf(target(scheme, 1883, host))).reason, 'address', `${scheme} ${host}`)
    }
  }
})

test('addresses that the configuration denies are not requested, whatever name resolves to them, until the configuration changes', async (t) => {
  t.after(() => denyAddresses([]))
  denyAddresses(['loopback', 'private', '192.0.2.0/24', '2001:db8::7'])
  const hosts = [
    '127.8.0.1',
    '::1',
    '::ffff:127.0.0.1',
    '10.1.2.3',
    '172.31.0.1',
    '192.168.1.1',
    'fd12::1',
    '192.0.2.9',
  ]
  for (const host of [...hosts, '2001:db8::7', 'localhost']) {
    for (const scheme of ['tcp', 'wss', 'quic'] as const) {
      const { reason, message } = await problemOf(target(scheme, 1883, host))
      const isNamed = scheme === 'quic' && host === 'localhost' && reason === 'unreachable'
      assert.ok(reason === 'address' || isNamed, `${scheme} ${host}: ${message}`)
    }
  }
  denyAddresses(['10.0.0.0/8'])
  assert.equal((await problemOf(target('tcp', 9, '127.0.0.1'))).reason, 'unreachable')
})

test('a server that accepts the connection and sends nothing is abandoned after the timeout', async (t) => {
  const port = await serve(t, createServer())
  for (const scheme of ['tls', 'ws', 'wss'] as const) {
    const problem = await problemOf(target(scheme, port), { connectTimeoutMs: 50 })
    assert.deepEqual(problem, { reason: 'too-slow', message: `127.0.0.1:${port} did not respond within 0.05 s` })
  }
})

test('an aborted attempt reports nothing, and its socket is closed', async (t) => {
  const server = createServer()
  const port = await serve(t, server)
  const arrived = once(server, 'connection') as Promise<[Socket]>
  const attempt = dial(target('tls', port), dialSettings(), { onOpen: unexpected, onProblem: unexpected })
  const [socket] = await arrived
  attempt.abandon()
  attempt.abandon()
  socket.resume()
  await once(socket, 'close')
})

test('an attempt that is aborted at once never starts', async (t) => {
  const { port } = await listen(t)
  for (const to of [target('tcp', port), target('tcp', port, '169.254.0.1'), target('quic', port)]) {
    dial(to, dialSettings(), { onOpen: unexpected, onProblem: unexpected }).abandon()
  }
  await dialled(t, target('tcp', port))
})

test('a missing network interface is named', async (t) => {
  const { port } = await listen(t)
  const problem = await problemOf(target('tcp', port), { networkInterface: 'godwit-none' })
  assert.equal(problem.message, 'the network interface godwit-none has no IPv4 address')
  await dialled(t, target('tcp', port), { networkInterface: 'lo' })
})

test('a certificate is accepted for its name, with the configured authority only', async (t) => {
  const stage = await new TlsStage(t).listen()
  const caFile = stage.path('ca.pem')
  const { stream, chunks } = await dialled(t, target('tls', stage.port), { tls: { caFile } })
  await expectEcho(stream, chunks, await stage.streams.next())

  const unknown = await problemOf(target('tls', stage.port))
  assert.equal(unknown.reason, 'tls')
  assert.match(
    unknown.message,
    /the TLS handshake failed: .* not signed by a trusted authority: name its authority in cacertfile$/,
  )
  const misnamed = await problemOf(target('tls', stage.port, 'localhost'), { tls: { caFile } })
  assert.equal(misnamed.reason, 'tls')
  assert.match(misnamed.message, /^localhost:.*: the certificate of the server is for other names/)
  await dialled(t, target('tls', stage.port, 'localhost'), { tls: { verifyPeer: false } })
})

test('the TLS handshake names the host (SNI), but not an address', async (t) => {
  const names = new EventQueue<string | false>()
  const stage = new TlsStage(t)
  const named = authority.issue('localhost', { hostNames: ['localhost', '127.0.0.1'] })
  const server = createTlsServer({ cert: named.certificate, key: named.key }, (socket) => {
    names.add(socket.servername as string | false)
    socket.on('error', () => {})
  })
  const port = await serve(t, server)
  const tls = { caFile: stage.path('ca.pem') }
  await dialled(t, target('tls', port, 'localhost'), { tls })
  assert.equal(await names.next(), 'localhost')
  await dialled(t, target('tls', port), { tls })
  assert.equal(await names.next(), false)
})

test('the client certificate is sent, with an encrypted key, and its files are read for each connection', async (t) => {
  const stage = await new TlsStage(t, { verifyPeer: true, failIfNoPeerCertificate: true }).listen()
  const bridge = authority.issue('bridge-1')
  const locked = createPrivateKey(bridge.key).export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'open sesame',
  })
  const tls = {
    caFile: stage.path('ca.pem'),
    certFile: stage.write('bridge-cert.pem', bridge.certificate),
    keyFile: stage.write('bridge-key.pem', locked.toString()),
    keyPassword: 'open sesame',
  }
  await dialled(t, target('tls', stage.port), { tls })
  assert.equal((await stage.streams.next()).credentials?.certificate?.commonName, 'bridge-1')

  const renewed = authority.issue('bridge-2')
  stage.write('bridge-cert.pem', renewed.certificate)
  const half = await problemOf(target('tls', stage.port), { tls })
  assert.equal(half.reason, 'files')
  assert.match(half.message, /is not the key of the certificate/)
  stage.write('bridge-key.pem', renewed.key)
  await dialled(t, target('tls', stage.port), { tls: { ...tls, keyPassword: undefined } })
  assert.equal((await stage.streams.next()).credentials?.certificate?.commonName, 'bridge-2')
})

test('unusable files are reported before a connection is opened', async (t) => {
  const stage = await new TlsStage(t).listen()
  const empty = stage.write('empty.pem', '')
  const to = target('tls', stage.port)
  for (const [tls, why] of [
    [{ caFile: empty }, /cacertfile: .*empty\.pem contains no complete PEM block/],
    [{ caFile: stage.path('none.pem') }, /cacertfile: cannot read .*none\.pem: there is no such file/],
    [{ certFile: stage.path('cert.pem') }, /belong together/],
    [{ certFile: stage.path('cert.pem'), keyFile: empty }, /keyfile: .*contains no readable private key/],
  ] as const) {
    const problem = await problemOf(to, { tls })
    assert.equal(problem.reason, 'files')
    assert.match(problem.message, why)
  }
})

test('a server that requires a certificate and gets none closes the connection, which is reported', async (t) => {
  const stage = await new TlsStage(t, { verifyPeer: true, failIfNoPeerCertificate: true }).listen()
  const { closed } = await dialled(t, target('tls', stage.port), { tls: { caFile: stage.path('ca.pem') } })
  await closed
  assert.match(await stage.refusals.next(), /certificate/)
})

test('bytes are sent in both directions over WebSocket, and its end is reported', async (t) => {
  const stage = await openWebSocketStage(t)
  const { stream, chunks, closed } = await dialled(t, target('ws', stage.port, '127.0.0.1', path))
  const remote = await stage.streams.next()
  await expectEcho(stream, chunks, remote)
  const long = Buffer.alloc(200_000, 'x')
  void writtenTo(stream, long)
  const received = new EventQueue<string>()
  remote.onData = (chunk) => received.add(chunk.toString('latin1'))
  assert.equal(await textOf(received, long.length), long.toString())
  remote.end()
  assert.equal(await closed, undefined)
})

test('the buffer of a write over WebSocket is not changed by it', async (t) => {
  const stage = await openWebSocketStage(t)
  const { stream } = await dialled(t, target('ws', stage.port))
  const buffer = Buffer.alloc(20_000, 'x')
  await new Promise<void>((resolve) => stream.write(buffer, resolve))
  assert.deepEqual(buffer, Buffer.alloc(20_000, 'x'))
})

test('a server that responds without WebSocket differs from an unavailable one, and no redirect is followed', async (t) => {
  const { port: elsewhere, streams } = await listen(t)
  const responses: Record<string, (response: ServerResponse) => void> = {
    '/none': (response) => response.writeHead(404).end('x'.repeat(100_000)),
    '/moved': (response) => response.writeHead(301, { Location: `http://127.0.0.1:${elsewhere}/` }).end(),
  }
  const http = createHttpServer((request, response) => responses[request.url ?? '']?.(response))
  const port = await serve(t, http)
  for (const at of Object.keys(responses)) {
    const problem = await problemOf(target('ws', port, '127.0.0.1', at))
    assert.equal(problem.reason, 'upgrade')
    assert.match(
      problem.message,
      new RegExp(`it responds with status (404|301) and has no WebSocket endpoint at ${at}`),
    )
  }
  assert.equal(streams.left, 0)
  const stage = await openWebSocketStage(t)
  assert.equal((await problemOf(target('ws', stage.port, '127.0.0.1', '/other'))).reason, 'upgrade')
})

test('a WebSocket server that violates the protocol is disconnected', async (t) => {
  const port = await serve(
    t,
    createServer((socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n'))
    }),
  )
  assert.equal((await problemOf(target('ws', port))).reason, 'upgrade')
  const stage = await openWebSocketStage(t)
  const sockets = stage.sockets
  const { closed } = await dialled(t, target('ws', stage.port), { maxMessageBytes: 100 })
  const raw = await sockets.next()
  raw.write(Buffer.concat([Buffer.of(0x82, 126, 1, 0), Buffer.alloc(256)]))
  assert.match((await closed)?.message ?? '', /Max payload size exceeded/)
})

test('pings of the server get masked pongs', async (t) => {
  const stage = await openWebSocketStage(t)
  await dialled(t, target('ws', stage.port))
  const [raw] = [await stage.sockets.next(), await stage.streams.next()]
  const pong = new EventQueue<Buffer>()
  raw.removeAllListeners('data')
  raw.on('data', (chunk) => pong.add(chunk))
  raw.write(Buffer.concat([Buffer.of(0x89, 2), Buffer.from('hi')]))
  const response = await pong.next()
  assert.equal(response[0], 0x8a)
  assert.equal(response[1], 0x82, 'it is masked, and has two bytes')
})

test('WebSocket over TLS verifies certificates like TLS', async (t) => {
  const stage = new TlsStage(t)
  const streams = new EventQueue<ByteStream>()
  const listener = await listenWebSocket({
    host: '127.0.0.1',
    port: 0,
    tls: stage.gate,
    path,
    allowedOrigins: [],
    isLoopback: true,
    failsWithoutSubprotocol: true,
    addressHeader: undefined,
    maxMessageBytes: 1_000,
    upgradeTimeoutMs: 5_000,
    onStream: (stream) => streams.add(stream),
  })
  t.after(() => listener.close())
  const caFile = stage.path('ca.pem')
  const { stream, chunks } = await dialled(t, target('wss', listener.port), { tls: { caFile } })
  await expectEcho(stream, chunks, await streams.next())
  const unknownAuthority = stage.write('stranger.pem', new Authority('Unknown authority').certificate)
  const problem = await problemOf(target('wss', listener.port), { tls: { caFile: unknownAuthority } })
  assert.equal(problem.reason, 'tls')
})

test('the name of the remote side adds no line breaks to a message', async (t) => {
  const stage = new TlsStage(t)
  const odd = authority.issue('odd', { hostNames: [`evil\nname.${'x'.repeat(500)}.example`] })
  const port = await serve(t, createTlsServer({ cert: odd.certificate, key: odd.key }))
  const { message } = await problemOf(target('tls', port), { tls: { caFile: stage.path('ca.pem') } })
  // oxlint-disable-next-line no-control-regex
  assert.doesNotMatch(message, /[\u0000-\u001f]/)
  assert.ok(message.length < 320, message)
})
