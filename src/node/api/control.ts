// Wishes for the end of the node. Whoever has started it carries them out: a node cannot start itself anew.

import type { ControlOperations, Requester } from '../../management/index.ts'
import type { Log } from '../../telemetry/index.ts'

export type ShutdownRequest = 'stop' | 'restart'

export interface ShutdownRequests {
  /** Resolves with the first wish. */
  readonly requested: Promise<ShutdownRequest>
  readonly operations: ControlOperations
}

/** So long an answer may take to leave before what it is about is done. */
const responseGraceMs = 50

/** `problemOfRestart`: why the node could not be started again as things are now. */
export function shutdownRequests(
  log: Log,
  problemOfRestart: () => string | undefined = () => undefined,
): ShutdownRequests {
  const { promise: requested, resolve } = Promise.withResolvers<ShutdownRequest>()
  const note = (wish: ShutdownRequest, { name, address }: Requester): void => {
    log.warn('shutdown requested', { wish, by: name, address })
    setTimeout(resolve, responseGraceMs, wish)
  }
  return {
    requested,
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
