import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkToken } from '../../src/access/tokens/token-check.ts'
import { readTokenKeys } from '../../src/access/index.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'
import { runCtlHere } from '../cli/ctl/ctl.ts'

const pairs = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2_048 }),
  ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ed25519: generateKeyPairSync('ed25519'),
}

for (const [kind, { privateKey }] of Object.entries(pairs)) {
  test(`a token signed with a key of kind ${kind} is valid for its public key, and expires`, async (t) => {
    const file = join(await temporaryFolder(t), 'key.pem')
    await writeFile(file, privateKey.export({ type: 'pkcs8', format: 'pem' }))
    const words = ['--subject', 'ops', '--role', 'viewer', '--valid-for', '10m']
    const { code, output, errors } = await runCtlHere(['token', '--key', file, ...words])
    assert.deepEqual([code, errors], [0, ''])
    const text = String(createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }))
    const read = readTokenKeys({ kind: 'public-key', text })
    assert.ok('keys' in read)
    const [key] = read.keys
    const nowMs = Date.now()
    const checked = await checkToken(output.trim(), key, { nowMs, leewayMs: 5_000 })
    assert.ok('claims' in checked)
    assert.deepEqual([checked.claims.sub, checked.claims['role']], ['ops', 'viewer'])
    const later = await checkToken(output.trim(), key, { nowMs: nowMs + 700_000, leewayMs: 0 })
    assert.ok('problem' in later)
  })
}

test('a missing key, an invalid duration and an invalid key are reported', async (t) => {
  const file = join(await temporaryFolder(t), 'key.pem')
  await writeFile(file, 'not a key')
  for (const [words, code, sentence] of [
    [['token'], 2, /--key FILE/],
    [['token', '--key', file, '--valid-for', 'long'], 2, /--valid-for long/],
    [['token', '--key', '/nowhere'], 1, /\/nowhere/],
    [['token', '--key', file], 1, /no private key in PEM/],
  ] as const) {
    const ended = await runCtlHere(words)
    assert.equal(ended.code, code)
    assert.match(ended.errors, /^godwit: [^\n]+\n$/)
    assert.match(ended.errors, sentence)
  }
})
