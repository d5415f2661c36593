// HTTP requests that `fetch` cannot send: over a Unix socket, or as given bytes.

import { readFileSync, realpathSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'

export interface RawResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  /** The parsed body, which is JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any
}

/** Returns the header that the control socket of a data directory needs. */
export function readSocketAuthorization(socketPath: string): string {
  return `Bearer ${readFileSync(join(dirname(socketPath), 'ctl.secret'), 'utf8')}`
}

/** Sends a request over the control socket of a data directory. */
export function requestOverSocket(
  socketPath: string,
  path: string,
  {
    method = 'GET',
    body,
    authorization = readSocketAuthorization(socketPath),
  }: { readonly method?: string; readonly body?: unknown; readonly authorization?: string } = {},
): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const at = realpathSync(socketPath)
    const clientRequest = request({ socketPath: at, path, method, headers: { authorization } }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += String(chunk)))
      response.on('end', () => {
        const { statusCode: status = 0, headers } = response
        resolve({ status, headers, text, json: text.startsWith('{') ? JSON.parse(text) : undefined })
      })
    })
    clientRequest.on('error', reject)
    clientRequest.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

/** Sends bytes and returns everything that arrives until the server closes the connection. */
export function sendBytes(url: string, bytes: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    let text = ''
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    socket.on('data', (chunk) => (text += chunk.toString('latin1')))
    socket.on('error', () => socket.destroy())
    socket.on('close', () => resolve(text))
  })
}

/** The status of the first response in `text`; 0 if there is none. */
export function statusIn(text: string): number {
  return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0)
}
