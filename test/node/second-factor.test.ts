import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { computeCode, formatOtpauthUri, findStep, writeBase32 } from '../../src/node/admins/totp.ts'
import { createSecondFactors } from '../../src/node/admins/second-factor.ts'
import { hashSecret } from '../../src/node/admins/password-hashing.ts'
import { openAccessRecords } from '../../src/node/records/stored-access-records.ts'
import type { AccountRecord } from '../../src/records/index.ts'
import { openMemoryStore } from '../../src/storage/index.ts'

const secret = Buffer.from('12345678901234567890')

describe('one-time codes', () => {
  test('are those of RFC 6238, appendix B, with six digits', () => {
    const known: readonly (readonly [seconds: number, code: string])[] = [
      [59, '287082'],
      [1_111_111_109, '081804'],
      [1_111_111_111, '050471'],
      [1_234_567_890, '005924'],
      [2_000_000_000, '279037'],
      [20_000_000_000, '353130'],
    ]
    for (const [seconds, code] of known) assert.equal(computeCode(secret, Math.floor(seconds / 30)), code)
  })

  test('are accepted one interval early or late, and not otherwise', () => {
    const found = [-2, -1, 0, 1, 2].map((late) => findStep(secret, computeCode(secret, 100), (100 + late) * 30_000))
    assert.deepEqual(found, [undefined, 100, 100, 100, undefined])
    for (const text of ['', '12345', `${computeCode(secret, 100)} `, `${computeCode(secret, 100)}0`, 'ünicod']) {
      assert.equal(findStep(secret, text, 3_000_000), undefined, text)
    }
  })

  test('have a secret in the format of authenticator programs', () => {
    assert.equal(writeBase32(secret), 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ')
    assert.equal(writeBase32(Buffer.from('fooba')), 'MZXW6YTB')
    assert.equal(writeBase32(Buffer.from('foob')), 'MZXW6YQ')
    assert.equal(
      formatOtpauthUri(secret, 'a b/ü', 'Godwit n'),
      'otpauth://totp/Godwit%20n:a%20b%2F%C3%BC?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Godwit%20n',
    )
  })
})

const ann: AccountRecord = {
  kind: 'account',
  name: 'ann',
  description: '',
  role: 'viewer',
  namespace: undefined,
  password: hashSecret('a password'),
  createdAtMs: 1,
  secondFactor: { secret, isConfirmed: false, lastStep: 0 },
}

async function stage(record: AccountRecord = ann) {
  const records = await openAccessRecords({ store: openMemoryStore(), sendToShards: async () => {} })
  await records.decide(() => ({ put: [record], delete: [] }))
  const clock = { nowMs: 3_000_000 }
  const own = { username: 'admin', password: 'configured' }
  const factors = createSecondFactors({
    records,
    readConfiguredAccount: () => own,
    nodeName: 'n',
    nowMs: () => clock.nowMs,
  })
  return { records, clock, factors }
}

describe('the second factor of an account', () => {
  test('shows its secret until the first correct code, and accepts each code once', async () => {
    const { records, clock, factors } = await stage()
    const missing = await factors.check('ann', undefined)
    assert.ok(typeof missing === 'object' && missing.secret === writeBase32(secret))
    const code = computeCode(secret, 100)
    // Two simultaneous logins with the same code.
    assert.deepEqual((await Promise.all([factors.check('ann', code), factors.check('ann', code)])).toSorted(), [
      'passed',
      'wrong',
    ])
    assert.deepEqual(await factors.check('ann', ''), { missing: true })
    assert.equal(await factors.check('ann', computeCode(secret, 99)), 'wrong', 'an earlier interval')
    clock.nowMs += 30_000
    assert.equal(await factors.check('ann', computeCode(secret, 101)), 'passed')
    const found = records.find({ kind: 'account', name: 'ann' })
    assert.deepEqual(found, { ...ann, secondFactor: { secret, isConfirmed: true, lastStep: 101 } })
    assert.equal(found?.password, ann.password, 'the same object, so that existing logins remain valid')
  })

  test('is not needed by other accounts', async () => {
    const { factors } = await stage({ ...ann, name: 'admin' })
    assert.equal(await factors.check('nobody', undefined), 'not-needed')
    assert.equal(
      await factors.check('admin', undefined),
      'not-needed',
      'the account of the configuration has no second factor',
    )
  })

  test('refuses all codes for five minutes after ten wrong ones', async () => {
    const { clock, factors } = await stage()
    for (let time = 0; time < 10; time++) assert.equal(await factors.check('ann', '000000'), 'wrong')
    assert.equal(await factors.check('ann', computeCode(secret, 100)), 'too-many')
    clock.nowMs += 300_000
    assert.equal(await factors.check('ann', computeCode(secret, 110)), 'passed')
  })
})
