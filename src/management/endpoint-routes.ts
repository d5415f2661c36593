// The endpoints of the contract: each request gets the result of the handler of the same name. Changes are in the audit log.

import { type Endpoint, listUrls } from '../contract/index.ts'
import { type AuditedRequest, toAuditEntry, isAudited } from './audited-request.ts'
import { authorizeCaller } from './auth/authorization.ts'
import { ApiError, refuse } from './http/api-error.ts'
import type { Handler } from './http/handler.ts'
import { JsonText } from './http/json-text.ts'
import { longRequestTimeoutMs } from './http/http-limits.ts'
import { drainBody, readUpload } from './http/multipart.ts'
import { readRequest, RequestShapes } from './http/read-request.ts'
import { NamespacedHandlers, resolveRequestNamespace } from './namespaced-handlers.ts'
import type { FastifyReply, FastifyRequest } from './fastify-library.ts'
import { replyWithError } from './reply-with-error.ts'
import type { AuditTrail, RequestState, ServerContext } from './server-context.ts'

/** For pages, which have scripts and styles of their own. */
const pageSecurityPolicy = "frame-ancestors 'none'"

export function addEndpointRoutes(
  { server, options, publicResponses, readSettings }: ServerContext,
  states: WeakMap<FastifyRequest, RequestState>,
): void {
  const { audit } = options
  const handlers = new NamespacedHandlers(options.handlersFor, () => readSettings().authenticator)
  for (const [name, endpoint] of Object.entries(options.endpoints)) {
    const shapes = compileShapes(endpoint)
    const { method, access, body } = endpoint
    const handle = (namespace: string | undefined): Handler<Endpoint> | undefined =>
      handlers.selectHandlers(namespace)[name]
    const encode = <Body>(made: Body): Body | Buffer => (access === 'open' ? publicResponses.encode(made) : made)
    const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const state = states.get(request)
      if (state === undefined)
        return replyWithError(reply, refuse('emptyCredentials', 'the request is not authenticated'))
      const { caller } = state
      const details: Record<string, string> = {}
      const run = (): Promise<unknown> =>
        runEndpoint(request, state, { shapes, handle, maxUploadBytes: readSettings().maxUploadBytes, details })
      const audited = { name, endpoint, caller, request, audit, details }
      const result = await runWhileHandled(state, () => runAudited(audited, run))
      if (result instanceof ApiError && result.guessedAccount !== undefined) {
        // While it is delayed, it does not count as a request in progress.
        state.ticket?.release()
        await readSettings().authenticator.recordFailure(result.guessedAccount, caller.address)
      }
      if (result instanceof ApiError) return replyWithError(reply, result)
      if (endpoint.status !== undefined) void reply.code(endpoint.status)
      if (endpoint.status === 204) return reply.send()
      if (result instanceof JsonText) return reply.type('application/json; charset=utf-8').send(encode(result.body))
      if (endpoint.reply === 'bytes') return reply.type(endpoint.replyType ?? 'application/octet-stream').send(result)
      if (endpoint.replyType !== undefined) void reply.header('content-security-policy', pageSecurityPolicy)
      if (endpoint.reply === 'text')
        return reply.type(endpoint.replyType ?? 'text/plain; charset=utf-8').send(encode(String(result)))
      return reply.type('application/json; charset=utf-8').send(JSON.stringify(result))
    }
    for (const url of listUrls(endpoint)) {
      server.route({ method, url, config: { access, body }, handler })
    }
  }
}

const knownShapes = new WeakMap<Endpoint, RequestShapes>()

/** Returns the checks of an endpoint, which are compiled once for all servers of this process. */
function compileShapes(endpoint: Endpoint): RequestShapes {
  const shapes = knownShapes.get(endpoint) ?? new RequestShapes(endpoint)
  knownShapes.set(endpoint, shapes)
  return shapes
}

interface Service {
  readonly shapes: RequestShapes
  readonly maxUploadBytes: number
  /** Fields for the audit log. */
  readonly details: Record<string, string>
  handle(namespace: string | undefined): Handler<Endpoint> | undefined
}

async function runEndpoint(
  request: FastifyRequest,
  { caller, disconnected }: RequestState,
  service: Service,
): Promise<unknown> {
  const { shapes } = service
  const { endpoint } = shapes
  const { username } = request.params as { readonly username?: unknown }
  const denied = endpoint.access === 'open' ? undefined : authorizeCaller({ endpoint, username }, caller)
  if (denied !== undefined) return denied
  const namespace = resolveRequestNamespace(endpoint, caller, request.query as Record<string, string>)
  if (namespace instanceof ApiError) return namespace
  if (endpoint.isLong === true) request.raw.socket.setTimeout(longRequestTimeoutMs)
  const read = readRequest(shapes, request, caller)
  if (read instanceof ApiError) return read
  const handle = service.handle(namespace)
  const addToAudit = (fields: Readonly<Record<string, string>>): void => void Object.assign(service.details, fields)
  if (endpoint.body !== 'upload') return handle?.({ ...read, namespace, gone: disconnected, addToAudit })
  const upload = await readUpload(request.headers['content-type'], request.raw, service.maxUploadBytes)
  const result =
    upload instanceof ApiError
      ? upload.withReason(endpoint.badFormReason ?? upload.reason)
      : await handle?.({ ...read, body: upload, namespace, addToAudit })
  await drainBody(request.raw)
  return result
}

interface Audited extends Pick<AuditedRequest, 'name' | 'endpoint' | 'caller' | 'details'> {
  readonly request: FastifyRequest
  readonly audit: AuditTrail
}

/** A change is logged before the response is sent. */
async function runAudited({ request, audit, ...operation }: Audited, work: () => Promise<unknown>): Promise<unknown> {
  const { url, body } = request
  const requestedNamespace = resolveRequestNamespace(
    operation.endpoint,
    operation.caller,
    request.query as Record<string, string>,
  )
  const namespace = requestedNamespace instanceof ApiError ? operation.caller.namespace : requestedNamespace
  const auditedRequest: AuditedRequest = { ...operation, url, body, namespace, atMs: Date.now() }
  const recordResult = async (result: unknown): Promise<void> => {
    if (isAudited(auditedRequest, result)) await audit.record(toAuditEntry(auditedRequest, result))
  }
  try {
    const result = await work()
    await recordResult(result)
    return result
  } catch (error) {
    await recordResult(error)
    throw error
  }
}

async function runWhileHandled<Result>(state: RequestState, work: () => Promise<Result>): Promise<Result> {
  state.isHandled = true
  try {
    return await work()
  } finally {
    state.isHandled = false
    if (state.hasDisconnected) state.ticket?.release()
  }
}
