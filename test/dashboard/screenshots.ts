// `npm run screenshots [-- folder]`: each page of the dashboard in both themes and at phone width, from a broker that has something to
// show. Look at them after a change of the page.

import { connectAsync, type MqttClient } from 'mqtt'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import type { Scope } from '../e2e/godwit-process.ts'
import { administrator, type BrokerWithApi, startBrokerWithApi } from '../management/api.ts'
import { allDialogs, allRoutes } from './routes.ts'

const folder = process.argv[2] ?? 'dist/screenshots'
const views = [
  { name: 'light', colorScheme: 'light', width: 1_280, height: 900 },
  { name: 'dark', colorScheme: 'dark', width: 1_280, height: 900 },
  { name: 'phone', colorScheme: 'light', width: 360, height: 740 },
] as const
/** So long the broker gathers rates before the first picture. */
const warmUpMs = 40_000
const publishMs = 50

const ends: (() => unknown)[] = []
const scope: Scope = { after: (end) => void ends.push(end) }
try {
  await takeAll()
} finally {
  for (const end of ends.toReversed()) await end()
}

async function takeAll(): Promise<void> {
  await mkdir(folder, { recursive: true })
  const broker = await startBrokerWithApi(scope, { set: ['namespaces.enable=true', 'gateway.stomp.enable=false'] })
  await fill(broker)
  await new Promise((resolve) => setTimeout(resolve, warmUpMs))
  const browser = await chromium.launch({
    executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  })
  ends.push(() => browser.close())
  for (const view of views) await takeView(broker, browser, view)
  await takeForReadme(broker, browser)
}

/** The picture of the README, in the folder with the others. */
async function takeForReadme(broker: BrokerWithApi, browser: Browser): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 1_100, height: 690 }, locale: 'en-GB' })
  await signIn(page, broker)
  await page.getByRole('img', { name: 'Messages per second', exact: true }).waitFor()
  await page.screenshot({ path: join(folder, 'readme.png') })
  await page.close()
}

async function signIn(page: Page, broker: BrokerWithApi): Promise<void> {
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
  await page.screenshot({ path: join(folder, `sign-in-${name}.png`) })
  await signIn(page, broker)
  const routes = [...allRoutes, { route: '#/clients/pump-1', heading: 'Client pump-1' }]
  for (const { route, heading } of routes.filter((one) => !one.route.includes('nobody'))) {
    await page.goto(`${broker.url}/dashboard/${route}`)
    await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
    await page.waitForFunction(() => document.querySelector('[aria-busy="true"]') === null)
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
    await page.waitForFunction(() => document.querySelector('[aria-busy="true"]') === null)
    const file = `dialog ${route} ${button}`.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
    await page.screenshot({ path: join(folder, `${file}-${name}.png`) })
    await page.keyboard.press('Escape')
  }
  await context.close()
}

async function watchTopics(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  await page.getByRole('treeitem', { name: /^plant / }).click()
  await page.getByRole('treeitem', { name: /^hall-1 / }).click()
}

async function fill(broker: BrokerWithApi): Promise<void> {
  const send = async (method: 'POST' | 'PUT', path: string, body: unknown): Promise<void> => {
    const { status, text } = await broker.ask(path, { method, body })
    if (status >= 300) throw new Error(`${path}: ${text}`)
  }
  await send('POST', '/api/v4/auth_username', { username: 'gateway', password: 'a-secret-word' })
  await send('POST', '/api/v4/auth_username', { username: 'operator', password: 'a-secret-word' })
  await send('POST', '/api/v4/acl', { username: 'gateway', topic: 'plant/+/status', action: 'sub', access: 'allow' })
  const ban = { who: 'meter-old', as: 'clientid', reason: 'replaced in May', by: 'operator' }
  await send('POST', '/api/v4/banned', ban)
  await send('POST', '/api/v5/users', { username: 'night-shift', password: 'a-long-password', role: 'viewer' })
  await send('POST', '/api/v4/apps', { app_id: 'reports', name: 'Nightly reports' })
  for (const namespace of ['tenant-a', 'tenant-b']) await send('POST', '/api/v5/namespaces', { namespace })
  await send('POST', '/api/v5/rules', {
    id: 'hot',
    sql: 'SELECT payload.degrees AS degrees, topic FROM "plant/#" WHERE payload.degrees > 21',
    actions: [{ function: 'republish', args: { topic: 'alerts/${topic}', payload: '${degrees}' } }],
  })
  await send('POST', '/api/v5/data/export', {})
  await publishAlways(broker)
}

/** Devices that go on until the end. */
async function publishAlways(broker: BrokerWithApi): Promise<void> {
  const connect = (clientId: string, username: string): Promise<MqttClient> =>
    connectAsync({ port: broker.port, clientId, username, password: 'a-secret-word' })
  const pumps = await Promise.all(Array.from({ length: 30 }, (_, number) => connect(`pump-${number}`, 'gateway')))
  ends.push(() => Promise.all(pumps.map((pump) => pump.endAsync(true))))
  for (const [number, pump] of pumps.entries()) {
    await pump.subscribeAsync(`plant/hall-${number % 3}/+`, { qos: 1 })
    const status = { state: 'running', since: '2026-05-04' }
    await pump.publishAsync(`plant/hall-${number % 3}/pump-${number}`, JSON.stringify(status), { retain: true, qos: 1 })
  }
  const watcher = await connectAsync({ port: broker.port, clientId: 'archive', clean: false })
  await watcher.subscribeAsync('plant/#', { qos: 1 })
  await watcher.endAsync()
  let turn = 0
  const timer = setInterval(() => {
    turn += 1
    const degrees = 20 + Math.round(20 * Math.sin(turn / 40)) / 10
    pumps[turn % pumps.length]?.publish(`plant/hall-${turn % 3}/degrees`, JSON.stringify({ degrees }), { qos: 1 })
  }, publishMs)
  ends.push(() => clearInterval(timer))
}
