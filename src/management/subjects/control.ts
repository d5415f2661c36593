import type { controlEndpoints } from '../../contract/index.ts'
import type { Handlers } from '../http/handler.ts'
import type { ControlOperations } from '../operations/control.ts'
import { refuse } from '../http/api-error.ts'

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
