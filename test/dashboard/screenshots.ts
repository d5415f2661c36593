// `npm run screenshots [-- folder]`: each page of the dashboard in both themes and at phone width, from a broker with sample
// data. Check them after a change of the page.

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import type { Scope } from '../e2e/godwit-process.ts'
import { administrator, type BrokerWithApi, startBrokerWithApi } from '../management/api.ts'
import { allDialogs, allRoutes, dialogsOfRows } from './routes.ts'
import { fillBroker, settingsOfSample } from './sample-data.ts'

const folder = process.argv[2] ?? 'dist/screenshots'
const views = [
  { name: 'light', colorScheme: 'light', width: 1_280, height: 900 },
  { name: 'dark', colorScheme: 'dark', width: 1_280, height: 900 },
  { name: 'phone', colorScheme: 'light', width: 360, height: 740 },
] as const
/** Time in which the broker collects rates before the first picture. */
const warmUpMs = 40_000

const ends: (() => unknown)[] = []
const scope: Scope = { after: (end) => void ends.push(end) }
try {
  await takeAll()
} finally {
  for (const end of ends.toReversed()) await end()
}

async function takeAll(): Promise<void> {
  await mkdir(folder, { recursive: true })
  const broker = await startBrokerWithApi(scope, { set: settingsOfSample })
  await fillBroker(scope, broker, { isLive: true })
  await new Promise((resolve) => setTimeout(resolve, warmUpMs))
  const browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  })
  ends.push(() => browser.close())
  for (const view of views) await takeView(broker, browser, view)
  await takeForReadme(broker, browser)
}

/** The picture of the README, in the same folder. */
async function takeForReadme(broker: BrokerWithApi, browser: Browser): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 1_100, height: 690 }, locale: 'en-GB' })
  await logIn(page, broker)
  await page.getByRole('img', { name: 'Messages per second', exact: true }).waitFor()
  await page.screenshot({ path: join(folder, 'readme.png') })
  await page.close()
}

async function logIn(page: Page, broker: BrokerWithApi): Promise<void> {
  await page.goto(`${broker.url}/dashboard/#/overview`)
  const [username = '', password = ''] = administrator.split(':')
  await page.getByLabel('User name').fill(username)
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Account', exact: true }).waitFor()
}

async function takeView(broker: BrokerWithApi, browser: Browser, view: (typeof views)[number]): Promise<void> {
  const { name, colorScheme, width, height } = view
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, locale: 'en-GB' })
  const page = await context.newPage()
  await page.goto(`${broker.url}/dashboard/#/overview`)
  await page.screenshot({ path: join(folder, `login-${name}.png`) })
  await logIn(page, broker)
  const ofClients = ['session', 'subscriptions', 'queue', 'timeline'].map((tab) => ({
    route: `#/clients/${tab === 'queue' ? 'archive' : 'pump-1'}?tab=${tab}`,
    heading: `Client ${tab === 'queue' ? 'archive' : 'pump-1'}`,
  }))
  const routes = [...allRoutes, ...ofClients]
  for (const { route, heading } of routes.filter((one) => !one.route.includes('absent'))) {
    await page.goto(`${broker.url}/dashboard/${route}`)
    await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
    await page.waitForLoadState('networkidle')
    await untilFilled(page)
    if (route === '#/topics') await watchTopics(page)
    const file = route.replace('#/', '').replaceAll(/[^a-z0-9]+/gi, '-')
    await page.screenshot({ path: join(folder, `${file}-${name}.png`), fullPage: true })
  }
  for (const { route, button } of allDialogs) {
    await page.goto(`${broker.url}/dashboard/#/overview`)
    await page.getByRole('heading', { level: 1, name: 'Overview', exact: true }).waitFor()
    await page.goto(`${broker.url}/dashboard/${route}`)
    await page.getByRole('button', { name: button, exact: true }).click()
    await page.locator('dialog[open]').waitFor()
    await untilFilled(page)
    const file = `dialog ${route} ${button}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
    await page.screenshot({ path: join(folder, `${file}-${name}.png`) })
    await page.keyboard.press('Escape')
  }
  await takeActs(broker, page, name)
  await context.close()
}

/** Pictures after a click on a button of a row. */
async function takeActs(broker: BrokerWithApi, page: Page, view: string): Promise<void> {
  for (const { route, button } of dialogsOfRows) {
    await page.goto(`${broker.url}/dashboard/#/overview`)
    await page.getByRole('heading', { level: 1, name: 'Overview', exact: true }).waitFor()
    await page.goto(`${broker.url}/dashboard/${route}`)
    await page.getByRole('button', { name: button }).first().click()
    await page.locator('dialog[open]').waitFor()
    await untilFilled(page)
    const file = `act ${route} ${button.source}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
    await page.screenshot({ path: join(folder, `${file}-${view}.png`) })
    await page.keyboard.press('Escape')
  }
}

/** Waits until each list shows its rows, or that it is empty. */
async function untilFilled(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    const lists = [...document.querySelectorAll('.table-block')]
    const isFilled = lists.every((list) => list.querySelector('tbody tr, .empty') !== null)
    return isFilled && document.querySelector('[aria-busy="true"], .settings:empty') === null
  })
}

async function watchTopics(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  await page.getByRole('treeitem', { name: /^plant / }).click()
  await page.getByRole('treeitem', { name: /^hall-1 / }).click()
  await page
    .getByRole('treeitem', { name: /^degrees / })
    .first()
    .click()
  await page.getByRole('img', { name: 'Values over time', exact: true }).waitFor()
}
