// The times of a token are numbers of seconds [RFC7519-2], for clients and the API: both use `checkToken`.

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { checkToken } from '../../src/access/index.ts'

const nowSeconds = 1_800_000_000
const secret = Buffer.alloc(32, 7)

/** Claims are JSON as an issuer may write it: `1e999` is a number there. */
async function isAccepted(claims: Record<string, string | undefined>): Promise<boolean> {
  const members = Object.entries(claims).filter(([, json]) => json !== undefined)
  const payload = `{${members.map(([name, json]) => `"${name}":${json}`).join(',')}}`
  const input = [JSON.stringify({ alg: 'HS256' }), payload]
    .map((text) => Buffer.from(text).toString('base64url'))
    .join('.')
  const signature = createHmac('sha256', secret).update(input).digest('base64url')
  const key = { key: secret, algorithms: ['HS256'], keyId: undefined }
  return 'claims' in (await checkToken(`${input}.${signature}`, key, { nowMs: nowSeconds * 1_000, leewayMs: 0 }))
}

const wrongTypes = ['"text"', '""', 'null', 'true', '[]', '{}', '1e999', '-1e999', '1e300', `[${nowSeconds + 60}]`]
const texts = [`"${nowSeconds + 60}"`, `"${nowSeconds - 60}"`, '"1e10"', '"0x7fffffff"', `" ${nowSeconds + 60}"`]

test('a token is accepted only if exp, nbf and iat are numbers of seconds', async () => {
  const good = { exp: String(nowSeconds + 60), nbf: String(nowSeconds), iat: String(nowSeconds) }
  assert.equal(await isAccepted(good), true)
  assert.equal(
    await isAccepted({ exp: `${nowSeconds + 60}.5`, nbf: `${nowSeconds - 1}.5` }),
    true,
    'fractions are numbers',
  )
  for (const name of ['exp', 'nbf', 'iat'] as const)
    for (const json of [...wrongTypes, ...texts])
      assert.equal(await isAccepted({ ...good, [name]: json }), false, `${name}: ${json}`)
})

test('a token without exp, or with one in the past or before 1970, is refused', async () => {
  for (const exp of [undefined, '0', '-1', String(nowSeconds), String(nowSeconds - 1), `-${nowSeconds + 60}`])
    assert.equal(await isAccepted({ exp }), false, exp)
})
