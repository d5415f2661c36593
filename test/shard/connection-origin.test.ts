import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { describe, test } from 'node:test'
import { toConnectionOrigin } from '../../src/shard/listeners/create-connection.ts'
import type { ShardListener } from '../../src/shard/index.ts'
import { toPeerCertificate } from '../../lib/certificates/peer-certificate.ts'
import type { StreamCredentials } from '../../src/transports/index.ts'
import { Authority, type CertificateOptions } from '../transports/certificates.ts'
import { FakeStream } from './fake-stream.ts'
import { listener } from './stage.ts'

const authority = new Authority('The test authority')

class KnownStream extends FakeStream {
  readonly credentials: StreamCredentials
  constructor(credentials: StreamCredentials) {
    super()
    this.credentials = credentials
  }
}

function namesFrom(subject: CertificateOptions['subject'], fields: Partial<ShardListener>): unknown {
  const { certificate } = authority.issue('device-7', subject === undefined ? {} : { subject })
  const shown = { certificate: toPeerCertificate(new X509Certificate(certificate)), pskIdentity: undefined }
  const arrival = toConnectionOrigin(new KnownStream(shown), { ...listener, ...fields })
  return [arrival?.username, arrival?.clientId]
}

describe('the identity from the transport', () => {
  test('is absent for most clients, and has no effect then', () => {
    assert.equal(toConnectionOrigin(new FakeStream(), { ...listener, peerCertificateAsUsername: 'cn' }), undefined)
  })

  test('is a name only if the listener is configured so', () => {
    assert.deepEqual(namesFrom(undefined, {}), [undefined, undefined])
    assert.deepEqual(namesFrom(undefined, { peerCertificateAsUsername: 'cn' }), ['device-7', undefined])
    assert.deepEqual(namesFrom(undefined, { peerCertificateAsClientId: 'cn' }), [undefined, 'device-7'])
  })

  test('may be the whole subject, the certificate, or its hash', () => {
    const { certificate } = authority.issue('x', {
      subject: [
        ['O', 'Plant'],
        ['CN', 'device-7'],
      ],
    })
    const made = new X509Certificate(certificate)
    const shown = { certificate: toPeerCertificate(made), pskIdentity: undefined }
    const nameBy = (field: ShardListener['peerCertificateAsUsername']): string | undefined =>
      toConnectionOrigin(new KnownStream(shown), { ...listener, peerCertificateAsUsername: field })?.username
    assert.equal(nameBy('dn'), 'CN=device-7,O=Plant')
    assert.equal(nameBy('crt'), made.raw.toString('base64'))
    assert.equal(nameBy('pem'), certificate)
    assert.equal(nameBy('md5'), createHash('md5').update(made.raw).digest('hex'))
  })

  test('is an empty name if the certificate has none: CONNECT does not replace it', () => {
    const byName = { peerCertificateAsUsername: 'cn', peerCertificateAsClientId: 'cn' } as const
    assert.deepEqual(namesFrom([['O', 'Plant']], byName), ['', ''])
    assert.deepEqual(
      namesFrom([['CN', 'admin\0.example.org']], byName),
      ['', ''],
      'a name truncated at U+0000 is another',
    )
  })

  test('is the most specific of several common names', () => {
    assert.deepEqual(
      namesFrom(
        [
          ['CN', 'plant'],
          ['CN', 'device-7'],
        ],
        { peerCertificateAsUsername: 'cn' },
      ),
      ['device-7', undefined],
    )
  })

  test('is the identity of a pre-shared key', () => {
    const stream = new KnownStream({ certificate: undefined, pskIdentity: 'plant-7' })
    const arrival = toConnectionOrigin(stream, { ...listener, peerCertificateAsUsername: 'cn' })
    assert.deepEqual([arrival?.pskIdentity, arrival?.username], ['plant-7', undefined])
  })
})
