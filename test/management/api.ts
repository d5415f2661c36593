// A broker with its API, for tests that speak HTTP to it.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Broker,
  type BrokerOptions,
  type Scope,
  shared,
  startBroker,
  temporaryFolder,
  type WatchedProcess,
} from '../e2e/godwit-process.ts'
import { type RawResponse, requestOverSocket } from './http.ts'

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

const passwordOfAdministrator = 'a-password-for-tests'
export const administrator = `admin:${passwordOfAdministrator}`

/** Starts the program as a process, with an administrator whose password the tests know, except with `generatesPassword`. */
export async function startBrokerWithApi(t: Scope, options: BrokerOptions = {}): Promise<BrokerWithApi> {
  const password = options.generatesPassword === true ? [] : [`http_server.password="${passwordOfAdministrator}"`]
  const broker = await startBroker(t, { ...options, set: [...password, ...(options.set ?? [])] })
  const [, url] = await broker.process.until(/management API +(http:\/\/127\.0\.0\.1:\d+)\/api\/v4/)
  return { ...broker, url, request: requestsTo(url) }
}

/**
 * One broker for the tests of a file or suite that leave no state that another test would see. A start of the broker takes
 * longer than most tests. It starts for the first test that needs it. It has two shards, so that the API is tested with results of several.
 */
export function shareBrokerWithApi(options: BrokerOptions = {}): () => Promise<BrokerWithApi> {
  const set = ['node.shards=2', ...(options.set ?? [])]
  const started = shared((scope) => startBrokerWithApi(scope, { ...options, set }))
  return async () => withCurrentPorts(await started())
}

export interface ConfigurableBroker extends BrokerWithApi {
  /** The path given with `--config`. */
  readonly configFile: string
}

/** Starts of the node in each process. */
const startsOf = new WeakMap<WatchedProcess, number>()

/**
 * Restarts the node within its process, which takes a third of the processor time of a new process. The node reads its configuration file and
 * its data directory again. Returns the broker with its new ports.
 */
export async function restartBroker<Started extends Broker>(broker: Started): Promise<Started & BrokerWithApi> {
  startsOf.set(broker.process, (startsOf.get(broker.process) ?? 1) + 1)
  const { status, text } = await requestAtSocket(broker, '/api/v4/ctrl/restart')
  assert.equal(status, 200, text)
  return withCurrentPorts(broker)
}

/** Returns the broker with the ports of its last start, which `restartBroker` changes. */
export async function withCurrentPorts<Started extends Broker>(broker: Started): Promise<Started & BrokerWithApi> {
  const starts = startsOf.get(broker.process) ?? 1
  const [printed, apiPort] = await broker.process.until(
    new RegExp(`^(?:[^]*?management API +http://\\S+:(\\d+)/api/v4){${starts}}`),
  )
  const url = `http://127.0.0.1:${apiPort}`
  const ports = [...printed.matchAll(/listening +mqtt:\/\/127\.0\.0\.1:(\d+)\s/g)]
  return { ...broker, port: Number(ports.at(-1)?.[1]), url, request: requestsTo(url) }
}

/** Sends a request to the control socket, where no credentials are needed. */
function requestAtSocket({ dataDirectory }: Broker, path: string, body?: object): Promise<RawResponse> {
  return requestOverSocket(join(dataDirectory, 'ctl.sock'), path, { method: 'POST', body })
}

/**
 * One broker for tests of a file that each need different settings: each test replaces the whole configuration, which takes a hundredth
 * of the time of a start. Settings that apply only after a restart cause one, see `restartBroker`.
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
    await discardChanges(broker)
    await writeFile(broker.configFile, settings.join('\n'))
    const { status, json, text } = await requestAtSocket(broker, '/api/v4/configuration_reload')
    assert.equal(status, 200, text)
    if (json.data.needs_restart.length > 0) return restartBroker(broker)
    return withCurrentPorts(broker)
  }
}

/** Removes the changes that tests made over the API, which have priority over the file. */
async function discardChanges(broker: Broker): Promise<void> {
  if (!existsSync(join(broker.dataDirectory, 'changed-settings.conf'))) return
  const { status, text } = await requestAtSocket(broker, '/api/v4/config_update', { data: 'mqtt {}\n' })
  assert.equal(status, 200, text)
}

/** The port of a listener other than the TCP listener, also of one that the API or a changed file opened. */
export async function portOfListener(broker: BrokerWithApi, kind: string, name = 'default'): Promise<number> {
  const { text, json } = await broker.request('/api/v4/listeners')
  const listeners: readonly { readonly identifier: string; readonly listen_on: string }[] = json.data[0].listeners
  const found = listeners.find(({ identifier }) => identifier === `mqtt:${kind}:${name}`)
  assert.ok(found, text)
  return Number(found.listen_on.split(':').at(-1))
}

function requestsTo(url: string): BrokerWithApi['request'] {
  return (path, options = {}) => sendRequest(`${url}${path}`, options)
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
