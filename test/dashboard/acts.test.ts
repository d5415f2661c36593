import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connectAsync, type MqttClient } from 'mqtt'
import type { Page } from 'playwright-core'
import type { BrokerWithApi } from '../management/api.ts'
import { add, deleteAfter, emptyBroker } from './brokers.ts'
import { assertQuiet, openAt } from './browser.ts'

async function done(page: Page, what: RegExp | string): Promise<void> {
  await page.getByRole('status').getByText(what).waitFor()
}

async function client(t: { after(end: () => unknown): void }, clientId: string): Promise<MqttClient> {
  const { port } = await emptyBroker()
  const connected = await connectAsync({ port, clientId, reconnectPeriod: 0, clean: false, protocolVersion: 5 })
  t.after(() => connected.endAsync(true))
  return connected
}

describe('actions of an administrator in the page change the broker', () => {
  test('a client is found by a search of the server, opened, and disconnected after a confirmation', async (t) => {
    const broker = await emptyBroker()
    const sensor = await client(t, 'sensor-1')
    await client(t, 'other-2')
    const opened = await openAt(t, broker, '#/clients')
    const { page } = opened
    const table = page.getByRole('table', { name: 'Clients' })
    await table.getByRole('link', { name: 'other-2' }).waitFor()
    await page.getByRole('searchbox', { name: 'Search clients' }).fill('sensor')
    await table.getByRole('link', { name: 'other-2' }).waitFor({ state: 'detached' })
    assert.match(page.url(), /search=sensor/)
    const closed = new Promise<void>((resolve) => void sensor.once('close', () => resolve()))
    await page.getByRole('button', { name: 'Disconnect sensor-1' }).click()
    const confirmation = page.getByRole('alertdialog', { name: /^Disconnect/ })
    await page.waitForFunction(() => document.activeElement?.textContent === 'Cancel')
    await page.keyboard.press('Escape')
    await confirmation.waitFor({ state: 'detached' })
    assert.equal(sensor.connected, true, 'Escape does nothing')
    await page.getByRole('button', { name: 'Disconnect sensor-1' }).click()
    await confirmation.getByRole('button', { name: 'Disconnect' }).click()
    await closed
    await done(page, /^Done: Disconnect sensor-1/)
    assertQuiet(opened)
  })

  test('a subscription is added and removed for a client', async (t) => {
    const broker = await emptyBroker()
    await client(t, 'reader')
    const { page } = await openAt(t, broker, '#/clients/reader?tab=subscriptions')
    await page.getByLabel('Topic filter').fill('plant/#')
    await page.getByRole('button', { name: 'Subscribe', exact: true }).click()
    await page.getByRole('table', { name: 'Subscriptions' }).getByText('plant/#').waitFor()
    const made = await broker.request('/api/v4/subscriptions/reader')
    assert.equal(made.json.data[0].topic, 'plant/#')
    await page.getByRole('button', { name: 'Unsubscribe plant/#' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Unsubscribe' }).click()
    await page.getByText('No subscriptions.').waitFor()
    assert.deepEqual((await broker.request('/api/v4/subscriptions/reader')).json.data, [])
  })

  test('users, rules and bans are added and deleted', async (t) => {
    const broker = await emptyBroker()
    const { page } = await openAt(t, broker, '#/access')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Add user' })
    await dialog.getByLabel('User name').fill('anna')
    await dialog.getByLabel('Password').fill('secret-of-anna')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('table', { name: 'Users' }).getByText('anna').waitFor()
    assert.equal((await broker.request('/api/v4/auth_username/anna')).status, 200)
    await page.getByRole('button', { name: 'Delete anna' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No users.').waitFor()
    assert.equal((await broker.request('/api/v4/auth_username/anna')).status, 404)

    await page.getByRole('tab', { name: 'Rules' }).click()
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    const rule = page.getByRole('dialog', { name: 'Add rule' })
    await rule.getByLabel('Who').selectOption('username')
    await rule.getByLabel('Name').fill('bob')
    await rule.getByLabel('Topic').fill('secret/#')
    await rule.getByLabel('Access').selectOption('deny')
    await rule.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('table', { name: 'Rules' }).getByText('secret/#').waitFor()
    const [stored] = (await broker.request('/api/v4/acl/username/bob')).json.data
    assert.deepEqual(stored, { username: 'bob', topic: 'secret/#', action: 'pubsub', access: 'deny' })

    await page.getByRole('tab', { name: 'Explain' }).click()
    await page.getByLabel('Client identifier').fill('of-bob')
    await page.getByLabel('User name').fill('bob')
    await page.getByLabel('Topic').fill('secret/plan')
    await page.getByRole('button', { name: 'Explain' }).click()
    await page.getByRole('region', { name: 'Explanation' }).getByRole('heading', { name: 'Denied' }).waitFor()

    await page.getByRole('tab', { name: 'Bans' }).click()
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    const ban = page.getByRole('dialog', { name: 'Add ban' })
    await ban.getByLabel('Who').fill('flooder')
    await ban.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('table', { name: 'Bans' }).getByText('flooder').waitFor()
    deleteAfter(t, broker, ['/api/v4/acl/username/bob/topic/secret%2F%23', '/api/v4/banned/clientid/flooder'])
    assert.equal((await broker.request('/api/v4/banned')).json.data[0].who, 'flooder')
  })

  test('a retained message is shown and deleted', async (t) => {
    const broker = await emptyBroker()
    const publisher = await client(t, 'publisher')
    await publisher.publishAsync('keep/this', '{"degrees": 21}', { retain: true, qos: 1 })
    const { page } = await openAt(t, broker, '#/retained?search=keep/%23')
    await page.getByRole('button', { name: 'Copy keep/this', exact: true }).click()
    await page.waitForFunction(async () => (await navigator.clipboard.readText()) === 'keep/this')
    await page.getByRole('button', { name: 'Show keep/this' }).click()
    await page.getByRole('region', { name: 'Payload' }).getByText('"degrees": 21').waitFor()
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Delete keep/this' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No retained messages.').waitFor()
    const gone = await broker.request('/api/v4/retained/keep%2Fthis')
    assert.deepEqual([gone.status, gone.json.code], [404, 108])
  })

  test('a setting is changed after a review, and a configuration text is checked before it is applied', async (t) => {
    const broker = await emptyBroker()
    t.after(() => add(broker, '/api/v4/configuration/', { data: { mqtt: { max_awaiting_rel: 1_024 } } }))
    const { page } = await openAt(t, broker, '#/configuration')
    await page.getByRole('searchbox', { name: 'Search settings' }).fill('mqtt.max_awaiting_rel')
    const field = page.getByLabel('mqtt.max_awaiting_rel', { exact: true })
    await field.fill('77')
    await page.getByRole('button', { name: 'Review changes' }).click()
    const review = page.getByRole('dialog', { name: 'Apply changes' })
    await review.getByText('→ 77').waitFor()
    await review.getByRole('button', { name: 'Apply' }).click()
    await done(page, /Apply changes/)
    const after = await broker.request('/api/v4/configuration/mqtt')
    assert.equal(after.json.data.mqtt.max_awaiting_rel, 77, JSON.stringify(after.json.data))

    await page.getByRole('tab', { name: 'Text' }).click()
    await page.getByLabel('HOCON').fill('mqtt {\n  max_packet_sise = 1MB\n}')
    await page.getByRole('button', { name: 'Check' }).click()
    await page
      .getByRole('alert')
      .getByText(/2.*max_packet_sise/)
      .waitFor()

    await page.getByRole('tab', { name: 'History' }).click()
    await page.getByRole('table', { name: 'Configuration history' }).getByText('mqtt.max_awaiting_rel').waitFor()
  })

  test('a listener is stopped and started', async (t) => {
    const broker = await emptyBroker()
    const { page } = await openAt(t, broker, '#/listeners')
    // Other listeners are always running, so only the row of this one is checked.
    const row = page
      .getByRole('table', { name: 'Listeners' })
      .getByRole('row')
      .filter({ has: page.getByText('mqtt:tcp:default', { exact: true }) })
    await page.getByRole('button', { name: 'Stop mqtt:tcp:default' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Stop' }).click()
    await row.getByText('Stopped').waitFor()
    await assert.rejects(connectAsync({ port: broker.port, reconnectPeriod: 0, connectTimeout: 3_000 }))
    await page.getByRole('button', { name: 'Start mqtt:tcp:default', exact: true }).click()
    await row.getByText('Running').waitFor()
    const again = await connectAsync({ port: broker.port, reconnectPeriod: 0 })
    await again.endAsync()
  })

  test('accounts and API keys: the secret is shown once, and works', async (t) => {
    const broker = await emptyBroker()
    const { page } = await openAt(t, broker, '#/accounts?tab=keys')
    await page.getByRole('button', { name: 'Add API key' }).click()
    const dialog = page.getByRole('dialog', { name: 'Add API key' })
    await dialog.getByLabel('Name').fill('reporter')
    await dialog.getByRole('button', { name: 'Save' }).click()
    const shown = page.getByRole('dialog', { name: 'Secret of the API key' })
    await shown.waitFor()
    const texts = await shown.locator('bdi').allTextContents()
    const [key = '', secret = ''] = texts
    deleteAfter(t, broker, [`/api/v4/apps/${key}`])
    assert.equal((await broker.request('/api/v4/clients', { as: `${key}:${secret}` })).status, 200)
    await shown.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('table', { name: 'API keys' }).getByText('reporter').waitFor()
  })

  test('a viewer sees the lists, and no controls for changes', async (t) => {
    const broker = await emptyBroker()
    await add(broker, '/api/v5/users', { username: 'viewer', password: 'a-viewers-password', role: 'viewer' })
    deleteAfter(t, broker, ['/api/v5/users/viewer', '/api/v4/retained/viewed%2F1'])
    const viewed = await client(t, 'viewed')
    await viewed.subscribeAsync('viewed/#')
    await viewed.publishAsync('viewed/1', 'x', { retain: true, qos: 1 })
    const opened = await openAt(t, broker, '#/clients', { as: 'viewer:a-viewers-password' })
    const { page } = opened
    const navigation = page.getByRole('navigation', { name: 'Main' })
    await navigation.getByRole('link', { name: 'Clients' }).waitFor()
    assert.equal(await navigation.getByRole('link', { name: 'Accounts and API keys' }).count(), 0)
    assert.equal(await navigation.getByRole('link', { name: 'Audit log' }).count(), 0)
    for (const route of routesOfViewers) {
      await page.goto(page.url().replace(/#.*/, `#/${route}`))
      await page.waitForFunction(() => document.querySelector('[aria-busy="true"]') === null)
      assert.equal(await page.getByRole('button', { name: actWords, disabled: false }).count(), 0, route)
      assert.equal(await page.getByRole('switch', { disabled: false }).count(), 0, route)
    }
    assertQuiet(opened)
  })
})

const actWords =
  /^(Add|Apply|Ban|Clear|Create|Delete|Disconnect|Edit|End|Reset|Restart|Restore|Roll back|Save|Start|Stop|Subscribe|Unsubscribe|Upload)\b/
/** All pages except the WebSocket client, which has its own credentials. */
const routesOfViewers = [
  'overview',
  'alarms',
  'alarms?tab=history',
  'clients',
  'clients/viewed',
  'clients/viewed?tab=subscriptions',
  'subscriptions',
  'retained',
  'delayed',
  'topic-metrics',
  'access',
  'access?tab=rules',
  'access?tab=bans',
  'bridges',
  'rules',
  'rules?tab=services',
  'rules?tab=sources',
  'schemas',
  'gateways',
  'dropped',
  'slow',
  'trace',
  'nodes',
  'listeners',
  'backup',
  'configuration',
  'configuration?tab=text',
  'configuration?tab=history',
  'namespaces',
  'about',
]

test('names from clients are shown as text, whatever they contain', async (t) => {
  const broker = await connectHostile(t)
  const opened = await openAt(t, broker, '#/clients')
  const { page } = opened
  await page.getByRole('table', { name: 'Clients' }).getByText(hostileId.slice(0, 20)).waitFor()
  await page.getByRole('link', { name: hostileId.slice(0, 20) }).click()
  await page.getByRole('heading', { level: 1, name: /^Client <img/ }).waitFor()
  await page.getByRole('tab', { name: 'Subscriptions' }).click()
  await page.getByRole('table', { name: 'Subscriptions' }).getByText('</td><script>').waitFor()
  await page.goto(page.url().replace(/#.*/, '#/retained?search=hostile/%23'))
  await page.getByRole('button', { name: /^Show hostile/ }).click()
  await page.getByRole('region', { name: 'Payload' }).getByText('<b onclick=').waitFor()
  // A control character for the text direction is shown as its code.
  await page
    .getByRole('dialog')
    .getByText(String.raw`\u202e`)
    .first()
    .waitFor()
  assert.equal(await page.evaluate(() => document.querySelectorAll('main img, main script, pre b').length), 0)
  assertQuiet(opened)
})

const hostileId = '<img src=x onerror=alert(1)>/../#?%00'

async function connectHostile(t: { after(end: () => unknown): void }): Promise<BrokerWithApi> {
  const broker = await emptyBroker()
  const hostile = await connectAsync({ port: broker.port, clientId: hostileId, reconnectPeriod: 0 })
  t.after(() => hostile.endAsync(true))
  await hostile.subscribeAsync('a/</td><script>alert(1)</script>/+')
  deleteAfter(t, broker, [`/api/v4/retained/${encodeURIComponent('hostile/\u202egnp.exe')}`])
  await hostile.publishAsync('hostile/\u202egnp.exe', '<b onclick="alert(1)">\u202eclick</b>', { retain: true, qos: 1 })
  return broker
}

test('retained messages are shown in pages, and shared subscriptions are found by a search of the server', async (t) => {
  const broker = await emptyBroker()
  const client = await connectAsync({ port: broker.port, clientId: 'gardener' })
  t.after(() => client.endAsync(true))
  for (let bed = 0; bed < 30; bed++) await client.publishAsync(`garden/${bed}`, 'wet', { qos: 1, retain: true })
  deleteAfter(
    t,
    broker,
    Array.from({ length: 30 }, (_, bed) => `/api/v4/retained/garden%2F${bed}`),
  )
  await client.subscribeAsync([...Array.from({ length: 30 }, (_, number) => `plain/${number}`), '$share/g/last'])
  const opened = await openAt(t, broker, '#/retained?search=garden%2F%23')
  const { page } = opened
  const rows = page.getByRole('table', { name: 'Retained messages', exact: true }).locator('tbody tr')
  const pages = page.getByRole('navigation', { name: 'Pages', exact: true })
  await rows.nth(24).waitFor()
  const first = new Set(await rows.locator('td:first-child').allTextContents())
  await pages.getByRole('button', { name: 'Next page', exact: true }).click()
  await rows.nth(5).waitFor({ state: 'detached' })
  const second = await rows.locator('td:first-child').allTextContents()
  assert.equal(new Set([...first, ...second]).size, 30)
  await pages.getByRole('button', { name: 'Previous page', exact: true }).click()
  await rows.nth(24).waitFor()

  await page.evaluate(() => (location.hash = '#/subscriptions'))
  const subscriptions = page.getByRole('table', { name: 'Subscriptions', exact: true })
  await subscriptions.locator('tbody tr').nth(24).waitFor()
  await page.getByRole('checkbox', { name: 'Shared only', exact: true }).check()
  await subscriptions.getByText('$share/g/last', { exact: true }).waitFor()
  await subscriptions.locator('tbody tr').nth(1).waitFor({ state: 'detached' })
  assertQuiet(opened)
})

test('a list of access rules is shown in pages', async (t) => {
  const broker = await emptyBroker()
  const rules = Array.from({ length: 60 }, (_, number) => ({
    username: `user-${String(number).padStart(2, '0')}`,
    topic: 'a/#',
    action: 'sub',
    access: 'allow',
  }))
  assert.equal((await broker.request('/api/v4/acl', { method: 'POST', body: rules })).status, 200)
  deleteAfter(
    t,
    broker,
    rules.map(({ username }) => `/api/v4/acl/username/${username}/topic/a%2F%23`),
  )
  const opened = await openAt(t, broker, '#/access?tab=rules')
  const { page } = opened
  const table = page.getByRole('table', { name: 'Rules' })
  await table.getByText('user-59').waitFor()
  await page.getByLabel('List').selectOption('username')
  const pages = page.getByRole('navigation', { name: 'Pages' })
  await pages.getByText('Rows: 60', { exact: true }).waitFor()
  const seen = new Set<string>()
  for (;;) {
    const rows = await table.getByRole('row').allTextContents()
    for (const row of rows) for (const [name] of row.matchAll(/user-\d\d/g)) seen.add(name)
    const next = pages.getByRole('button', { name: 'Next page' })
    if (await next.isDisabled()) break
    const [, first = ''] = rows
    await next.click()
    await table
      .getByText(/user-\d\d/.exec(first)?.[0] ?? '')
      .first()
      .waitFor({ state: 'detached' })
  }
  assert.equal(seen.size, 60)
  assertQuiet(opened)
})
