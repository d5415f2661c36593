// Errors of OpenSSL in handshakes, as text for administrators.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  describeCertificateError,
  describeHandshakeError,
  readOpenSslReason,
} from '../../src/transports/certificates/describe-tls-error.ts'

const withCode = (message: string, more: object): Error => Object.assign(new Error(message), more)

const raw =
  'C076FFF7FE7E0000:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:../deps/a.c:77:'

test('a known error is a sentence that says what to do', () => {
  const text = describeHandshakeError(
    withCode(raw, { code: 'ERR_SSL_WRONG_VERSION_NUMBER', reason: 'wrong version number' }),
  )
  assert.equal(
    text,
    'the client did not speak TLS: configure TLS in the client (mqtts://), or let it use a listener without TLS',
  )
})

test('an unknown error has the reason only, without numbers and lines of the source of OpenSSL', () => {
  assert.equal(
    describeHandshakeError(withCode(raw, { code: 'ERR_SSL_NEW' })),
    'TLS handshake failed: wrong version number',
  )
  assert.equal(readOpenSslReason(withCode(raw, { reason: 'bad record' })), 'bad record')
  assert.equal(readOpenSslReason(new Error('plain words')), 'plain words')
})

test('an invalid certificate has a reason in words', () => {
  assert.equal(describeCertificateError('CERT_HAS_EXPIRED'), 'it has expired')
  assert.equal(describeCertificateError('SOMETHING_NEW'), 'something new')
})
