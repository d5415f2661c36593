import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connectAsync } from 'mqtt'
import type { Request } from 'playwright-core'
import { eventually } from '../e2e/eventually.ts'
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

  test('a plot covers the selected time span, and shows the value at the pointer in the selected time zone', async (t) => {
    const { page, context } = await openAt(t, await emptyBroker(), '#/overview?span=86400', { isNew: true })
    const devTools = await context.newCDPSession(page)
    await devTools.send('Emulation.setTimezoneOverride', { timezoneId: 'Asia/Tokyo' })
    const plot = page.getByRole('img', { name: 'Connections', exact: true })
    const figure = page.getByRole('figure').filter({ has: plot })
    // The page gets points of the last ten minutes.
    const startMs = Date.now() - 600_000
    const nothing = { sessions: 0, topics: 0, subscriptions: 0, retained: 0, received: 0, sent: 0, dropped: 0 }
    const data = Array.from({ length: 11 }, (_, index) => {
      const time_stamp = startMs + index * 60_000
      return { ...nothing, time_stamp, connections: 7, received_bytes: 0, sent_bytes: 0 }
    })
    await page.route('**/api/v5/monitor?**', (route) => route.fulfill({ json: { code: 0, data } }))
    await page.reload()
    await plot.locator('canvas').waitFor()
    const drawnColumns = (): Promise<number[]> =>
      plot.locator('canvas').evaluate((canvas: HTMLCanvasElement) => {
        const { width, height } = canvas
        // The line of seven connections; grid and texts are grey.
        const pixels = canvas.getContext('2d')?.getImageData(0, 0, width, height).data ?? []
        const isColored = (at: number): boolean =>
          (pixels[at + 3] ?? 0) > 128 && Math.abs((pixels[at] ?? 0) - (pixels[at + 2] ?? 0)) > 60
        return Array.from({ length: width }, (_, x) => x)
          .filter((x) => Array.from({ length: height }, (_, y) => isColored(4 * (y * width + x))).includes(true))
          .map((x) => x / width)
      })
    await eventually(async () => assert.ok((await drawnColumns()).length > 0))
    assert.ok(Math.min(...(await drawnColumns())) > 0.9, 'ten minutes are a small part of 24 hours')

    const { x, y, width, height } = (await plot.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
    const point = async (): Promise<string> => {
      await page.mouse.move(x + width / 2, y + height / 2)
      await page.mouse.move(x + width - 4, y + height / 2)
      return (await figure.getByText(/ · Connections 7$/).textContent()) ?? ''
    }
    // The last minute is not over yet.
    const lastMs = data.at(-2)?.time_stamp ?? 0
    const format = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium', timeZone: 'Asia/Tokyo' })
    assert.ok((await point()).includes(`${format.format(lastMs)} · Connections 7`))
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('combobox', { name: 'Time zone' }).selectOption('UTC')
    await page.keyboard.press('Escape')
    const inUtc = new Date(lastMs).toISOString().slice(11, 19)
    await eventually(async () => assert.ok((await point()).includes(`${inUtc} · Connections 7`)))
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
