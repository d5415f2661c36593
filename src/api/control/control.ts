// Stop and restart: operations of the node, and handlers.

import type { controlEndpoints } from './endpoints.ts'
import { type Handlers, refuse } from '../../management/index.ts'

/** The caller, for the log. */
export interface Requester {
  readonly name: string
  readonly address: string
}

/** Stops or restarts the node. Both happen after the call has returned. */
export interface ControlOperations {
  stop(by: Requester): void
  /** undefined: it will restart. A problem: a restart would fail, so it continues to run. */
  restart(by: Requester): { readonly problem: string } | undefined
}

export function controlHandlers(control: ControlOperations): Handlers<typeof controlEndpoints> {
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
