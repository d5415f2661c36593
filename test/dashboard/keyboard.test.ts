import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { filledBroker } from './brokers.ts'
import { assertQuiet, openAt } from './browser.ts'
import { allRoutes } from './routes.ts'
import { oneIn } from '../test-length.ts'

interface Walk {
  /** Elements that the keyboard must reach, and elements that it reached. */
  readonly wanted: Set<Element>
  readonly reached: Set<Element>
  /** Reached elements without a visible focus. */
  readonly unseen: string[]
}

declare const window: { walk: Walk }

/**
 * Records the controls within `place`, a selector, and each element that gets the focus from now on. Returns the maximum number of
 * presses of Tab.
 */
async function beginWalk(page: Page, place: string): Promise<number> {
  return page.evaluate((selector) => {
    const root = document.querySelector<HTMLElement>(selector)
    if (root === null) throw new Error(`the page has no ${selector}`)
    const operable = 'a[href], button:enabled, input:enabled, select:enabled, textarea:enabled, summary, [tabindex]'
    const wanted = new Set(
      [...root.querySelectorAll<HTMLElement>(operable)].filter((element) => {
        // Of radio buttons, tabs and items of a tree one is a stop, and arrows go to the others.
        const isOtherRadio = element instanceof HTMLInputElement && element.type === 'radio' && !element.checked
        return element.tabIndex >= 0 && element.checkVisibility() && !isOtherRadio
      }),
    )
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur()
    // The next Tab goes to the first stop within it.
    if (root !== document.body) root.focus()
    const walk: Walk = { wanted, reached: new Set(), unseen: [] }
    document.addEventListener('focusin', ({ target }) => {
      if (!(target instanceof HTMLElement)) return
      walk.reached.add(target)
      const { outlineStyle, outlineWidth } = getComputedStyle(target)
      if (outlineStyle === 'none' || Number.parseFloat(outlineWidth) < 2) walk.unseen.push(target.outerHTML)
    })
    window.walk = walk
    // A date has a stop for each of its parts, and one for its calendar.
    return wanted.size + 8 * root.querySelectorAll('input[type=datetime-local]').length
  }, place)
}

const routes = oneIn(3, allRoutes)

/** The menu and the header are the same on all pages; they are walked through on the first one only. */
const placeOf = (route: string): string => (route === routes[0]?.route ? 'body' : '#content')

async function walkThrough(page: Page, { route, heading }: { readonly route: string; readonly heading: string }) {
  // The page is loaded, in the process of the one before.
  await page.evaluate((hash) => history.replaceState(null, '', hash), route)
  await page.reload()
  await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
  await page.waitForLoadState('networkidle')
  const pause = page.getByRole('button', { name: 'Pause', exact: true })
  if ((await pause.count()) > 0) await pause.click()
  const stops = await beginWalk(page, placeOf(route))
  for (let press = 0; press <= stops; press++) await page.keyboard.press('Tab')
  return page.evaluate(() => {
    const { wanted, reached, unseen } = window.walk
    const missed = [...wanted].filter((one) => one.isConnected && !reached.has(one))
    return { missed: missed.map(({ outerHTML }) => outerHTML), unseen }
  })
}

/** Tests of so many pages each: one of all takes too long. */
const pagesPerTest = 7

describe('the keyboard reaches all controls, and the focus is visible', () => {
  for (let first = 0; first < routes.length; first += pagesPerTest) {
    const some = routes.slice(first, first + pagesPerTest)
    test(`from ${some[0]?.route} to ${some.at(-1)?.route}`, async (t) => {
      const opened = await openAt(t, await filledBroker(), '#/overview')
      for (const each of some) {
        assert.deepEqual(await walkThrough(opened.page, each), { missed: [], unseen: [] }, each.route)
      }
      assertQuiet(opened)
    })
  }
})

test('arrow keys select tabs, and Enter activates the menu and the link to the content', async (t) => {
  const { page } = await openAt(t, await filledBroker(), '#/access', { width: 320 })
  await page.getByRole('tab', { name: 'Users', exact: true }).focus()
  await page.keyboard.press('ArrowRight')
  await page.getByRole('tab', { name: 'Client identifiers', exact: true, selected: true }).waitFor()
  await page.keyboard.press('End')
  await page.getByRole('tab', { name: 'Explain', exact: true, selected: true }).waitFor()
  await page.getByRole('link', { name: 'Skip to content', exact: true }).focus()
  await page.keyboard.press('Enter')
  await page.waitForFunction(() => document.activeElement?.id === 'content')
  await page.getByRole('button', { name: 'Menu', exact: true }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'Retained messages', exact: true }).focus()
  await page.keyboard.press('Enter')
  await page.waitForFunction(() => document.activeElement?.textContent === 'Retained messages')
})
