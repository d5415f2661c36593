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
  readonly locale?: string
  readonly colorScheme?: 'light' | 'dark'
}

/** A separate browser without data of other tests. */
export async function openPage(t: Scope, broker: BrokerWithApi, options: PageOptions = {}): Promise<OpenPage> {
  const { route = '', width = 1_280, locale = 'en-GB', colorScheme = 'light' } = options
  const started: Browser = await browser()
  const context = await started.newContext({
    viewport: { width, height: 900 },
    locale,
    colorScheme,
    acceptDownloads: true,
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  t.after(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  const complaints: string[] = []
  page.on('console', (line) => {
    // The browser itself logs each refused request; other tests check what the page shows.
    if (line.type() === 'error' && !line.text().startsWith('Failed to load resource')) complaints.push(line.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('request', (request) => {
    if (!request.url().startsWith(broker.url) && !/^(data|blob):/.test(request.url())) complaints.push(request.url())
  })
  await page.goto(`${broker.url}/dashboard/${route}`)
  return { page, context, complaints }
}

export async function signIn(page: Page, credentials = administrator): Promise<void> {
  const [username = '', password = ''] = credentials.split(/:(.*)/s)
  await page.getByLabel('User name').fill(username)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Account', exact: true }).waitFor()
}

/** Signs in and opens a page. */
export async function openAt(
  t: Scope,
  broker: BrokerWithApi,
  route: string,
  options: PageOptions & { readonly as?: string } = {},
): Promise<OpenPage> {
  const opened = await openPage(t, broker, { ...options, route })
  await signIn(opened.page, options.as)
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
