// What a page in a browser must know of the endpoints to call them: a small table in place of the schemas.

import { urlsOf } from './documents/urls.ts'
import type { Endpoint } from './endpoint.ts'
import { endpoints } from './endpoints/all.ts'
import type { Operation, OperationTable } from './fetch-client.ts'

export function operationTable(): OperationTable {
  const rows = Object.entries<Endpoint>(endpoints).map(([name, endpoint]) => [name, operationOf(endpoint)] as const)
  return Object.fromEntries(rows)
}

function operationOf(endpoint: Endpoint): Operation {
  const { method, access, body, reply, isForNamespaces } = endpoint
  const [url = ''] = urlsOf(endpoint)
  return {
    method,
    url,
    access,
    // Schemas are objects; what is left is a word.
    ...(typeof body === 'string' ? { body: body as 'text' | 'upload' } : {}),
    ...(typeof reply === 'string' ? { reply: reply as 'text' | 'bytes' } : {}),
    ...(isForNamespaces === true ? { isForNamespaces } : {}),
  }
}
