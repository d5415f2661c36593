// MQTT over WebSocket for the dashboard's page. The API receives the HTTP upgrade, checks its origin, and relays the connection to a
// Unix socket, as a reverse proxy does. It sends a PROXY header with the address of the browser, then the request, then bytes in both directions.
//
//   browser <--HTTP upgrade, frames--> API <--PROXY header, request, frames--> listener mqtt:ws:dashboard
//
// The listener at this socket authenticates and authorizes the client like any other client.

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { connect, isIPv4, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { findUpgradeProblem } from '../http/origin-check.ts'

export interface UpgradeSettings {
  /** `dashboard.allow_origins` */
  readonly allowedOrigins: readonly string[]
  /** True if the API is bound to loopback. */
  readonly isLoopback: boolean
}

/** Maximum number of relayed connections: those that the listener accepts, and some that it is about to refuse. */
const maxRelays = 128
/** After the end of a connection, a browser that does not close it is disconnected after this time. */
const endTimeoutMs = 10_000
/** Headers that are passed to the listener. Extensions are omitted, so there is no compression. */
const passedHeaders = ['sec-websocket-key', 'sec-websocket-version', 'sec-websocket-protocol'] as const

/** Path of the upgrade request. */
export const mqttUpgradePath = '/dashboard/mqtt'

const ignore = (): void => {}

export function isMqttUpgrade(url = ''): boolean {
  return url.split('?')[0] === mqttUpgradePath
}

/** The relayed connections of one HTTP server. */
export class MqttUpgrades {
  readonly #socketPath: string
  readonly #open = new Map<Duplex, Socket>()

  /** `socketPath`: path of the listener's Unix socket. */
  constructor(socketPath: string) {
    this.#socketPath = socketPath
  }

  /** `settings` undefined: this server does not serve the page. */
  handle(request: IncomingMessage, client: Socket, head: Buffer, settings: UpgradeSettings | undefined): void {
    client.on('error', ignore)
    if (settings === undefined || !isMqttUpgrade(request.url)) return refuseUpgrade(client, 404, 'not found')
    const why = findUpgradeProblem(request.headers, settings)
    if (why !== undefined) return refuseUpgrade(client, 403, why)
    if (request.method !== 'GET' || hasBody(request.headers)) {
      return refuseUpgrade(client, 400, 'an upgrade is a GET without a body')
    }
    if (this.#open.size >= maxRelays) return refuseUpgrade(client, 503, 'too many clients: close other pages')
    this.#relay(request, client, head)
  }

  /** Closes all relayed connections. */
  close(): void {
    for (const [client, listener] of this.#open) {
      client.destroy()
      listener.destroy()
    }
  }

  #relay(request: IncomingMessage, client: Socket, head: Buffer): void {
    const listener = connect(this.#socketPath)
    this.#open.set(client, listener)
    client.setTimeout(0)
    client.setNoDelay(true)
    listener.on('error', () => {
      if (listener.bytesRead === 0) refuseUpgrade(client, 503, 'the listener is stopped or restarting: retry')
      else client.destroy()
    })
    listener.on('close', () => client.setTimeout(endTimeoutMs, () => client.destroy()))
    client.on('close', () => {
      this.#open.delete(client)
      listener.destroy()
    })
    listener.write(formatProxyHeader(client) + formatUpgrade(request.headers))
    if (head.length > 0) listener.write(head)
    client.pipe(listener)
    listener.pipe(client)
  }
}

function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

function formatUpgrade(headers: IncomingHttpHeaders): string {
  const lines = passedHeaders.flatMap((name) => (headers[name] === undefined ? [] : [`${name}: ${headers[name]}`]))
  return ['GET /mqtt HTTP/1.1', 'host: dashboard', 'connection: upgrade', 'upgrade: websocket', ...lines, '', ''].join(
    '\r\n',
  )
}

/** Version 1 of the PROXY protocol. */
function formatProxyHeader({ remoteAddress = '', remotePort = 0, localAddress = '', localPort = 0 }: Socket): string {
  const family = isIPv4(remoteAddress) ? 'TCP4' : 'TCP6'
  return `PROXY ${family} ${remoteAddress} ${localAddress} ${remotePort} ${localPort}\r\n`
}

const statusTexts: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  403: 'Forbidden',
  404: 'Not Found',
  503: 'Service Unavailable',
}

function refuseUpgrade(client: Socket, status: number, why: string): void {
  if (client.destroyed || client.writableEnded) return
  const head = `HTTP/1.1 ${status} ${statusTexts[status]}\r\nConnection: close\r\nContent-Type: text/plain\r\n`
  client.resume()
  client.setTimeout(endTimeoutMs, () => client.destroy())
  client.end(`${head}Content-Length: ${why.length + 1}\r\n\r\n${why}\n`)
}
