// Clients that the transport has identified: by a certificate, or by a pre-shared key.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AccessSettings } from '../../src/access/index.ts'
import { reasonCodes } from '../../src/protocol/index.ts'
import { AccessStage, credential, outcomeOf, type RequestOptions } from './stage.ts'

const { badUserNameOrPassword, notAuthorized } = reasonCodes

const certificate = {
  commonName: 'device-7',
  subject: 'CN=device-7,O=Plant',
  serialNumber: '0A',
  fingerprint: 'ab'.repeat(32),
  der: new Uint8Array(),
}

/** The user name of an accepted client, or the code with which it is refused. */
function nameOf(settings: Partial<AccessSettings>, options: RequestOptions): unknown {
  const stage = new AccessStage(settings)
  stage.access.applyRecords({ put: [credential('username', 'alice', 'secret')], delete: [] })
  const decision = stage.decision(options)
  return decision.allowed === true ? decision.identity?.username : outcomeOf(decision)
}

test('a client with a certificate has the user name of the certificate, whatever CONNECT contains', () => {
  const chain = ['certificate', 'password'] as const
  const origin = { certificate }
  for (const [certificateName, expected] of [
    ['common_name', 'device-7'],
    ['subject', 'CN=device-7,O=Plant'],
    ['serial_number', '0A'],
    ['fingerprint', certificate.fingerprint],
  ] as const) {
    assert.equal(nameOf({ chain, certificateName }, { origin, username: 'admin' }), expected)
  }
})

test('a certificate without the required name authenticates no client', () => {
  for (const commonName of [undefined, '']) {
    const origin = { certificate: { ...certificate, commonName } }
    assert.equal(nameOf({ chain: ['certificate'], allowAnonymous: true }, { origin, username: 'admin' }), notAuthorized)
  }
})

test('the user name field of the listener replaces that of the chain', () => {
  const origin = { certificate, username: 'by-listener' }
  assert.equal(nameOf({ chain: ['certificate'] }, { origin, username: 'admin' }), 'by-listener')
})

test('a client with a pre-shared key has the identity of the key', () => {
  const origin = { pskIdentity: 'meter-1' }
  assert.equal(nameOf({ chain: ['psk'] }, { origin, username: 'admin' }), 'meter-1')
})

test('without a certificate or key, the next authenticator of the chain decides', () => {
  const chain = ['certificate', 'psk', 'password'] as const
  assert.equal(nameOf({ chain }, { origin: {}, username: 'alice', password: 'secret' }), 'alice')
  assert.equal(nameOf({ chain }, { origin: {}, username: 'alice', password: 'wrong' }), badUserNameOrPassword)
})

test('a certificate is accepted only if the chain includes it', () => {
  const origin = { certificate, pskIdentity: 'meter-1' }
  assert.equal(nameOf({ chain: ['password'] }, { origin, username: 'alice', password: 'wrong' }), badUserNameOrPassword)
  assert.equal(nameOf({ chain: ['password'] }, { origin }), notAuthorized)
})

test('a key of a namespace applies there before one without a namespace, which applies to all', () => {
  const { access } = new AccessStage()
  const [own, common] = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)]
  const put = [
    { kind: 'psk', namespace: 'plant', identity: 'meter-1', key: own },
    ...['meter-1', 'meter-2'].map((identity) => ({ kind: 'psk', identity, key: common }) as const),
  ] as const
  access.applyRecords({ put, delete: [] })
  assert.deepEqual(access.findPreSharedKey('meter-1', 'plant'), own)
  assert.deepEqual(access.findPreSharedKey('meter-2', 'plant'), common)
  assert.deepEqual(access.findPreSharedKey('meter-1', 'shop'), common)
})

test('an identity with the same start as one of a namespace is unknown there', () => {
  const { access } = new AccessStage()
  const key = Buffer.alloc(16, 1)
  access.applyRecords({ put: [{ kind: 'psk', namespace: 'plant', identity: 'meter-1', key }], delete: [] })
  assert.deepEqual(access.findPreSharedKey('meter-1', 'plant'), key)
  assert.equal(access.findPreSharedKey('meter-1', undefined), undefined)
  assert.equal(access.findPreSharedKey('plant\0meter-1', undefined), undefined)
})
