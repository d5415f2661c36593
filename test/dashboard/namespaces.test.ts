// The effects of a namespace: the available pages, the requests, and that its connectors and actions are edited in the same
// fields as those of the broker.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { shared } from '../e2e/godwit-process.ts'
import type { BrokerWithApi } from '../management/api.ts'
import { add, namespacedBroker, planter as as } from './brokers.ts'
import { assertQuiet, openAt } from './browser.ts'

const broker = shared(async (): Promise<BrokerWithApi> => {
  const started = await namespacedBroker()
  const connector = { type: 'http', url: 'http://127.0.0.1:1', headers: { authorization: 'a-secret-word' } }
  await add(started, '/api/v5/connectors', { ...connector, name: 'of-plant' }, as)
  await add(started, '/api/v5/connectors', { ...connector, name: 'of-broker' })
  const parameters = { path: '/', method: 'post', body: '${payload}' }
  await add(started, '/api/v5/actions', { type: 'http', name: 'post', connector: 'of-plant', parameters }, as)
  return started
})

const connectors = (page: Page) => page.getByRole('table', { name: 'Connectors', exact: true })

test('an administrator of a namespace edits a connector and an action in fields, and an unchanged secret stays', async (t) => {
  const started = await broker()
  const opened = await openAt(t, started, '#/rules?tab=services', { as })
  const { page } = opened
  await page.getByRole('button', { name: 'Edit http:of-plant', exact: true }).click()
  const connector = page.getByRole('dialog', { name: 'Edit http:of-plant', exact: true })
  const url = connector.getByLabel('url', { exact: true })
  await url.waitFor()
  assert.equal(await url.inputValue(), 'http://127.0.0.1:1')
  assert.equal(await connector.getByLabel('headers', { exact: true }).inputValue(), '')
  assert.equal(await connector.getByLabel('ssl.certfile', { exact: true }).count(), 0, 'files of the broker')
  await url.fill('nonsense')
  await connector.getByRole('button', { name: 'Save', exact: true }).click()
  await connector.getByText(/connectors\.http\.of-plant\.url/).waitFor()
  assert.equal(await url.getAttribute('aria-invalid'), 'true')
  await url.fill('http://127.0.0.1:2')
  await connector.getByLabel('connect_timeout', { exact: true }).fill('7s')
  await connector.getByRole('button', { name: 'Save', exact: true }).click()
  await connector.waitFor({ state: 'detached' })
  const { json } = await started.request('/api/v5/connectors/http:of-plant', { as })
  assert.deepEqual([json.url, json.connect_timeout, json.headers], ['http://127.0.0.1:2', '7s', '******'])

  await page.getByRole('button', { name: 'Edit http:post', exact: true }).click()
  const action = page.getByRole('dialog', { name: 'Edit http:post', exact: true })
  await action.getByLabel('parameters.method', { exact: true }).selectOption('put')
  await action.getByLabel('parameters.headers', { exact: true }).fill('{"x-plant": "7"}')
  await action.getByRole('button', { name: 'Save', exact: true }).click()
  await action.waitFor({ state: 'detached' })
  const changed = (await started.request('/api/v5/actions/http:post', { as })).json
  assert.deepEqual(
    [changed.parameters.method, changed.parameters.body, changed.connector],
    ['put', '${payload}', 'of-plant'],
    'the rest stays as it was',
  )
  assertQuiet(opened)
})

test('a global administrator selects the namespace on pages with namespaces, and only requests of these pages have it', async (t) => {
  const started = await broker()
  const opened = await openAt(t, started, '#/rules?tab=services')
  const { page } = opened
  await connectors(page).getByText('http:of-broker', { exact: true }).waitFor()
  const choice = page.getByRole('banner').getByRole('combobox', { name: 'Namespace', exact: true })
  await choice.selectOption('plant')
  await connectors(page).getByText('http:of-plant', { exact: true }).waitFor()
  assert.equal(await connectors(page).getByText('http:of-broker', { exact: true }).count(), 0)
  await page.getByRole('button', { name: 'Edit http:of-plant', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Edit http:of-plant', exact: true })
  await dialog.getByLabel('description', { exact: true }).fill('of the plant')
  await dialog.getByRole('button', { name: 'Save', exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
  assert.equal((await started.request('/api/v5/connectors/http:of-plant', { as })).json.description, 'of the plant')

  const navigation = page.getByRole('navigation', { name: 'Main', exact: true })
  await navigation.getByRole('link', { name: 'Configuration', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Configuration', exact: true }).waitFor()
  assert.equal(await page.getByRole('combobox', { name: 'Namespace', exact: true }).count(), 0)
  const requested = page.waitForRequest(/configuration_history/)
  await page.getByRole('tab', { name: 'History', exact: true }).click()
  assert.doesNotMatch((await requested).url(), /namespace/)
  const listed = page.waitForRequest(/api\/v4\/retained/)
  await navigation.getByRole('link', { name: 'Retained messages', exact: true }).click()
  assert.match((await listed).url(), /namespace=plant/)
  await page.getByRole('banner').getByRole('combobox', { name: 'Namespace', exact: true }).waitFor()
  assert.equal(await choice.inputValue(), 'plant')
  assertQuiet(opened)
})

test('an account of a namespace sees its allowed pages, and its namespace in the header', async (t) => {
  const opened = await openAt(t, await broker(), '#/overview', { as })
  const { page } = opened
  await page.getByRole('banner').getByText('Namespace plant', { exact: true }).waitFor()
  const links = page.getByRole('navigation', { name: 'Main', exact: true }).getByRole('link')
  const names = await links.allTextContents()
  for (const absent of [
    'Overview',
    'Nodes',
    'Configuration',
    'Accounts and API keys',
    'Namespaces',
    'Topics',
    'Bridges',
  ])
    assert.equal(names.includes(absent), false, absent)
  assert.ok(names.includes('Clients') && names.includes('Backup and Restore'), names.join())
  const refused: string[] = []
  page.on('response', (response) => {
    if (response.status() >= 400) refused.push(`${response.status()} ${response.url()}`)
  })
  for (const name of names) {
    await links.and(page.getByText(name, { exact: true })).click()
    await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
    await page.waitForFunction(() => document.querySelector('[aria-busy="true"]') === null)
  }
  await page.waitForLoadState('networkidle')
  assert.deepEqual(refused, [])
  assertQuiet(opened)
})
