// What the browser loads: the page as a whole up to the first one, and what each further page adds.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Request } from 'playwright-core'
import { shareBrokerWithApi } from '../management/api.ts'
import { openPage, signIn } from './browser.ts'
import { allRoutes } from './routes.ts'

const maxFirstLoadBytes = 80 * 1_024
const maxPageBytes = 50 * 1_024

const broker = shareBrokerWithApi()

test('the first load has 80 KB at most, and no page more than 50 KB beyond it', async (t) => {
  const { url } = await broker()
  const warm = await openPage(t, await broker())
  // Another one has nothing in its cache.
  const context = await warm.context.browser()?.newContext()
  assert.ok(context !== undefined)
  t.after(() => context.close())
  const page = await context.newPage()
  const loading = new Set<Request>()
  const loaded: Request[] = []
  /** Of files of the page, compressed as they came, since the last call. */
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
  await signIn(page)
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
