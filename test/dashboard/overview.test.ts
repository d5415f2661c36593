import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connectAsync } from 'mqtt'
import type { Request } from 'playwright-core'
import { emptyBroker } from './brokers.ts'
import { assertQuiet, openAt, openNewTab, openPage, logIn } from './browser.ts'
import { allRoutes } from './routes.ts'

describe('the overview', () => {
  test('shows connections, sessions and subscriptions as they change', async (t) => {
    const opened = await openAt(t, await emptyBroker(), '#/overview')
    const { page } = opened
    const connections = page.getByRole('group', { name: 'Connections', exact: true })
    await connections.getByText('0', { exact: true }).waitFor()
    const client = await connectAsync({ port: (await emptyBroker()).port, clientId: 'overview-client' })
    t.after(() => client.endAsync(true))
    await client.subscribeAsync('overview/#')
    await connections.getByText('1', { exact: true }).waitFor()
    await page.getByRole('group', { name: 'Subscriptions' }).getByText('1', { exact: true }).waitFor()
    assert.match((await page.getByRole('table', { name: 'Nodes' }).textContent()) ?? '', /Running/)
    assertQuiet(opened)
  })

  test('the first tab stop skips the navigation', async (t) => {
    const { page } = await openAt(t, await emptyBroker(), '#/overview')
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'content')
  })

  test('the first load is at most 80 KiB (sizes from the browser)', async (t) => {
    const { page } = await openPage(t, await emptyBroker(), { route: '#/overview', isNew: true })
    await logIn(page)
    await page.getByRole('img', { name: /^Messages per second/ }).waitFor()
    const bytes = await page.evaluate(() => {
      const entries = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
      const loaded = entries.filter(({ name }) => name.includes('/dashboard/')) as PerformanceResourceTiming[]
      return loaded.map(({ encodedBodySize }) => encodedBodySize)
    })
    assert.ok(bytes.length >= 4 && bytes.every((size) => size > 0), String(bytes))
    const sum = bytes.reduce((one, other) => one + other)
    t.diagnostic(`${bytes.length} files, ${sum} bytes`)
    assert.ok(sum <= 80 * 1_024, `${sum} bytes: ${bytes.join()}`)
  })
})

const maxFirstLoadBytes = 80 * 1_024
const maxPageBytes = 50 * 1_024

test('the first load is at most 80 KiB (sizes from the network), and each page adds at most 50 KiB', async (t) => {
  const { url } = await emptyBroker()
  const { page } = await openNewTab(t)
  const loading = new Set<Request>()
  const loaded: Request[] = []
  /** Bytes of the files of the page since the last call, compressed as received. */
  const takeBytes = async (): Promise<number> => {
    let bytes = 0
    while (loading.size > 0) await page.waitForEvent('requestfinished')
    for (const request of loaded.splice(0)) bytes += (await request.sizes()).responseBodySize
    return bytes
  }
  page.on('request', (request) => {
    if (new URL(request.url()).pathname.startsWith('/dashboard/')) loading.add(request)
  })
  page.on('requestfinished', (request) => {
    if (loading.delete(request)) loaded.push(request)
  })
  await page.goto(`${url}/dashboard/`, { waitUntil: 'networkidle' })
  await logIn(page)
  await page.getByRole('heading', { level: 1, name: 'Overview', exact: true }).waitFor()
  const first = await takeBytes()
  assert.ok(first > 40_000, `${first} bytes: nothing was counted`)
  assert.ok(first <= maxFirstLoadBytes, `${first} bytes`)
  t.diagnostic(`first load: ${first} bytes`)
  for (const { route, heading } of allRoutes) {
    await page.evaluate((hash) => (location.hash = hash), route)
    await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
    const more = await takeBytes()
    assert.ok(more <= maxPageBytes, `${route}: ${more} bytes`)
  }
})
