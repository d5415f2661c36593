import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import type { ConnectionOptions } from 'node:tls'
import { authority, TlsStage, type TlsStageOptions } from './tls-stage.ts'

const hex = '00112233445566778899aabbccddeeff'
const psk = `plant-7:${hex}\n`

/** The credentials of a client with a key only. */
function withKey(version: 'TLSv1.2' | 'TLSv1.3', identity = 'plant-7', key = hex): ConnectionOptions {
  return {
    minVersion: version,
    maxVersion: version,
    ca: [],
    ciphers: 'TLS_AES_128_GCM_SHA256:PSK+HIGH:ECDHE-PSK-CHACHA20-POLY1305',
    pskCallback: () => ({ psk: Buffer.from(key, 'hex'), identity }),
    checkServerIdentity: () => undefined,
  }
}

const keyOnly: TlsStageOptions = { identity: undefined, psk }

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  describe(`a pre-shared key over ${version}`, () => {
    test('is accepted by a listener without a certificate, and gives the identity of the client', async (t) => {
      const stage = await new TlsStage(t, keyOnly).listen()
      const { client, stream } = await stage.pairUp(withKey(version))
      assert.deepEqual(stream.credentials, { certificate: undefined, pskIdentity: 'plant-7' })
      stream.write(Buffer.from('hello'), () => {})
      const [chunk] = await once(client, 'data')
      assert.equal(String(chunk), 'hello')
    })

    test('is accepted in addition to certificates, and instead of a required one', async (t) => {
      const settings = { psk, verifyPeer: true, failIfNoPeerCertificate: true }
      const stage = await new TlsStage(t, settings).listen()
      const { stream } = await stage.pairUp(withKey(version))
      assert.equal(stream.credentials?.pskIdentity, 'plant-7')
      assert.match(await stage.refusalOf({ maxVersion: version }), /no certificate/)
      const { certificate: cert, key } = authority.issue('device-7')
      const other = await stage.pairUp({ cert, key, maxVersion: version })
      assert.equal(other.stream.credentials?.certificate?.commonName, 'device-7')
      assert.equal(other.stream.credentials?.pskIdentity, undefined)
    })

    test('that is stored replaces the one of the same name in the file', async (t) => {
      const stored = hex.replaceAll('0', '1')
      const storedKeys = new Map([['plant-7', Buffer.from(stored, 'hex')]])
      const stage = await new TlsStage(t, { ...keyOnly, storedKeys }).listen()
      const { stream } = await stage.pairUp(withKey(version, 'plant-7', stored))
      assert.equal(stream.credentials?.pskIdentity, 'plant-7')
      assert.notEqual(await stage.refusalOf(withKey(version)), '')
    })

    test('that is wrong, or of an unknown identity, is refused', async (t) => {
      const stage = await new TlsStage(t, keyOnly).listen()
      assert.notEqual(await stage.refusalOf(withKey(version, 'plant-7', hex.replace('00', '01'))), '')
      assert.notEqual(await stage.refusalOf(withKey(version, 'plant-8')), '')
      assert.notEqual(await stage.refusalOf({ maxVersion: version }), '')
    })

    test('that is removed from the file is refused from then on', async (t) => {
      const stage = await new TlsStage(t, keyOnly).listen()
      await stage.pairUp(withKey(version))
      stage.write('psk.txt', `plant-8:${hex}\n`)
      await stage.gate.reload()
      assert.notEqual(await stage.refusalOf(withKey(version)), '')
      await stage.pairUp(withKey(version, 'plant-8'))
    })
  })
}

test('keys of a file that was emptied are refused from then on, which is reported, until it has text again', async (t) => {
  const stage = await new TlsStage(t, keyOnly).listen()
  await stage.gate.reload()
  assert.equal(stage.problems.left, 0)
  for (const nothing of ['', ' \n\n']) {
    stage.write('psk.txt', nothing)
    await stage.gate.reload()
    assert.match(
      await stage.problems.next(),
      /psk\.txt is empty, so no client has a key from it; restore it, or write a comment/,
    )
    assert.notEqual(await stage.refusalOf(withKey('TLSv1.3')), '')
    stage.write('psk.txt', '# no keys')
    await stage.gate.reload()
    assert.equal(await stage.problems.next(), 'in order again')
  }
  stage.write('psk.txt', psk)
  await stage.gate.reload()
  await stage.pairUp(withKey('TLSv1.3'))
  assert.equal(stage.problems.left, 0)
})

for (const [name, content, expected] of [
  ['empty', '', 1],
  ['a comment', '# keys are stored', 0],
] as const) {
  test(`a file of keys that is ${name} at the start is ${expected === 0 ? 'not ' : ''}reported`, async (t) => {
    const stage = await new TlsStage(t, { ...keyOnly, psk: content }).listen()
    await stage.gate.reload()
    await stage.gate.reload()
    assert.equal(stage.problems.left, expected)
  })
}

test('a session that began with a key is not resumed without it', async (t) => {
  const stage = await new TlsStage(t, keyOnly).listen()
  const sessions: Buffer[] = []
  const client = stage.client(withKey('TLSv1.3'))
  client.on('session', (session) => sessions.push(session))
  const stream = await stage.streams.next()
  stream.write(Buffer.from('hello'), () => {})
  await once(client, 'data')
  const [session] = sessions
  const { pskCallback: _, ...withoutKey } = withKey('TLSv1.3')
  assert.notEqual(await stage.refusalOf({ ...withoutKey, session }), '')
})

test('an identity whose key was looked up and not used authenticates no client', async (t) => {
  // A cipher suite with another hash than that of the key: TLS 1.3 then continues with the certificate.
  const ciphers = 'TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256'
  const stage = await new TlsStage(t, { psk, ciphers }).listen()
  const thief = withKey('TLSv1.3', 'plant-7', hex.replace('00', '01'))
  const { stream } = await stage.pairUp({ ...thief, ca: authority.certificate, ciphers: 'TLS_AES_256_GCM_SHA384' })
  assert.deepEqual(stream.credentials, { certificate: undefined, pskIdentity: undefined })
  const owner = await stage.pairUp(withKey('TLSv1.3'))
  assert.equal(owner.stream.credentials?.pskIdentity, 'plant-7')
})

test('an unknown identity is refused like a wrong key, also if there is a certificate', async (t) => {
  const stage = await new TlsStage(t, { psk }).listen()
  for (const unknownIdentity of [withKey('TLSv1.3', 'plant-8'), withKey('TLSv1.3', 'plant-7', hex.replace('00', '01'))])
    assert.match(await stage.refusalOf({ ...unknownIdentity, ca: authority.certificate }), /binder does not verify/)
})

test('a session ticket of an earlier handshake does not replace an identity: the client makes a full handshake', async (t) => {
  const stage = await new TlsStage(t, { psk }).listen()
  const sessions: Buffer[] = []
  const client = stage.client({ maxVersion: 'TLSv1.3' })
  client.on('session', (session) => sessions.push(session))
  const stream = await stage.streams.next()
  stream.write(Buffer.from('hello'), () => {})
  await once(client, 'data')
  const again = await stage.pairUp({ session: sessions[0] })
  assert.equal(again.stream.credentials?.pskIdentity, undefined)
})

/** The alert that a refused client gets, as OpenSSL reports it. */
async function alertTo(stage: TlsStage, options: ConnectionOptions): Promise<string> {
  const client = stage.client(options)
  const failed = once(client, 'error')
  const refused = stage.refusals.next()
  const [error] = (await failed) as [NodeJS.ErrnoException]
  await refused
  return `${error.code}`
}

for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
  for (const hasCertificate of [false, true]) {
    test(`an unknown identity and a wrong key get the same response (${version}, ${hasCertificate ? 'beside a certificate' : 'keys only'})`, async (t) => {
      const stage = await new TlsStage(t, hasCertificate ? { psk } : keyOnly).listen()
      const wrongKey = await alertTo(stage, withKey(version, 'plant-7', hex.replace('00', '01')))
      assert.match(wrongKey, /^ERR_SSL_/)
      for (const identity of ['plant-8', 'somebody', 'plant-7/'])
        assert.equal(await alertTo(stage, withKey(version, identity)), wrongKey, identity)
    })
  }
}
