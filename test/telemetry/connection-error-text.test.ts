import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeConnectionError, describeServiceError } from '../../src/telemetry/index.ts'

const withCode = (code: string, message = ''): Error => Object.assign(new Error(message), { code })
const inService = (error: Error): string => describeServiceError(error, 'ssl.cacertfile')
const textOf = (error: Error): string => describeConnectionError(error, '--ca FILE')

test('system errors are described in sentences; for several addresses, the last error is used', () => {
  assert.match(textOf(withCode('ECONNREFUSED')), /no server listens there/)
  const both = new AggregateError([withCode('ENETUNREACH'), withCode('ETIMEDOUT')])
  assert.equal(textOf(both), 'there was no response in time')
})

test('the error for an untrusted certificate names the option for its authority', () => {
  for (const code of ['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'])
    assert.match(textOf(withCode(code, 'self-signed certificate; try running Node.js')), /^the cert.* in --ca FILE$/)
})

test('the error for a wrong host name does not list the names in the certificate', () => {
  const text = textOf(withCode('ERR_TLS_CERT_ALTNAME_INVALID', 'altnames: DNS:\u001B[31mevil'))
  assert.match(text, /for other names/)
  assert.doesNotMatch(text, /evil/)
})

test('error numbers and source lines of OpenSSL are not shown', () => {
  const start = 'write EPROTO 40EDD0D0267F0000:error:0A00010B:SSL routines:tls_validate_record_header:'
  assert.match(textOf(withCode('EPROTO', `${start}wrong version number:../a.c:77:\n`)), /does not speak TLS/)
  assert.equal(textOf(withCode('EPROTO', `${start}bad things:../a.c:77:\n`)), 'bad things')
})

test('another error keeps its message', () => {
  assert.equal(textOf(new Error('the broker closed the connection')), 'the broker closed the connection')
})

test('an error of a service has the address; a library may quote the message of the system', () => {
  const sentence = 'the connection is refused: no server listens there (127.0.0.1:1)'
  const system = Object.assign(withCode('ECONNREFUSED', 'connect ECONNREFUSED 127.0.0.1:1'), {
    address: '127.0.0.1',
    port: 1,
  })
  assert.equal(inService(system), sentence)
  assert.equal(inService(new AggregateError([withCode('ETIMEDOUT'), system])), sentence)
  assert.equal(inService(new Error('connect ECONNREFUSED 127.0.0.1:1')), sentence)
  assert.equal(
    inService(new Error('Connection error: connect ECONNREFUSED [::1]:9')),
    `Connection error: ${sentence.replace('127.0.0.1:1', '[::1]:9')}`,
  )
  assert.equal(inService(new Error('getaddrinfo ENOTFOUND no.example')), 'there is no host of this name (no.example)')
  assert.match(inService(withCode('SELF_SIGNED_CERT_IN_CHAIN', 'self-signed')), /in ssl\.cacertfile$/)
  for (const own of ['WRONGTYPE Operation against a key', 'connect EOTHER 127.0.0.1:1', 'no response within 5 ms'])
    assert.equal(inService(new Error(own)), own)
})
