import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { add, changeSettings, deleteAfter, emptyBroker } from './brokers.ts'
import { assertQuiet, openAt } from './browser.ts'

test('the WebSocket client connects with its own credentials, subscribes, publishes and shows refusals', async (t) => {
  const broker = await emptyBroker()
  await changeSettings(t, broker, { auth: { allow_anonymous: false } }, { auth: { allow_anonymous: true } })
  await add(broker, '/api/v4/auth_username', { username: 'anna', password: 'a-secret-word' })
  deleteAfter(t, broker, ['/api/v4/auth_username/anna'])
  const opened = await openAt(t, broker, '#/websocket')
  const { page } = opened
  await page.getByLabel('Client identifier').fill('page-1')
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await page
    .getByRole('alert')
    .getByText(/not authorized|bad user name/i)
    .waitFor()
  await page.getByLabel('MQTT user name').fill('anna')
  await page.getByLabel('MQTT password').fill('a-secret-word')
  await page.keyboard.press('Enter')
  await page.getByRole('status').getByText('Connected', { exact: true }).waitFor()
  const { json } = await broker.request('/api/v4/clients/page-1')
  assert.equal(json.data[0].connected, true)

  await page.getByLabel('Subscribe topic').fill('plant/ä/#')
  await page.getByRole('button', { name: 'Subscribe', exact: true }).click()
  await page.getByRole('list', { name: 'Subscribed to' }).getByText('plant/ä/#').waitFor()
  const other = await connectAsync({ port: broker.port, username: 'anna', password: 'a-secret-word' })
  t.after(() => other.endAsync(true))
  const firstPayload = new Promise<string>((resolve) =>
    other.on('message', (_topic, payload) => resolve(String(payload))),
  )
  await other.subscribeAsync('plant/back')
  const received = page.getByRole('log', { name: 'Received' })
  const sent = page.getByRole('log', { name: 'Sent' })
  for (const qos of [0, 1, 2] as const) {
    await other.publishAsync('plant/ä/1', `<b>to the page</b> ${qos}`, { qos })
    await received.getByText(`<b>to the page</b> ${qos}`).waitFor()
    await received.getByText(`QoS ${qos}`).first().waitFor()
  }
  await page.getByLabel('Publish topic').fill('plant/back')
  await page.getByLabel('Payload').fill('from the page: ü')
  await page.getByLabel('QoS').selectOption('2')
  await page.getByRole('button', { name: 'Publish', exact: true }).click()
  assert.equal(await firstPayload, 'from the page: ü')
  await sent.getByText('acknowledged', { exact: false }).waitFor()

  await page.getByLabel('Publish topic').fill('plant/#')
  await page.getByRole('button', { name: 'Publish', exact: true }).click()
  await page.getByRole('alert').getByText('not a topic name').waitFor()
  await page.getByRole('button', { name: 'Remove plant/ä/#' }).click()
  await page.getByRole('list', { name: 'Subscribed to' }).waitFor({ state: 'detached' })
  const kicked = await broker.request('/api/v4/clients/page-1', { method: 'DELETE' })
  assert.equal(kicked.status, 200)
  await page.getByRole('status').getByText('Closed', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.getByRole('status').getByText('Connected', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Disconnect', exact: true }).click()
  await page.getByRole('status').getByText('Closed', { exact: true }).waitFor()
  assertQuiet(opened)
})
