import type { namespaceEndpoints, ReplyOf } from '../../../contract/index.ts'
import type { Handlers } from '../../handler.ts'
import type { Namespace, NamespaceOperations } from '../../operations/namespaces.ts'
import { refuseFor } from '../../refusal.ts'

type Written = ReplyOf<typeof namespaceEndpoints.get_namespaces>['data'][number]

export function namespaceHandlers(namespaces: NamespaceOperations): Handlers<typeof namespaceEndpoints> {
  return {
    get_namespaces: () => ({ code: 0, data: namespaces.list().map(written) }),
    add_namespace: async ({ body: { namespace: name }, caller }) => {
      const made = await namespaces.create(name, caller)
      if (made === 'exists') return refuseFor('BAD_REQUEST', `there is a namespace ${name} already`)
      if (made === 'too-many') return refuseFor('BAD_REQUEST', 'there are as many namespaces as may be')
      if ('notStored' in made) return refuseFor('INTERNAL_ERROR', made.notStored)
      return { code: 0, ...written(made) }
    },
    remove_namespace: async ({ params: { namespace: name }, caller }) => {
      const outcome = await namespaces.remove(name, caller)
      if (outcome === 'removed') return { code: 0 }
      if (outcome === 'missing') return refuseFor('NOT_FOUND', `there is no namespace ${JSON.stringify(name)}`)
      if (outcome === 'in-use') {
        const words = 'a listener names it or accounts are kept to it: change those first'
        return refuseFor('CONFLICT', `the namespace ${name} is in use: ${words}`)
      }
      return refuseFor('INTERNAL_ERROR', outcome.notStored)
    },
  }
}

function written({ name, createdAtMs }: Namespace): Written {
  return { namespace: name, created_at: createdAtMs === undefined ? null : new Date(createdAtMs).toISOString() }
}
