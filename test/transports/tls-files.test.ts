// Certificates and keys on disk: which are accepted or refused, and their changes while connections are open.

import assert from 'node:assert/strict'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import type { TlsConfig } from '../../src/config/index.ts'
import { findTlsFilesProblem } from '../../src/transports/index.ts'
import { parsePskFile } from '../../src/transports/certificates/psk-file.ts'
import { authority, server, serverName, plainTls, TlsStage } from './tls-stage.ts'

const renewed = authority.issue(serverName, { hostNames: [serverName] })
const serialOf = (certificate: string): string => new X509Certificate(certificate).serialNumber

async function serialSeen(stage: TlsStage): Promise<string> {
  const { client } = await stage.pairUp()
  return client.getPeerCertificate().serialNumber
}

describe('certificates that change', () => {
  test('are sent to new clients, and do not affect connected clients', async (t) => {
    const stage = await new TlsStage(t).listen()
    const early = await stage.pairUp()
    assert.equal(early.client.getPeerCertificate().serialNumber, serialOf(server.certificate))
    stage.writeIdentity(renewed)
    await stage.gate.reload()
    assert.equal(await serialSeen(stage), serialOf(renewed.certificate))
    early.stream.write(Buffer.from('still there'), () => {})
    const [chunk] = await once(early.client, 'data')
    assert.equal(String(chunk), 'still there')
  })

  test('are noticed without a reload', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const stage = await new TlsStage(t).listen()
    stage.write('key.pem', '')
    t.mock.timers.tick(5_000)
    assert.match(await stage.problems.next(), /key\.pem contains no readable private key/)
  })

  const halves: readonly (readonly [string, (stage: TlsStage) => void, RegExp])[] = [
    [
      'the certificate is there and its key is not yet',
      (s) => s.write('cert.pem', renewed.certificate),
      /is not the key/,
    ],
    [
      'the file is half written',
      (s) => s.write('cert.pem', renewed.certificate.slice(0, 300)),
      /no complete PEM block/,
    ],
    ['the file is empty', (s) => s.write('cert.pem', ''), /no complete PEM block/],
    [
      'the authorities are empty, which would accept no certificate or all',
      (s) => s.write('ca.pem', ''),
      /ca\.pem contains/,
    ],
  ]
  for (const [name, breakFiles, problem] of halves) {
    test(`do not replace the ones in force while ${name}`, async (t) => {
      const stage = await new TlsStage(t).listen()
      breakFiles(stage)
      await stage.gate.reload()
      assert.match(await stage.problems.next(), problem)
      await stage.gate.reload()
      assert.equal(await serialSeen(stage), serialOf(server.certificate))

      stage.write('ca.pem', authority.certificate)
      stage.writeIdentity(renewed)
      await stage.gate.reload()
      assert.equal(await stage.problems.next(), 'in order again', 'reported once each: the fault, and its end')
      assert.equal(await serialSeen(stage), serialOf(renewed.certificate))
    })
  }
})

test('files of settings that were replaced are not checked any more', async (t) => {
  const stage = await new TlsStage(t).listen()
  const other = new TlsStage(t, { identity: renewed })
  stage.change(other.gate)
  assert.equal(await serialSeen(stage), serialOf(renewed.certificate))
  stage.write('cert.pem', 'damaged')
  await stage.gate.reload()
  assert.equal(stage.problems.left, 0)
  other.write('cert.pem', 'damaged')
  await stage.reload()
  assert.equal(other.problems.left, 1, 'at once, and not at the next check')
  assert.match(await other.problems.next(), /no complete PEM block/)
})

const key16 = '00112233445566778899aabbccddeeff'

for (const file of ['cert.pem', 'key.pem', 'ca.pem', 'crl.pem', 'psk.txt', 'shop.pem', 'shop-key.pem']) {
  test(`${file} is one of the files that are checked`, async (t) => {
    const folder = new TlsStage(t)
    const named = { certFile: folder.write('shop.pem', renewed.certificate), keyPassword: undefined }
    const byServerName = [
      { ...named, keyFile: folder.write('shop-key.pem', renewed.key), name: 'shop', serverName: 'shop.example.org' },
    ]
    const stage = await new TlsStage(t, { crl: authority.revoke(), psk: `a:${key16}`, byServerName }).listen()
    await stage.reload()
    assert.equal(stage.problems.left, 0)
    const whose = file.startsWith('shop') ? folder : stage
    whose.write(file, 'damaged')
    await stage.reload()
    assert.equal(stage.problems.left, 1)
  })
}

function problemWith(stage: TlsStage, change: Partial<TlsConfig> & { readonly keyPassword?: string }): string {
  const { keyPassword, ...settings } = change
  const problem = findTlsFilesProblem({
    ...plainTls,
    certificate: { ...stage.pair(), keyPassword },
    ...settings,
  })
  if (problem === undefined) return ''
  const { setting, certificateName, message } = problem
  return `${certificateName ?? ''}${setting}: ${message.replaceAll(stage.folder, '')}`
}

describe('files that cannot be used', () => {
  const key = createPrivateKey(server.key)
  const locked = key
    .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'open sesame' })
    .toString()

  test('are named with their setting', (t) => {
    const stage = new TlsStage(t)
    const other = stage.write('other.pem', authority.issue('other').key)
    const text = stage.write('text.pem', 'no PEM at all')
    const pair = stage.pair()
    assert.equal(problemWith(stage, {}), '')
    const missing = { ...pair, certFile: stage.path('none.pem') }
    assert.equal(problemWith(stage, { certificate: missing }), 'certfile: cannot read /none.pem: there is no such file')
    assert.match(problemWith(stage, { certificate: { ...pair, certFile: stage.folder } }), /^certfile: .*a directory/)
    assert.match(
      problemWith(stage, { certificate: { ...pair, keyFile: other } }),
      /^keyfile: \/other\.pem is not the key/,
    )
    assert.match(
      problemWith(stage, { certificate: { ...pair, keyFile: text } }),
      /^keyfile: \/text\.pem contains no readable private/,
    )
    assert.match(problemWith(stage, { caFile: text }), /^cacertfile: \/text\.pem/)
    assert.match(problemWith(stage, { crlFile: text }), /^crlfile: \/text\.pem/)
    assert.match(problemWith(stage, { crlFile: pair.certFile }), /^crlfile: \/cert\.pem/)
    const lists = stage.write('crl.pem', `nor one of two lists`)
    assert.match(
      problemWith(stage, { crlFile: lists }),
      /^crlfile: \/crl\.pem contains no complete/,
      'nor one list of two',
    )
    assert.match(problemWith(stage, { ciphers: 'NONE-SUCH' }), /^ciphers: /)
    assert.match(problemWith(stage, { pskFile: text }), /^psk_file: \/text\.pem, line 1: no identity/)
    const named = { ...pair, keyFile: other, name: 'shop', serverName: 'shop.example.org' }
    assert.match(problemWith(stage, { byServerName: [named] }), /^shopkeyfile: \/other\.pem is not the key/)
  })

  test('may be encrypted keys, and a wrong password is reported as that', (t) => {
    const stage = new TlsStage(t)
    stage.write('key.pem', locked)
    assert.equal(problemWith(stage, { keyPassword: 'open sesame' }), '')
    assert.match(problemWith(stage, { keyPassword: 'open barley' }), /^keyfile: .*key_password is not its password/)
    assert.match(problemWith(stage, {}), /^keyfile: /)
    assert.ok(!problemWith(stage, { keyPassword: 'open barley' }).includes('barley'))
  })
})

describe('a file of pre-shared keys', () => {
  test('has a line for each, and comments between them', () => {
    const parsed = parsePskFile('# ours\n\nplant-7:00112233445566778899aabbccddeeff\r\n a:b : FFEEDDCCBBAA9988\n')
    assert.ok('line' in parsed, 'there is a space before the key')
    const good = parsePskFile('# ours\n\nplant-7:00112233445566778899aabbccddeeff\r\na:b:FFEEDDCCBBAA9988\n')
    assert.ok('keys' in good)
    assert.deepEqual(
      [...good.keys].map(([identity, key]) => [identity, key.toString('hex')]),
      [
        ['plant-7', '00112233445566778899aabbccddeeff'],
        ['a:b', 'ffeeddccbbaa9988'],
      ],
    )
  })

  const faulty: readonly (readonly [string, number, RegExp])[] = [
    ['a:00112233445566778899aabbccddeeff\nb', 2, /no identity/],
    [':00112233445566778899aabbccddeeff', 1, /no identity/],
    ['a:0011223344556677889', 1, /not hexadecimal/],
    ['a:secret', 1, /not hexadecimal/],
    ['a:', 1, /not hexadecimal/],
    ['a:00', 1, /has 1 bytes/],
    [`a:${'00'.repeat(257)}`, 1, /has 257 bytes/],
    [`${'a'.repeat(129)}:0011223344556677`, 1, /longer than 128/],
    ['a:0011223344556677\na:7766554433221100', 2, /occurs twice/],
  ]
  for (const [text, line, problem] of faulty) {
    test(`with a fault is refused completely, with its line: ${JSON.stringify(text.slice(0, 40))}`, () => {
      const parsed = parsePskFile(text)
      assert.ok('problem' in parsed)
      assert.equal(parsed.line, line)
      assert.match(parsed.problem, problem)
      assert.doesNotMatch(parsed.problem, /secret|0011/)
    })
  }
})
