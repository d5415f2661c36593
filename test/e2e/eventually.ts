// Waits for states without an event, such as metrics, lists, files and logs, by repeating a check.

import { AssertionError } from 'node:assert'
import { setTimeout as pause } from 'node:timers/promises'

const limitMs = 60_000
const betweenMs = 20

/**
 * Runs `check` until its assertions hold, and returns what it returns. After a minute the last assertion error is thrown; any other
 * error is thrown at once.
 */
export async function eventually<Result>(check: () => Result | Promise<Result>): Promise<Result> {
  const endMs = performance.now() + limitMs
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (!(error instanceof AssertionError) || performance.now() > endMs) throw error
    }
    await pause(betweenMs)
  }
}
