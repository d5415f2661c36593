// URLs of `cluster.stores`.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { formatStoreAddress, parseStoreUrl } from '../../src/storage/postgres/store-address.ts'

describe('the URL of a database', () => {
  test('has hosts in their order, credentials, and files for TLS', () => {
    const url =
      'postgres://god%40wit:p%3Aw@db1,[2001:db8::1]:6432,10.0.0.3:5433/god%2Fwit?sslrootcert=/etc/ca.pem&sslcert=/c.pem&sslkey=/k.pem'
    assert.deepEqual(parseStoreUrl(url), {
      hosts: [
        { host: 'db1', port: 5432 },
        { host: '2001:db8::1', port: 6432 },
        { host: '10.0.0.3', port: 5433 },
      ],
      database: 'god/wit',
      user: 'god@wit',
      password: 'p:w',
      sslMode: 'verify-full',
      rootCertificateFile: '/etc/ca.pem',
      certificateFile: '/c.pem',
      keyFile: '/k.pem',
    })
  })

  test('encrypts and verifies unless all hosts are on this machine or it says otherwise', () => {
    const modes = [
      ['127.0.0.1,[::1],localhost', undefined, 'disable'],
      ['127.0.0.1,db', undefined, 'verify-full'],
      ['127.evil.example', undefined, 'verify-full'],
      ['db', 'disable', 'disable'],
      ['db', 'require', 'require'],
      ['127.0.0.1', 'verify-ca', 'verify-ca'],
    ] as const
    for (const [hosts, mode, expected] of modes) {
      const address = parseStoreUrl(`postgresql://u@${hosts}/d${mode === undefined ? '' : `?sslmode=${mode}`}`)
      assert.equal('sslMode' in address && address.sslMode, expected, `${hosts} ${mode}`)
    }
  })

  test('is shown without its password', () => {
    const address = parseStoreUrl('postgres://u:secret@db1:1,[::1]:2/d')
    assert.equal('problem' in address || formatStoreAddress(address), 'db1:1,[::1]:2/d')
  })

  test('is refused with what is wrong, without its password', () => {
    const problems = [
      ['mysql://u:secret@h/d', /is not a URL such as postgres:/],
      ['postgres://u:secret@h,/d', /has an invalid host: ""/],
      ['postgres://u:secret@h:0/d', /has an invalid host: "h:0"/],
      ['postgres://u:secret@h:99999/d', /has an invalid host: "h:99999"/],
      [`postgres://u:secret@${'h,'.repeat(16)}h/d`, /has 17 hosts; maximum 16/],
      ['postgres://h/d', /has no user/],
      ['postgres://u:secret@h', /has no database/],
      ['postgres://u:secret@h/', /has no database/],
      ['postgres://u:secret%@h/d', /invalid percent encoding/],
      ['postgres://u:secret@h/d?sslmode=prefer', /unknown sslmode: "prefer"; known are disable/],
      ['postgres://u:secret@h/d?options=x', /unknown parameter "options"; known are sslmode/],
      ['postgres://u:secret@h/d?target_session_attrs=any', /only a server that accepts writes can be used/],
    ] as const
    for (const [url, problem] of problems) {
      const found = parseStoreUrl(url)
      assert.ok('problem' in found, url)
      assert.match(found.problem, problem)
      assert.doesNotMatch(found.problem, /secret/)
    }
  })
})
