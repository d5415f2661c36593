import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import type { ConnectionOptions, TLSSocket } from 'node:tls'
import { type ByteStream, ConnectionRate } from '../../src/transports/index.ts'
import type { NamedCertificateFilesConfig } from '../../src/config/index.ts'
import { Authority, type Named } from './certificates.ts'
import { EventQueue } from './event-queue.ts'
import { standStill } from './paused-reader.ts'
import { authority, serverName, TlsStage, type TlsStageOptions } from './tls-stage.ts'

const withCertificate = ({ certificate, key }: { certificate: string; key: string }): ConnectionOptions => ({
  cert: certificate,
  key,
})
const device = authority.issue('device-7', {
  subject: [
    ['C', 'DE'],
    ['O', 'Plant, "North" + South'],
    ['CN', 'device-7'],
  ],
})
const verifying = { verifyPeer: true, failIfNoPeerCertificate: true }

async function echoes(client: TLSSocket, stream: ByteStream): Promise<void> {
  stream.onData = (chunk) => stream.write(chunk, () => {})
  client.write('there and back')
  const [received] = await once(client, 'data')
  assert.equal(String(received), 'there and back')
}

const namesOf = (client: TLSSocket): unknown => client.getPeerCertificate().subject.CN

describe('a TLS listener', () => {
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    test(`supports ${version}, and bytes are sent in both directions`, async (t) => {
      const stage = await new TlsStage(t).listen()
      const { client, stream } = await stage.pairUp({ minVersion: version, maxVersion: version })
      await echoes(client, stream)
      assert.equal(client.getProtocol(), version)
      assert.deepEqual(stream.credentials, { certificate: undefined, pskIdentity: undefined })
    })
  }

  test('refuses a version that is not configured', async (t) => {
    const stage = await new TlsStage(t, { minVersion: 'TLSv1.3' }).listen()
    assert.match(
      await stage.refusalOf({ maxVersion: 'TLSv1.2' }),
      /offers no TLS version that tls_versions of the listener allows/,
    )
  })

  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    test(`reports the end to a paused reader when it resumes (${version})`, async (t) => {
      const stage = await new TlsStage(t).listen()
      const { client, stream } = await stage.pairUp({ minVersion: version, maxVersion: version })
      const events = standStill(stream)
      client.resume()
      client.write('goodbye')
      assert.equal(await events.next(), 'goodbye')
      client.end()
      await once(client, 'close')
      await new Promise<void>((resolve) => stream.write(Buffer.from('too late'), resolve))
      assert.equal(events.left, 0)
      stream.resume()
      assert.equal(await events.next(), 'closed')
    })
  }

  test('refuses a version newer than the configured ones', async (t) => {
    const stage = await new TlsStage(t, { maxVersion: 'TLSv1.2' }).listen()
    assert.match(
      await stage.refusalOf({ minVersion: 'TLSv1.3' }),
      /offers no TLS version that tls_versions of the listener allows/,
    )
  })

  test('uses the first cipher of its own list, not of that of the client', async (t) => {
    const ciphers = ['ECDHE-ECDSA-AES256-GCM-SHA384', 'ECDHE-ECDSA-AES128-GCM-SHA256']
    const stage = await new TlsStage(t, { ciphers: ciphers.join(':'), maxVersion: 'TLSv1.2' }).listen()
    const { client } = await stage.pairUp({ ciphers: ciphers.toReversed().join(':') })
    assert.equal(client.getCipher().name, ciphers[0])
  })

  test('ends a stream after the written bytes, even while the peer goes on sending', async (t) => {
    const stage = await new TlsStage(t).listen()
    const { client, stream } = await stage.pairUp()
    const closed = new Promise<Error | undefined>((resolve) => {
      stream.onClose = resolve
    })
    const chunks: Buffer[] = []
    client.on('data', (chunk) => chunks.push(chunk))
    stream.write(Buffer.alloc(300_000, 'x'), () => {})
    stream.end()
    client.write('talks on')
    await once(client, 'end')
    assert.equal(Buffer.concat(chunks).length, 300_000)
    assert.equal(await closed, undefined)
  })

  test('reports a stream whose peer vanishes', async (t) => {
    const stage = await new TlsStage(t).listen()
    const { client, stream } = await stage.pairUp()
    const closed = new Promise<Error | undefined>((resolve) => {
      stream.onClose = resolve
    })
    client.destroy()
    await closed
  })

  test('refuses a client that does not use TLS', async (t) => {
    const stage = await new TlsStage(t).listen()
    const plain = await stage.knock()
    plain.write('\x10\x0c\x00\x04MQTT\x04\x02\x00\x00\x00\x00')
    plain.resume()
    const [why] = await Promise.all([stage.refusals.next(), once(plain, 'close')])
    assert.match(why, /did not speak TLS/)
  })

  test('[bad-input 20] closes a handshake whose bytes arrive slowly, however often one arrives', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    // Any time between arrival and sweep is too long.
    const stage = await new TlsStage(t, { handshakeTimeoutMs: 0 }).listen()
    const slow = await stage.knock()
    slow.resume()
    slow.write('\x16')
    // It has been added when a later client is accepted or refused.
    const other = await stage.knock()
    other.write('not TLS at all')
    await stage.refusals.next()
    const gone = once(slow, 'close')
    t.mock.timers.tick(1_000)
    assert.match(await stage.refusals.next(), /too long/)
    await gone
  })

  test('[bad-input 20] limits concurrent handshakes: later connections wait, unread, and are served in order', async (t) => {
    const stage = await new TlsStage(t, { maxHandshakes: 1 }).listen()
    const silent = await stage.knock()
    const { client, stream } = await (async () => {
      const waiting = stage.client()
      let isServed = false
      waiting.once('secureConnect', () => (isServed = true))
      // It sent its ClientHello and gets no response: the client before it has the only slot.
      await once(waiting, 'connect')
      // On another listener, a handshake that begins later completes meanwhile: this one would have had a response.
      const elsewhere = await new TlsStage(t).listen()
      await elsewhere.pairUp()
      assert.equal(isServed, false)
      silent.destroy()
      return { client: waiting, stream: await stage.streams.next() }
    })()
    await echoes(client, stream)
  })

  test('closes handshakes in progress and waiting clients when it is closed', async (t) => {
    const rate = new ConnectionRate(undefined)
    const arrived = new EventQueue<string>()
    rate.reserveWaitMs = () => {
      arrived.add('a client')
      return 0
    }
    const stage = await new TlsStage(t, { maxHandshakes: 1 }).listen({ rates: [rate] })
    const silent = [await stage.knock(), await stage.knock()]
    for (const client of silent) {
      client.resume()
      await arrived.next()
    }
    const gone = Promise.all(silent.map((client) => once(client, 'close')))
    await stage.close()
    await gone
  })

  test('loses no byte of a handshake that arrives in one piece with a PROXY header', async (t) => {
    const stage = await new TlsStage(t).listen({ proxyProtocol: { timeoutMs: 60_000, trusted: [] } })
    const socket = await stage.knock()
    socket.write('PROXY TCP4 198.51.100.7 10.0.0.1 40120 1883\r\n')
    const { client, stream } = await stage.pairUp({ socket })
    assert.deepEqual([stream.remoteAddress, stream.remotePort], ['198.51.100.7', 40_120])
    await echoes(client, stream)
  })

  test('loses no byte of a handshake that waited because of the rate limit', async (t) => {
    const rate = new ConnectionRate(1)
    rate.reserveWaitMs = () => 20
    const stage = await new TlsStage(t).listen({ rates: [rate] })
    const { client, stream } = await stage.pairUp()
    await echoes(client, stream)
  })

  test('does not renegotiate', async (t) => {
    const stage = await new TlsStage(t).listen()
    const { client, stream } = await stage.pairUp({ maxVersion: 'TLSv1.2' })
    await echoes(client, stream)
    const renegotiated = new Promise<string>((resolve) => client.renegotiate({}, () => resolve('renegotiated')))
    const failed = new Promise<string>((resolve) => client.on('error', ({ message }) => resolve(message)))
    client.write('goes on')
    assert.match(await Promise.race([renegotiated, failed]), /no renegotiation/)
  })
})

describe('a client certificate', () => {
  test('gives the identity of the client', async (t) => {
    const stage = await new TlsStage(t, verifying).listen()
    const { stream } = await stage.pairUp(withCertificate(device))
    const { raw } = new X509Certificate(device.certificate)
    const certificate = stream.credentials?.certificate
    assert.equal(certificate?.commonName, 'device-7')
    assert.equal(certificate.subject, String.raw`CN=device-7,O=Plant\, \"North\" \+ South,C=DE`)
    assert.equal(certificate.fingerprint, createHash('sha256').update(raw).digest('hex'))
    assert.deepEqual(Buffer.from(certificate.der), raw)
  })

  test('that is missing is refused if one is required, and not otherwise', async (t) => {
    const strict = await new TlsStage(t, verifying).listen()
    assert.match(await strict.refusalOf(), /no certificate/)
    const lenient = await new TlsStage(t, { verifyPeer: true }).listen()
    const { stream } = await lenient.pairUp()
    assert.equal(stream.credentials?.certificate, undefined)
  })

  const unknownIssuer = new Authority('Another authority')
  const past = new Date(Date.now() - 1_000)
  const future = new Date(Date.now() + 86_400_000)
  const forged = new Authority('The test authority')
  const unbelieved: readonly (readonly [string, { certificate: string; key: string }, RegExp])[] = [
    ['of an unknown authority', unknownIssuer.issue('device-7'), /no authority in cacertfile has issued it/],
    ['of an authority with the name of ours', forged.issue('device-7'), /signature|no authority/],
    ['that has expired', authority.issue('device-7', { until: past }), /it has expired/],
    ['that is not valid yet', authority.issue('device-7', { from: future }), /it is not valid yet/],
  ]
  for (const settings of [verifying, { verifyPeer: true }]) {
    for (const [name, certificate, why] of unbelieved) {
      test(`${name} is refused, failIfNoPeerCertificate ${'failIfNoPeerCertificate' in settings}`, async (t) => {
        const stage = await new TlsStage(t, settings).listen()
        assert.match(await stage.refusalOf(withCertificate(certificate)), why)
      })
    }
  }

  test('that was revoked is refused, and others of the same authority are accepted', async (t) => {
    const stage = await new TlsStage(t, { ...verifying, crl: authority.revoke(device.certificate) }).listen()
    assert.match(await stage.refusalOf(withCertificate(device)), /it is revoked by crlfile/)
    await stage.pairUp(withCertificate(authority.issue('device-8')))
  })

  test('that is revoked later is refused from then on, also if a client resumes a session', async (t) => {
    const stage = await new TlsStage(t, { ...verifying, crl: authority.revoke() }).listen()
    const session = await sessionOf(stage, withCertificate(device))
    const again = await stage.pairUp({ ...withCertificate(device), session })
    assert.ok(again.client.isSessionReused(), 'a session is resumed while nothing has changed')
    stage.write('crl.pem', authority.revoke(device.certificate))
    await stage.gate.reload()
    assert.match(await stage.refusalOf({ ...withCertificate(device), session }), /it is revoked by crlfile/)
  })
})

test('a client of an authority that was removed is refused, also with an earlier session', async (t) => {
  const stage = await new TlsStage(t, verifying).listen()
  const session = await sessionOf(stage, withCertificate(device))
  stage.write('ca.pem', new Authority('Another authority').certificate)
  await stage.gate.reload()
  assert.match(await stage.refusalOf({ ...withCertificate(device), session }), /its certificate is not valid: /)
})

async function sessionOf(stage: TlsStage, options: ConnectionOptions = {}): Promise<Buffer> {
  const { client, stream } = await stage.pairUp(options)
  const session = once(client, 'session')
  // The client processes tickets when it reads.
  stream.write(Buffer.from('hello'), () => {})
  client.resume()
  const [ticket] = await session
  return ticket
}

describe('a session', () => {
  test('is resumed on another shard of the same listener', async (t) => {
    const one = await new TlsStage(t, verifying).listen()
    const other = await new TlsStage(t, verifying).listen()
    const session = await sessionOf(one, withCertificate(device))
    const { client, stream } = await other.pairUp({ ...withCertificate(device), session })
    assert.ok(client.isSessionReused())
    assert.equal(stream.credentials?.certificate?.commonName, 'device-7')
  })

  const others: readonly (readonly [string, TlsStageOptions, TlsStageOptions])[] = [
    ['another listener', verifying, { ...verifying, name: 'other' }],
    ['a restarted node', verifying, { ...verifying, ticketSecret: new Uint8Array(32).fill(1) }],
    ['a listener that verifies clients, if it began at one that does not', {}, { verifyPeer: true }],
  ]
  for (const [name, beginning, settings] of others) {
    test(`is not resumed at ${name}`, async (t) => {
      const one = await new TlsStage(t, beginning).listen()
      const session = await sessionOf(one, withCertificate(device))
      const other = await new TlsStage(t, settings).listen()
      const { client } = await other.pairUp({ ...withCertificate(device), session })
      assert.ok(!client.isSessionReused())
    })
  }
})

describe('a host name', () => {
  const shop = authority.issue('shop', { hostNames: ['shop.example.org'] })
  const any = authority.issue('any', { hostNames: ['*.example.net'] })

  test('gets its certificate, and any other name gets that of the listener', async (t) => {
    const stage = await stageWithNames(t, {}, { shop, any })
    const seen: unknown[] = []
    const names = ['shop.example.org', 'SHOP.example.org', 'a.example.net', 'own.example.net', 'a.b.example.net']
    for (const servername of [...names, serverName]) {
      const { client } = await stage.pairUp({ servername, checkServerIdentity: () => undefined })
      seen.push(namesOf(client))
    }
    assert.deepEqual(seen, ['shop', 'shop', 'any', 'shop', serverName, serverName])
  })

  test('gets the certificate that replaces its own', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'godwit-sni-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const files = namedFiles(folder, 'shop', 'shop.example.org', shop)
    const stage = await new TlsStage(t, { byServerName: [files] }).listen()
    const renewed = authority.issue('renewed', { hostNames: ['shop.example.org'] })
    namedFiles(folder, 'shop', 'shop.example.org', renewed)
    await stage.gate.reload()
    const { client } = await stage.pairUp({ servername: 'shop.example.org' })
    assert.equal(namesOf(client), 'renewed')
  })

  test('does not bypass client verification', async (t) => {
    const stage = await stageWithNames(t, verifying, { shop, any })
    const servername = 'shop.example.org'
    assert.match(await stage.refusalOf({ servername }), /no certificate/)
    const unknownCertificate = new Authority('Another authority').issue('device-7')
    assert.match(
      await stage.refusalOf({ servername, ...withCertificate(unknownCertificate) }),
      /its certificate is not valid: /,
    )
    await stage.pairUp({ servername, ...withCertificate(device) })
  })
})

function stageWithNames(
  t: TestContext,
  settings: TlsStageOptions,
  names: { shop: Named; any: Named },
): Promise<TlsStage> {
  const folder = mkdtempSync(join(tmpdir(), 'godwit-sni-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const byServerName = [
    namedFiles(folder, 'any', '*.example.net', names.any),
    namedFiles(folder, 'shop', 'Shop.example.org', names.shop),
    namedFiles(folder, 'own', 'own.example.net', names.shop),
  ]
  return new TlsStage(t, { ...settings, byServerName }).listen()
}

function namedFiles(
  folder: string,
  name: string,
  host: string,
  { certificate, key }: Named,
): NamedCertificateFilesConfig {
  const [certFile, keyFile] = [join(folder, `${name}.pem`), join(folder, `${name}-key.pem`)]
  writeFileSync(certFile, certificate)
  writeFileSync(keyFile, key)
  return { name, serverName: host, certFile, keyFile, keyPassword: undefined }
}
