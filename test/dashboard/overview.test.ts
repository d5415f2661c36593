import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connectAsync } from 'mqtt'
import { shareBrokerWithApi } from '../management/api.ts'
import { assertQuiet, openAt } from './browser.ts'

describe('the overview', () => {
  const broker = shareBrokerWithApi()

  test('shows connections, sessions and subscriptions as they change', async (t) => {
    const opened = await openAt(t, await broker(), '#/overview')
    const { page } = opened
    const connections = page.getByRole('group', { name: 'Connections', exact: true })
    await connections.getByText('0', { exact: true }).waitFor()
    const client = await connectAsync({ port: (await broker()).port, clientId: 'overview-client' })
    t.after(() => client.endAsync(true))
    await client.subscribeAsync('overview/#')
    await connections.getByText('1', { exact: true }).waitFor()
    await page.getByRole('group', { name: 'Subscriptions' }).getByText('1', { exact: true }).waitFor()
    assert.match((await page.getByRole('table', { name: 'Nodes' }).textContent()) ?? '', /Running/)
    assertQuiet(opened)
  })

  test('the first tab stop skips the navigation', async (t) => {
    const { page } = await openAt(t, await broker(), '#/overview')
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    assert.equal(await page.evaluate(() => document.activeElement?.id), 'content')
  })

  test('the first load, from the sign-in to the first page, is at most 80 KB', async (t) => {
    const { page } = await openAt(t, await broker(), '#/overview')
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
