// Urgent questions of an administrator, and the pages that show the result.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { connectAsync } from 'mqtt'
import type { Scope } from '../e2e/godwit-process.ts'
import type { BrokerWithApi } from '../management/api.ts'
import { add, changeSettings, deleteAfter, emptyBroker } from './brokers.ts'
import { assertQuiet, openAt } from './browser.ts'

/** A broker that denies publications of the client `thief` to `safe/#`. */
async function denyThief(t: Scope): Promise<BrokerWithApi> {
  const broker = await emptyBroker()
  const rule = { permit: 'deny', clientid: 'thief', action: 'publish', topics: ['safe/#'] }
  await changeSettings(t, broker, { auth: { acl: { rules: [rule] } } }, { auth: { acl: { rules: [] } } })
  return broker
}

describe('the dashboard shows', () => {
  test('clients without internal sessions, unless these are selected', async (t) => {
    const broker = await emptyBroker()
    const bridge = { enable: true, server: 'mqtt-tcp://127.0.0.1:1', forwards: [{ local_topic: 'a/#' }] }
    await add(broker, '/api/v4/configuration/', { data: { bridges: { mqtt: { b1: bridge } } } })
    deleteAfter(t, broker, ['/api/v4/bridges/b1'])
    const client = await connectAsync({ port: broker.port, clientId: 'pump-1' })
    t.after(() => client.endAsync(true))
    const opened = await openAt(t, broker, '#/clients')
    const { page } = opened
    const table = page.getByRole('table', { name: 'Clients', exact: true })
    await table.getByRole('link', { name: 'pump-1', exact: true }).waitFor()
    const own = table.getByRole('link', { name: '$bridge/b1', exact: true })
    assert.equal(await own.count(), 0)
    await page.getByRole('checkbox', { name: 'Show internal sessions', exact: true }).check()
    await own.waitFor()
    await page.waitForURL(/internal=1/)
    const idsOf = async (query: string): Promise<string[]> =>
      ((await broker.request(`/api/v4/clients${query}`)).json.data as { readonly clientid: string }[])
        .map(({ clientid }) => clientid)
        .toSorted()
    assert.deepEqual(await idsOf('?internal=false'), ['pump-1'])
    assert.deepEqual(await idsOf('?internal=true'), ['$bridge/b1'])
    assert.deepEqual(await idsOf(''), ['$bridge/b1', 'pump-1'])
    assertQuiet(opened)
  })

  test('why a message did not arrive: the decision, its rule and the query', async (t) => {
    const broker = await denyThief(t)
    const { page } = await openAt(t, broker, '#/access?tab=explain')
    await page.getByRole('textbox', { name: 'Client identifier', exact: true }).fill('thief')
    await page.getByRole('textbox', { name: 'Topic', exact: true }).fill('safe/door')
    await page.getByRole('button', { name: 'Explain', exact: true }).click()
    const region = page.getByRole('region', { name: 'Explanation', exact: true })
    await region.getByRole('heading', { name: 'Denied', exact: true }).waitFor()
    await region.getByText('deny', { exact: true }).waitFor()
    await region.getByText('safe/#', { exact: false }).first().waitFor()
  })

  test('why a message was dropped, after one click on a link in its row', async (t) => {
    const broker = await denyThief(t)
    const thief = await connectAsync({ port: broker.port, clientId: 'thief', protocolVersion: 5 })
    t.after(() => thief.endAsync(true))
    await assert.rejects(thief.publishAsync('safe/door', 'open', { qos: 1 }))
    const { page } = await openAt(t, broker, '#/dropped')
    const row = page.getByRole('row').filter({ hasText: 'safe/door' })
    await row.getByText('not-allowed', { exact: true }).waitFor()
    await row.getByRole('link', { name: 'Explain', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Client thief', exact: true }).waitFor()
    const region = page.getByRole('region', { name: 'Explanation', exact: true })
    await region.getByRole('heading', { name: 'Denied', exact: true }).waitFor()
  })

  test('the changes of last night, in the time zone of the browser', async (t) => {
    const broker = await emptyBroker()
    await add(broker, '/api/v4/auth_username', { username: 'changed-last-night', password: 'a-secret-word' })
    deleteAfter(t, broker, ['/api/v4/auth_username/changed-last-night'])
    const { page } = await openAt(t, broker, '#/audit')
    // The first row is the newest.
    const row = page.getByRole('row').filter({ hasText: 'create_auth_username' }).first()
    await row.getByText('POST /api/v4/auth_username', { exact: true }).waitFor()
    await row.getByRole('button', { name: 'Show create_auth_username', exact: true }).click()
    await page
      .getByRole('dialog')
      .getByRole('region', { name: 'Request', exact: true })
      .getByText('"changed-last-night"')
      .waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Account', exact: true }).click()
    await page.getByRole('combobox', { name: 'Time zone', exact: true }).selectOption('UTC')
    await page.keyboard.press('Escape')
    const requested = page.waitForRequest((request) => request.url().includes('until='))
    await page.getByLabel('Since', { exact: true }).fill('2026-05-04T01:30')
    await page.getByLabel('Until', { exact: true }).fill('2026-05-04T05:45')
    const { searchParams } = new URL((await requested).url())
    const times = ['since', 'until'].map((key) => new Date(Number(searchParams.get(key))).toISOString())
    assert.deepEqual(times, ['2026-05-04T01:30:00.000Z', '2026-05-04T05:45:00.000Z'])
    await page.getByText('No entries.', { exact: true }).waitFor()
    const again = page.waitForRequest((request) => /audit\?.*since=/.test(request.url()))
    await page.getByRole('button', { name: 'Last 24 hours', exact: true }).click()
    const since = Number(new URL((await again).url()).searchParams.get('since'))
    assert.ok(Math.abs(Date.now() - 86_400_000 - since) < 600_000, String(since))
    await row.waitFor()
    const outcome = page.waitForRequest(/outcome=refused/)
    await page.getByRole('combobox', { name: 'Outcome', exact: true }).selectOption('refused')
    await outcome
  })
})
