// The rate of password guesses, and the clients that are not delayed by it.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defaultFailedLoginConfig } from '../../src/config/index.ts'
import { AccessControl } from '../../src/access/index.ts'
import { createLoginTable, freeLoginTable, LoginTable } from '../../src/access/failed-logins/login-table.ts'
import { type Login, LoginThrottle } from '../../src/access/failed-logins/login-throttle.ts'
import { reasonCodes } from '../../src/protocol/index.ts'
import { AccessStage, connectionFrom, credential, outcomeOf, settingsWith } from './stage.ts'

const startMs = 1_800_000_000_000
const settings = defaultFailedLoginConfig
const { freeAttempts, firstDelayMs, maxDelayMs, addressRate, addressBurst } = settings

function login(name: string | undefined, secret: string, address = '192.0.2.7'): Login {
  return { address, namespace: undefined, name, secret: Buffer.from(secret) }
}

/** Runs successive logins that fail after their delay. Returns the delay of each. */
function guess(throttle: LoginThrottle, times: number, of: (index: number) => Login): number[] {
  let nowMs = startMs
  return Array.from({ length: times }, (_, index) => {
    const turn = throttle.begin(of(index), nowMs)
    nowMs += turn.afterMs
    if (!turn.isRefused) throttle.recordFailedLogin(of(index), nowMs)
    return turn.isRefused ? -1 : turn.afterMs
  })
}

describe('guesses of one password from one address', () => {
  test('have increasing delays', () => {
    const waits = guess(new LoginThrottle(settings), freeAttempts + 8, (index) => login('alice', String(index)))
    assert.deepEqual(
      waits.slice(0, freeAttempts),
      Array.from({ length: freeAttempts }, () => 0),
    )
    assert.deepEqual(waits.slice(freeAttempts), [200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000])
  })

  test('on many connections at once wait in turn, and the rest is refused without a check', () => {
    const throttle = new LoginThrottle(settings)
    guess(throttle, freeAttempts, (index) => login('alice', String(index)))
    const turns = Array.from({ length: 1_000 }, (_, index) => throttle.begin(login('alice', `x${index}`), startMs))
    const looked = turns.filter(({ isRefused }) => !isRefused)
    assert.equal(looked.length, maxDelayMs / firstDelayMs)
    assert.equal(looked.at(-1)?.afterMs, maxDelayMs)
    assert.ok(turns.every(({ isRefused, afterMs }) => !isRefused || afterMs === maxDelayMs))
  })

  test('of an unknown user have the same delays as those of a known one', () => {
    const stage = new AccessStage({ failedLogins: settings, credentials: [credential('username', 'alice', 'secret')] })
    for (const username of ['alice', 'nobody']) {
      for (let time = 0; time < freeAttempts; time++) {
        const decision = stage.decision({ username, password: `${time}` })
        assert.equal(outcomeOf(decision), reasonCodes.badUserNameOrPassword)
      }
      assert.ok(stage.authenticate({ username, password: 'next' }) instanceof Promise, username)
    }
  })

  test('are forgotten after a quarter of an hour', () => {
    const throttle = new LoginThrottle(settings)
    guess(throttle, freeAttempts + 3, (index) => login('alice', String(index)))
    assert.equal(throttle.begin(login('alice', 'x'), startMs + 2_000_000).afterMs, 0)
  })
})

test('one password for many user names from one address is limited by a rate', () => {
  const throttle = new LoginThrottle(settings)
  const passed = (count: number, nowMs: number): number => {
    let looked = 0
    for (let index = 0; index < count; index++) {
      const attempt = login(`user-${nowMs}-${index}`, 'winter')
      if (throttle.begin(attempt, nowMs).isRefused) continue
      throttle.recordFailedLogin(attempt, nowMs)
      looked += 1
    }
    return looked
  }
  assert.equal(passed(10_000, startMs), addressBurst)
  assert.equal(passed(10_000, startMs + 1_000), addressRate)
  assert.equal(passed(10_000, startMs + 2_000), addressRate)
})

/** 200 clients of one address, such as a proxy, each with a user name of its own, repeat wrong passwords as fast as they are answered. */
function guessers(throttle: LoginThrottle, seconds: number): number {
  let checked = 0
  for (let tick = 0; tick < seconds * 10; tick++) {
    const nowMs = startMs + tick * 100
    for (let number = 0; number < 200; number++) {
      const attempt = login(`guessed-${number}`, String(tick))
      if (throttle.begin(attempt, nowMs).isRefused) continue
      throttle.recordFailedLogin(attempt, nowMs)
      checked += 1
    }
  }
  return checked
}

describe('200 clients that guess with a user name each, at the address of other clients', () => {
  test('do not delay the first right login of a user name without failed logins, also after a restart', () => {
    const throttle = new LoginThrottle(settings)
    guessers(throttle, 60)
    for (let number = 0; number < 1_000; number++) {
      const attempt = login(`user-${number}`, 'right')
      assert.deepEqual(throttle.begin(attempt, startMs + 60_000), { isRefused: false, afterMs: 0 })
      throttle.recordSuccessfulLogin(attempt, startMs + 60_000)
    }
  })

  test('have few passwords checked: the first of each name, and then those that the rate of the address allows', () => {
    const checked = guessers(new LoginThrottle(settings), 60)
    assert.ok(checked <= 200 + addressBurst + 60 * addressRate, String(checked))
  })
})

/** Alice was connected with her password, and another client at the same address guesses it, and those of other users. */
function attacked(): LoginThrottle {
  const throttle = new LoginThrottle(settings)
  throttle.recordSuccessfulLogin(login('alice', 'secret'), startMs)
  guess(throttle, 1_000, (index) => login('alice', String(index)))
  guess(throttle, 1_000, (index) => login(`user-${index}`, 'x'))
  return throttle
}

describe('a client that guesses the password of another client does not lock that client out', () => {
  test('the right password from another address is checked at once', () => {
    const turn = attacked().begin(login('alice', 'secret', '198.51.100.1'), startMs)
    assert.deepEqual(turn, { isRefused: false, afterMs: 0 })
  })

  test('a client that had the right password at the same address before is neither refused nor delayed', () => {
    assert.deepEqual(attacked().begin(login('alice', 'secret'), startMs), { isRefused: false, afterMs: 0 })
    assert.equal(attacked().begin(login('alice', 'guess'), startMs).isRefused, true)
  })

  test('an attacker that logs in with its own password gets no new free attempts for others', () => {
    const throttle = attacked()
    for (let time = 0; time < 100; time++) {
      throttle.recordSuccessfulLogin(login('mallory', 'own'), startMs)
      throttle.recordSuccessfulLogin(login('alice', 'secret'), startMs)
    }
    assert.equal(throttle.begin(login('alice', 'x'), startMs).isRefused, true)
  })

  test('all addresses of one IPv6 network count as one', () => {
    const throttle = new LoginThrottle(settings)
    guess(throttle, addressBurst, (index) => login(`user-${index}`, 'x', `2001:db8::${index.toString(16)}`))
    assert.equal(throttle.begin(login('alice', 'x', '2001:db8::ffff'), startMs).isRefused, true)
    assert.equal(throttle.begin(login('alice', 'x', '2001:db8:0:1::1'), startMs).isRefused, false)
  })
})

test('10,000 clients that reconnect at once with their passwords are not delayed', () => {
  const throttle = new LoginThrottle(settings)
  for (let index = 0; index < 10_000; index++) {
    const attempt = login(`user-${index}`, `secret-${index}`)
    assert.equal(throttle.begin(attempt, startMs).afterMs, 0)
    throttle.recordSuccessfulLogin(attempt, startMs)
  }
})

test('the records of failed logins are limited, whatever names and addresses an attacker has', () => {
  const throttle = new LoginThrottle(settings)
  for (let index = 0; index < 100_000; index++) {
    const attempt = login(`user-${index}`, 'x', `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`)
    if (index % 2 === 0) throttle.recordFailedLogin(attempt, startMs)
    else throttle.recordSuccessfulLogin(attempt, startMs)
  }
  const maxEntries = 8_192 + 8_192 + 16_384
  assert.ok(throttle.size <= maxEntries && throttle.size > 0.99 * maxEntries, String(throttle.size))
})

function throttles(shards: number): LoginThrottle[] {
  const memory = createLoginTable()
  return Array.from({ length: shards }, (_, shard) => new LoginThrottle(settings, new LoginTable(memory, shard)))
}

function guessAt(shard: LoginThrottle | undefined, attempt: Login): number {
  assert.ok(shard)
  const [delay = -1] = guess(shard, 1, () => attempt)
  return delay
}

/** Guesses at one shard after the other. Returns the delays, -1 for a refused login. */
function guessAtEach(shards: readonly LoginThrottle[], times: number, of: (index: number) => Login): number[] {
  return Array.from({ length: times }, (_, index) => guessAt(shards[index % shards.length], of(index)))
}

describe('shards of a node', () => {
  test('count failed logins of a user name together, and delay one login after the other', () => {
    const delays = guessAtEach(throttles(3), freeAttempts + 3, (index) => login('alice', String(index)))
    assert.deepEqual(
      delays.slice(0, freeAttempts),
      Array.from({ length: freeAttempts }, () => 0),
    )
    // Each guess begins at the same time: it waits for the ones before.
    assert.deepEqual(delays.slice(freeAttempts), [200, 600, 1_400])
  })

  test('count failed logins of an address together', () => {
    const delays = guessAtEach(throttles(3), 10 * addressBurst, (index) => login(`user-${index}`, 'winter'))
    assert.equal(delays.filter((delay) => delay !== -1).length, addressBurst)
  })

  test('know the clients that logged in at another shard, and forget failures that these clients corrected', () => {
    const [first, second] = throttles(2) as [LoginThrottle, LoginThrottle]
    guess(first, freeAttempts + 1, (index) => login('bob', String(index)))
    second.recordSuccessfulLogin(login('bob', 'right'), startMs)
    assert.equal(first.begin(login('bob', 'new'), startMs).afterMs, 0)
    first.recordSuccessfulLogin(login('alice', 'secret'), startMs)
    guessAtEach([first, second], 1_000, (index) => login('alice', String(index)))
    assert.equal(second.begin(login('alice', 'guess'), startMs).isRefused, true)
    assert.equal(second.begin(login('alice', 'secret'), startMs).afterMs, 0)
  })

  test('do not wait for a shard that failed while it held the lock', () => {
    const memory = createLoginTable()
    new Int32Array(memory)[0] = 2
    freeLoginTable(memory, 0)
    assert.equal(new Int32Array(memory)[0], 2)
    freeLoginTable(memory, 1)
    assert.equal(
      new LoginTable(memory, 0).runExclusively(() => 'done'),
      'done',
    )
  })
})

describe('a delayed login', () => {
  interface Waiting {
    readonly ms: number
    resolve(): void
  }

  function stageWithClock(): { access: AccessControl; waiting: Waiting[] } {
    const waiting: Waiting[] = []
    const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
    const access = new AccessControl(
      settingsWith({ failedLogins: settings, credentials: [credential('username', 'alice', 'secret')] }),
      {
        log,
        nowMs: () => startMs,
        wait: (ms) => new Promise<void>((resolve) => waiting.push({ ms, resolve })),
        onPermissionsChanged: ignore,
      },
    )
    return { access, waiting }
  }

  const stage = new AccessStage()
  const requestWith = (password: string) =>
    stage.request({ username: 'alice', password, connection: connectionFrom(false) })

  test('is checked when its delay ends: the right password is accepted then', async () => {
    const { access, waiting } = stageWithClock()
    for (let time = 0; time < freeAttempts; time++) void access.authenticate(requestWith(String(time)))
    const decision = access.authenticate(requestWith('secret'))
    assert.ok(decision instanceof Promise)
    assert.deepEqual(
      waiting.map(({ ms }) => ms),
      [firstDelayMs],
    )
    waiting[0]?.resolve()
    assert.equal(outcomeOf(await decision), 'accepted')
    assert.equal(
      outcomeOf(await access.authenticate(requestWith('secret'))),
      'accepted',
      'later logins are accepted at once',
    )
    assert.equal(waiting.length, 1)
  })

  test('of a disconnected client is not checked', async () => {
    const { access, waiting } = stageWithClock()
    for (let time = 0; time < freeAttempts; time++) void access.authenticate(requestWith(String(time)))
    const request = requestWith('secret')
    const decision = access.authenticate(request)
    request.connection.now = { state: 'closed' }
    waiting[0]?.resolve()
    assert.equal(outcomeOf(await decision), reasonCodes.connectionRateExceeded)
  })
})

function ignore(): void {
  // The events of this one are not checked.
}
