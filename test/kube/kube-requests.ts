// Requests of the tests to the API server.

import type { TestContext } from 'node:test'
import { getPath, type JsonObject } from './kube-object.ts'
import { startInstantKubelet } from './instant-kubelet.ts'
import { startKubeApi, type KubeApi } from './kube-api.ts'

export interface Reply {
  readonly statusCode: number
  readonly body: JsonObject
  readonly warning: string | null
  /** The value at a path of the body, such as `.metadata.name`. */
  readonly get: (path: string) => unknown
}

export interface KubeRequests {
  readonly api: KubeApi
  readonly request: (method: string, path: string, body?: unknown, type?: ContentType) => Promise<Reply>
  /** Yields the events of a watch until the server ends it. */
  readonly watch: (path: string) => AsyncGenerator<{ readonly type: string; readonly object: JsonObject }>
}

const contentTypes = {
  json: 'application/json',
  merge: 'application/merge-patch+json',
  'json-patch': 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
} as const

export type ContentType = keyof typeof contentTypes

/** Starts an API server with pods that are ready at once; it ends with the test. */
export async function startApi(t: TestContext): Promise<KubeRequests> {
  const api = await startKubeApi()
  startInstantKubelet(api.operations)
  t.after(() => api.close())
  return {
    api,
    request: async (method, path, body, type = 'json') => {
      const init =
        body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': contentTypes[type] } }
      const response = await fetch(`${api.url}${path}`, { method, ...init })
      const parsed = (await response.json()) as JsonObject
      const warning = response.headers.get('warning')
      return { statusCode: response.status, body: parsed, warning, get: (path) => getPath(parsed, path) }
    },
    watch: (path) => readEvents(`${api.url}${path}`),
  }
}

async function* readEvents(url: string): AsyncGenerator<{ readonly type: string; readonly object: JsonObject }> {
  const response = await fetch(url)
  let text = ''
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString()
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) yield JSON.parse(line) as { type: string; object: JsonObject }
  }
}

/** Requests again until the response is as wanted: controllers act after the response to a request. */
export async function requestUntil(request: () => Promise<Reply>, isWanted: (reply: Reply) => boolean): Promise<Reply> {
  for (;;) {
    const reply = await request()
    if (isWanted(reply)) return reply
  }
}
