import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import type { Locator } from 'playwright-core'
import { deleteAfter, emptyBroker } from './brokers.ts'
import { assertQuiet, openAt } from './browser.ts'

test('the topic explorer shows messages as a tree that arrow keys navigate, and publishes', async (t) => {
  const broker = await emptyBroker()
  const client = await connectAsync({ port: broker.port, clientId: 'meter' })
  t.after(() => client.endAsync(true))
  await client.publishAsync('plant/hall/<b>1', '{"degrees": 20}', { retain: true, qos: 1 })
  deleteAfter(t, broker, [`/api/v4/retained/${encodeURIComponent('plant/hall/<b>1')}`])
  const opened = await openAt(t, broker, '#/topics?filter=plant/%23')
  const { page } = opened
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  const tree = page.getByRole('tree', { name: 'Topics' })
  await tree.getByRole('treeitem', { name: /^plant / }).focus()
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await tree.getByRole('treeitem', { name: /^<b>1 .*degrees/ }).waitFor()
  const messages = page.getByRole('region', { name: 'Messages' })
  await messages.getByText('"degrees": 20').waitFor()
  await client.publishAsync('plant/hall/<b>1', '{"degrees": 21}', { qos: 1 })
  await messages.getByText('"degrees": 21').waitFor()
  await messages.getByLabel('Compare with the previous message').check()
  const changes = messages.getByRole('region', { name: /^Changes since/ })
  await changes.getByText('- "degrees": 20', { exact: false }).waitFor()
  await changes.getByText('+ "degrees": 21', { exact: false }).waitFor()
  await described(messages, 'Values over time', 'degrees 21')
  // A selected message stays while others arrive.
  await messages.getByRole('listitem').getByRole('button').first().click()
  await client.publishAsync('plant/hall/<b>1', '{"degrees": 22}', { qos: 1 })
  await described(messages, 'Values over time', 'degrees 22')
  await messages.getByRole('region', { name: 'Payload' }).getByText('"degrees": 20').waitFor()
  await messages.getByRole('button', { name: 'Show the newest' }).click()
  await messages.getByRole('region', { name: 'Payload' }).getByText('"degrees": 22').waitFor()

  await client.subscribeAsync('plant/orders')
  const received = new Promise<string>((resolve) => {
    client.on('message', (_topic, payload) => resolve(String(payload)))
  })
  const publish = page.getByRole('region', { name: 'Publish' })
  await publish.getByLabel('Topic').fill('plant/orders')
  await publish.getByLabel('Payload').fill('open the gate')
  await publish.getByRole('button', { name: 'Publish' }).click()
  assert.equal(await received, 'open the gate')
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  await page.getByRole('button', { name: 'Start', exact: true }).waitFor()
  assertQuiet(opened)
})

/** Waits until the plot with this name has this description, which screen readers read. */
async function described(within: Locator, name: string, description: string): Promise<void> {
  const id = await within.getByRole('img', { name, exact: true }).getAttribute('aria-describedby')
  await within.page().locator(`[id="${id}"]`).filter({ hasText: description }).waitFor({ state: 'attached' })
}

// Exceeds the limits. The test creates the stream, so that its size is known.

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

test('the explorer keeps 20,000 levels and 100 messages, shows how much it omitted, and lists the most active publishers', async (t) => {
  const opened = await openAt(t, await emptyBroker(), '#/topics')
  const { page } = opened
  const topics = Array.from({ length: maxLevels + 5 }, (_, number) => ({
    topic: `t${number}`,
    payload: 'ü'.repeat(300),
    clientid: number % 4 === 0 ? 'quiet' : 'loud/<b>1',
  }))
  const body = `${topics.map(lineOf).join('')}${JSON.stringify({ left_out: 7 })}\n`
  await page.route('**/api/v5/live?**', (route) => route.fulfill({ contentType: 'application/x-ndjson', body }))
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  await page.getByText('20,005 messages, 20,000 levels, 12 not shown', { exact: true }).waitFor()
  const tree = page.getByRole('tree', { name: 'Topics', exact: true })
  assert.equal(await tree.getByRole('treeitem').count(), 300)
  // A truncated value does not end within a character of two bytes.
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
