// Password guesses at one address do not delay other logins there.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { administrator, type ApiResponse, type BrokerWithApi, startBrokerWithApi } from './api.ts'

const guessers = 200
/** The maximum number of guesses that get a response before a login that was sent after them. Without the queue limit, all do. */
const maxGuessesBefore = 20

interface Guesses {
  responses: number
  failed: number
  all: Promise<unknown>
}

/** Starts guesses without waiting for them; counts the responses and the requests that failed. */
function guess(broker: BrokerWithApi, nameOf: (number: number) => string): Guesses {
  const guesses: Guesses = { responses: 0, failed: 0, all: Promise.resolve() }
  guesses.all = Promise.all(
    Array.from({ length: guessers }, (_, number) =>
      broker.request('/api/v4/brokers', { as: `${nameOf(number)}:wrong-${number}` }).then(
        () => (guesses.responses += 1),
        () => (guesses.failed += 1),
      ),
    ),
  )
  return guesses
}

test('200 clients that guess passwords share the address of an account with the right password', async (t) => {
  const broker = await startBrokerWithApi(t)
  for (const username of ['ann', 'bob']) {
    const body = { username, password: `the password of ${username}`, role: 'viewer' }
    assert.equal((await broker.request('/api/v4/users', { method: 'POST', body })).status, 200)
  }
  const login = { username: 'bob', password: 'the password of bob' }
  const { json } = await broker.request('/api/v5/login', { method: 'POST', body: login, as: null })
  const atAdmin = guess(broker, () => 'admin')
  const rounds = [atAdmin]
  const countResponses = (): number => rounds.reduce((sum, round) => sum + round.responses, 0)
  /** Checks the number of guesses that get a response between a request and its response. */
  const guessesBefore = async (name: string, request: Promise<ApiResponse>, status: number): Promise<void> => {
    const before = countResponses()
    assert.equal((await request).status, status, name)
    const meanwhile = countResponses() - before
    t.diagnostic(`${name}: ${meanwhile} of ${rounds.length * guessers} guesses got a response meanwhile`)
    assert.ok(meanwhile <= maxGuessesBefore, `${name}: ${meanwhile} guesses`)
  }
  const logIn = (as: string): Promise<ApiResponse> => broker.request('/api/v4/brokers', { as })
  await guessesBefore('right for the first time', logIn('ann:the password of ann'), 200)
  const headers = { authorization: `Bearer ${json.token}` }
  // The login as a viewer makes this account one that logged in recently.
  await guessesBefore('by token', broker.request('/api/v5/users', { as: null, headers }), 403)
  await guessesBefore('configured', logIn(administrator), 200)
  // Another round of guesses, with unknown names: accounts that logged in recently are not delayed by it.
  rounds.push(guess(broker, (number) => `nobody-${number}`))
  await guessesBefore('right lately', logIn('bob:the password of bob'), 200)
  assert.ok(countResponses() < guessers, 'guesses are delayed')
  assert.equal(await broker.process.stop(), 0)
  await Promise.all(rounds.map(({ all }) => all))
  assert.ok(
    rounds.some(({ failed }) => failed > 0),
    'a stop does not wait for guesses',
  )
})
