import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
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
  await messages.getByRole('img', { name: 'Values over time: degrees 21' }).waitFor()
  // A message that is chosen stays while others come.
  await messages.getByRole('listitem').getByRole('button').first().click()
  await client.publishAsync('plant/hall/<b>1', '{"degrees": 22}', { qos: 1 })
  await messages.getByRole('img', { name: 'Values over time: degrees 22' }).waitFor()
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
