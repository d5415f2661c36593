import assert from 'node:assert/strict'
import { test } from 'node:test'
import { computeCode } from '../../src/node/admins/totp.ts'
import { startBrokerWithApi } from '../management/api.ts'
import { readQrCode } from './read-qr-code.ts'
import { assertQuiet, openAt } from './browser.ts'

/** RFC 4648 6. */
function bytesOfBase32(text: string): Uint8Array {
  const bits = Array.from(text, (letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  )
  return Uint8Array.from(bits.join('').match(/.{8}/g) ?? [], (byte) => Number.parseInt(byte, 2))
}

/** The dark modules of the picture, without its margin. */
function modulesOf(svg: string): boolean[][] {
  const dark = new Set([...svg.matchAll(/M(\d+) (\d+)h1v1h-1z/g)].map(([, x, y]) => `${x} ${y}`))
  const size = Number(/<rect width="(\d+)"/.exec(svg)?.[1])
  const line = Array.from({ length: size - 8 }, (_, at) => at + 4)
  return line.map((y) => line.map((x) => dark.has(`${x} ${y}`)))
}

test('an account enrols for one-time codes, logs in with them, and an administrator removes them', async (t) => {
  const broker = await startBrokerWithApi(t)
  const body = { username: 'ann', password: 'a-long-password', role: 'viewer' }
  assert.equal((await broker.request('/api/v5/users', { method: 'POST', body })).status, 200)
  const as = 'ann:a-long-password'
  const opened = await openAt(t, broker, '#/overview', { as })
  const { page } = opened
  await page.getByRole('button', { name: 'Account', exact: true }).click()
  await page.getByRole('button', { name: 'Require second factor' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Require second factor' }).click()
  await page.getByRole('heading', { level: 1, name: 'Log in' }).waitFor()
  const logIn = async (): Promise<void> => {
    await page.getByLabel('User name').fill('ann')
    await page.getByLabel('Password').fill('a-long-password')
    await page.keyboard.press('Enter')
  }
  await logIn()
  const code = page.getByLabel('One-time code')
  await code.waitFor()
  const secret = (await page.locator('code').first().textContent()) ?? ''
  assert.match(secret, /^[A-Z2-7]{32}$/)
  const uri = (await page.getByText('otpauth://totp/', { exact: false }).textContent()) ?? ''
  const picture = page.getByRole('img', { name: 'QR code of the address', exact: true })
  assert.equal(readQrCode(modulesOf(await picture.innerHTML())), uri)
  await code.fill('000000')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('one-time code is wrong').waitFor()
  const step = Math.floor(Date.now() / 30_000)
  await code.fill(computeCode(bytesOfBase32(secret), step))
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()

  // From now on, the login requires a code, and the secret is not shown again.
  const login = (more: object) =>
    broker.request('/api/v5/login', {
      as: null,
      method: 'POST',
      body: { username: 'ann', password: 'a-long-password', ...more },
    })
  const missing = await login({})
  assert.deepEqual(
    [missing.status, missing.json.reason, missing.json.mfa],
    [401, 'BAD_MFA_TOKEN', { error: 'missing_mfa_token', mechanism: 'totp' }],
  )
  const used = await login({ mfa_token: computeCode(bytesOfBase32(secret), step) })
  assert.deepEqual([used.status, used.json.mfa.error], [401, 'bad_mfa_token'])
  const wrong = await login({ password: 'wrong', mfa_token: computeCode(bytesOfBase32(secret), step + 1) })
  assert.equal(wrong.json.reason, 'BAD_USERNAME_OR_PWD')
  assert.equal((await broker.request('/api/v4/nodes', { as })).status, 401, 'HTTP Basic has no code')
  const again = await broker.request('/api/v5/users/ann/mfa', { method: 'POST', body: { mechanism: 'totp' } })
  assert.equal(again.status, 409, 'a stolen login does not enrol another device')
  assert.doesNotMatch((await broker.request('/api/v5/audit')).text, new RegExp(secret))

  const admin = await openAt(t, broker, '#/accounts')
  await admin.page.getByRole('button', { name: 'Remove second factor ann' }).click()
  await admin.page.getByRole('alertdialog').getByRole('button', { name: 'Remove second factor' }).click()
  await admin.page.getByRole('status').getByText('Done').waitFor()
  assert.equal((await login({})).status, 200)
  assert.equal((await broker.request('/api/v4/nodes', { as })).status, 200)
  assertQuiet(opened)
  await broker.process.stop()
  assert.doesNotMatch(broker.process.output + broker.process.errors, new RegExp(secret))
})
