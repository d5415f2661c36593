// Opens the dashboard of a real broker in Debian's Chromium. Tests find elements by role and name, as screen readers do.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { shared, type Scope } from '../e2e/godwit-process.ts'
import { administrator, type BrokerWithApi } from '../management/api.ts'

/** The same engine without windows opens a page in a fifth of the processor time. `npm run test:long` uses the one with windows. */
function chromiumProgram(): string {
  const programs = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']
  const found = process.env['CHROMIUM'] ?? programs.find((program) => existsSync(program))
  if (found === undefined) throw new Error(`no Chromium: install one of ${programs.join(', ')}, or set CHROMIUM`)
  return found
}

const browser = shared(async (scope) => {
  const started = await chromium.launch({
    executablePath: chromiumProgram(),
    args: ['--no-sandbox', '--disable-gpu'],
  })
  scope.after(() => started.close())
  return started
})

export interface OpenPage {
  readonly page: Page
  readonly context: BrowserContext
  /** Lines that the page wrote to the console as errors, and requests that left its origin. */
  readonly complaints: string[]
}

export interface PageOptions {
  /** The hash after `/dashboard/`. */
  readonly route?: string
  readonly width?: number
  /** The browser has no caches of other tests, and the test may change what stays in a tab, for example its clock. */
  readonly isNew?: boolean
}

export interface Tab {
  readonly page: Page
  readonly context: BrowserContext
}

/**
 * Tabs that no test uses now. A page in a new tab takes 1.2 s of processor time, because its process starts and compiles all that it runs; a
 * page in a tab that has shown another one takes 0.4 s.
 */
const freeTabs: Tab[] = []

async function openTab(): Promise<Tab> {
  const started: Browser = await browser()
  const context = await started.newContext({
    locale: 'en-GB',
    acceptDownloads: true,
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  return { page, context }
}

/** The browser has no caches of other tests. */
export async function openNewTab(t: Scope): Promise<Tab> {
  const tab = await openTab()
  t.after(() => tab.context.close())
  return tab
}

async function takeTab(t: Scope): Promise<Tab> {
  const tab = freeTabs.pop() ?? (await openTab())
  t.after(() => releaseTab(tab))
  return tab
}

const eventsOfPages = [
  'console',
  'framenavigated',
  'pageerror',
  'request',
  'requestfailed',
  'requestfinished',
  'response',
]

/** Ends what a test did in its tab. A tab that does not respond, for example because its broker has stopped, is closed. */
async function releaseTab(tab: Tab): Promise<void> {
  const { page, context } = tab
  try {
    for (const event of eventsOfPages) page.removeAllListeners(event)
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    for (const other of context.pages()) if (other !== page) await other.close()
    await context.clearCookies()
    // The page sends no more requests.
    await page.goto(blankPage(new URL(page.url()).origin), { waitUntil: 'commit' })
    await page.mouse.move(0, 0)
    freeTabs.push(tab)
  } catch {
    await context.close()
  }
}

/** A page of the broker without scripts, whose storage is that of the dashboard. */
const blankPage = (url: string): string => `${url}/dashboard/assets/blank`

/** Opens the dashboard with nothing in its storage except this session. */
async function show({ page }: Tab, url: string, route: string, session?: object): Promise<void> {
  if (!page.url().startsWith(blankPage(url))) await page.goto(blankPage(url), { waitUntil: 'commit' })
  await page.evaluate((kept) => {
    localStorage.clear()
    sessionStorage.clear()
    if (kept !== undefined) sessionStorage.setItem('godwit.session', JSON.stringify(kept))
  }, session)
  await page.goto(`${url}/dashboard/${route}`)
}

/** Opens a page of the dashboard, without data of other tests. */
export function openPage(t: Scope, broker: BrokerWithApi, options: PageOptions = {}): Promise<OpenPage> {
  return openWith(t, broker, options)
}

async function openWith(t: Scope, broker: BrokerWithApi, options: PageOptions, session?: object): Promise<OpenPage> {
  const { route = '', width = 1_280, isNew = false } = options
  const tab = isNew ? await openNewTab(t) : await takeTab(t)
  const { page, context } = tab
  await page.setViewportSize({ width, height: 900 })
  await page.emulateMedia({ colorScheme: 'light' })
  const complaints: string[] = []
  page.on('console', (line) => {
    // The browser itself logs each refused request; other tests check what the page shows.
    if (line.type() === 'error' && !line.text().startsWith('Failed to load resource')) complaints.push(line.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('request', (request) => {
    if (!request.url().startsWith(broker.url) && !/^(data|blob):/.test(request.url())) complaints.push(request.url())
  })
  if (isNew && session === undefined) await page.goto(`${broker.url}/dashboard/${route}`)
  else await show(tab, broker.url, route, session)
  return { page, context, complaints }
}

export async function logIn(page: Page, credentials = administrator): Promise<void> {
  const { username, password } = parseCredentials(credentials)
  await page.getByLabel('User name').fill(username)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('button', { name: 'Account', exact: true }).waitFor()
}

function parseCredentials(credentials: string): { username: string; password: string } {
  const [username = '', password = ''] = credentials.split(/:(.*)/s)
  return { username, password }
}

/** Opens a page for an account that has logged in. Only tests of the login itself use the form: each time, the page would be shown twice. */
export async function openAt(
  t: Scope,
  broker: BrokerWithApi,
  route: string,
  { as = administrator, ...options }: PageOptions & { readonly as?: string } = {},
): Promise<OpenPage> {
  const body = parseCredentials(as)
  const { status, json, text } = await broker.request('/api/v5/login', { as: null, method: 'POST', body })
  assert.equal(status, 200, text)
  const { token, role, namespace } = json
  // As `beginSession` of the dashboard stores it.
  const session = {
    token,
    username: body.username,
    role: role.endsWith('administrator') ? 'administrator' : 'viewer',
    ...(namespace === null ? {} : { namespace }),
  }
  const opened = await openWith(t, broker, { ...options, route }, session)
  await opened.page.getByRole('button', { name: 'Account', exact: true }).waitFor()
  return opened
}

/** Title of the document, which is set after the heading is shown. */
export async function untilTitle(page: Page, title: string): Promise<void> {
  await page.waitForFunction((wanted) => document.title === wanted, title)
}

/** Checks that apply to every page. */
export function assertQuiet({ complaints }: OpenPage): void {
  assert.deepEqual(complaints, [])
}
