// Delayed messages, topic metrics, schemas and sources: actions in the page change the broker.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connectAsync } from 'mqtt'
import { add, deleteAfter, emptyBroker } from './brokers.ts'
import { assertQuiet, openAt } from './browser.ts'

describe('the data pages', () => {
  test('a delayed message is shown with its payload and deleted', async (t) => {
    const broker = await emptyBroker()
    const client = await connectAsync({ port: broker.port, clientId: 'planner' })
    t.after(() => client.endAsync(true))
    await client.publishAsync('$delayed/3600/plant/start', '{"pump": 7}', { qos: 1 })
    const opened = await openAt(t, broker, '#/delayed')
    const { page } = opened
    const table = page.getByRole('table', { name: 'Delayed messages', exact: true })
    await table.getByText('plant/start', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Show plant/start', exact: true }).click()
    const shown = page.getByRole('dialog', { name: 'Delayed message plant/start', exact: true })
    await shown.getByRole('region', { name: 'Payload', exact: true }).getByText('"pump": 7').waitFor()
    await shown.getByRole('button', { name: 'Close', exact: true }).click()
    await page.getByRole('button', { name: 'Delete plant/start', exact: true }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('No delayed messages.', { exact: true }).waitFor()
    assert.deepEqual((await broker.request('/api/v5/mqtt/delayed/messages')).json.data, [])
    assertQuiet(opened)
  })

  test('a topic metric is added, reset and deleted', async (t) => {
    const broker = await emptyBroker()
    const opened = await openAt(t, broker, '#/topic-metrics')
    const { page } = opened
    await page.getByText('No topics whose messages are counted.', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Add topic', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Add topic', exact: true })
    await dialog.getByLabel('Topic', { exact: true }).fill('plant/+')
    await dialog.getByRole('button', { name: 'Save', exact: true }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Topic', { exact: true }).fill('plant/count')
    await dialog.getByRole('button', { name: 'Save', exact: true }).click()
    const table = page.getByRole('table', { name: 'Topic metrics', exact: true })
    const row = table.getByRole('row').filter({ has: page.getByText('plant/count', { exact: true }) })
    await row.waitFor()
    const client = await connectAsync({ port: broker.port, clientId: 'counter' })
    t.after(() => client.endAsync(true))
    for (let count = 0; count < 3; count++) await client.publishAsync('plant/count', 'x', { qos: 1 })
    await row.locator('td').nth(1).getByText('3', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Reset plant/count', exact: true }).click()
    await row.locator('td').nth(1).getByText('0', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Delete plant/count', exact: true }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('No topics whose messages are counted.', { exact: true }).waitFor()
    assert.deepEqual((await broker.request('/api/v5/mqtt/topic_metrics')).json, [])
    assertQuiet(opened)
  })

  test('a schema is added after its error is corrected, then changed and deleted', async (t) => {
    const broker = await emptyBroker()
    const opened = await openAt(t, broker, '#/schemas')
    const { page } = opened
    await page.getByRole('button', { name: 'Add schema', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Add schema', exact: true })
    await dialog.getByLabel('Name', { exact: true }).fill('pump')
    await dialog.getByLabel('Source', { exact: true }).fill('{"type": "no-such-type"}')
    await dialog.getByRole('button', { name: 'Save', exact: true }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Source', { exact: true }).fill('{"type": "object"}')
    await dialog.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('table', { name: 'Schemas', exact: true }).getByText('pump', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Edit pump', exact: true }).click()
    const edit = page.getByRole('dialog', { name: 'Edit pump', exact: true })
    await edit.getByLabel('Description', { exact: true }).fill('of pumps')
    await edit.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('table', { name: 'Schemas', exact: true }).getByText('of pumps', { exact: true }).waitFor()
    assert.equal((await broker.request('/api/v5/schema_registry/pump')).json.description, 'of pumps')
    await page.getByRole('button', { name: 'Delete pump', exact: true }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('No schemas.', { exact: true }).waitFor()
    assert.equal((await broker.request('/api/v5/schema_registry/pump')).status, 404)
    assertQuiet(opened)
  })

  test('a source is listed, turned off and deleted', async (t) => {
    const broker = await emptyBroker()
    await add(broker, '/api/v5/connectors', { type: 'mqtt', name: 'far', server: '127.0.0.1:1' })
    deleteAfter(t, broker, ['/api/v5/connectors/mqtt:far'])
    const parameters = { topic: 'far/#', qos: 1 }
    await add(broker, '/api/v5/sources', { type: 'mqtt', name: 'incoming', connector: 'far', parameters })
    const opened = await openAt(t, broker, '#/rules?tab=sources')
    const { page } = opened
    const isOn = page.getByRole('switch', { name: 'Enabled mqtt:incoming', exact: true })
    await isOn.click()
    await page
      .getByRole('status')
      .getByText(/^Done: .*mqtt:incoming/)
      .waitFor()
    assert.equal((await broker.request('/api/v5/sources/mqtt:incoming')).json.enable, false)
    await page.getByRole('button', { name: 'Edit mqtt:incoming', exact: true }).click()
    await page.getByRole('dialog', { name: 'Edit mqtt:incoming', exact: true }).getByLabel('parameters.topic').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Delete mqtt:incoming', exact: true }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('No sources.', { exact: true }).waitFor()
    assert.deepEqual((await broker.request('/api/v5/sources')).json, [])
    assertQuiet(opened)
  })

  test('a viewer sees the pages, and no controls for changes', async (t) => {
    const broker = await emptyBroker()
    await add(broker, '/api/v5/users', { username: 'looker', password: 'a-lookers-password', role: 'viewer' })
    deleteAfter(t, broker, ['/api/v5/users/looker'])
    const { page } = await openAt(t, broker, '#/delayed', { as: 'looker:a-lookers-password' })
    for (const [route, table] of [
      ['#/delayed', 'Delayed messages'],
      ['#/topic-metrics', 'Topic metrics'],
      ['#/schemas', 'Schemas'],
      ['#/rules?tab=sources', 'Sources'],
    ] as const) {
      await page.evaluate((hash) => (location.hash = hash), route)
      await page.getByRole('table', { name: table, exact: true }).waitFor()
      assert.equal(await page.getByRole('button', { name: /^(Add|Delete|Reset|Edit|Restart) / }).count(), 0, route)
    }
  })
})
