// The topic explorer beyond its limits. The stream is made here, so that its size is known.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareBrokerWithApi } from '../management/api.ts'
import { assertQuiet, openAt } from './browser.ts'

const broker = shareBrokerWithApi()

const maxLevels = 20_000
const maxShown = 100

interface Sent {
  readonly topic: string
  readonly payload: string
  readonly clientid: string
}

function lineOf({ topic, payload, clientid }: Sent): string {
  const bytes = Buffer.from(payload)
  const rest = { ts: 1_777_888_999_000, qos: 0, retain: false, size: bytes.length, truncated: false }
  return `${JSON.stringify({ topic, clientid, payload_base64: bytes.toString('base64'), ...rest })}\n`
}

test('the explorer keeps 20,000 levels and 100 messages, says what it left out, and names the clients that publish most', async (t) => {
  const opened = await openAt(t, await broker(), '#/topics')
  const { page } = opened
  const topics = Array.from({ length: maxLevels + 5 }, (_, number) => ({
    topic: `t${number}`,
    payload: 'ü'.repeat(300),
    clientid: number % 4 === 0 ? 'quiet' : 'loud/<b>1',
  }))
  const body = `${topics.map(lineOf).join('')}${JSON.stringify({ left_out: 7 })}\n`
  await page.route('**/api/v5/live?**', (route) => route.fulfill({ contentType: 'application/x-ndjson', body }))
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  await page.getByText('20,005 messages, 20,000 levels, 12 left out', { exact: true }).waitFor()
  const tree = page.getByRole('tree', { name: 'Topics', exact: true })
  assert.equal(await tree.getByRole('treeitem').count(), 300)
  // A letter of two bytes is not torn apart where the value is cut.
  const [item = ''] = await tree.getByRole('treeitem').allTextContents()
  assert.match(item, /^t0 [\d.]+\/s ü{40}$/)
  const messages = page.getByRole('region', { name: 'Messages', exact: true })
  // The newest is above the list.
  assert.equal(await messages.getByRole('listitem').count(), maxShown - 1)
  const busiest = page.getByRole('table', { name: 'Busiest clients', exact: true }).locator('tbody tr')
  const [first, second] = await busiest.allTextContents()
  assert.match(first ?? '', /loud\/<b>1.*15003.*75 %/)
  assert.match(second ?? '', /quiet.*5002.*25 %/)
  await page.getByRole('searchbox', { name: 'Search topics', exact: true }).fill('t19999')
  await tree.getByRole('treeitem').nth(1).waitFor({ state: 'detached' })
  assert.match((await tree.getByRole('treeitem').textContent()) ?? '', /^t19999 /)
  await busiest.first().getByRole('link', { name: 'loud/<b>1', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Client loud/<b>1', exact: true }).waitFor()
  assertQuiet(opened)
})
