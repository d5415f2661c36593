// Revocation lists with QUIC. For TLS, OpenSSL reads them: see tls.test.ts.

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { readRevocationLists } from '../../src/transports/certificates/revocation-lists.ts'
import { Authority } from './certificates.ts'

const plant = new Authority('plant')
const shop = new Authority('shop')
const [seven, eight, other] = [plant.issue('7'), plant.issue('8'), shop.issue('7')].map(
  ({ certificate }) => certificate,
)
const authorities = plant.certificate + shop.certificate
const nowMs = Date.now()
const hourMs = 3_600_000

function refusalOf(lists: string, certificate = '', atMs = nowMs): string | undefined {
  const read = readRevocationLists(lists, authorities)
  assert.ok('lists' in read, JSON.stringify(read))
  return read.lists.findRefusal([new X509Certificate(certificate).raw], atMs)
}

function problemOf(lists: string, by = authorities): string {
  const read = readRevocationLists(lists, by)
  return 'problem' in read ? read.problem : ''
}

function asPem(der: Buffer): string {
  return `-----BEGIN X509 CRL-----\n${der.toString('base64')}\n-----END X509 CRL-----\n`
}

test('a certificate in the list of its authority is refused, and others are not', () => {
  assert.equal(refusalOf(plant.revoke(seven ?? ''), seven), 'its certificate has been revoked')
  assert.equal(refusalOf(plant.revoke(seven ?? ''), eight), undefined)
  assert.equal(refusalOf(plant.revoke(), seven), undefined)
})

test('an authority without a list verifies no certificate, nor does one whose list has expired', () => {
  assert.match(refusalOf(plant.revoke(), other) ?? '', /no list/)
  assert.equal(refusalOf(plant.revoke() + shop.revoke(), other), undefined)
  const list = plant.revokeUntil(new Date(nowMs + hourMs))
  assert.equal(refusalOf(list, seven, nowMs), undefined)
  assert.match(refusalOf(list, seven, nowMs + hourMs + 1_000) ?? '', /has expired/)
})

test('a revocation list is valid only if its authority signed it', () => {
  assert.match(
    problemOf(new Authority('elsewhere').revoke()),
    /^list 1: it is of an authority that is not in cacertfile/,
  )
  assert.match(problemOf(shop.revoke() + new Authority('plant').revoke()), /^list 2: it is not signed by its authority/)
  assert.match(problemOf(plant.revoke(), shop.certificate), /not in cacertfile/)
})

test('a list with any changed byte is refused, and so is a truncated one', () => {
  const der = Buffer.from(plant.revoke(seven ?? '').replace(/-----[^-]+-----/g, ''), 'base64')
  assert.equal(problemOf(asPem(der)), '')
  for (let at = 0; at < der.length; at += 1) {
    const changed = Buffer.from(der)
    changed[at] = (changed[at] ?? 0) ^ 0x41
    // Unused bits of the signature are ignored, which changes nothing.
    if (problemOf(asPem(changed)) === '') assert.equal(der[at], 0, `byte ${at}`)
    assert.notEqual(problemOf(asPem(der.subarray(0, at))), '', `${at} bytes`)
  }
})

test('of two lists of one authority, the newer applies, whatever their order is', () => {
  const [older, newer] = [plant.revokedBefore(2 * hourMs), plant.revokedBefore(hourMs, seven ?? '')]
  for (const lists of [older + newer, newer + older])
    assert.equal(refusalOf(lists, seven), 'its certificate has been revoked')
  const [full, empty] = [plant.revokedBefore(2 * hourMs, seven ?? ''), plant.revokedBefore(hourMs)]
  for (const lists of [full + empty, empty + full]) assert.equal(refusalOf(lists, seven), undefined)
})

for (const about of ['list', 'entry'] as const) {
  test(`a list with a critical extension of ${about === 'list' ? 'its own' : 'an entry'} is refused`, () => {
    assert.match(
      problemOf(plant.revokeOnly(about, true, seven)),
      /^list 1: it has a critical extension, which is not supported/,
    )
    assert.equal(refusalOf(plant.revokeOnly(about, false, seven), seven), 'its certificate has been revoked')
  })
}

test('every authority of the chain is checked: an intermediate one needs a list and may be revoked, too', () => {
  const branch = new Authority('branch', plant)
  const { certificate } = branch.issue('9')
  const refusal = (lists: string, { sends = [certificate], by = plant.certificate + branch.certificate } = {}) => {
    const read = readRevocationLists(lists, by)
    assert.ok('lists' in read, JSON.stringify(read))
    return read.lists.findRefusal(
      sends.map((one) => new X509Certificate(one).raw),
      nowMs,
    )
  }
  const good = branch.revoke() + plant.revoke()
  assert.equal(refusal(good), undefined)
  assert.equal(refusal(good, { sends: [certificate, branch.certificate] }), undefined)
  assert.equal(refusal(branch.revoke(certificate) + plant.revoke()), 'its certificate has been revoked')
  assert.equal(refusal(branch.revoke() + plant.revoke(branch.certificate)), 'its certificate has been revoked')
  assert.match(refusal(branch.revoke()) ?? '', /no list/)
  assert.match(refusal(plant.revoke()) ?? '', /no list/)
  assert.match(refusal(branch.revoke(), { by: branch.certificate }) ?? '', /no list/)
})
