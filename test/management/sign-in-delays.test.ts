// Who is wrong waits longer each time; who is right never does.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createDoorkeeper, type Logins, type SignedIn, WaitingRoom } from '../../src/management/index.ts'
import { SignInDelays } from '../../src/management/sign-in-delays.ts'

const here = '192.0.2.1'
const basic = (text: string): string => Buffer.from(text).toString('base64')

describe('the wait for the answer to a wrong password', () => {
  test('grows with each one at an address and name, up to ten seconds, and is forgotten in time', () => {
    let nowMs = 1_000
    const delays = new SignInDelays(() => nowMs)
    const waits = Array.from({ length: 12 }, () => {
      const waitMs = delays.noteWrong(here, 'admin')
      nowMs += waitMs
      return waitMs
    })
    assert.deepEqual(waits, [0, 0, 0, 100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000])
    assert.equal(delays.noteWrong(here, 'ann'), 0, 'another name')
    assert.equal(delays.noteWrong('192.0.2.2', 'admin'), 0, 'another address')
    nowMs += 900_000
    assert.equal(delays.noteWrong(here, 'admin'), 0)
  })

  test('comes for each guess after the others where many are made at one time', () => {
    const delays = new SignInDelays(() => 0)
    const waits = Array.from({ length: 8 }, () => delays.noteWrong(here, 'admin'))
    assert.deepEqual(waits, [0, 0, 0, 100, 300, 700, 1_500, 3_100])
    for (let guess = 0; guess < 100; guess++) assert.ok(delays.noteWrong(here, 'admin') <= 30_000)
  })

  test('grows for an address that tries one name after the other', () => {
    const delays = new SignInDelays(() => 0)
    const waits = Array.from({ length: 23 }, (_, number) => delays.noteWrong(here, `user-${number}`))
    assert.deepEqual(waits.slice(19), [0, 100, 300, 700])
  })

  test('is one for a whole network of IPv6', () => {
    const delays = new SignInDelays(() => 0)
    for (let host = 1; host <= 3; host++) delays.noteWrong(`2001:db8::${host}`, 'admin')
    assert.equal(delays.noteWrong('2001:db8:0:0:ffff::1', 'admin'), 100)
    assert.equal(delays.noteWrong('2001:db8:0:1::1', 'admin'), 0)
  })

  test('is remembered of so many only, the newest', () => {
    const delays = new SignInDelays(() => 0)
    for (let guess = 0; guess < 4; guess++) delays.noteWrong(here, 'admin')
    for (let number = 0; number < 9_000; number++) delays.noteWrong(`10.0.${number >> 8}.${number & 255}`, 'admin')
    assert.equal(delays.noteWrong(here, 'admin'), 0)
  })
})

describe('at the door', () => {
  const admin: SignedIn = {
    name: 'admin',
    by: 'account',
    role: 'administrator',
    namespace: undefined,
    login: undefined,
  }
  const logins: Logins = { begin: () => undefined, callerOf: () => 'wrong', end: () => {} }
  const accounts = { signIn: async (_: string, password: string) => (password === 'right' ? admin : undefined) }

  test('who is right comes in at once, however often somebody else was wrong', async () => {
    const waitingRoom = new WaitingRoom(() => 0)
    const door = createDoorkeeper({ accounts, tokens: undefined, logins, isOpen: false }, waitingRoom)
    const wrong = Array.from({ length: 50 }, () => door.signIn('admin', 'wrong', here))
    assert.deepEqual(await door.signIn('admin', 'right', here), { ...admin, address: here })
    waitingRoom.close()
    for (const refused of await Promise.all(wrong)) assert.ok('code' in refused && refused.code === 103)
  })

  test('a header is read as people write it, and what is too long is not looked at', async () => {
    const waitingRoom = new WaitingRoom(() => 0)
    const door = createDoorkeeper({ accounts, tokens: undefined, logins, isOpen: false }, waitingRoom)
    const found = await door.callerOf(`basic  ${basic('admin:right')}`, here)
    assert.deepEqual(found, { ...admin, address: here })
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
      const refused = await door.callerOf(header, here)
      assert.equal('code' in refused && refused.code, code, String(header).slice(0, 40))
    }
    waitingRoom.close()
  })
})
