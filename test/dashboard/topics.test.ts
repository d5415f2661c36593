import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import type { Locator } from 'playwright-core'
import { startBrokerWithApi } from '../management/api.ts'
import { assertQuiet, openAt } from './browser.ts'

test('the topic explorer shows messages as a tree, by arrows, and publishes', async (t) => {
  const broker = await startBrokerWithApi(t)
  const client = await connectAsync({ port: broker.port, clientId: 'meter' })
  t.after(() => client.endAsync(true))
  await client.publishAsync('plant/hall/<b>1', '{"degrees": 20}', { retain: true, qos: 1 })
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
  await messages.getByLabel('Compare with the message before').check()
  const changes = messages.getByRole('region', { name: /^Changes since/ })
  await changes.getByText('- "degrees": 20', { exact: false }).waitFor()
  await changes.getByText('+ "degrees": 21', { exact: false }).waitFor()
  await described(messages, 'Values over time', 'degrees 21')
  // A message that is chosen stays while others come.
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
