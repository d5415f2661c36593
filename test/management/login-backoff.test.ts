// Failed logins are delayed, with increasing delay; successful logins are not.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createAuthenticator, type Logins, type LoggedIn, AuthQueue } from '../../src/management/index.ts'
import type { Log } from '../../src/telemetry/index.ts'
import { FailedLogins } from '../../src/management/auth/failed-login-log.ts'
import { LoginBackoff } from '../../src/management/auth/login-backoff.ts'

const clientAddress = '192.0.2.1'
const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const basic = (text: string): string => Buffer.from(text).toString('base64')

/** No account has a second factor. */
const secondFactors = { check: async () => 'not-needed' as const }

describe('the delay of a failed login', () => {
  test('increases with each failure of an address and name, up to ten seconds, and ends after some time', () => {
    let nowMs = 1_000
    const delays = new LoginBackoff(() => nowMs)
    const waits = Array.from({ length: 12 }, () => {
      const waitMs = delays.recordFailure(clientAddress, 'admin')
      nowMs += waitMs
      return waitMs
    })
    assert.deepEqual(waits, [0, 0, 0, 100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000])
    assert.equal(delays.recordFailure(clientAddress, 'ann'), 0, 'another name')
    assert.equal(delays.recordFailure('192.0.2.2', 'admin'), 0, 'another address')
    nowMs += 900_000
    assert.equal(delays.recordFailure(clientAddress, 'admin'), 0)
  })

  test('applies to each of many attempts at the same time', () => {
    const delays = new LoginBackoff(() => 0)
    const waits = Array.from({ length: 8 }, () => delays.recordFailure(clientAddress, 'admin'))
    assert.deepEqual(waits, [0, 0, 0, 100, 300, 700, 1_500, 3_100])
    for (let guess = 0; guess < 100; guess++) assert.ok(delays.recordFailure(clientAddress, 'admin') <= 30_000)
  })

  test('increases for an address that tries one name after the other', () => {
    const delays = new LoginBackoff(() => 0)
    const waits = Array.from({ length: 23 }, (_, number) => delays.recordFailure(clientAddress, `user-${number}`))
    assert.deepEqual(waits.slice(19), [0, 100, 300, 700])
  })

  test('is shared by the addresses of an IPv6 network', () => {
    const delays = new LoginBackoff(() => 0)
    for (let host = 1; host <= 3; host++) delays.recordFailure(`2001:db8::${host}`, 'admin')
    assert.equal(delays.recordFailure('2001:db8:0:0:ffff::1', 'admin'), 100)
    assert.equal(delays.recordFailure('2001:db8:0:1::1', 'admin'), 0)
  })

  test('is stored for a limited number of addresses and names, the most recent', () => {
    const delays = new LoginBackoff(() => 0)
    for (let guess = 0; guess < 4; guess++) delays.recordFailure(clientAddress, 'admin')
    for (let number = 0; number < 9_000; number++) delays.recordFailure(`10.0.${number >> 8}.${number & 255}`, 'admin')
    assert.equal(delays.recordFailure(clientAddress, 'admin'), 0)
  })
})

describe('at login', () => {
  const admin: LoggedIn = {
    name: 'admin',
    by: 'account',
    role: 'administrator',
    namespace: undefined,
    login: undefined,
  }
  const off = { kind: 'off', message: 'off' } as const
  const singleSignOn = { isOn: () => false, begin: async () => off, finish: async () => off }
  const logins: Logins = { begin: () => undefined, findCaller: () => 'wrong', end: () => {} }
  const accounts = { logIn: async (_: string, password: string) => (password === 'right' ? admin : undefined) }

  test('the right password is accepted at once, however often other accounts failed', async () => {
    const authQueue = new AuthQueue(silent, () => 0)
    const authenticator = createAuthenticator(
      { accounts, tokens: undefined, logins, secondFactors, singleSignOn, isOpen: false },
      authQueue,
    )
    const wrong = Array.from({ length: 50 }, () => authenticator.logIn('admin', 'wrong', clientAddress))
    assert.deepEqual(await authenticator.logIn('admin', 'right', clientAddress), { ...admin, address: clientAddress })
    authQueue.close()
    for (const refused of await Promise.all(wrong)) assert.ok('code' in refused && refused.code === 103)
  })

  test('the case and spaces of an Authorization header do not matter, and an overlong one is refused', async () => {
    const authQueue = new AuthQueue(silent, () => 0)
    const authenticator = createAuthenticator(
      { accounts, tokens: undefined, logins, secondFactors, singleSignOn, isOpen: false },
      authQueue,
    )
    const found = await authenticator.authenticate(`basic  ${basic('admin:right')}`, clientAddress)
    assert.deepEqual(found, { ...admin, address: clientAddress })
    for (const [header, code] of [
      [undefined, 104],
      ['', 104],
      ['Basic', 104],
      [`Basic ${basic(':')}`, 104],
      [`Basic ${basic('admin:')}`, 104],
      [`Basic ${basic('admin')}`, 103],
      [`Basic ${basic(`admin:${'x'.repeat(20_000)}`)}`, 103],
      ['Bearer a.b.c', 104],
    ] as const) {
      const refused = await authenticator.authenticate(header, clientAddress)
      assert.equal('code' in refused && refused.code, code, String(header).slice(0, 40))
    }
    authQueue.close()
  })
})

interface RecordedLog {
  readonly lines: Record<string, unknown>[]
  readonly clock: { nowMs: number }
  readonly failures: FailedLogins
}

function recordLog(): RecordedLog {
  const lines: Record<string, unknown>[] = []
  const clock = { nowMs: 0 }
  const log: Log = { ...silent, warn: (_event, facts = {}) => void lines.push(facts) }
  return { lines, clock, failures: new FailedLogins(log, () => clock.nowMs) }
}

describe('a failed login', () => {
  test('is logged with account and address, and beyond a limit only counted', () => {
    const { lines, clock, failures } = recordLog()
    for (let time = 0; time < 1_000; time++) failures.record({ name: 'admin', address: clientAddress })
    assert.equal(lines.length, 5)
    assert.deepEqual(lines[0], { by: 'password', name: 'admin', address: clientAddress, suppressedBefore: 0 })
    clock.nowMs = 25_000
    for (let time = 0; time < 10; time++) failures.record({ reason: 'the token has expired', address: clientAddress })
    assert.deepEqual(lines.slice(5), [
      { by: 'token', reason: 'the token has expired', address: clientAddress, suppressedBefore: 995 },
      { by: 'token', reason: 'the token has expired', address: clientAddress, suppressedBefore: 0 },
    ])
    clock.nowMs = 3_600_000
    for (let time = 0; time < 10; time++) failures.record({ name: 'x'.repeat(9_999), address: clientAddress })
    assert.equal(lines.length, 12)
    assert.ok(String(lines[7]?.['name']).length < 100)
  })

  test('is logged without the password or token', async () => {
    const logged: unknown[] = []
    const authQueue = new AuthQueue({ ...silent, warn: (...line) => void logged.push(line) }, () => 0)
    const accounts = { logIn: async () => undefined }
    const off = { kind: 'off', message: 'off' } as const
    const singleSignOn = { isOn: () => false, begin: async () => off, finish: async () => off }
    const logins: Logins = { begin: () => undefined, findCaller: () => 'wrong', end: () => {} }
    const authenticator = createAuthenticator(
      { accounts, tokens: undefined, logins, secondFactors, singleSignOn, isOpen: false },
      authQueue,
    )
    await authenticator.authenticate(`Basic ${basic('ann:a password')}`, clientAddress)
    await authenticator.authenticate('Bearer something-secret', clientAddress)
    assert.equal(logged.length, 2)
    assert.match(JSON.stringify(logged), /"ann"/)
    assert.doesNotMatch(JSON.stringify(logged), /a password|something-secret/)
  })
})
