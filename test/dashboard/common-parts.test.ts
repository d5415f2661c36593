// Functions of all pages: the prefix of a proxy, pausing of live lists, exported tables, times, filters in the route.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import { connectAsync } from 'mqtt'
import type { Page } from 'playwright-core'
import { writeCsv } from '../../dashboard/src/state/export.ts'
import type { Scope } from '../e2e/godwit-process.ts'
import type { BrokerWithApi } from '../management/api.ts'
import { emptyBroker } from './brokers.ts'
import { assertQuiet, openAt } from './browser.ts'

/** Removes the prefix, and keeps the Host header. */
async function proxyBelow(t: Scope, broker: BrokerWithApi, prefix: string): Promise<string> {
  const proxy = createServer((incoming, outgoing) => {
    const { url = '', method, headers } = incoming
    if (!url.startsWith(`${prefix}/`)) return outgoing.writeHead(404).end()
    const passed = request(`${broker.url}${url.slice(prefix.length)}`, { method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(outgoing)
    })
    passed.on('error', () => outgoing.destroy())
    return incoming.pipe(passed)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  t.after(() => proxy.closeAllConnections())
  t.after(() => proxy.close())
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${prefix}`
}

test('the page works below a path prefix that a proxy removes', async (t) => {
  const broker = await emptyBroker()
  const url = await proxyBelow(t, broker, '/plant/mqtt')
  const opened = await openAt(t, { ...broker, url }, '#/listeners')
  await opened.page.getByRole('table', { name: 'Listeners', exact: true }).getByText('mqtt:tcp:default').waitFor()
  await opened.page.getByRole('link', { name: 'Nodes', exact: true }).click()
  await opened.page.getByRole('heading', { level: 1, name: 'Nodes', exact: true }).waitFor()
  assert.ok(opened.page.url().startsWith(`${url}/dashboard/`))
  assertQuiet(opened)
})

test('[RFC4180] exported cells are quoted, and no cell is read as a formula', () => {
  const cells = ['=1+1', '+1', '-1', '@SUM(A1)', 'a "b", c', 'plain', -1, true, undefined]
  const expected = `'=1+1,'+1,'-1,'@SUM(A1),"a ""b"", c",plain,-1,true,\r\n`
  assert.equal(writeCsv([cells]), expected)
})

const rowOf = (page: Page, name: string) => page.getByRole('link', { name, exact: true })

async function connect(t: Scope, clientId: string): Promise<void> {
  const client = await connectAsync({ port: (await emptyBroker()).port, clientId, reconnectPeriod: 0 })
  t.after(() => client.endAsync(true))
}

describe('lists', () => {
  test('do not change while they are paused, and then continue', async (t) => {
    const opened = await openAt(t, await emptyBroker(), '#/clients?search=live', { isNew: true })
    const { page } = opened
    await page.clock.install()
    await page.reload()
    await page.getByText('No clients', { exact: false }).waitFor()
    await page.getByRole('button', { name: 'Pause', exact: true }).click()
    await connect(t, 'live-1')
    const requested: string[] = []
    page.on('request', (one) => requested.push(one.url()))
    await page.clock.runFor(60_000)
    assert.deepEqual(
      requested.filter((url) => url.includes('/clients')),
      [],
    )
    await page.getByRole('button', { name: 'Resume', exact: true }).click()
    await page.clock.runFor(10_000)
    await rowOf(page, 'live-1').waitFor()
    assertQuiet(opened)
  })

  test('are exported with their filter', async (t) => {
    await connect(t, '=export-1')
    await connect(t, 'other')
    const { page } = await openAt(t, await emptyBroker(), '#/clients?search=export')
    await rowOf(page, '=export-1').waitFor()
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export CSV', exact: true }).click()
    const text = await readFile(await (await saved).path(), 'utf8')
    const [head, row, ...rest] = text.trimEnd().split('\r\n')
    assert.match(head ?? '', /^Client ID,User name,/)
    assert.match(row ?? '', /^'=export-1,/)
    assert.deepEqual(rest, [])
  })

  test('show times in the selected time zone, with the ISO time as the title', async (t) => {
    await connect(t, 'timed')
    const { page } = await openAt(t, await emptyBroker(), '#/clients?search=timed')
    const time = page
      .getByRole('row')
      .filter({ has: rowOf(page, 'timed') })
      .locator('time')
    const iso = (await time.getAttribute('title')) ?? ''
    assert.equal(new Date(iso).toISOString(), iso)
    assert.ok(Math.abs(Date.parse(iso) - Date.now()) < 600_000, iso)
    await page.getByRole('button', { name: 'Account', exact: true }).click()
    await page.getByRole('combobox', { name: 'Time zone', exact: true }).selectOption('UTC')
    const options = { dateStyle: 'medium', timeStyle: 'medium', timeZone: 'UTC' } as const
    await time.getByText(new Intl.DateTimeFormat('en-GB', options).format(Date.parse(iso)), { exact: true }).waitFor()
  })

  test('keep filter and page after reload, back and forward', async (t) => {
    await connect(t, 'kept-1')
    const { page } = await openAt(t, await emptyBroker(), '#/clients')
    await page.getByRole('searchbox', { name: 'Search clients', exact: true }).fill('kept')
    await page.waitForURL(/search=kept/)
    await rowOf(page, 'kept-1').click()
    await page.getByRole('heading', { level: 1, name: 'Client kept-1', exact: true }).waitFor()
    await page.getByRole('tab', { name: 'Timeline', exact: true }).click()
    await page.waitForURL(/tab=timeline/)
    await page.reload()
    await page.getByRole('tab', { name: 'Timeline', exact: true, selected: true }).waitFor()
    await page.getByRole('link', { name: 'Clients', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Clients', exact: true }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { level: 1, name: 'Client kept-1', exact: true }).waitFor()
    await page.goForward()
    await page.getByRole('heading', { level: 1, name: 'Clients', exact: true }).waitFor()
  })
})
