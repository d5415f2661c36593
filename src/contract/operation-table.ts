// Properties of the endpoints that a page in a browser needs: a small table instead of the schemas.

import { listUrls } from './documents/list-urls.ts'
import type { Endpoint } from './definition/endpoint.ts'
import type { Operation, OperationTable } from './fetch-client.ts'

export function createOperationTable(endpoints: Readonly<Record<string, Endpoint>>): OperationTable {
  const rows = Object.entries(endpoints).map(([name, endpoint]) => [name, toOperation(endpoint)] as const)
  return Object.fromEntries(rows)
}

function toOperation(endpoint: Endpoint): Operation {
  const { method, access, body, reply, isForNamespaces } = endpoint
  const [url = ''] = listUrls(endpoint)
  return {
    method,
    url,
    access,
    // Schemas are objects; other bodies are words.
    ...(typeof body === 'string' ? { body: body as 'text' | 'upload' } : {}),
    ...(typeof reply === 'string' ? { reply: reply as 'text' | 'bytes' } : {}),
    ...(isForNamespaces === true ? { isForNamespaces } : {}),
  }
}
