// Reads the state of a Godwit broker during a measurement over its management API, with a temporary password.

import { freePort } from './brokers.ts'

const password = 'only-for-the-bench'

export interface BrokerApi {
  /** `KEY=VALUE` pairs to start the broker with. */
  readonly settings: readonly string[]
  /** The body of the response to `GET /api/v4/<path>`. */
  readonly request: (path: string) => Promise<string>
  /** Changes something over `/api/v5/<path>`. Rejects if the broker refuses it. */
  readonly send: (method: string, path: string, body?: object) => Promise<void>
  /** The longest delay of the event loop of the first shard over the last second. */
  readonly loopDelayMs: () => Promise<number>
}

export async function brokerApi(): Promise<BrokerApi> {
  const port = await freePort()
  const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`
  const request = async (path: string): Promise<string> =>
    (await fetch(`http://127.0.0.1:${port}/api/v4/${path}`, { headers: { authorization } })).text()
  return {
    settings: [`http_server.port=${port}`, `http_server.password=${password}`],
    request,
    send: async (method, path, body) => {
      const json =
        body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
      const response = await fetch(`http://127.0.0.1:${port}/api/v5/${path}`, {
        method,
        ...json,
        headers: { ...json.headers, authorization },
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    },
    loopDelayMs: async () => {
      const pattern = /^svc_event_loop_delay_max_seconds\{[^}]*shard="0"[^}]*\} (\S+)$/m
      const [, seconds = '0'] = pattern.exec(await request('prometheus')) ?? []
      return Number(seconds) * 1_000
    },
  }
}
