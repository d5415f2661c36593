// Wishes for the end of the node. Whoever has started it carries them out: a node cannot start itself anew.

import type { ControlOperations, Wisher } from '../../management/index.ts'
import type { Log } from '../../telemetry/index.ts'

export type Wish = 'stop' | 'restart'

export interface ControlDesk {
  /** Resolves with the first wish. */
  readonly wished: Promise<Wish>
  readonly operations: ControlOperations
}

/** So long an answer may take to leave before what it is about is done. */
const answerLeavesWithinMs = 50

/** `problemOfRestart`: why the node could not be started again as things are now. */
export function controlDesk(log: Log, problemOfRestart: () => string | undefined = () => undefined): ControlDesk {
  const { promise: wished, resolve } = Promise.withResolvers<Wish>()
  const note = (wish: Wish, { name, address }: Wisher): void => {
    log.warn('the broker is told to end', { wish, by: name, address })
    setTimeout(resolve, answerLeavesWithinMs, wish)
  }
  return {
    wished,
    operations: {
      stop: (by) => note('stop', by),
      restart: (by) => {
        const problem = problemOfRestart()
        if (problem !== undefined) return { problem: `the broker is not restarted, as it could not start: ${problem}` }
        note('restart', by)
        return undefined
      },
    },
  }
}
