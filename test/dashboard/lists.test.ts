// The behavior of every list: it reloads while it is visible, keeps rows in place, drops late responses, and shows loading and
// errors. The test sends the responses of the API, so that their times are known.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import type { Page, Route } from 'playwright-core'
import { add, deleteAfter, emptyBroker } from './brokers.ts'
import { openAt } from './browser.ts'

interface Listed {
  readonly clientid: string
  readonly mqueue_len: number
}

const listed = (clientid: string, mqueue_len = 0): Listed => ({ clientid, mqueue_len })

function clientPage(clients: readonly Listed[]): string {
  const rest = { username: '', conn_state: 'connected', connected: true, ip_address: '127.0.0.1', proto_ver: 5 }
  const counts = { subscriptions_cnt: 0, inflight: 0, mqueue_dropped: 0, created_at: '2026-05-04 10:00:00' }
  const data = clients.map((client) => ({ ...rest, ...counts, ...client }))
  return JSON.stringify({ code: 0, data, meta: { limit: 25, hasnext: false } })
}

const fulfil = (route: Route, body: string, status = 200): Promise<void> =>
  route.fulfill({ status, contentType: 'application/json', body })

const rowsOf = (page: Page) => page.getByRole('table', { name: 'Clients', exact: true }).locator('tbody tr')
const idsIn = (page: Page): Promise<string[]> => rowsOf(page).locator('a').allTextContents()
const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true })
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

async function showTab(page: Page, isShown: boolean): Promise<void> {
  await page.evaluate(
    (state) => {
      Object.defineProperty(document, 'visibilityState', { value: state, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    },
    isShown ? 'visible' : 'hidden',
  )
}

/** Opens the page of clients with a stopped clock; the test sends the responses of the API. */
async function openClients(t: Parameters<typeof openAt>[0]) {
  const state = { clients: [listed('b'), listed('c')], requests: [] as (string | undefined)[] }
  const { page } = await openAt(t, await emptyBroker(), '#/about', { isNew: true })
  await page.clock.install()
  await page.route('**/api/v4/clients?**', (route) => {
    state.requests.push(route.request().headers()['x-godwit-idle'])
    return fulfil(route, clientPage(state.clients))
  })
  await page.evaluate(() => (location.hash = '#/clients'))
  await link(page, 'c').waitFor()
  return { page, state }
}

describe('a list', () => {
  test('is reloaded every five seconds, without extending the login, and not while the tab is hidden', async (t) => {
    const { page, state } = await openClients(t)
    assert.deepEqual(state.requests, [undefined], 'the first time is an act of the user')
    state.clients = [listed('b'), listed('c'), listed('d')]
    await page.clock.runFor(5_000)
    await link(page, 'd').waitFor()
    assert.deepEqual(state.requests, [undefined, '1'])
    await showTab(page, false)
    await page.clock.runFor(60_000)
    assert.equal(state.requests.length, 2, 'a hidden tab sends no request')
    state.clients = [listed('e')]
    await showTab(page, true)
    await link(page, 'e').waitFor()
    assert.deepEqual(state.requests, [undefined, '1', '1'])
  })

  test('keeps the order of the rows while one of them has the focus, and updates their values', async (t) => {
    const { page, state } = await openClients(t)
    await button(page, 'Disconnect c').focus()
    state.clients = [listed('a'), listed('c', 7)]
    await page.clock.runFor(5_000)
    await rowsOf(page).nth(1).getByText('7', { exact: true }).waitFor()
    assert.deepEqual(await idsIn(page), ['b', 'c'])
    assert.equal(await page.evaluate(() => document.activeElement?.ariaLabel), 'Disconnect c')
    await button(page, 'Pause').focus()
    await page.clock.runFor(5_000)
    await link(page, 'a').waitFor()
    assert.deepEqual(await idsIn(page), ['a', 'c'])
  })

  test('is sorted by its column headings, which are buttons', async (t) => {
    const { page, state } = await openClients(t)
    state.clients = [listed('b', 2), listed('c', 10), listed('a', 1)]
    await page.clock.runFor(5_000)
    await link(page, 'a').waitFor()
    const head = page.getByRole('columnheader', { name: 'Waiting', exact: true })
    await head.getByRole('button', { name: 'Waiting', exact: true }).click()
    assert.equal(await head.getAttribute('aria-sort'), 'ascending')
    assert.deepEqual(await idsIn(page), ['a', 'b', 'c'])
    await head.getByRole('button').click()
    assert.equal(await head.getAttribute('aria-sort'), 'descending')
    assert.deepEqual(await idsIn(page), ['c', 'b', 'a'])
  })

  test('is sorted by the server if it has several pages, and other columns have no sort button', async (t) => {
    const { page } = await openClients(t)
    const orders: (string | null)[] = []
    await page.route('**/api/v4/clients?**', (route) => {
      const { searchParams } = new URL(route.request().url())
      orders.push(searchParams.get('order_by'))
      const { data } = JSON.parse(clientPage([listed('b', 2), listed('c', 10)]))
      const meta = { page: 1, limit: 25, count: 60, hasnext: true, cursor: '0.25.0' }
      return fulfil(route, JSON.stringify({ code: 0, data, meta }))
    })
    await page.clock.runFor(5_000)
    const head = page.getByRole('columnheader', { name: 'Waiting', exact: true })
    await page.locator('th:has-text("Client ID"):not(:has(button))').waitFor()
    assert.equal(
      await page.getByRole('columnheader', { name: 'Client ID', exact: true }).getByRole('button').count(),
      0,
    )
    await head.getByRole('button').click()
    await page.locator('th[aria-sort="ascending"]').waitFor()
    await page.getByText('Rows: 60').waitFor()
    await head.getByRole('button').click()
    await page.locator('th[aria-sort="descending"]').waitFor()
    await page.clock.runFor(1_000)
    assert.ok(orders.includes('mqueue_len') && orders.at(-1) === '-mqueue_len', orders.join())
    assert.match(page.url(), /order=-mqueue_len/)
    await page.getByRole('button', { name: 'Next page', exact: true }).click()
    assert.match(page.url(), /page=2/)
  })

  test('searches after 300 ms, shows that it loads after 150 ms while the old rows stay, and ignores late responses', async (t) => {
    const { page } = await openClients(t)
    const waiting = new Map<string, Route>()
    const isWaiting = { slow: Promise.withResolvers<void>(), quick: Promise.withResolvers<void>() }
    await page.route('**/api/v4/clients?**', (route) => {
      const word = new URL(route.request().url()).searchParams.get('_like_clientid') ?? ''
      if (word !== 'slow' && word !== 'quick') return fulfil(route, clientPage([]))
      waiting.set(word, route)
      return isWaiting[word].resolve()
    })
    const search = page.getByRole('searchbox', { name: 'Search clients', exact: true })
    await search.fill('slow')
    await page.clock.runFor(299)
    assert.equal(waiting.size, 0)
    await page.clock.runFor(1)
    await isWaiting.slow.promise
    const region = page.getByRole('region', { name: 'Clients', exact: true })
    assert.equal(await region.getAttribute('aria-busy'), 'false')
    await page.clock.runFor(150)
    await page.locator('[aria-busy="true"]').and(region).waitFor()
    assert.deepEqual(await idsIn(page), ['b', 'c'])
    await search.fill('quick')
    await page.clock.runFor(300)
    await isWaiting.quick.promise
    await fulfil(waiting.get('quick') ?? assert.fail(), clientPage([listed('of quick')]))
    await link(page, 'of quick').waitFor()
    // The page ignores this response, and the browser may have cancelled the request already.
    await fulfil(waiting.get('slow') ?? assert.fail(), clientPage([listed('of slow')])).catch(() => undefined)
    await page.clock.runFor(1_000)
    assert.deepEqual(await idsIn(page), ['of quick'])
    assert.equal(await region.getAttribute('aria-busy'), 'false')
  })

  test('shows the error message of the API and a button to retry; the rest of the page works', async (t) => {
    const { page } = await openClients(t)
    const failure = JSON.stringify({ code: 101, message: 'shard 1 is restarting' })
    await page.route('**/api/v4/clients?**', (route) => fulfil(route, failure, 500))
    await page.clock.runFor(5_000)
    const again = button(page, 'Try again')
    await page.getByRole('alert').filter({ hasText: 'shard 1 is restarting' }).filter({ has: again }).waitFor()
    assert.deepEqual(await idsIn(page), ['b', 'c'], 'what is known stays')
    await button(page, 'Export CSV').click()
    await page.getByRole('alert').filter({ hasText: 'Export CSV' }).waitFor()
    await page.unroute('**/api/v4/clients?**')
    await page.route('**/api/v4/clients?**', (route) => fulfil(route, clientPage([listed('again')])))
    await again.click()
    await link(page, 'again').waitFor()
    await again.waitFor({ state: 'detached' })
  })

  test('shows one message while the broker is unavailable, and continues automatically', async (t) => {
    const { page, state } = await openClients(t)
    await page.route('**/api/**', (route) => route.abort())
    await page.clock.runFor(5_000)
    const alert = page.getByRole('alert').filter({ hasText: 'No connection to the broker' })
    await alert.waitFor()
    assert.equal(await page.getByRole('alert').count(), 1)
    await page.unroute('**/api/**')
    state.clients = [listed('back')]
    // The pauses between attempts grow to ten seconds at most.
    await page.clock.runFor(20_000)
    await alert.waitFor({ state: 'detached' })
    await link(page, 'back').waitFor()
  })

  test('searches user names and addresses on the server, and has the page and its size in the route', async (t) => {
    const { page } = await openClients(t)
    const requests: URLSearchParams[] = []
    await page.route('**/api/v4/clients?**', (route) => {
      requests.push(new URL(route.request().url()).searchParams)
      const meta = { limit: 50, hasnext: true, cursor: '0.50.0' }
      return fulfil(route, JSON.stringify({ ...(JSON.parse(clientPage([listed('x')])) as object), meta }))
    })
    const search = page.getByRole('searchbox', { name: 'Search clients', exact: true })
    for (const text of ['user:anna', 'ip:10.0.0.7']) {
      await search.fill(text)
      await page.clock.runFor(300)
      await page.waitForURL((url) => url.hash.includes(`search=${encodeURIComponent(text)}`))
    }
    await page.getByRole('combobox', { name: 'Rows per page', exact: true }).selectOption('50')
    await button(page, 'Next page').click()
    await page.waitForURL(/cursor=0\.50\.0/)
    await page.reload()
    await link(page, 'x').waitFor()
    const last = requests.at(-1)
    assert.deepEqual(
      [requests.map((one) => one.get('_like_username')).includes('anna'), last?.get('ip_address')],
      [true, '10.0.0.7'],
    )
    assert.deepEqual([last?.get('limit'), last?.get('cursor')], ['50', '0.50.0'])
  })

  test('with numbered pages is exported with all pages', async (t) => {
    const names = Array.from({ length: 30 }, (_, number) => `user-${String(number).padStart(2, '0')}`)
    const broker = await emptyBroker()
    for (const username of names) await add(broker, '/api/v4/auth_username', { username, password: 'a-secret' })
    deleteAfter(
      t,
      broker,
      names.map((username) => `/api/v4/auth_username/${username}`),
    )
    const { page } = await openAt(t, broker, '#/access')
    const shown = page.getByRole('table', { name: 'Users', exact: true }).locator('tbody tr')
    await shown.nth(24).waitFor()
    assert.equal(await shown.count(), 25)
    const saved = page.waitForEvent('download')
    await button(page, 'Export JSON').click()
    const rows = JSON.parse(await readFile(await (await saved).path(), 'utf8')) as { readonly name: string }[]
    assert.deepEqual(rows.map(({ name }) => name).toSorted(), names)
  })
})
