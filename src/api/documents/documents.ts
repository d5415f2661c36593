// The documents of the API itself.

import type { documentEndpoints } from './endpoints.ts'
import { type Endpoint, listOperations, createOpenApi, writeApiPage } from '../../contract/index.ts'
import { type Handlers, JsonText } from '../../management/index.ts'
import type { ApiContext } from '../context/api-context.ts'

/** The page does not contain the version, because it needs no authentication. */
const frontPage = `<!doctype html>
<html lang="en">
<title>Godwit</title>
<h1>Godwit MQTT broker</h1>
<p>This is the address of the management API. MQTT clients connect to a listener, by default on port 1883.</p>
<ul>
<li><a href="/api/docs">Operations of the API</a>
<li><a href="/api/docs/openapi.json">OpenAPI document</a>
</ul>
`

/** `endpoints`: all of them. */
export function createDocumentHandlers(
  { version }: Pick<ApiContext, 'version'>,
  endpoints: Readonly<Record<string, Endpoint>>,
): Handlers<typeof documentEndpoints> {
  const listing = listOperations(endpoints)
  // A megabyte each, so they are created at the first request and kept: unauthenticated clients may request them often.
  const document = memoize(() => createOpenApi(endpoints, version))
  const written = memoize(() => new JsonText(JSON.stringify(document())))
  const page = memoize(() => writeApiPage(document()))
  return {
    list_endpoints: () => ({ code: 0, data: listing }),
    get_front_page: () => frontPage,
    get_api_page: () => page(),
    get_openapi_document: () => written(),
  }
}

function memoize<Value>(make: () => Value): () => Value {
  let kept: { readonly value: Value } | undefined
  return () => (kept ??= { value: make() }).value
}
