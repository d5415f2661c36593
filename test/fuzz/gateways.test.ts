// A short run with mutated datagrams and frames; the long one is `npm run fuzz:gateways -- --count 2000000 --protocol mqttsn`.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fuzzDtls } from './fuzz-dtls.ts'
import { fuzzedProtocols, fuzzGateway } from './fuzz-gateway.ts'
import { fuzzStomp } from './fuzz-stomp.ts'
import { testLength } from '../test-length.ts'

const runs = testLength({ daily: 8_000, long: 20_000 })

describe('[F8] mutated datagrams', () => {
  for (const name of fuzzedProtocols) {
    test(`of ${name} do not stop the gateway, and a response to an unauthenticated client is at most three times as long as the request`, () => {
      const { malformed, responses } = fuzzGateway(name, { count: runs, seed: 20_261_124 })
      assert.ok(malformed > 0 && responses > 0)
    })
  }
})

test('[F8] mutated records and handshakes do not stop the DTLS server, and a response to an unverified address is at most three times as long as the request', () => {
  const { opened, refused, responses } = fuzzDtls({ count: runs, seed: 20_261_126 })
  assert.ok(opened > 0 && refused > 0 && responses > 0)
})

test('mutated frames do not stop the STOMP gateway, however they are divided into chunks', () => {
  const { errors, receipts } = fuzzStomp({ count: runs / 2, seed: 20_261_124 })
  assert.ok(errors > runs / 200 && receipts > runs / 200, `${errors} errors, ${receipts} receipts`)
})
