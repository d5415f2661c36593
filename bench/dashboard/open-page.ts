import { type Browser, chromium, type Page } from 'playwright-core'
import type { Scope } from '../../test/e2e/godwit-process.ts'
import { administrator, type BrokerWithApi } from '../../test/management/api.ts'

/** Debian's Chromium; it ends with the scope. */
export async function startBrowser(scope: Scope): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  })
  scope.after(() => browser.close())
  return browser
}

/** A page of a browser context of its own, signed in. */
export async function signedInPage(browser: Browser, broker: BrokerWithApi, route: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1_280, height: 900 } })
  await page.goto(`${broker.url}/dashboard/${route}`)
  const [username = '', password = ''] = administrator.split(':')
  await page.getByLabel('User name').fill(username)
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Account', exact: true }).waitFor()
  return page
}
