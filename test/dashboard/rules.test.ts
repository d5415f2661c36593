import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { deleteAfter, emptyBroker } from './brokers.ts'
import { assertQuiet, openAt } from './browser.ts'

test('a rule is tested, added, disabled, edited and deleted', async (t) => {
  const broker = await emptyBroker()
  const opened = await openAt(t, broker, '#/rules')
  const { page } = opened
  await page.getByText('No rules.').waitFor()
  await page.getByRole('button', { name: 'Add rule' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add rule' })
  await dialog.getByLabel('Name').fill('hot')
  await dialog.getByLabel('SQL').fill('SELECT payload.temp AS temp FROM "t/#" WHERE payload.temp > 20')
  await dialog.getByRole('button', { name: 'Test' }).click()
  await dialog.getByRole('region', { name: 'Result of the test' }).getByText('"temp": 21.5').waitFor()
  await dialog.getByLabel('SQL').fill('SELECT FROM')
  await dialog.getByRole('button', { name: 'Test' }).click()
  await dialog.getByRole('alert', { name: 'Result of the test' }).waitFor()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').nth(1).waitFor()
  assert.deepEqual((await broker.request('/api/v5/rules')).json.data, [], 'a rule that is wrong is not saved')
  await dialog.getByLabel('SQL').fill('SELECT payload.temp AS temp FROM "t/#" WHERE payload.temp > 20')
  await dialog.getByLabel('Actions, as JSON').fill('[{"function": "republish", "args": {"topic": "hot"}}]')
  await dialog.getByRole('button', { name: 'Save' }).click()
  const table = page.getByRole('table', { name: 'Rules' })
  await table.getByText('republish hot').waitFor()

  const client = await connectAsync({ port: broker.port, reconnectPeriod: 0 })
  t.after(() => client.endAsync(true))
  await client.publishAsync('t/1', '{"temp": 30}', { qos: 1 })
  await table.getByRole('row', { name: /hot/ }).getByRole('cell', { name: '1', exact: true }).first().waitFor()

  await table.getByRole('switch', { name: 'Enabled hot' }).click()
  await page.getByRole('status').getByText('Done: Turn off hot').waitFor()
  const stored = (await broker.request('/api/v5/rules/hot')).json
  assert.deepEqual([stored.enable, stored.actions.length], [false, 1], 'the rest stays as it was')
  await table.getByRole('button', { name: 'Edit hot' }).click()
  const edit = page.getByRole('dialog', { name: 'Edit hot' })
  await edit.getByLabel('Description').fill('for the fans')
  await edit.getByRole('button', { name: 'Save' }).click()
  await table.getByText('for the fans').waitFor()
  await table.getByRole('button', { name: 'Delete hot' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No rules.').waitFor()
  assert.equal((await broker.request('/api/v5/rules/hot')).status, 404)
  assertQuiet(opened)
})

test('SQL of an EMQX 3 rule is converted', async (t) => {
  const broker = await emptyBroker()
  const { page } = await openAt(t, broker, '#/rules')
  await page.getByRole('button', { name: 'Convert old rule SQL' }).click()
  const dialog = page.getByRole('dialog', { name: 'Convert old rule SQL' })
  await dialog.getByLabel('Old SQL').fill('SELECT * FROM "message.publish" WHERE topic =~ \'t/#\'')
  await dialog.getByRole('button', { name: 'Convert' }).click()
  await page.waitForFunction(() =>
    [...document.querySelectorAll('textarea')].some(({ readOnly, value }) => readOnly && value.includes('FROM')),
  )
  assert.match(await dialog.getByLabel('New SQL').inputValue(), /"t\/#"/)
})

test('a connector and an action are added, and dead letters are sent again', async (t) => {
  let status = 400
  const accepted: string[] = []
  const isAccepted = Promise.withResolvers<void>()
  const service = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
    request.on('end', () => {
      if (status === 200 && body !== '') {
        accepted.push(body)
        isAccepted.resolve()
      }
      response.writeHead(status).end()
    })
  })
  service.listen(0, '127.0.0.1')
  await once(service, 'listening')
  t.after(() => service.close())
  const { port } = service.address() as AddressInfo
  const broker = await emptyBroker()
  const opened = await openAt(t, broker, '#/rules?tab=services')
  const { page } = opened
  await page.getByRole('button', { name: 'Add connector' }).click()
  const connector = page.getByRole('dialog', { name: 'Add connector' })
  const url = `http://127.0.0.1:${port}`
  deleteAfter(t, broker, ['/api/v5/rules/all', '/api/v5/actions/http:post?force=true', '/api/v5/connectors/http:web'])
  await connector.getByLabel('Type', { exact: true }).selectOption('http')
  await connector.getByLabel('Name', { exact: true }).fill('web')
  await connector.getByLabel('url', { exact: true }).fill(url)
  await connector.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByRole('table', { name: 'Connectors' }).getByText('http:web').waitFor()
  await page.getByRole('button', { name: 'Add action' }).click()
  const action = page.getByRole('dialog', { name: 'Add action' })
  await action.getByRole('button', { name: 'As JSON', exact: true }).click()
  const parameters = { path: '/', method: 'post', body: '${payload}' }
  await action.getByLabel('Settings').fill(JSON.stringify({ type: 'http', name: 'post', connector: 'web', parameters }))
  await action.getByRole('button', { name: 'Save', exact: true }).click()
  const actions = page.getByRole('table', { name: 'Actions' })
  await actions.getByText('http:post').waitFor()

  await broker.request('/api/v5/rules', {
    method: 'POST',
    body: { id: 'all', sql: 'SELECT * FROM "t"', actions: ['http:post'] },
  })
  const client = await connectAsync({ port: broker.port, reconnectPeriod: 0 })
  t.after(() => client.endAsync(true))
  await client.publishAsync('t', 'refused once', { qos: 1 })
  // The dialog shows the entries that existed when it was opened.
  while ((await broker.request('/api/v5/actions/http:post/dead_letters')).json.data.length === 0)
    await new Promise((resolve) => setTimeout(resolve, 50))
  await actions.getByRole('button', { name: 'Dead letters http:post' }).click()
  const letters = page.getByRole('dialog', { name: 'Dead letters http:post' })
  await letters.getByRole('cell', { name: 'refused once' }).waitFor()
  await letters.locator('td time').waitFor()
  status = 200
  await letters.getByRole('button', { name: 'Send all again' }).click()
  await letters.getByText('No dead letters.').waitFor()
  await letters.getByRole('button', { name: 'Close' }).click()
  await isAccepted.promise
  assert.deepEqual(accepted, ['refused once'])
  status = 503
  await client.publishAsync('t', 'waits', { qos: 1 })
  await actions.getByRole('button', { name: 'Waiting results http:post' }).click()
  const queue = page.getByRole('dialog', { name: 'Waiting results http:post' })
  await queue.getByRole('cell', { name: 'waits' }).waitFor()
  await queue.getByRole('button', { name: /^Move to dead letters/ }).click()
  await queue.getByText('No results wait.').waitFor()
  await queue.getByRole('button', { name: 'Close' }).click()
  await actions.getByRole('button', { name: 'Dead letters http:post' }).waitFor()
  await actions.getByRole('switch', { name: 'Enabled http:post' }).click()
  await page.getByRole('status').getByText('Done: Turn off http:post').waitFor()
  assert.equal((await broker.request('/api/v5/actions/http:post')).json.enable, false)
})

test('connectors and actions are edited in fields of their settings; a secret stays if it is not entered again', async (t) => {
  const broker = await emptyBroker()
  const add = (what: string, body: object) => broker.request(`/api/v5/${what}`, { method: 'POST', body })
  const connector = { type: 'redis', name: 'cache', server: '127.0.0.1:6379', password: 'a-secret-word' }
  assert.equal((await add('connectors', connector)).status, 201)
  const parameters = { command_template: ['SET', 'last', '${payload}'] }
  const action = await add('actions', { type: 'redis', name: 'keep', connector: 'cache', parameters })
  assert.equal(action.status, 201, action.text)
  deleteAfter(t, broker, ['/api/v5/actions/redis:keep', '/api/v5/connectors/redis:cache'])
  const opened = await openAt(t, broker, '#/rules?tab=services')
  const { page } = opened
  const edit = async (name: string, key: string, value: string): Promise<void> => {
    await page.getByRole('button', { name: `Edit ${name}` }).click()
    const dialog = page.getByRole('dialog', { name: `Edit ${name}` })
    await dialog.getByLabel(key, { exact: true }).fill(value)
    assert.doesNotMatch(await dialog.innerHTML(), /a-secret-word/)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
  }

  await edit('redis:cache', 'connect_timeout', '7s')
  await edit('redis:keep', 'resource_opts.batch_size', '12')
  const settings = (await broker.request('/api/v5/configuration_schema')).json.data as { key: string; value: string }[]
  const valueOf = (key: string): string | undefined => settings.find((one) => one.key === key)?.value
  assert.equal(valueOf('connectors.redis.cache.connect_timeout'), '7s')
  assert.equal(valueOf('connectors.redis.cache.password'), '******', 'the password is still set')
  assert.equal(valueOf('actions.redis.keep.resource_opts.batch_size'), '12')
  await page.getByRole('button', { name: 'Edit redis:cache' }).click()
  const dialog = page.getByRole('dialog', { name: 'Edit redis:cache' })
  const field = dialog.getByLabel('password', { exact: true })
  assert.equal(await field.getAttribute('type'), 'password')
  assert.equal(await field.inputValue(), '')
  await dialog.getByLabel('connect_timeout', { exact: true }).fill('soon')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').getByText('Correct the marked fields.').waitFor()
  await dialog.getByText(/connectors\.redis\.cache\.connect_timeout/).waitFor()
  assert.equal(await dialog.getByLabel('connect_timeout', { exact: true }).getAttribute('aria-invalid'), 'true')
  await dialog.getByRole('button', { name: 'As JSON' }).click()
  await dialog.getByLabel('Settings').waitFor()
  assertQuiet(opened)
})

test('a gateway is configured, disabled and enabled', async (t) => {
  const broker = await emptyBroker()
  t.after(() => broker.request('/api/v5/gateways/stomp', { method: 'PUT', body: {} }))
  const opened = await openAt(t, broker, '#/gateways')
  const { page } = opened
  const table = page.getByRole('table', { name: 'Gateways' })
  await table.getByRole('row', { name: /stomp/ }).getByText('Without a listener').waitFor()
  await table.getByRole('button', { name: 'Edit stomp' }).click()
  const edit = page.getByRole('dialog', { name: 'Edit stomp' })
  await edit.getByLabel('frame.max_headers', { exact: true }).fill('33')
  await edit.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('status').getByText('Done: Edit stomp').waitFor()
  const { json } = await broker.request('/api/v5/gateways/stomp')
  assert.equal(json.configuration.frame.max_headers, 33)
  await table.getByRole('button', { name: 'Edit stomp' }).click()
  await edit.getByRole('button', { name: 'As JSON' }).click()
  const listeners = { tcp: { default: { bind: '127.0.0.1:0' } } }
  await edit.getByLabel('Settings').fill(JSON.stringify({ listeners }))
  await edit.getByRole('button', { name: 'Save' }).click()
  await table.getByRole('row', { name: /stomp/ }).getByText('Running').waitFor()
  await table.getByRole('switch', { name: 'Enabled stomp' }).click()
  await table.getByRole('row', { name: /stomp/ }).getByText('Stopped').waitFor()
  const states = (await broker.request('/api/v5/gateways?status=stopped')).json
  assert.deepEqual(
    states.map(({ name }: { readonly name: string }) => name),
    ['stomp'],
  )
  assertQuiet(opened)
})
