// Each page of the dashboard by role and exact name, as its description lists them.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connectAsync } from 'mqtt'
import type { Page } from 'playwright-core'
import { shared } from '../e2e/godwit-process.ts'
import { type BrokerWithApi, startBrokerWithApi } from '../management/api.ts'
import { assertQuiet, openAt, openPage, logIn, untilTitle } from './browser.ts'
import { dialogs, type PageNames, pages, type Role } from './page-names.ts'

const broker = shared(async (t): Promise<BrokerWithApi> => {
  const started = await startBrokerWithApi(t, {
    set: [
      'namespaces.enable=true',
      'bridges.mqtt.b1.server="mqtt-tcp://127.0.0.1:1"',
      'bridges.mqtt.b1.forwards=[{local_topic="a/#"}]',
      'gateway.stomp.listeners.tcp.default.bind="127.0.0.1:0"',
    ],
  })
  const send = async (path: string, body: unknown): Promise<void> => {
    const { status, text } = await started.request(path, { method: 'POST', body })
    assert.ok(status < 300, `${path}: ${text}`)
  }
  await send('/api/v4/auth_username', { username: 'gateway', password: 'a-secret-word' })
  await send('/api/v4/auth_clientid', { clientid: 'sensor', password: 'a-secret-word' })
  await send('/api/v4/banned', { who: 'meter-old', as: 'clientid', reason: 'replaced', by: 'admin' })
  await send('/api/v5/users', { username: 'night-shift', password: 'a-long-password', role: 'viewer' })
  await send('/api/v5/users', {
    username: 'tenant',
    password: 'a-long-password',
    role: 'ns:tenant-a::administrator',
  })
  await send('/api/v4/apps', { app_id: 'reports', name: 'Nightly reports' })
  await send('/api/v5/namespaces', { namespace: 'tenant-a' })
  await send('/api/v5/rules', { id: 'hot', sql: 'SELECT * FROM "plant/#"', actions: [{ function: 'console' }] })
  await send('/api/v4/trace', { name: 'pumps', type: 'clientid', clientid: 'pump-1' })
  await send('/api/v5/data/export', {})
  await send('/api/v4/configuration/mqtt', { data: { mqtt: { max_packet_size: '2MB' } } })
  const client = await connectAsync({
    port: started.port,
    clientId: 'pump-1',
    username: 'gateway',
    password: 'a-secret-word',
  })
  t.after(() => client.endAsync(true))
  await client.subscribeAsync('plant/#')
  await client.publishAsync('plant/pump-1', 'on', { retain: true, qos: 1 })
  return started
})

/** Returns names that are missing, or that several elements have. */
async function missingOn(page: Page, { names, rowActions = [] }: PageNames): Promise<string[]> {
  const missing: string[] = []
  for (const [role, all] of Object.entries(names)) {
    for (const name of all) {
      const found = page.getByRole(role as Role, { name, exact: true })
      try {
        await found.first().waitFor()
        const count = await found.count()
        if (count !== 1) missing.push(`${role} ${name}: ${count} of them`)
      } catch {
        missing.push(`${role} ${name}`)
      }
    }
  }
  for (const word of rowActions) {
    const found = page.getByRole('row').getByRole('button', { name: new RegExp(`^${word}\\b`) })
    try {
      await found.first().waitFor()
    } catch {
      missing.push(`row ${word}`)
    }
  }
  return missing
}

describe('each page has the elements of its description', () => {
  test('by role and name, with one heading, which has the focus, and a title', async (t) => {
    const opened = await openAt(t, await broker(), '#/overview')
    const { page } = opened
    const missing: string[] = []
    for (const each of pages) {
      await page.evaluate((route) => (location.hash = route), each.route)
      await page.getByRole('heading', { level: 1, name: each.heading, exact: true }).waitFor()
      await page.waitForFunction(() => document.querySelector('[aria-busy="true"]') === null)
      for (const one of await missingOn(page, each)) missing.push(`${each.route}: ${one}`)
      await untilTitle(page, `${each.heading} - Godwit`)
      if ((await page.locator('h1').count()) !== 1) missing.push(`${each.route}: h1`)
      const current = page.getByRole('navigation', { name: 'Main', exact: true }).locator('[aria-current=page]')
      const text = await current.textContent()
      if (!each.heading.startsWith('Client ') && text !== each.heading) missing.push(`${each.route}: current ${text}`)
    }
    assert.deepEqual(missing, [])
    assertQuiet(opened)
  })

  test('the navigation has a link for each page, in groups, after a link that skips it', async (t) => {
    const { page } = await openAt(t, await broker(), '#/overview')
    const navigation = page.getByRole('navigation', { name: 'Main', exact: true })
    assert.deepEqual(await navigation.getByRole('heading').allTextContents(), [
      'Monitor',
      'Clients and messages',
      'Access',
      'Integration',
      'Diagnose',
      'Cluster',
      'System',
    ])
    const links = await navigation.getByRole('link').allTextContents()
    const headings = [...new Set(pages.map(({ heading }) => heading))].filter((name) => !name.startsWith('Client '))
    assert.deepEqual(links.toSorted(), headings.toSorted())
    const [first] = await page.getByRole('link').allTextContents()
    assert.equal(first, 'Skip to content')
    for (const heading of ['Clients', 'Backup and Restore']) {
      await navigation.getByRole('link', { name: heading, exact: true }).click()
      await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
      await page.waitForFunction((text) => document.activeElement?.textContent === text, heading)
    }
    const phone = await openAt(t, await broker(), '#/overview', { width: 360 })
    const menu = phone.page.getByRole('navigation', { name: 'Main', exact: true })
    assert.equal(await menu.isVisible(), false)
    await phone.page.getByRole('button', { name: 'Menu', exact: true }).click()
    await menu.getByRole('link', { name: 'Clients', exact: true }).click()
    await phone.page.getByRole('heading', { level: 1, name: 'Clients', exact: true }).waitFor()
    await menu.waitFor({ state: 'hidden' })
  })

  test('select fields have the options of the description', async (t) => {
    const { page } = await openAt(t, await broker(), '#/clients')
    const wordsOf = (name: string): Promise<string[]> =>
      page.getByRole('combobox', { name, exact: true }).getByRole('option').allTextContents()
    await page.getByRole('combobox', { name: 'State', exact: true }).waitFor()
    assert.deepEqual(await wordsOf('State'), ['All', 'Connected', 'Disconnected'])
    assert.deepEqual(await wordsOf('Rows per page'), ['25', '50', '100'])
    const namespaces = page.getByRole('banner').getByRole('combobox', { name: 'Namespace', exact: true })
    await namespaces.getByRole('option', { name: 'tenant-a', exact: true }).waitFor({ state: 'attached' })
    assert.equal((await namespaces.getByRole('option').allTextContents())[0], 'Global')
    await namespaces.selectOption('tenant-a')
    await page.waitForURL(/namespace=tenant-a/)
    await page.getByText('No clients', { exact: false }).waitFor()
    await page.getByRole('button', { name: 'Account', exact: true }).click()
    assert.deepEqual(await wordsOf('Theme'), ['System', 'Light', 'Dark'])
    assert.deepEqual(await wordsOf('Language'), ['English', 'Deutsch'])
    assert.deepEqual(await wordsOf('Time zone'), ['Browser', 'Broker', 'UTC'])
    for (const name of ['Change password', 'Log out']) {
      await page.getByRole('button', { name, exact: true }).waitFor()
    }
  })
})

test('each dialog has its name, its fields and its buttons', async (t) => {
  const opened = await openAt(t, await broker(), '#/overview')
  const { page } = opened
  const missing: string[] = []
  for (const { route, button, dialog: name, labels, buttons } of dialogs) {
    await page.evaluate((hash) => (location.hash = hash), route)
    await page.getByRole('button', { name: button, exact: true }).click()
    const dialog = page.getByRole('dialog', { name, exact: true })
    await dialog.waitFor()
    for (const label of labels) {
      const count = await dialog.getByLabel(label, { exact: true }).count()
      if (count !== 1) missing.push(`${route} ${name}: label ${label}, ${count} of them`)
    }
    for (const word of buttons) {
      const count = await dialog.getByRole('button', { name: word, exact: true }).count()
      if (count !== 1) missing.push(`${route} ${name}: button ${word}, ${count} of them`)
    }
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
  }
  assert.deepEqual(missing, [])
  assertQuiet(opened)
})

test('a destructive action opens an alertdialog whose title begins with the action, with the focus on Cancel', async (t) => {
  const { page } = await openAt(t, await broker(), '#/overview')
  const [{ node }] = (await (await broker()).request('/api/v4/nodes')).json.data as [{ readonly node: string }]
  const acts: readonly (readonly [route: string, button: RegExp, title: RegExp, act: string, typed?: string])[] = [
    ['#/clients', /^Disconnect pump-1$/, /^Disconnect\b/, 'Disconnect'],
    ['#/retained', /^Delete plant\/pump-1$/, /^Delete\b/, 'Delete'],
    ['#/access', /^Delete gateway$/, /^Delete\b/, 'Delete'],
    ['#/listeners', /^Restart mqtt:tcp:default$/, /^Restart\b/, 'Restart'],
    ['#/nodes', /^Restart broker\b/, /^Restart\b/, 'Restart broker', node],
    ['#/nodes', /^Stop broker\b/, /^Stop\b/, 'Stop broker', node],
    ['#/namespaces', /^Delete tenant-a$/, /^Delete\b/, 'Delete', 'tenant-a'],
    ['#/backup', /^Delete\b/, /^Delete backup$/, 'Delete'],
    ['#/backup', /^Restore\b/, /^Restore backup$/, 'Restore'],
    ['#/trace', /^Delete pumps$/, /^Delete\b/, 'Delete'],
  ]
  for (const [route, button, title, act, typed] of acts) {
    await page.evaluate((hash) => (location.hash = hash), route)
    await page.getByRole('main').getByRole('button', { name: button }).click()
    const confirmation = page.getByRole('alertdialog', { name: title })
    await confirmation.waitFor()
    await page.waitForFunction(() => document.activeElement?.textContent === 'Cancel')
    const acting = confirmation.getByRole('button', { name: act, exact: true })
    // A restore waits for its preview.
    if (route === '#/backup') await acting.and(page.locator(':enabled')).waitFor()
    assert.equal(await acting.isDisabled(), typed !== undefined, `${route} ${act}`)
    if (typed !== undefined) {
      await confirmation.getByRole('textbox').fill(typed)
      await acting.and(page.locator(':enabled')).waitFor()
    }
    await page.keyboard.press('Escape')
    await confirmation.waitFor({ state: 'detached' })
    await page.waitForFunction((name) => new RegExp(name).test(document.activeElement?.ariaLabel ?? ''), button.source)
  }
})

test('an expired login is reported, and the page is shown again after the next login', async (t) => {
  const opened = await openAt(t, await broker(), '#/retained?search=plant%2F%23')
  const { page } = opened
  await page.getByRole('button', { name: 'Show plant/pump-1', exact: true }).waitFor()
  await page.evaluate(() => {
    const kept = JSON.parse(sessionStorage.getItem('godwit.session') ?? '{}') as object
    sessionStorage.setItem('godwit.session', JSON.stringify({ ...kept, token: 'ended' }))
  })
  await page.reload()
  await page.getByText('Your session has ended', { exact: true }).waitFor()
  await logIn(page)
  await page.getByRole('heading', { level: 1, name: 'Retained messages', exact: true }).waitFor()
  await page.getByRole('button', { name: 'Show plant/pump-1', exact: true }).waitFor()
})

test('an administrator of a namespace sees the archives of the namespace, and a viewer sees the list only', async (t) => {
  const own = await openAt(t, await broker(), '#/backup', { as: 'tenant:a-long-password' })
  await own.page.getByRole('main').getByText('Namespace tenant-a', { exact: true }).waitFor()
  assert.equal(await own.page.getByRole('combobox', { name: 'Namespace', exact: true }).count(), 0)
  assert.equal(await own.page.getByRole('button', { name: 'Create', exact: true }).isDisabled(), true)
  await own.page.getByRole('button', { name: 'Upload', exact: true }).waitFor()
  await own.page.getByText('No backup files', { exact: false }).waitFor()
  const viewer = await openAt(t, await broker(), '#/backup', { as: 'night-shift:a-long-password' })
  await viewer.page.getByRole('table', { name: 'Backup files', exact: true }).waitFor()
  await viewer.page
    .getByText(/\.tar\.gz$/)
    .first()
    .waitFor()
  for (const name of [/^Create$/, /^Upload$/, /^Download/, /^Restore/, /^Delete/]) {
    assert.equal(await viewer.page.getByRole('button', { name, disabled: false }).count(), 0, String(name))
  }
})

test('the elements of the WebSocket client and the topic explorer have names', async (t) => {
  const opened = await openPage(t, await broker(), { route: '#/websocket' })
  const { page } = opened
  await logIn(page)
  await page.getByLabel('Client identifier', { exact: true }).fill('of-the-page')
  await page.getByLabel('MQTT user name', { exact: true }).fill('gateway')
  await page.getByLabel('MQTT password', { exact: true }).fill('a-secret-word')
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await page.getByRole('status').getByText('Connected', { exact: true }).waitFor()
  await page.getByLabel('Subscribe topic', { exact: true }).fill('plant/#')
  await page.getByRole('button', { name: 'Subscribe', exact: true }).click()
  await page.getByRole('log', { name: 'Received', exact: true }).getByText('plant/pump-1').waitFor()
  await page.getByRole('button', { name: 'Disconnect', exact: true }).click()
  await page.getByRole('button', { name: 'Connect', exact: true }).waitFor()

  await page.evaluate(() => (location.hash = '#/topics'))
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  const tree = page.getByRole('tree', { name: 'Topics', exact: true })
  await tree.getByRole('treeitem', { name: /^plant\b/ }).waitFor()
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  await page.getByRole('button', { name: 'Start', exact: true }).waitFor()
  assertQuiet(opened)
})
