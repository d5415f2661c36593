// Login with OpenID Connect while its provider fails: in the discovery, at the exchange of the code, and at the keys. The login page has a clear error
// in time, the API serves others, and the next login after the fault succeeds.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { eventually } from '../e2e/eventually.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { settleWithin } from '../e2e/time-limit.ts'
import { type BrokerWithApi, startBrokerWithApi } from '../management/api.ts'
import { casesOf } from '../test-length.ts'
import { type Fault, FaultProxy } from './matrix/fault-proxy.ts'
import { logInAtProvider, oidcClient, startOidcProvider } from './oidc-provider-server.ts'

/** The time limit of one request to the provider, and a margin for a busy machine. */
const limitMs = 10_000 + 5_000
const othersMs = 3_000
const lateMs = 12_000

type Response = Awaited<ReturnType<BrokerWithApi['request']>>

async function begin(broker: BrokerWithApi): Promise<Response> {
  return broker.request('/api/v5/sso/login/oidc', { as: null, method: 'POST' })
}

/** Logs in at the pages of the provider, and returns how the login ends at the broker. */
async function prepareEnd(broker: BrokerWithApi): Promise<() => Promise<Response>> {
  const begun = await begin(broker)
  assert.equal(begun.status, 200, begun.text)
  const { authorization_url: url, state, sign_in_secret: secret, redirect_uri: redirectUri } = begun.json.data
  const { searchParams } = await logInAtProvider(url, redirectUri)
  const body = {
    authorization_code: searchParams.get('code'),
    state,
    sign_in_secret: secret,
    iss: searchParams.get('iss') ?? undefined,
  }
  return () => broker.request('/api/v5/sso/oidc/callback', { as: null, method: 'POST', body })
}

/** Several logins at once fail in time, and others are served meanwhile. */
async function failsInTime(broker: BrokerWithApi, what: string, attempts: readonly (() => Promise<Response>)[]) {
  const running = settleWithin(limitMs, what, Promise.all(attempts.map((attempt) => attempt())))
  const other = await settleWithin(othersMs, `${what}: another request`, broker.request('/api/v5/users'))
  assert.equal(other.status, 200, `${what}: another request`)
  for (const { status, text } of await running) {
    assert.ok(status >= 400, `${what}: ${text}`)
    assert.match(text, /the provider (?:\w+ ?){2}/, what)
  }
}

const faults = casesOf(
  (['refuse', 'silent', 'late', 'reset', 'nonsense'] satisfies Fault[]).map((fault) => [fault] as const),
  'nonsense',
)

describe('a login with OpenID Connect whose provider fails', { concurrency: true }, () => {
  for (const [fault] of faults) {
    test(`${fault}: has an error in time, and succeeds after the fault`, async (t) => {
      const port = await reservePort(t)
      const issuer = `http://127.0.0.1:${port}`
      const broker = await startBrokerWithApi(t)
      const redirectUri = `${broker.url}/dashboard/`
      const proxy = await FaultProxy.start(t, await startOidcProvider(t, issuer, redirectUri), { lateMs, port })
      const oidc = {
        issuer,
        client_id: oidcClient.id,
        client_secret: oidcClient.secret,
        redirect_uri: redirectUri,
        roles: { ops: 'administrator' },
      }
      const set = await broker.request('/api/v4/configuration/dashboard', {
        method: 'POST',
        body: { data: { dashboard: { oidc } } },
      })
      assert.equal(set.status, 200, set.text)

      await proxy.begin(fault)
      await failsInTime(broker, 'discovery', [() => begin(broker), () => begin(broker)])
      await proxy.heal()
      const succeeds = async (): Promise<void> => {
        const begun = await eventually(async () => {
          const response = await begin(broker)
          assert.equal(response.status, 200, response.text)
          return response
        })
        assert.match(begun.json.data.authorization_url, /^http/)
      }
      await succeeds()
      for (const [what, text] of [
        ['token', /POST \/token/],
        ['keys', /GET \/jwks/],
      ] as const) {
        const ends = [await prepareEnd(broker), await prepareEnd(broker)]
        // A connection that was refused at a certain text would be refused before it.
        await proxy.begin(fault, fault === 'refuse' ? 'now' : text)
        await failsInTime(broker, what, ends)
        await proxy.heal()
        await succeeds()
      }
      await eventually(async () => {
        const end = await prepareEnd(broker)
        const { status, text } = await end()
        assert.equal(status, 200, text)
      })
    })
  }
})
