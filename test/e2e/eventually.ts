// Waits for states without an event, such as metrics, lists, files and logs, by repeating a check.

import { AssertionError } from 'node:assert'
import { setTimeout as pause } from 'node:timers/promises'
import { TimeLimit } from './time-limit.ts'

/** Of processor time: see time-limit.ts. */
const limitMs = 60_000
const betweenMs = 20

/**
 * Runs `check` until its assertions hold, and returns what it returns. After a minute (of processor time) the last assertion error is thrown; any other
 * error is thrown at once.
 */
export async function eventually<Result>(check: () => Result | Promise<Result>): Promise<Result> {
  const limit = new TimeLimit(limitMs)
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (!(error instanceof AssertionError) || limit.isOver) throw error
    }
    await pause(betweenMs)
  }
}
