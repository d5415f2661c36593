import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { shared } from '../e2e/godwit-process.ts'
import { shareBrokerWithApi, startBrokerWithApi } from '../management/api.ts'
import { assertQuiet, openAt } from './browser.ts'
import { allDialogs, allRoutes, dialogsOfRows } from './routes.ts'
import { fillBroker, settingsOfSample } from './sample-data.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface AxeResult {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[]
}

declare const window: { axe: { run(place: Document, options: object): Promise<AxeResult> } }

/** Of WCAG 2.2 (2.5.8), off unless asked for: targets have 24 pixels, or so much space around. */
const options = { rules: { 'target-size': { enabled: true } } }

/** The two themes differ in colors only: `light-dark()` in `dashboard/src/styles.css`. */
const colorOptions = { runOnly: ['color-contrast', 'link-in-text-block'] }

/** All rules in the light theme, those of colors in the dark one. The page itself would not run the checker: the debugger adds it. */
async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe)
  const faults: string[] = []
  for (const [colorScheme, rules] of [
    ['light', options],
    ['dark', colorOptions],
  ] as const) {
    await page.emulateMedia({ colorScheme })
    const { violations } = await page.evaluate((asked) => window.axe.run(document, asked), rules)
    faults.push(
      ...violations.map(({ id, nodes }) => `${colorScheme}: ${id}: ${nodes.map(({ html }) => html).join(' ')}`),
    )
  }
  return faults
}

describe('axe finds nothing', () => {
  const broker = shareBrokerWithApi()
  const filledBroker = shared(async (scope) => {
    const filled = await startBrokerWithApi(scope, { set: settingsOfSample })
    await fillBroker(scope, filled)
    return filled
  })

  test('on any page, light and dark', async (t) => {
    const opened = await openAt(t, await broker(), '#/overview')
    const { page } = opened
    for (const { route, heading } of allRoutes) {
      await page.goto(page.url().replace(/#.*/, route))
      await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
      await page.waitForFunction(() => document.querySelector('[aria-busy="true"]') === null)
      assert.deepEqual(await faultsOf(page), [], route)
    }
    assertQuiet(opened)
  })

  test('in any dialog, light and dark, and on a phone none scrolls sideways', async (t) => {
    const opened = await openAt(t, await broker(), '#/overview', { width: 320 })
    const { page } = opened
    const dialog = page.locator('dialog[open]')
    for (const { route, button } of allDialogs) {
      // From a page without buttons of these names.
      await page.goto(page.url().replace(/#.*/, '#/overview'))
      await page.getByRole('heading', { level: 1, name: 'Overview', exact: true }).waitFor()
      await page.goto(page.url().replace(/#.*/, route))
      await page.getByRole('button', { name: button, exact: true }).click()
      await dialog.waitFor()
      await page.waitForFunction(() => document.querySelector('[aria-busy="true"]') === null)
      for (const more of await dialog.getByText('More settings', { exact: true }).all()) await more.click()
      assert.deepEqual(await faultsOf(page), [], `${route} ${button}`)
      const isWide = await dialog.evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
      assert.equal(isWide, false, `${route} ${button}`)
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
    }
    assertQuiet(opened)
  })

  test('in any dialog of a row, light and dark', async (t) => {
    const opened = await openAt(t, await filledBroker(), '#/overview')
    const { page } = opened
    const dialog = page.locator('dialog[open]')
    for (const { route, button } of dialogsOfRows) {
      await page.goto(page.url().replace(/#.*/, '#/overview'))
      await page.getByRole('heading', { level: 1, name: 'Overview', exact: true }).waitFor()
      await page.goto(page.url().replace(/#.*/, route))
      await page.getByRole('button', { name: button }).first().click()
      await dialog.waitFor()
      await page.waitForFunction(() => document.querySelector('[aria-busy="true"]') === null)
      assert.deepEqual(await faultsOf(page), [], `${route} ${button}`)
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
    }
    assertQuiet(opened)
  })

  test('on a phone nothing scrolls sideways', async (t) => {
    const { page } = await openAt(t, await broker(), '#/overview', { width: 320 })
    for (const { route, heading } of allRoutes) {
      await page.goto(page.url().replace(/#.*/, route))
      await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
      const isWide = await page.evaluate(
        () => document.documentElement.scrollWidth > document.documentElement.clientWidth,
      )
      assert.equal(isWide, false, route)
    }
  })
})
