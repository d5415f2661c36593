import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { shared } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { startBrokerWithApi } from '../management/api.ts'
import { changeSettings, emptyBroker } from './brokers.ts'
import { assertQuiet, openAt, openPage, logIn, untilTitle } from './browser.ts'

describe('logging in to the dashboard', () => {
  test('opens the requested page; a reload keeps the login, and another tab requires a new one', async (t) => {
    const opened = await openPage(t, await emptyBroker(), { route: '#/overview' })
    const { page, context } = opened
    await page.getByRole('heading', { level: 1, name: 'Log in', exact: true }).waitFor()
    assert.equal(await page.getByLabel('User name').getAttribute('autocomplete'), 'username')
    assert.equal(await page.getByLabel('Password').getAttribute('autocomplete'), 'current-password')
    await page.getByLabel('User name').fill('admin')
    await page.getByLabel('Password').fill('a-password-for-tests')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await untilTitle(page, 'Overview - Godwit')
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    const other = await context.newPage()
    await other.goto(page.url())
    await other.getByRole('heading', { level: 1, name: 'Log in' }).waitFor()
    const kept = await page.evaluate(() => [
      JSON.stringify(Object.entries(localStorage)),
      document.cookie,
      location.href,
    ])
    assert.doesNotMatch(kept.join(), /token|[A-Za-z0-9_-]{40}/)
    assertQuiet(opened)
  })

  test('a wrong password is reported, and the field is cleared', async (t) => {
    const { page } = await openPage(t, await emptyBroker())
    await page.getByLabel('User name').fill('admin')
    await page.getByLabel('Password').fill('wrong')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('alert').getByText('Wrong user name or password').waitFor()
    assert.equal(await page.getByLabel('Password').inputValue(), '')
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('type')), 'password')
  })

  test('logging out ends the login at the broker', async (t) => {
    const { page } = await openPage(t, await emptyBroker(), { route: '#/overview' })
    await logIn(page)
    const token = await page.evaluate(
      () => (JSON.parse(sessionStorage.getItem('godwit.session') ?? '{}') as { token: string }).token,
    )
    await page.getByRole('button', { name: 'Account', exact: true }).click()
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('heading', { level: 1, name: 'Log in' }).waitFor()
    const broker = await emptyBroker()
    const after = await broker.request('/api/v4/nodes', { as: null, headers: { authorization: `Bearer ${token}` } })
    assert.equal(after.status, 401)
  })

  test('theme and language are stored, and the document has the attribute of its language', async (t) => {
    const { page } = await openAt(t, await emptyBroker(), '#/overview')
    await page.getByRole('button', { name: 'Account', exact: true }).click()
    await page.getByRole('combobox', { name: 'Theme' }).selectOption('dark')
    await page.getByRole('combobox', { name: 'Language' }).selectOption('de')
    await page.getByRole('heading', { level: 1, name: 'Übersicht' }).waitFor()
    assert.equal(await page.evaluate(() => document.documentElement.lang), 'de')
    assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme), 'dark')
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Übersicht' }).waitFor()
  })
})

describe('when the broker stops and starts again', () => {
  /** The broker that runs, and a function that starts it again after its stop. */
  const place = shared(async (scope) => {
    const set = [`http_server.port=${await reservePort(scope)}`]
    let broker = await startBrokerWithApi(scope, { set })
    return {
      broker: () => broker,
      startAgain: async () => {
        broker = await startBrokerWithApi(scope, { dataDirectory: broker.dataDirectory, set })
      },
    }
  })

  test('a stop of the broker is reported, and the page continues after a new login', async (t) => {
    const { broker, startAgain } = await place()
    const { page } = await openAt(t, broker(), '#/overview')
    await broker().process.stop()
    await page.getByRole('alert').getByText('No connection to the broker').waitFor()
    await startAgain()
    // Logins end with the process of the broker.
    await page.getByText('Your session has ended').waitFor()
    await logIn(page)
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  })

  test('a page that could not be loaded while the broker was stopped is loaded after the restart', async (t) => {
    const { broker, startAgain } = await place()
    // A tab of other tests may have the files of the page.
    const { page } = await openAt(t, broker(), '#/overview', { isNew: true })
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await broker().process.stop()
    await page.evaluate(() => (location.hash = '#/about'))
    await page.getByRole('alert').getByText('The page could not be loaded').waitFor()
    await page.getByRole('alert').getByText('No connection to the broker').waitFor()
    await startAgain()
    await page.getByText('Your session has ended').waitFor()
    await logIn(page)
    await page.getByRole('heading', { level: 1, name: 'About' }).waitFor()
  })
})

test('if the broker requires no login, the page has none', async (t) => {
  const broker = await emptyBroker()
  await changeSettings(t, broker, { http_server: { auth_type: 'no_auth' } }, { http_server: { auth_type: 'basic' } })
  const opened = await openPage(t, broker, { route: '#/overview' })
  await opened.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  await opened.page.getByRole('table', { name: 'Nodes' }).getByText('Running').waitFor()
  assertQuiet(opened)
})
