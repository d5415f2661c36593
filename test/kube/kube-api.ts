// An API server of Kubernetes in this process, with the controllers that an operator relies on.

import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { authenticate, authorize } from './authorization.ts'
import { KubeError } from './kube-error.ts'
import { startControllers } from './controllers/start-controllers.ts'
import { ObjectStore } from './object-store.ts'
import { handleRequest, type KubeRequest } from './request-handler.ts'
import { ResourceOperations } from './resource-operations.ts'
import { WatchStreams } from './watch-streams.ts'

export interface KubeApiOptions {
  readonly port?: number
  /** PEM. With `clientAuthority`, certificates that it has signed are users as well. */
  readonly tls?: { readonly key: string; readonly cert: string; readonly clientAuthority?: string }
  /** User names of bearer tokens; undefined: every request is one of the administrator. */
  readonly tokens?: ReadonlyMap<string, string>
}

export interface KubeApi extends AsyncDisposable {
  readonly url: string
  readonly operations: ResourceOperations
  readonly watches: WatchStreams
  /** Each request that was handled, such as `PATCH /api/v1/...`. */
  readonly requests: string[]
  close(): Promise<void>
}

const maxBodyBytes = 3_145_728

export async function startKubeApi(options: KubeApiOptions = {}): Promise<KubeApi> {
  const operations = new ResourceOperations(new ObjectStore())
  const watches = new WatchStreams(operations.store)
  const requests: string[] = []
  for (const name of ['default', 'kube-system']) {
    operations.create(operations.getKind('Namespace'), '', { metadata: { name } }, { manager: 'kube-apiserver' })
  }
  const controllers = startControllers(operations)
  const listener = (incoming: IncomingMessage, response: ServerResponse): void => {
    requests.push(`${incoming.method} ${incoming.url}`)
    respond(incoming, response, { operations, watches, options }).catch((error: unknown) =>
      response.destroy(error as Error),
    )
  }
  const { tls, port = 0 } = options
  const server: Server =
    tls === undefined
      ? createHttpServer(listener)
      : createHttpsServer(
          {
            key: tls.key,
            cert: tls.cert,
            ca: tls.clientAuthority,
            requestCert: tls.clientAuthority !== undefined,
            rejectUnauthorized: false,
          },
          listener,
        )
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const close = async (): Promise<void> => {
    controllers.stop()
    watches.closeAll()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    operations,
    watches,
    requests,
    close,
    [Symbol.asyncDispose]: close,
  }
}

interface Context {
  readonly operations: ResourceOperations
  readonly watches: WatchStreams
  readonly options: KubeApiOptions
}

async function respond(incoming: IncomingMessage, response: ServerResponse, context: Context): Promise<void> {
  try {
    const request = await readRequest(incoming)
    authorize(context.operations, authenticate(incoming, context.options.tokens), request)
    const result = handleRequest(context.operations, request)
    if (result.kind === 'watch') {
      context.watches.open(response, result.type, result.namespace, request.query)
      return
    }
    for (const warning of result.warnings ?? []) response.appendHeader('warning', `299 - ${JSON.stringify(warning)}`)
    sendJson(response, result.statusCode, result.body)
  } catch (error) {
    const known = error instanceof KubeError ? error : new KubeError('InternalError', String((error as Error).stack))
    sendJson(response, known.statusCode, known.toStatus())
  }
}

function sendJson(response: ServerResponse, statusCode: number, body: unknown): void {
  const text = JSON.stringify(body)
  response.writeHead(statusCode, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  response.end(text)
}

async function readRequest(incoming: IncomingMessage): Promise<KubeRequest> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBodyBytes) throw new KubeError('BadRequest', `the request is larger than ${maxBodyBytes} bytes`)
    chunks.push(chunk)
  }
  const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://localhost')
  return {
    method: incoming.method ?? 'GET',
    path: pathname,
    query: searchParams,
    contentType: (incoming.headers['content-type'] ?? '').split(';')[0] ?? '',
    userAgent: incoming.headers['user-agent'] ?? '',
    body: parseBody(Buffer.concat(chunks).toString()),
  }
}

function parseBody(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new KubeError('BadRequest', `the body is no JSON: ${(error as Error).message}`)
  }
}
