// Serves the probes and the metrics of the operator: `/healthz`, `/readyz`, `/metrics`.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface OperatorHealth {
  /** All objects were listed, and this operator has the lease or waits for it. */
  isReady(): boolean
  /** Values by their names. */
  readMetrics(): Readonly<
    Record<string, { readonly help: string; readonly type: 'counter' | 'gauge'; readonly value: number }>
  >
}

export interface HealthServer {
  readonly port: number
  close(): Promise<void>
}

export async function startHealthServer(port: number, health: OperatorHealth): Promise<HealthServer> {
  const server: Server = createServer((request, response) => {
    const send = (statusCode: number, text: string): void => {
      response.writeHead(statusCode, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(text)
    }
    if (request.method !== 'GET') send(405, 'only GET\n')
    else if (request.url === '/healthz') send(200, 'ok\n')
    else if (request.url === '/readyz') send(health.isReady() ? 200 : 503, health.isReady() ? 'ok\n' : 'not ready\n')
    else if (request.url === '/metrics') send(200, formatMetrics(health))
    else send(404, 'not found: use /healthz, /readyz or /metrics\n')
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

function formatMetrics(health: OperatorHealth): string {
  return Object.entries(health.readMetrics())
    .map(([name, { help, type, value }]) => `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${name} ${value}\n`)
    .join('')
}
