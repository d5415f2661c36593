// A broker with its API, for tests that speak HTTP to it.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Broker,
  type BrokerOptions,
  type Scope,
  shared,
  startBroker,
  temporaryFolder,
} from '../e2e/godwit-process.ts'

export interface ApiResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The parsed body if it is JSON, else undefined. */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any
}

export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH'
  /** A string is sent unchanged, other values as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Credentials, `name:password`; null: none. Default: those of the administrator. */
  readonly as?: string | null
}

export interface BrokerWithApi extends Broker {
  /** `http://127.0.0.1:port` */
  readonly url: string
  /** `path` includes the prefix, for example `/api/v4`. */
  request(path: string, options?: RequestOptions): Promise<ApiResponse>
}

export const administrator = 'admin:a-password-for-tests'

/** Starts the program as a process, with an administrator whose password the tests know. */
export async function startBrokerWithApi(t: Scope, options: BrokerOptions = {}): Promise<BrokerWithApi> {
  const password = administrator.slice('admin:'.length)
  const broker = await startBroker(t, {
    ...options,
    set: [`http_server.password="${password}"`, ...(options.set ?? [])],
  })
  const [, url] = await broker.process.until(/management API +(http:\/\/127\.0\.0\.1:\d+)\/api\/v4/)
  return { ...broker, url, request: (path, options = {}) => sendRequest(`${url}${path}`, options) }
}

/**
 * One broker for the tests of a file or suite that leave no state that another test would see. A start of the broker takes
 * longer than most tests. It starts for the first test that needs it. It has two shards, so that the API is tested with results of several.
 */
export function shareBrokerWithApi(options: BrokerOptions = {}): () => Promise<BrokerWithApi> {
  return shared((scope) => startBrokerWithApi(scope, { ...options, set: ['node.shards=2', ...(options.set ?? [])] }))
}

export interface ConfigurableBroker extends BrokerWithApi {
  /** The path given with `--config`. */
  readonly configFile: string
}

/**
 * One broker for tests of a file that each need different settings: each test replaces the whole configuration, which takes a hundredth
 * of the time of a start. Fails if a setting applies only after a restart; pass such settings in `set`.
 */
export function shareConfigurableBroker(
  set: readonly string[] = [],
): (settings?: readonly string[]) => Promise<ConfigurableBroker> {
  const sharedBroker = shared(async (scope) => {
    const configFile = join(await temporaryFolder(scope), 'godwit.conf')
    await writeFile(configFile, '')
    return { ...(await startBrokerWithApi(scope, { config: configFile, set })), configFile }
  })
  return async (settings = []) => {
    const broker = await sharedBroker()
    await writeFile(broker.configFile, settings.join('\n'))
    const { status, json, text } = await broker.request('/api/v4/configuration_reload', { method: 'POST' })
    assert.equal(status, 200, text)
    assert.deepEqual(json.data.needs_restart, [])
    return broker
  }
}

async function sendRequest(
  url: string,
  { method = 'GET', body, headers = {}, as = administrator }: RequestOptions,
): Promise<ApiResponse> {
  const credentials: Record<string, string> =
    as === null ? {} : { authorization: `Basic ${Buffer.from(as).toString('base64')}` }
  const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }
  const response = await fetch(url, { method, headers: { ...credentials, ...headers }, ...sent })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined }
}
