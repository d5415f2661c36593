import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator } from 'playwright-core'
import { connectAsync } from 'mqtt'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { parseSettingProblems } from '../../dashboard/src/pages/setting-problems.ts'
import { parseSettingValue } from '../../dashboard/src/pages/setting-values.ts'
import { add, deleteAfter, emptyBroker, namespacedBroker, planter as as } from './brokers.ts'
import { assertQuiet, openAt } from './browser.ts'

const field = (dialog: Locator, key: string): Locator => dialog.getByLabel(key, { exact: true })
const button = (within: Locator, name: string): Locator => within.getByRole('button', { name, exact: true })

async function problemAt(dialog: Locator, key: string): Promise<string> {
  const marked = field(dialog, key)
  const [id] = ((await marked.getAttribute('aria-describedby')) ?? '').split(' ')
  assert.equal(await marked.getAttribute('aria-invalid'), 'true')
  return (await dialog.locator(`[id="${id}"]`).textContent()) ?? ''
}

test('a connector and an action are added in fields; a refusal is shown at its field; a test stores nothing', async (t) => {
  const stored = Promise.withResolvers<string>()
  const service = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
    request.on('end', () => {
      if (request.method === 'PUT') stored.resolve(body)
      response.end()
    })
  })
  service.listen(0, '127.0.0.1')
  await once(service, 'listening')
  t.after(() => service.close())
  const { port } = service.address() as AddressInfo
  const broker = await emptyBroker()
  const opened = await openAt(t, broker, '#/rules?tab=services')
  const { page } = opened
  await page.getByRole('button', { name: 'Add connector', exact: true }).click()
  const connector = page.getByRole('dialog', { name: 'Add connector', exact: true })
  await field(connector, 'Type').selectOption('http')
  await field(connector, 'Name').fill('web')
  const labels = await connector.locator('label.mono').allTextContents()
  assert.equal(labels[0], 'url', 'the required setting is the first')
  assert.equal(await field(connector, 'headers').getAttribute('type'), 'password')
  await field(connector, 'url').fill('nonsense')
  await button(connector, 'Test').click()
  await connector.getByRole('alert', { name: 'Result of the test' }).waitFor()
  assert.match(await problemAt(connector, 'url'), /write http:\/\/host:port/)
  await button(connector, 'Save').click()
  await connector.getByText(/connectors\.http\.web\.url/).waitFor()
  assert.match(await problemAt(connector, 'url'), /connectors\.http\.web\.url/)
  await field(connector, 'url').fill(`http://127.0.0.1:${port}`)
  await button(connector, 'Test').click()
  await connector.getByRole('status', { name: 'Result of the test' }).getByText('The service can be reached.').waitFor()
  assert.deepEqual((await broker.request('/api/v5/connectors')).json, [])
  await connector.getByText('More settings', { exact: true }).click()
  await field(connector, 'description').fill('of the plant')
  await button(connector, 'Save').click()
  await connector.waitFor({ state: 'detached' })
  deleteAfter(t, broker, ['/api/v5/rules/all', '/api/v5/actions/http:post', '/api/v5/connectors/http:web'])
  const { json } = await broker.request('/api/v5/connectors/http:web')
  assert.deepEqual([json.url, json.description], [`http://127.0.0.1:${port}`, 'of the plant'])

  await page.getByRole('button', { name: 'Add action', exact: true }).click()
  const action = page.getByRole('dialog', { name: 'Add action', exact: true })
  await field(action, 'Type').selectOption('http')
  await field(action, 'Name').fill('post')
  await field(action, 'connector').selectOption('web')
  await field(action, 'parameters.method').selectOption('put')
  await field(action, 'parameters.body').fill('{"value":\n"${payload}"}')
  await button(action, 'Save').click()
  await action.waitFor({ state: 'detached' })
  const rule = { id: 'all', sql: 'SELECT * FROM "t"', actions: ['http:post'] }
  assert.equal((await broker.request('/api/v5/rules', { method: 'POST', body: rule })).status, 201)
  const client = await connectAsync({ port: broker.port, reconnectPeriod: 0 })
  t.after(() => client.endAsync(true))
  await client.publishAsync('t', 'warm', { qos: 1 })
  assert.equal(await stored.promise, '{"value":\n"warm"}')
  assertQuiet(opened)
})

test('a source of another type is added in fields, and the JSON view has the values of the fields', async (t) => {
  const broker = await emptyBroker()
  const connector = { type: 'mqtt', name: 'plant', server: '127.0.0.1:1', enable: false }
  await add(broker, '/api/v5/connectors', connector)
  deleteAfter(t, broker, ['/api/v5/sources/mqtt:incoming', '/api/v5/connectors/mqtt:plant'])
  const opened = await openAt(t, broker, '#/rules?tab=sources')
  const { page } = opened
  await page.getByRole('button', { name: 'Add source', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Add source', exact: true })
  await field(dialog, 'Type').selectOption('kafka_consumer')
  await field(dialog, 'parameters.group_id').waitFor()
  assert.deepEqual(await field(dialog, 'connector').locator('option').allTextContents(), [''])
  await field(dialog, 'Type').selectOption('mqtt')
  await field(dialog, 'Name').fill('incoming')
  await field(dialog, 'connector').selectOption('plant')
  await field(dialog, 'parameters.topic').fill('plant/#')
  await button(dialog, 'As JSON').click()
  assert.deepEqual(JSON.parse(await dialog.getByLabel('Settings').inputValue()), {
    type: 'mqtt',
    name: 'incoming',
    connector: 'plant',
    parameters: { topic: 'plant/#' },
  })
  await button(dialog, 'As a form').click()
  await button(dialog, 'Save').click()
  await page.getByRole('table', { name: 'Sources' }).getByText('mqtt:incoming').waitFor()
  assert.equal((await broker.request('/api/v5/sources/mqtt:incoming')).json.parameters.topic, 'plant/#')
  assertQuiet(opened)
})

test('an administrator of a namespace adds a connector and an action in fields, without fields for files', async (t) => {
  const broker = await namespacedBroker()
  const opened = await openAt(t, broker, '#/rules?tab=services', { as })
  const { page } = opened
  await page.getByRole('button', { name: 'Add connector', exact: true }).click()
  const connector = page.getByRole('dialog', { name: 'Add connector', exact: true })
  await field(connector, 'Type').selectOption('http')
  assert.equal(await field(connector, 'Type').locator('option[value="disk_log"]').count(), 0)
  await field(connector, 'Name').fill('cloud')
  await connector.getByText('More settings', { exact: true }).click()
  await field(connector, 'ssl.enable').waitFor()
  assert.equal(await field(connector, 'ssl.certfile').count(), 0)
  await field(connector, 'url').fill('nonsense')
  await button(connector, 'Save').click()
  await connector.getByText(/connectors\.http\.cloud\.url/).waitFor()
  assert.match(await problemAt(connector, 'url'), /connectors\.http\.cloud\.url/)
  await field(connector, 'url').fill('http://127.0.0.1:1')
  await button(connector, 'Save').click()
  await connector.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Add action', exact: true }).click()
  const action = page.getByRole('dialog', { name: 'Add action', exact: true })
  await field(action, 'Type').selectOption('http')
  await field(action, 'Name').fill('upload')
  await field(action, 'connector').selectOption('cloud')
  await button(action, 'Save').click()
  await action.waitFor({ state: 'detached' })
  const own = (await broker.request('/api/v5/actions/http:upload', { as })).json
  assert.deepEqual([own.connector, (await broker.request('/api/v5/actions')).json], ['cloud', []])
  assertQuiet(opened)
})

test('a listener is added to a gateway, which then runs', async (t) => {
  const broker = await emptyBroker()
  const opened = await openAt(t, broker, '#/gateways')
  const { page } = opened
  const row = page.getByRole('row', { name: /stomp/ })
  await row.getByText('Without a listener').waitFor()
  await row.getByRole('button', { name: 'Add listener stomp', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Add listener to stomp', exact: true })
  await field(dialog, 'Type').selectOption('tcp')
  await field(dialog, 'Name').fill('floor')
  await field(dialog, 'bind').fill('127.0.0.1:0')
  await field(dialog, 'max_connections').fill('no number')
  await button(dialog, 'Save').click()
  await dialog.getByRole('alert').getByText('Correct the marked fields.').waitFor()
  assert.match(await problemAt(dialog, 'max_connections'), /whole number/)
  await field(dialog, 'max_connections').fill('7')
  await button(dialog, 'Save').click()
  await row.getByText('Running').waitFor()
  deleteAfter(t, broker, ['/api/v5/gateways/stomp/listeners/stomp:tcp:floor'])
  const [listener] = (await broker.request('/api/v5/gateways/stomp/listeners')).json
  assert.deepEqual([listener.id, listener.max_connections, listener.running], ['stomp:tcp:floor', 7, true])
  assertQuiet(opened)
})

test('a refusal is shown at the field with the longest key that it names, or at no field', () => {
  const keys = ['url', 'parameters', 'parameters.topic', 'ssl.keyfile']
  const place = ['actions', 'mqtt', 'a.b']
  const found = parseSettingProblems(
    [
      'actions.mqtt.a.b.parameters.topic: "x" is wrong',
      'request: actions.mqtt.probe.url: is missing',
      'ssl.keyfile: there is no such file',
      'actions.mqtt.a.b.urls: unknown',
      'the disk is full',
    ].join('\n'),
    keys,
    place,
  )
  assert.deepEqual([...found.byKey.keys()].toSorted(), ['parameters.topic', 'ssl.keyfile', 'url'])
  assert.deepEqual(found.rest, ['actions.mqtt.a.b.urls: unknown', 'the disk is full'])
})

test('a text that looks like JSON stays a text if the setting is a text', () => {
  const template = '{"value": "${payload.value}"}'
  assert.equal(parseSettingValue(template, 'text, or none'), template)
  assert.deepEqual(parseSettingValue('["a", "b"]', 'a list, each item text'), ['a', 'b'])
  assert.equal(parseSettingValue('"quoted"', 'text'), 'quoted')
})
