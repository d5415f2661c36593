// Requests to stop or restart the node. The code that started the node carries them out, because a node cannot restart
// itself.

import type { ControlOperations, Requester } from './control.ts'
import type { Log } from '../../telemetry/index.ts'

export type ShutdownRequest = 'stop' | 'restart'

export interface ShutdownRequests {
  /** Resolves with the first request. */
  readonly requested: Promise<ShutdownRequest>
  readonly operations: ControlOperations
}

/** Time for the response to be sent. */
const responseGraceMs = 50

/** `problemOfRestart`: returns why a restart would fail. */
export function shutdownRequests(
  log: Log,
  problemOfRestart: () => string | undefined = () => undefined,
): ShutdownRequests {
  const { promise: requested, resolve } = Promise.withResolvers<ShutdownRequest>()
  const note = (request: ShutdownRequest, { name, address }: Requester): void => {
    log.warn('shutdown requested', { request, by: name, address })
    setTimeout(resolve, responseGraceMs, request)
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
