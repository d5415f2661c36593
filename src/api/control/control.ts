// Requests to stop or restart the node. The code that started the node carries them out, because a node cannot restart
// itself.

import { type Handlers, refuse } from '../../management/index.ts'
import type { Log } from '../../telemetry/index.ts'
import type { controlEndpoints } from './endpoints.ts'

/** The caller, for the log. */
export interface Requester {
  readonly name: string
  readonly address: string
}

export type ShutdownRequest = 'stop' | 'restart'

/** Time for the response to be sent. */
const responseGraceMs = 50

export class ShutdownRequests {
  /** Resolves with the first request. */
  readonly requested: Promise<ShutdownRequest>
  readonly #resolve: (request: ShutdownRequest) => void
  readonly #log: Log
  readonly #findRestartProblem: () => string | undefined

  /** `problemOfRestart`: returns why a restart would fail. */
  constructor(log: Log, problemOfRestart: () => string | undefined = () => undefined) {
    const { promise, resolve } = Promise.withResolvers<ShutdownRequest>()
    this.requested = promise
    this.#resolve = resolve
    this.#log = log
    this.#findRestartProblem = problemOfRestart
  }

  stop(by: Requester): void {
    this.#request('stop', by)
  }

  /** undefined: it will restart. A problem: a restart would fail, so it continues to run. */
  restart(by: Requester): { readonly problem: string } | undefined {
    const problem = this.#findRestartProblem()
    if (problem !== undefined) return { problem: `the broker is not restarted, as it could not start: ${problem}` }
    this.#request('restart', by)
    return undefined
  }

  #request(request: ShutdownRequest, { name, address }: Requester): void {
    this.#log.warn('shutdown requested', { request, by: name, address })
    setTimeout(this.#resolve, responseGraceMs, request)
  }
}

export function createControlHandlers(control: ShutdownRequests): Handlers<typeof controlEndpoints> {
  return {
    ctrl_broker: ({ params, caller }) => {
      switch (params.action.toLowerCase()) {
        case 'stop':
          control.stop(caller)
          return { code: 0 }
        case 'restart': {
          const refused = control.restart(caller)
          return refused === undefined ? { code: 0 } : refuse('invalidParameter', refused.problem)
        }
        default:
          return refuse('rpcError', `there is no action ${JSON.stringify(params.action)}; use stop or restart`, 404)
      }
    },
  }
}
