// Single sign-on with a real provider of OpenID Connect on loopback (`oidc-provider`), in a real browser.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { Provider } from 'oidc-provider'
import type { Page } from 'playwright-core'
import { ctlDone } from '../cli/ctl/ctl.ts'
import { type BrokerWithApi, startBrokerWithApi } from '../management/api.ts'
import { openPage } from './browser.ts'
import { type Scope, shared } from '../e2e/godwit-process.ts'

const clientId = 'godwit'
const clientSecret = 'a-secret-of-the-broker'

/** Roles by the user names in the provider's own login page. */
const rolesOf: Readonly<Record<string, readonly string[]>> = { ann: ['ops'], vic: ['lookers'], eve: [] }

/** Starts a provider whose development pages accept any name and password. */
async function startProvider(t: Scope, redirectUri: string): Promise<string> {
  const server: Server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [{ client_id: clientId, client_secret: clientSecret, redirect_uris: [redirectUri] }],
    pkce: { required: () => true },
    claims: { openid: ['sub', 'roles'] },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub, roles: [...(rolesOf[sub] ?? [])] }) }),
  })
  const handle = provider.callback()
  server.on('request', (request, response) => void handle(request, response))
  return issuer
}

/** One provider for all tests of the file; the last test stops it. */
const start = shared(async (t): Promise<{ readonly broker: BrokerWithApi; readonly issuer: string }> => {
  const broker = await startBrokerWithApi(t)
  const redirect = `${broker.url}/dashboard/`
  const issuer = await startProvider(t, redirect)
  const oidc = {
    issuer,
    client_id: clientId,
    client_secret: clientSecret,
    redirect_uri: redirect,
    roles: { ops: 'administrator', lookers: 'viewer' },
  }
  const set = await broker.request('/api/v4/configuration/dashboard', {
    method: 'POST',
    body: { data: { dashboard: { oidc } } },
  })
  assert.equal(set.status, 200, set.text)
  return { broker, issuer }
})

/** Completes the provider's own pages: name and password, then consent. */
async function logInAtProvider(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Single sign-on', exact: true }).click()
  await page.locator('input[name=login]').fill(name)
  await page.locator('input[name=password]').fill('any')
  await page.locator('button[type=submit]').click()
  await page.getByRole('button', { name: 'Continue', exact: true }).click()
}

test('a user of the provider logs in, gets the requested page, and has the role that the provider returns', async (t) => {
  const { broker, issuer } = await start()
  const { page } = await openPage(t, broker, { route: '#/listeners' })
  const addresses: string[] = []
  page.on('framenavigated', (frame) => addresses.push(frame.url()))
  const referrers: string[] = []
  page.on('request', (request) => {
    if (request.url().startsWith(issuer)) referrers.push(request.headers()['referer'] ?? '')
  })
  await logInAtProvider(page, 'ann')
  await page.getByRole('heading', { level: 1, name: 'Listeners', exact: true }).waitFor()
  assert.equal(page.url(), `${broker.url}/dashboard/#/listeners`)
  assert.equal(await page.evaluate(() => history.state as unknown), null)
  const toProvider = new URL(addresses.find((address) => address.startsWith(`${issuer}/interaction/`)) ?? issuer)
  assert.equal(toProvider.origin, issuer)
  assert.equal(referrers[0], '', 'the provider learns nothing of the page')
  const stored = await page.evaluate(() =>
    [sessionStorage, localStorage].map((each) => Object.keys(each).join(' ')).join(' '),
  )
  assert.ok(!stored.includes('single-sign-on'), stored)
  for (const address of addresses)
    assert.ok(!address.includes('sign_in_secret') && !address.includes('token='), address)

  await page.getByRole('button', { name: 'Account', exact: true }).click()
  await page.getByText('ann', { exact: true }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Change password', exact: true }).count(), 0)
  const users = await broker.request('/api/v5/users')
  assert.deepEqual(
    users.json.data.map((user: { username: string; role: string; backend: string }) => [
      user.username,
      user.role,
      user.backend,
    ]),
    [
      ['admin', 'administrator', 'local'],
      ['ann', 'administrator', 'oidc'],
    ],
  )
  assert.equal(await ctlDone(broker, ['admins', 'list']), 'admin\tadministrator\tlocal\nann\tadministrator\toidc\n')
  await page.getByRole('button', { name: 'Log out', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Log in', exact: true }).waitFor()

  const audit = await broker.request('/api/v5/audit')
  const entry = audit.json.data.find(({ operation }: { operation: string }) => operation === 'finish_sso')
  assert.deepEqual([entry.username, entry.outcome], ['ann', 'done'])
  assert.equal(entry.request.authorization_code, '******')
  assert.equal(entry.request.sign_in_secret, '******')
  assert.ok(!audit.text.includes(clientSecret))
  for (const body of [{ old_pwd: 'any', new_pwd: 'another-password' }]) {
    const change = await broker.request('/api/v5/users/ann/change_pwd', { method: 'POST', body })
    assert.deepEqual([change.status, change.json.reason], [400, 'BAD_REQUEST'], change.text)
  }
  for (const password of ['', 'any']) {
    const login = await broker.request('/api/v5/login', {
      as: null,
      method: 'POST',
      body: { username: 'ann', password },
    })
    assert.equal(login.status, 401)
  }
})

test('a viewer cannot change anything, a user without a role gets an error, and the address contains no code', async (t) => {
  const { broker } = await start()
  const viewer = await openPage(t, broker)
  await logInAtProvider(viewer.page, 'vic')
  await viewer.page.getByRole('heading', { level: 1, name: 'Overview', exact: true }).waitFor()
  await viewer.page.goto(`${broker.url}/dashboard/#/listeners`)
  await viewer.page.getByRole('heading', { level: 1, name: 'Listeners', exact: true }).waitFor()
  assert.equal(await viewer.page.getByRole('button', { name: /^(Stop|Restart)/ }).count(), 0)

  const other = await openPage(t, broker)
  await logInAtProvider(other.page, 'eve')
  await other.page.getByRole('alert').getByText('"eve" has no role here by the claim roles').waitFor()
  assert.equal(other.page.url(), `${broker.url}/dashboard/`)
  const users = await broker.request('/api/v5/users')
  assert.ok(!users.text.includes('eve'))
})

test('a response to a login of another tab or user does not log in (login CSRF), and a refusal is shown', async (t) => {
  const { broker } = await start()
  const begun = await broker.request('/api/v5/sso/login/oidc', { as: null, method: 'POST' })
  assert.equal(begun.status, 200, begun.text)
  const { state } = begun.json.data
  const { page } = await openPage(t, broker)
  await page.goto(`${broker.url}/dashboard/?code=of-an-attacker&state=${state}`)
  await page.getByRole('alert').getByText('This login did not start in this tab. Start the login again.').waitFor()
  assert.equal(page.url(), `${broker.url}/dashboard/`)

  await page.getByRole('button', { name: 'Single sign-on', exact: true }).click()
  await page.locator('input[name=login]').waitFor()
  const kept = await page.evaluate(() => location.href)
  assert.ok(!kept.startsWith(broker.url))
  await page.getByText('Cancel').click()
  await page.getByRole('alert').getByText('The provider refused the login: access_denied').waitFor()
  assert.equal(page.url(), `${broker.url}/dashboard/`)
})

test('an unavailable provider is reported, a login with password is still possible, and without a provider there is no button', async (t) => {
  const { broker } = await start()
  const dead = { data: { dashboard: { oidc: { issuer: 'http://127.0.0.1:1/' } } } }
  const set = await broker.request('/api/v4/configuration/dashboard', { method: 'POST', body: dead })
  assert.equal(set.status, 200, set.text)
  const { page } = await openPage(t, broker)
  await page.getByRole('button', { name: 'Single sign-on', exact: true }).click()
  await page.getByRole('alert').getByText('the provider can not be reached').waitFor()
  const off = await broker.request('/api/v4/configuration/dashboard', {
    method: 'POST',
    body: { data: { dashboard: { oidc: { issuer: 'none' } } } },
  })
  assert.equal(off.status, 200, off.text)
  assert.deepEqual((await broker.request('/api/v5/sso/running', { as: null })).json, { code: 0, data: [] })
  assert.equal((await broker.request('/api/v5/sso/login/oidc', { as: null, method: 'POST' })).status, 404)
  await page.reload()
  await page.getByRole('heading', { level: 1, name: 'Log in', exact: true }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Single sign-on', exact: true }).count(), 0)
  // When the broker has ended, its output of the earlier tests is complete.
  await broker.process.stop()
  assert.ok(!`${broker.process.output}${broker.process.errors}`.includes(clientSecret))
})
