// States that nothing announces: metrics, lists, files, logs. They are looked at again until they hold.

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
