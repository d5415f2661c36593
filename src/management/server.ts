// The contract over HTTP: a request goes through sign-in and the checks of its endpoint to the handler of the same name.
//
//   bytes -> [limits] -> who asks -> route -> params, query, body checked -> handler -> answer
//
// Who asks is settled before anything else: who may not come in does not learn which paths there are.

import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { type Caller, type Endpoint, endpoints, urlsOf } from '../contract/index.ts'
import type { Log } from '../telemetry/index.ts'
import { answerBrokenRequest, answerExpectation, maxHeaderBytes } from './broken-requests.ts'
import type { Handler } from './handler.ts'
import { allHandlers } from './handlers/all.ts'
import type { Operations } from './operations/all.ts'
import { type Refusal, refuse, Refusal as RefusalValue } from './refusal.ts'
import { type Accounts, callerOf } from './sign-in.ts'
import { readQueryString } from './query-string.ts'
import { readRequest, RequestShapes } from './read-request.ts'
import { WrittenJson } from './written-json.ts'

export interface ManagementOptions {
  readonly operations: Operations
  readonly accounts: Accounts
  readonly log: Log
  /** http_server.max_body */
  readonly maxBodyBytes: number
}

export interface ListenAt {
  readonly host: string
  /** 0: any that is free. */
  readonly port: number
}

export interface ManagementServer {
  /** Resolves with the port, or with the sentence why not. */
  listen(at: ListenAt): Promise<{ readonly port: number } | { readonly problem: string }>
  /** Requests under way are answered. */
  close(): Promise<void>
}

/** The longest that MQTT allows for a client id, each byte written as three. */
const maxParamLength = 3 * 65_535

export function createManagementServer(options: ManagementOptions): ManagementServer {
  const server = fastify({
    bodyLimit: options.maxBodyBytes,
    http: { maxHeaderSize: maxHeaderBytes },
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (error, _request, reply) => void answerRefusal(reply, refuse('invalidParameter', error.message)),
    exposeHeadRoutes: false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength, querystringParser: readQueryString },
  })
  server.server.on('checkExpectation', answerExpectation)
  // Whatever the content type says: bodies are read by the endpoint they are for.
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  const callers = new WeakMap<FastifyRequest, Caller>()
  server.addHook('onRequest', async (request, reply) => {
    const { access } = (request.routeOptions.config as { access?: string } | undefined) ?? {}
    if (access === 'open') return undefined
    const caller = await callerOf(request.headers.authorization, request.ip, options.accounts)
    if (caller instanceof RefusalValue) return answerRefusal(reply, caller)
    callers.set(request, caller)
    return undefined
  })
  addRoutes(server, options, (request) => callers.get(request))
  server.setNotFoundHandler((request, reply) =>
    answerRefusal(reply, refuse('unknownError', `there is no ${request.method} ${request.url.split('?')[0]}`, 404)),
  )
  server.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    const status = error.statusCode ?? 500
    if (status < 500) return answerRefusal(reply, refuse('invalidParameter', error.message))
    options.log.error('a request of the API failed', { path: request.url, stack: error.stack })
    return answerRefusal(reply, refuse('unknownError', 'the broker made a mistake: its log says which'))
  })
  return {
    listen: (at) => listenAt(server, at),
    close: () => server.close(),
  }
}

async function listenAt(server: FastifyInstance, { host, port }: ListenAt): ReturnType<ManagementServer['listen']> {
  try {
    await server.listen({ host, port })
  } catch (error) {
    return { problem: `http_server: cannot listen on ${host}:${port}: ${(error as Error).message}` }
  }
  const address = server.server.address()
  return { port: typeof address === 'object' && address !== null ? address.port : port }
}

function addRoutes(
  server: FastifyInstance,
  options: ManagementOptions,
  callerOfRequest: (request: FastifyRequest) => Caller | undefined,
): void {
  const handlers: Record<string, Handler<Endpoint>> = allHandlers(options.operations)
  for (const [name, endpoint] of Object.entries<Endpoint>(endpoints)) {
    const shapes = new RequestShapes(endpoint)
    const handle = handlers[name]
    const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const caller = callerOfRequest(request) ?? { name: '', by: 'nobody', mayChange: false, address: request.ip }
      if (endpoint.access === 'change' && !caller.mayChange) {
        return answerRefusal(reply, refuse('wrongCredentials', 'this account may look, and change nothing', 403))
      }
      const read = readRequest(shapes, request, caller)
      const result = read instanceof RefusalValue ? read : await handle(read)
      if (result instanceof RefusalValue) return answerRefusal(reply, result)
      if (result instanceof WrittenJson) return reply.type('application/json; charset=utf-8').send(result.body)
      if (endpoint.reply === 'text') return reply.type(endpoint.replyType ?? 'text/plain; charset=utf-8').send(result)
      return reply.type('application/json; charset=utf-8').send(JSON.stringify(result))
    }
    for (const url of urlsOf(endpoint)) {
      server.route({ method: endpoint.method, url, config: { access: endpoint.access }, handler: answer })
    }
  }
}

function answerRefusal(reply: FastifyReply, { code, status, message }: Refusal): FastifyReply {
  if (status === 401) void reply.header('www-authenticate', 'Basic realm="godwit"')
  return reply.code(status).type('application/json; charset=utf-8').send(JSON.stringify({ code, message }))
}
