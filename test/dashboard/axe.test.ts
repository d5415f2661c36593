import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, test } from 'node:test'
import type { Page, Request } from 'playwright-core'
import type { Scope } from '../e2e/godwit-process.ts'
import type { BrokerWithApi } from '../management/api.ts'
import { oneIn } from '../test-length.ts'
import { emptyBroker, filledBroker } from './brokers.ts'
import { assertQuiet, openAt, type OpenPage } from './browser.ts'
import { allDialogs, allRoutes, dialogsOfRows } from './routes.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface AxeResult {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[]
}

declare const window: { axe: { run(place: string, options: object): Promise<AxeResult> } }

/** Elements that pass a rule are not described. */
const short = { resultTypes: ['violations'], selectors: false }

/** Of WCAG 2.2 (2.5.8), off by default: targets have 24 pixels, or so much space around. */
const options = { ...short, rules: { 'target-size': { enabled: true } } }

/** The two themes differ in colors only: `light-dark()` in `dashboard/src/styles.css`. */
const colorOptions = { ...short, runOnly: ['color-contrast', 'link-in-text-block'] }

/** Requests of the API that a page waits for. */
const pendingRequests = new WeakMap<Page, Set<Request>>()

function watchRequests(page: Page): void {
  const waiting = new Set<Request>()
  pendingRequests.set(page, waiting)
  page.on('request', (request) => {
    if (new URL(request.url()).pathname.startsWith('/api/')) waiting.add(request)
  })
  page.on('requestfinished', (request) => waiting.delete(request))
  page.on('requestfailed', (request) => waiting.delete(request))
}

/** A page sends requests once it is painted, and some of its parts send more. */
async function untilIdle(page: Page): Promise<void> {
  const waiting = pendingRequests.get(page) ?? assert.fail('the requests of this page are not watched')
  for (;;) {
    await page.evaluate(async () => {
      for (let frame = 0; frame < 2; frame++)
        await new Promise<void>((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
    })
    // A promise of the response of one request could stay pending: the page cancels requests when it shows something else.
    if (waiting.size === 0) return
  }
}

const loadingSelector = '[aria-busy="true"]'

/**
 * Violations count in a run in which no list was loading: its rows are dimmed meanwhile. A list shows this some time after its request, so that
 * none may be loading when the run begins. On a slow machine, lists load again during each run, so a run without violations is never repeated.
 */
async function violationsOf(page: Page, place: string, rules: object): Promise<AxeResult['violations']> {
  await untilIdle(page)
  for (;;) {
    await page.waitForFunction((loading) => document.querySelector(loading) === null, loadingSelector)
    const violations = await page.evaluate(
      async ([root, axeOptions, loading]) => {
        let wasLoading = document.querySelector(loading) !== null
        const observer = new MutationObserver(() => (wasLoading ||= document.querySelector(loading) !== null))
        observer.observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ['aria-busy'] })
        const result = await window.axe.run(root, axeOptions)
        observer.disconnect()
        return wasLoading && result.violations.length > 0 ? undefined : result.violations
      },
      [place, rules, loadingSelector] as const,
    )
    if (violations !== undefined) return violations
  }
}

const openDialog = 'dialog[open]'

/**
 * All rules in the light theme, those of colors in the dark one. `place` is a selector: of a page that is covered by a dialog, only the dialog
 * is checked, because the page itself has its own check, and a check of both takes twice as long.
 */
async function faultsOf(page: Page, place = 'html'): Promise<string[]> {
  const faults: string[] = []
  for (const [colorScheme, rules] of [
    ['light', options],
    ['dark', colorOptions],
  ] as const) {
    await page.emulateMedia({ colorScheme })
    const violations = await violationsOf(page, place, rules)
    faults.push(
      ...violations.map(({ id, nodes }) => `${colorScheme}: ${id}: ${nodes.map(({ html }) => html).join(' ')}`),
    )
  }
  return faults
}

/** Opens a page with the checker. The policy of the page forbids its script, so the debugger adds it; it stays while only the hash changes. */
async function openWithAxe(t: Scope, broker: BrokerWithApi, width?: number): Promise<OpenPage> {
  const opened = await openAt(t, broker, plainRoute.route, width === undefined ? {} : { width })
  watchRequests(opened.page)
  await opened.page.evaluate(axe)
  return opened
}

/** A page that has no buttons with the names that the tests click. */
const plainRoute = { route: '#/about', heading: 'About' }

async function goTo(page: Page, { route, heading }: { readonly route: string; readonly heading: string }) {
  await page.evaluate((hash) => (location.hash = hash), route)
  await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
}

describe('axe finds no violation', () => {
  test('on any page, light and dark', async (t) => {
    const opened = await openWithAxe(t, await emptyBroker())
    const { page } = opened
    for (const each of oneIn(9, allRoutes)) {
      await goTo(page, each)
      assert.deepEqual(await faultsOf(page), [], each.route)
    }
    assertQuiet(opened)
  })

  test('in any dialog, light and dark, and at phone width none scrolls horizontally', async (t) => {
    const opened = await openWithAxe(t, await emptyBroker(), 320)
    const { page } = opened
    const dialog = page.locator(openDialog)
    for (const { route, button } of oneIn(9, allDialogs)) {
      await goTo(page, plainRoute)
      await page.evaluate((hash) => (location.hash = hash), route)
      await page.getByRole('button', { name: button, exact: true }).click()
      await dialog.waitFor()
      await page.waitForFunction(() => document.querySelector('[aria-busy="true"]') === null)
      for (const more of await dialog.getByText('More settings', { exact: true }).all()) await more.click()
      assert.deepEqual(await faultsOf(page, openDialog), [], `${route} ${button}`)
      const isWide = await dialog.evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
      assert.equal(isWide, false, `${route} ${button}`)
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
    }
    assertQuiet(opened)
  })

  test('in any dialog of a row, light and dark', async (t) => {
    const opened = await openWithAxe(t, await filledBroker())
    const { page } = opened
    const dialog = page.locator(openDialog)
    for (const { route, button } of oneIn(9, dialogsOfRows)) {
      await goTo(page, plainRoute)
      await page.evaluate((hash) => (location.hash = hash), route)
      await page.getByRole('button', { name: button }).first().click()
      await dialog.waitFor()
      assert.deepEqual(await faultsOf(page, openDialog), [], `${route} ${button}`)
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
    }
    assertQuiet(opened)
  })

  test('at phone width no page scrolls horizontally', async (t) => {
    const { page } = await openAt(t, await emptyBroker(), plainRoute.route, { width: 320 })
    for (const each of oneIn(3, allRoutes)) {
      await goTo(page, each)
      const isWide = await page.evaluate(
        () => document.documentElement.scrollWidth > document.documentElement.clientWidth,
      )
      assert.equal(isWide, false, each.route)
    }
  })
})
