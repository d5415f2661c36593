// Maximum responses to unverified addresses, by section F8 of the gateway requirements.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AddressLimits, createAddressTable } from '../../src/gateways/address-limits.ts'

/** Number of responses that are allowed if each address sends one request. */
function allowed(limits: readonly AddressLimits[], addresses: number, nowMs: number): number {
  let count = 0
  for (let address = 0; address < addresses; address++) {
    const name = `198.51.${address >> 8}.${address & 255}`
    if (limits[address % limits.length].takeResponse({ address: name, port: 1 }, nowMs)) count++
  }
  return count
}

describe('[F8] responses to unverified addresses', () => {
  test('are 10 per second for one address, also from different shards', () => {
    const table = createAddressTable(2)
    const shards = [new AddressLimits(table, 0), new AddressLimits(table, 1)]
    const taken = Array.from({ length: 30 }, (_, count) =>
      shards[count % 2].takeResponse({ address: '192.0.2.7', port: 1 }, 0),
    )
    assert.equal(taken.filter(Boolean).length, 10)
    assert.equal(shards[0].takeResponse({ address: '192.0.2.7', port: 1 }, 99), false)
    assert.equal(shards[0].takeResponse({ address: '192.0.2.7', port: 1 }, 100), true)
    assert.equal(shards[1].takeResponse({ address: '192.0.2.7', port: 1 }, 100), false)
  })

  test('are 1,000 per second for all addresses of all shards', () => {
    const table = createAddressTable(2)
    const shards = [new AddressLimits(table, 0), new AddressLimits(table, 1)]
    assert.equal(allowed(shards, 3_000, 0), 1_000)
    assert.equal(allowed(shards, 3_000, 500), 500)
  })

  test('are limited also when the time in milliseconds exceeds 31 bits', () => {
    const limits = new AddressLimits()
    const endMs = 2 ** 31
    for (let count = 0; count < 10; count++)
      assert.ok(limits.takeResponse({ address: '192.0.2.7', port: 1 }, endMs - 1))
    assert.equal(limits.takeResponse({ address: '192.0.2.7', port: 1 }, endMs), false)
    assert.equal(limits.takeResponse({ address: '192.0.2.7', port: 1 }, endMs + 100), true)
  })
})
