import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseProxyHeader } from '../../src/transports/proxy/proxy-header.ts'
import { fc } from '../properties.ts'

const signature = '0d0a0d0a000d0a515549540a'
const tcp4 = 'c63364070a0000019cb8075b'
const tcp6 = '20010db800000000000000000000000720010db80000000000000000000000019cb8075b'

/** Returns a header of version 2. The arguments are hexadecimal. */
function header2(versionAndCommand: string, family: string, body: string, length = body.length / 2): Buffer {
  return Buffer.from(`${signature}${versionAndCommand}${family}${length.toString(16).padStart(4, '0')}${body}`, 'hex')
}

const clientOf = (bytes: Buffer): unknown => {
  const header = parseProxyHeader(bytes)
  assert.equal(header.state, 'complete', JSON.stringify(header))
  return 'client' in header ? header.client : undefined
}
const line = (text: string): Buffer => Buffer.from(text, 'latin1')

const good: readonly (readonly [string, Buffer, object | undefined])[] = [
  ['1, IPv4', line('PROXY TCP4 198.51.100.7 10.0.0.1 40120 1883\r\n'), { address: '198.51.100.7', port: 40_120 }],
  ['1, IPv6', line('PROXY TCP6 2001:db8::7 2001:db8::1 40120 1883\r\n'), { address: '2001:db8::7', port: 40_120 }],
  [
    '1, IPv4 within IPv6, in hexadecimal notation',
    line('PROXY TCP6 ::ffff:c633:6407 ::1 40120 1883\r\n'),
    { address: '198.51.100.7', port: 40_120 },
  ],
  ['1, UNKNOWN', line('PROXY UNKNOWN\r\n'), undefined],
  ['1, UNKNOWN with addresses', line(`PROXY UNKNOWN ${'f'.repeat(39)} ${'f'.repeat(39)} 65535 65535\r\n`), undefined],
  // As in the specification: ports are 0 to 65535, and the data of an unspecified family is skipped.
  ['1, a port of 0', line('PROXY TCP4 198.51.100.7 10.0.0.1 0 0\r\n'), { address: '198.51.100.7', port: 0 }],
  ['2, IPv4', header2('21', '11', tcp4), { address: '198.51.100.7', port: 40_120 }],
  ['2, IPv6', header2('21', '21', tcp6), { address: '2001:db8::7', port: 40_120 }],
  [
    '2, IPv4 within IPv6',
    header2('21', '21', `${'00'.repeat(10)}ffffc6336407${'00'.repeat(16)}9cb8075b`),
    { address: '198.51.100.7', port: 40_120 },
  ],
  ['2, with TLVs', header2('21', '11', `${tcp4}0100046d717474040000`), { address: '198.51.100.7', port: 40_120 }],
  ['2, command LOCAL', header2('20', '00', ''), undefined],
  ['2, command LOCAL with addresses that are ignored', header2('20', '11', tcp4), undefined],
  ['2, an unspecified address family', header2('21', '00', ''), undefined],
  ['2, an unspecified address family with addresses that are ignored', header2('21', '00', tcp4), undefined],
  ['2, a Unix socket', header2('21', '31', '00'.repeat(216)), undefined],
]

describe('a PROXY header', () => {
  for (const [name, bytes, client] of good) {
    test(`${name}: is parsed, and no byte after it is consumed`, () => {
      assert.deepEqual(clientOf(bytes), client)
      const followed = parseProxyHeader(Buffer.concat([bytes, Buffer.from('\x10\x0c')]))
      assert.ok(followed.state === 'complete')
      assert.equal(followed.bytes, bytes.length)
    })

    test(`${name}: is incomplete at every split`, () => {
      for (let length = 0; length < bytes.length; length += 1) {
        assert.equal(parseProxyHeader(bytes.subarray(0, length)).state, 'incomplete', `${length} bytes`)
      }
    })
  }

  const bad: readonly (readonly [string, Buffer])[] = [
    ['MQTT', Buffer.from('100c00044d5154540402003c0000', 'hex')],
    ['TLS', Buffer.from('16030100', 'hex')],
    ['another word than PROXY', line('PROXIES TCP4\r\n')],
    ['version 1 without CRLF', line(`PROXY TCP4 ${'1'.repeat(100)}`)],
    ['version 1 with CRLF after the maximum length', line(`PROXY UNKNOWN ${'x'.repeat(100)}\r\n`)],
    ['version 1 with an unknown address family', line('PROXY UDP4 1.2.3.4 1.2.3.4 1 1\r\n')],
    ['version 1, TCP4 with IPv6 addresses', line('PROXY TCP4 ::1 ::1 1 1\r\n')],
    ['version 1, TCP6 with IPv4 addresses', line('PROXY TCP6 1.2.3.4 1.2.3.4 1 1\r\n')],
    ['version 1 without ports', line('PROXY TCP4 1.2.3.4 1.2.3.4\r\n')],
    ['version 1 with an invalid source port', line('PROXY TCP4 1.2.3.4 1.2.3.4 65536 1\r\n')],
    ['version 1 with leading zeros in a port', line('PROXY TCP4 1.2.3.4 1.2.3.4 01 1\r\n')],
    ['version 1 with text after the ports', line('PROXY TCP4 1.2.3.4 1.2.3.4 1 1 x\r\n')],
    ['version 1 with two spaces', line('PROXY TCP4  1.2.3.4 1.2.3.4 1 1\r\n')],
    ['version 1 with an invalid source address', line('PROXY TCP4 256.2.3.4 1.2.3.4 1 1\r\n')],
    ['version 1 with an invalid destination address', line('PROXY TCP4 1.2.3.4 256.2.3.4 1 1\r\n')],
    ['version 1 with an invalid destination port', line('PROXY TCP4 1.2.3.4 1.2.3.4 1 65536\r\n')],
    ['version 1 with an IPv6 zone', line('PROXY TCP6 fe80::1%eth0 ::1 1 1\r\n')],
    ['version 3', header2('31', '11', tcp4)],
    ['version 2 with an unknown command', header2('22', '11', tcp4)],
    ['version 2, UDP', header2('21', '12', tcp4)],
    ['version 2 with an unknown address family', header2('21', '41', tcp4)],
    ['version 2 too short for its addresses', header2('21', '11', tcp4.slice(0, 22))],
    ['version 2, IPv6 with the addresses of IPv4', header2('21', '21', tcp4)],
    ['[bad-input 13] a TLV longer than the header', header2('21', '11', `${tcp4}0100ff6d71`)],
    ['[bad-input 13] a truncated TLV', header2('21', '11', `${tcp4}0100`)],
    ['a header of 64 KiB, at its sixteenth byte', header2('21', '11', '', 65_535)],
  ]
  for (const [name, bytes] of bad) {
    test(`${name}: is refused`, () => {
      assert.equal(parseProxyHeader(bytes).state, 'malformed')
    })
  }

  test('parsing any bytes throws no error and never waits for more than the maximum', () => {
    const begun = fc.constantFrom(Buffer.from(`${signature}21`, 'hex'), Buffer.from('PROXY TCP4 '), Buffer.alloc(0))
    fc.assert(
      fc.property(begun, fc.uint8Array({ maxLength: 6_000 }), (beginning, bytes) => {
        const all = Buffer.concat([beginning, bytes])
        const header = parseProxyHeader(all)
        if (header.state === 'incomplete') assert.ok(all.length < 16 + 4_096)
        if (header.state === 'complete') assert.ok(header.bytes <= all.length)
      }),
    )
  })
})
