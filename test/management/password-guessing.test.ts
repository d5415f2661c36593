// Password guesses at one address do not delay other logins there.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { administrator, type BrokerWithApi, startBrokerWithApi } from './api.ts'

const guessers = 200
/** It was 12.7 s. Two guesses that go first take some 0.2 s. */
const mostMs = 4_000

/** Starts guesses that are not waited for; gives how many have been answered. */
function guess(broker: BrokerWithApi, nameOf: (number: number) => string): { answered: number; all: Promise<unknown> } {
  const guesses = { answered: 0, all: Promise.resolve() as Promise<unknown> }
  guesses.all = Promise.all(
    Array.from({ length: guessers }, async (_, number) => {
      await broker.ask('/api/v4/brokers', { as: `${nameOf(number)}:wrong-${number}` }).catch(() => undefined)
      guesses.answered += 1
    }),
  )
  return guesses
}

async function signInMs(broker: BrokerWithApi, as: string): Promise<number> {
  const startedAt = performance.now()
  const { status } = await broker.ask('/api/v4/brokers', { as })
  assert.equal(status, 200)
  return performance.now() - startedAt
}

test('attack: 200 guessers share the address of another account with the right password', async (t) => {
  const broker = await startBrokerWithApi(t)
  for (const username of ['ann', 'bob']) {
    const body = { username, password: `the password of ${username}`, role: 'viewer' }
    assert.equal((await broker.ask('/api/v4/users', { method: 'POST', body })).status, 200)
  }
  const login = { username: 'bob', password: 'the password of bob' }
  const { json } = await broker.ask('/api/v5/login', { method: 'POST', body: login, as: null })
  const atAdmin = guess(broker, () => 'admin')
  const first = await signInMs(broker, 'ann:the password of ann')
  const tokenStartedAt = performance.now()
  const headers = { authorization: `Bearer ${json.token}` }
  assert.equal((await broker.ask('/api/v5/users', { as: null, headers })).status, 403, 'a viewer, and known as one')
  const byToken = performance.now() - tokenStartedAt
  const own = await signInMs(broker, administrator)
  // Another round of guesses, with unknown names: accounts that logged in recently are not delayed by it.
  const atMany = guess(broker, (number) => `nobody-${number}`)
  const again = await signInMs(broker, 'bob:the password of bob')
  const answered = atAdmin.answered + atMany.answered
  t.diagnostic(
    `right for the first time ${first.toFixed(0)} ms, by token ${byToken.toFixed(0)} ms, configured ${own.toFixed(0)} ms, ` +
      `right lately ${again.toFixed(0)} ms; ${answered} of ${2 * guessers} guesses were answered meanwhile`,
  )
  for (const ms of [first, byToken, own, again]) assert.ok(ms < mostMs, `${ms.toFixed(0)} ms`)
  assert.ok(answered < guessers, 'guesses are slow')
  const stopsAt = performance.now()
  assert.equal(await broker.process.stop(), 0)
  assert.ok(performance.now() - stopsAt < 10_000, 'SIGTERM waits for no guess')
  await Promise.all([atAdmin.all, atMany.all])
})
