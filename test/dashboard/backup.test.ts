import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { deleteAfter, emptyBroker, namespacedBroker, planter } from './brokers.ts'
import { assertQuiet, openAt } from './browser.ts'

describe('Backup and Restore', () => {
  test('creates, restores after a confirmation whose checkbox is cleared each time, and deletes', async (t) => {
    const broker = await emptyBroker()
    await broker.request('/api/v4/auth_username', {
      method: 'POST',
      body: { username: 'kept', password: 'kept-password' },
    })
    const opened = await openAt(t, broker, '#/backup')
    const { page } = opened
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    const table = page.getByRole('table', { name: 'Backup files' })
    await table.getByText(/^godwit-export-.*\.tar\.gz$/).waitFor()
    const titles = await table.getByRole('columnheader').allTextContents()
    assert.deepEqual(titles.slice(0, 4), ['File name', 'Node name', 'Created at', 'File size'])
    await broker.request('/api/v4/auth_username/kept', { method: 'DELETE' })
    deleteAfter(t, broker, ['/api/v4/auth_username/kept'])

    const restore = page.getByRole('button', { name: /^Restore / })
    const dialog = page.getByRole('alertdialog', { name: 'Restore backup' })
    await restore.click()
    const mismatch = dialog.getByRole('checkbox', { name: 'Allow a security profile mismatch' })
    await mismatch.check()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await restore.click()
    assert.equal(await mismatch.isChecked(), false)
    await dialog.getByRole('region', { name: 'What will change' }).waitFor()
    await dialog.getByRole('button', { name: 'Restore' }).click()
    await dialog.getByRole('region', { name: 'Restored' }).waitFor()
    assert.equal((await broker.request('/api/v4/auth_username/kept')).status, 200)
    await dialog.getByRole('button', { name: 'Close' }).click()

    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: /^Download / }).click(),
    ])
    assert.match(download.suggestedFilename(), /\.tar\.gz$/)

    await page.getByRole('button', { name: /^Delete / }).click()
    await page.getByRole('alertdialog', { name: 'Delete backup' }).getByRole('button', { name: 'Delete' }).click()
    await page.getByText('No backup files.').waitFor()
    assert.deepEqual((await broker.request('/api/v5/data/files')).json.data, [])
    assertQuiet(opened)
  })

  test('lists the newest archive first; a restore sends the selected options, and its dialog stays open with a refusal', async (t) => {
    const broker = await emptyBroker()
    for (let time = 0; time < 2; time++) await broker.request('/api/v5/data/export', { method: 'POST', body: {} })
    const { page } = await openAt(t, broker, '#/backup')
    const names = page.getByRole('table', { name: 'Backup files', exact: true }).locator('tbody td:first-child')
    await names.nth(1).waitFor()
    const shown = await names.allTextContents()
    assert.deepEqual(shown, shown.toSorted().toReversed())
    const sent: object[] = []
    await page.route('**/api/v5/data/import**', (route) => {
      const body = route.request().postDataJSON() as { readonly dry_run?: boolean }
      if (body.dry_run === true) return route.continue()
      sent.push(body)
      return route.fulfill({ status: 400, json: { code: 'BAD_REQUEST', message: 'the profile of the file is legacy' } })
    })
    await page.getByRole('button', { name: `Restore ${shown[0]}`, exact: true }).click()
    const dialog = page.getByRole('alertdialog', { name: 'Restore backup', exact: true })
    await dialog.getByRole('checkbox', { name: 'Allow a security profile mismatch', exact: true }).check()
    await dialog.getByRole('region', { name: 'What will change', exact: true }).waitFor()
    await dialog.getByRole('button', { name: 'Restore', exact: true }).click()
    await dialog.getByRole('alert').getByText('the profile of the file is legacy').waitFor()
    const [{ node }] = (await broker.request('/api/v4/nodes')).json.data as [{ readonly node: string }]
    assert.deepEqual(sent, [{ filename: shown[0], node, allow_security_profile_mismatch: true }])
    await dialog.getByRole('button', { name: 'Cancel', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    for (const filename of shown) await broker.request(`/api/v5/data/files/${filename}`, { method: 'DELETE' })
  })

  test('a restore waits for its preview, also if the options change meanwhile, and is not refused by it', async (t) => {
    const broker = await emptyBroker()
    await broker.request('/api/v5/data/export', { method: 'POST', body: {} })
    const [{ filename }] = (await broker.request('/api/v5/data/files')).json.data as [{ readonly filename: string }]
    deleteAfter(t, broker, [`/api/v5/data/files/${filename}`])
    const { page } = await openAt(t, broker, '#/backup')
    // Previews reach the broker when the test lets them, so that a restore could overtake them.
    let onPreview: ((release: () => void) => void) | undefined
    const previewed = (): Promise<() => void> => new Promise((resolve) => (onPreview = resolve))
    await page.route('**/api/v5/data/import**', async (route) => {
      const { dry_run: isPreview } = route.request().postDataJSON() as { readonly dry_run?: boolean }
      if (isPreview === true) await new Promise<void>((release) => onPreview?.(release))
      await route.continue()
    })
    const first = previewed()
    await page.getByRole('button', { name: `Restore ${filename}`, exact: true }).click()
    const releaseFirst = await first
    const dialog = page.getByRole('alertdialog', { name: 'Restore backup', exact: true })
    const restore = dialog.getByRole('button', { name: 'Restore', exact: true })
    assert.equal(await restore.isDisabled(), true)
    await dialog.getByRole('status').waitFor()
    releaseFirst()
    await dialog.getByRole('region', { name: 'What will change', exact: true }).waitFor()
    assert.equal(await restore.isEnabled(), true)
    const second = previewed()
    await dialog.getByRole('checkbox', { name: 'Allow a security profile mismatch', exact: true }).check()
    const releaseSecond = await second
    assert.equal(await restore.isDisabled(), true, 'the preview of other options is no preview of these')
    releaseSecond()
    await dialog.getByRole('button', { name: 'Restore', exact: true, disabled: false }).click()
    await dialog.getByRole('region', { name: 'Restored', exact: true }).waitFor()
    assert.equal(await dialog.getByRole('alert').count(), 0)
    await dialog.getByRole('button', { name: 'Close', exact: true }).click()
  })

  test('a refused upload shows the message of the broker', async (t) => {
    const { page } = await openAt(t, await emptyBroker(), '#/backup')
    const file = { name: 'nothing.tar.gz', mimeType: 'application/gzip', buffer: Buffer.from('no archive') }
    await page.getByLabel('File to upload').setInputFiles(file)
    await page
      .getByRole('alert')
      .getByText(/nothing\.tar\.gz/)
      .waitFor()
  })

  test('Create is disabled while a namespace is selected, and for administrators of a namespace', async (t) => {
    const broker = await namespacedBroker()
    const { page } = await openAt(t, broker, '#/backup')
    const create = page.getByRole('button', { name: 'Create', exact: true })
    const choice = page.getByRole('main').getByRole('combobox', { name: 'Namespace' })
    await choice.selectOption('plant')
    await page.getByRole('button', { name: 'Create', exact: true, disabled: true }).waitFor()
    assert.deepEqual((await choice.getByRole('option').allTextContents()).slice(0, 2), ['Global', 'plant'])
    const uploaded = page.waitForRequest((request) => request.method() === 'POST')
    const file = { name: 'none.tar.gz', mimeType: 'application/gzip', buffer: Buffer.from('no archive') }
    await page.getByLabel('File to upload').setInputFiles(file)
    assert.match((await uploaded).url(), /data\/files\?namespace=plant$/)
    await choice.selectOption('Global')
    await page.getByRole('button', { name: 'Create', exact: true, disabled: false }).waitFor()
    assert.equal(await create.isEnabled(), true)

    const own = await openAt(t, broker, '#/backup', { as: planter })
    await own.page.getByRole('main').getByText('Namespace plant').waitFor()
    assert.equal(await own.page.getByRole('main').getByRole('combobox', { name: 'Namespace' }).count(), 0)
    assert.equal(await own.page.getByRole('button', { name: 'Create', exact: true }).isDisabled(), true)
  })
})
