// Serves the contract over HTTP: after authentication and the checks of its endpoint, a request is passed to the handler of the same
// name.
//
//   bytes -> [limits] -> authentication -> route -> [queue] -> params, query, body checked -> handler -> response
//
// Authentication comes first, so unauthenticated callers do not learn which paths exist.

import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { chmod } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { type Caller, type Endpoint, endpoints, urlsOf } from '../contract/index.ts'
import type { Log } from '../telemetry/index.ts'
import { listenErrorText } from '../transports/index.ts'
import { replyWithPage, type DashboardSettings, wantsStartPage } from './dashboard/dashboard-routes.ts'
import { isMqttUpgrade, MqttUpgrades } from './dashboard/mqtt-upgrade.ts'
import type { DashboardFiles } from './dashboard/dashboard-files.ts'
import { refuseUnknownPath } from './http/not-found.ts'
import { type AuditedRequest, auditEntryOf, isAudited } from './audited-request.ts'
import { replyToMalformedRequest, replyToExpectation } from './http/malformed-requests.ts'
import { refuseForeignOrigin, refuseUnknownHost } from './http/origin-check.ts'
import type { Handler } from './http/handler.ts'
import {
  headersTimeoutMs,
  keepAliveTimeoutMs,
  longRequestTimeoutMs,
  maxConnections,
  maxHeaderBytes,
  maxOpenBodyBytes,
  maxPathPart,
  maxPendingRequests,
  maxWaitingRequests,
  requestTimeoutMs,
  idleTimeoutMs,
  timeoutCheckMs,
} from './http/limits.ts'
import { readUpload, drainBody } from './http/multipart.ts'
import { NamespacedHandlers, namespaceOfRequest } from './namespaced-handlers.ts'
import { OpenConnections } from './http/open-connections.ts'
import type { Operations } from './operations.ts'
import type { AuditOperations } from './subjects/audit.ts'
import { normalizePath, readQueryString } from './http/query-string.ts'
import { readBody } from './http/read-body.ts'
import { readRequest, RequestShapes } from './http/read-request.ts'
import { refusalOfForm } from './http/request-form.ts'
import { authorizeCaller } from './auth/authorization.ts'
import { ApiError, refuse } from './http/api-error.ts'
import { PublicResponses } from './http/public-responses.ts'
import { formatRefusal } from './http/format-refusal.ts'
import { RequestLimiter, type Ticket } from './http/request-limiter.ts'
import type { Authenticator } from './auth/request-authenticator.ts'
import { JsonText } from './http/json-text.ts'

/** Settings that may change while the server runs: each request reads them when it starts. */
export interface ManagementSettings {
  readonly authenticator: Authenticator
  /** http_server.max_body */
  readonly maxBodyBytes: number
  /** http_server.max_upload */
  readonly maxUploadBytes: number
  /** http_server.limit_conn */
  readonly maxRequests: number
  /** Undefined: the dashboard is not served. */
  readonly dashboard?: DashboardSettings | undefined
}

export interface ManagementOptions extends ManagementSettings {
  readonly operations: Operations
  readonly log: Log
  /** Maximum bytes of the request line and all headers; absent: `maxHeaderBytes`. */
  readonly headerBytes?: number
  /** The built dashboard; absent: not served. */
  readonly dashboardFiles?: DashboardFiles
  /** Path of the socket of the listener for MQTT clients of the dashboard; absent: there is none. */
  readonly mqttSocket?: string | undefined
}

export type ListenAt =
  | {
      readonly host: string
      /** 0: any free port. */
      readonly port: number
    }
  /** Path of a Unix socket, for this account only. */
  | { readonly path: string }

export interface ManagementServer {
  /** Resolves with the port (0 for a path), or with an error text. */
  listen(at: ListenAt): Promise<{ readonly port: number } | { readonly problem: string }>
  /** Applies to later requests; connections stay open. */
  change(settings: ManagementSettings): void
  /** Accepts no new connections. Requests in progress get their response within `graceMs`. */
  close(graceMs: number): Promise<void>
}

/** State of a request. */
interface RequestState {
  readonly caller: Caller
  readonly ticket: Ticket | undefined
  /** Aborted when the response was sent or the client has disconnected. */
  readonly disconnected: AbortSignal
  isHandled: boolean
  hasDisconnected: boolean
}

/** The server with its current settings. */
interface ServerContext {
  readonly connections: OpenConnections
  readonly server: FastifyInstance
  readonly options: ManagementOptions
  readonly limiter: RequestLimiter
  readonly publicResponses: PublicResponses
  readonly current: () => ManagementSettings
}

export function createManagementServer(options: ManagementOptions): ManagementServer {
  let settings: ManagementSettings = options
  const server = createFramework(() => settings.authenticator, options.headerBytes ?? maxHeaderBytes)
  const limiter = new RequestLimiter(settings.maxRequests, maxWaitingRequests)
  const connections = new OpenConnections(maxConnections)
  const publicResponses = new PublicResponses()
  const context: ServerContext = { server, options, limiter, publicResponses, connections, current: () => settings }
  // Bodies are read by their endpoint, whatever the content type.
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', async (request: FastifyRequest, body: IncomingMessage) => {
    if (isUpload(request)) return undefined
    return readBody(body, isPublic(request) ? maxOpenBodyBytes : settings.maxBodyBytes)
  })
  addRoutes(context, addRequestHooks(context))
  addDashboard(context)
  const upgrades = addMqttUpgrade(context)
  server.setNotFoundHandler((request, reply) => replyWithError(reply, refuseUnknownPath(request.method, request.url)))
  server.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    const status = error.statusCode ?? 500
    if (status < 500) return replyWithError(reply, refuse('invalidParameter', error.message))
    options.log.error('API request failed', { path: request.url, stack: error.stack })
    return replyWithError(reply, refuse('unknownError', 'internal error: the log of the broker has the reason'))
  })
  return {
    listen: (at) => listenAt(server, at),
    change: (changed) => {
      settings = changed
      limiter.change(changed.maxRequests)
    },
    close: (graceMs) => {
      upgrades?.close()
      return closeServer(server, graceMs)
    },
  }
}

function createFramework(authenticator: () => Authenticator, headerBytes: number): FastifyInstance {
  const server = fastify({
    clientErrorHandler: (error, socket) => replyToMalformedRequest(error, socket, headerBytes),
    rewriteUrl: ({ url = '/' }) => normalizePath(url),
    exposeHeadRoutes: false,
    http: {
      maxHeaderSize: headerBytes,
      // `refusalOfForm` checks it, with the usual form of a refusal.
      requireHostHeader: false,
      shouldUpgradeCallback: ({ url }: IncomingMessage) => isMqttUpgrade(url),
      headersTimeout: headersTimeoutMs,
      connectionsCheckingInterval: timeoutCheckMs,
    },
    requestTimeout: longRequestTimeoutMs,
    connectionTimeout: idleTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    routerOptions: {
      ignoreTrailingSlash: true,
      maxParamLength: maxPathPart,
      querystringParser: readQueryString,
    },
    // While closing, requests on open connections get their normal response.
    return503OnClosing: false,
    frameworkErrors: (_error, request, reply) => void replyToUnreadablePath(request, reply, authenticator()),
  })
  server.server.on('checkExpectation', replyToExpectation)
  // The last response of a closing server also closes the connection.
  server.addHook('onSend', async (_request, reply) => {
    if (!server.server.listening) void reply.header('connection', 'close')
  })
  return server
}

/** Every request passes these hooks before its endpoint is known. Returns the state of each request. */
function addRequestHooks(context: ServerContext): WeakMap<FastifyRequest, RequestState> {
  const { server, limiter, connections, publicResponses, current } = context
  const states = new WeakMap<FastifyRequest, RequestState>()
  server.server.on('connection', (socket) => connections.add(socket))
  server.addHook('onRequest', async (request, reply) => {
    const { socket } = request.raw
    reply.raw.once('close', () => connections.countRequest(socket, -1))
    if (connections.countRequest(socket, 1) > maxPendingRequests) return void socket.destroy()
    void reply.headers(safeHeaders)
    const malformed = refusalOfForm(request.raw)
    // After a malformed request it is unknown where the next one starts: the connection is closed.
    if (malformed !== undefined) return replyWithError(reply.header('connection', 'close'), malformed)
    // The content type is not used; the framework would refuse an invalid one.
    if (!mediaType.test(request.headers['content-type'] ?? '')) delete request.headers['content-type']
    limitRequestTime(request, reply)
    const { authenticator, dashboard } = current()
    if (dashboard !== undefined && isForStartPage(request)) return reply.redirect('dashboard/', 302)
    const isPublicPath = isPublic(request)
    const address = request.ip ?? ''
    if (isPublicPath && request.method === 'GET') {
      reply.raw.once('close', () => publicResponses.remove(address, request))
      if (!publicResponses.add(address, socket, request)) return void socket.destroy()
    }
    const anonymous: Caller = {
      name: '',
      by: 'nobody',
      role: 'viewer',
      namespace: undefined,
      address,
      login: undefined,
    }
    const disconnected = disconnectSignalOf(reply)
    const isIdle = request.headers['x-godwit-idle'] === '1'
    const shown = request.headers.authorization
    const caller = isPublicPath
      ? anonymous
      : await authenticator.authenticate(shown, address, { gone: disconnected, isIdle })
    if (caller instanceof ApiError) return replyWithError(reply, caller)
    const foreign =
      refuseForeignOrigin(request, dashboard?.allowedOrigins) ??
      (authenticator.isDisabled ? refuseUnknownHost(request) : undefined)
    if (foreign !== undefined) return replyWithError(reply, foreign)
    if (isPublicPath)
      return void states.set(request, {
        caller,
        ticket: undefined,
        disconnected,
        isHandled: false,
        hasDisconnected: false,
      })
    if (socket.destroyed) return undefined
    const ticket = limiter.enter()
    const state: RequestState = { caller, ticket, disconnected, isHandled: false, hasDisconnected: false }
    connections.countAuthenticated(socket, 1)
    reply.raw.once('close', () => {
      connections.countAuthenticated(socket, -1)
      state.hasDisconnected = true
      // A request in progress counts until it is done, even if its client has disconnected.
      if (!state.isHandled) ticket.release()
    })
    states.set(request, state)
    if (await ticket.admitted) return undefined
    return replyWithError(reply, refuse('rpcError', 'too many requests are waiting: retry later', 503))
  })
  return states
}

function isForStartPage({ method, url, headers }: FastifyRequest): boolean {
  return wantsStartPage(method, url, headers.accept)
}

/** The page and its files are not endpoints of the contract: they contain no data and are for browsers only. */
function addDashboard({ server, options, current }: ServerContext): void {
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { dashboard, authenticator } = current()
    const { name: asset } = request.params as { readonly name?: string }
    const encodings = request.headers['accept-encoding']
    const response = await replyWithPage(dashboard === undefined ? undefined : options.dashboardFiles, {
      url: request.url,
      asset,
      acceptEncoding: typeof encodings === 'string' ? encodings : '',
      isOpen: authenticator.isDisabled,
    })
    if ('refusal' in response) return replyWithError(reply, response.refusal)
    if ('redirect' in response) return reply.redirect(response.redirect, 302)
    return reply.headers(response.headers).send(response.body)
  }
  const config = { access: 'open' } as const
  server.route({ method: 'GET', url: '/dashboard', config, handler })
  server.route({ method: 'GET', url: '/dashboard/assets/:name', config, handler })
}

/** Upgrades requests for MQTT over WebSocket. Other upgrade requests get the response of an ordinary request. */
function addMqttUpgrade({ server, options, connections, current }: ServerContext): MqttUpgrades | undefined {
  if (options.mqttSocket === undefined) return undefined
  const upgrades = new MqttUpgrades(options.mqttSocket)
  server.server.on('upgrade', (request, socket, head) => {
    const { dashboard } = current()
    const client = socket as Socket
    connections.remove(client)
    const address = server.server.address()
    const isLoopback = typeof address === 'object' && address !== null && isLoopbackAddress(address.address)
    upgrades.handle(request, client, head, dashboard === undefined ? undefined : { ...dashboard, isLoopback })
  })
  return upgrades
}

const isLoopbackAddress = (address: string): boolean => address === '::1' || address.startsWith('127.')

/** Returns a signal that is aborted when the response was sent or the client has disconnected. */
function disconnectSignalOf(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once('close', () => controller.abort())
  return controller.signal
}

const mediaType = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+\s*(;|$)/

/** Responses are for the calling program only, not for caches or other pages of a browser. */
const safeHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** For pages, which have scripts and styles of their own. */
const pageSecurityPolicy = "frame-ancestors 'none'"

/**
 * An incomplete request is closed after a minute; for unauthenticated clients this applies to uploads as well. The
 * server's own timeout is that of the longest upload.
 */
function limitRequestTime(request: FastifyRequest, reply: FastifyReply): void {
  const { raw } = request
  if (raw.complete) return
  const timer = setTimeout(() => {
    const isTaken = isUpload(request) && raw.readableFlowing === true
    if (!raw.complete && !isTaken) replyToMalformedRequest({ code: 'ERR_HTTP_REQUEST_TIMEOUT' }, raw.socket)
  }, requestTimeoutMs)
  reply.raw.once('close', () => clearTimeout(timer))
}

type RouteConfig = Pick<Endpoint, 'access' | 'body'>

function configOf({ routeOptions }: FastifyRequest): Partial<RouteConfig> {
  return (routeOptions.config as Partial<RouteConfig> | undefined) ?? {}
}

function isPublic(request: FastifyRequest): boolean {
  return configOf(request).access === 'open' || isForStartPage(request)
}

/** The handler of the endpoint reads the body. */
function isUpload(request: FastifyRequest): boolean {
  return configOf(request).body === 'upload'
}

/** Hooks do not run for a path that cannot be decoded. */
async function replyToUnreadablePath(
  request: FastifyRequest,
  reply: FastifyReply,
  authenticator: Authenticator,
): Promise<void> {
  void reply.headers(safeHeaders)
  const malformed = refusalOfForm(request.raw)
  if (malformed !== undefined) return void replyWithError(reply.header('connection', 'close'), malformed)
  const gone = disconnectSignalOf(reply)
  const caller = await authenticator.authenticate(request.headers.authorization, request.ip ?? '', { gone })
  const unreadable = refuse('invalidParameter', 'the path is not percent-encoded text in UTF-8')
  replyWithError(reply, caller instanceof ApiError ? caller : unreadable)
}

function addRoutes(
  { server, options, publicResponses, current }: ServerContext,
  states: WeakMap<FastifyRequest, RequestState>,
): void {
  const { audit } = options.operations
  const handlers = new NamespacedHandlers(options.operations, () => current().authenticator)
  for (const [name, endpoint] of Object.entries<Endpoint>(endpoints)) {
    const shapes = shapesOf(endpoint)
    const { method, access, body } = endpoint
    const handle = (namespace: string | undefined): Handler<Endpoint> | undefined => handlers.of(namespace)[name]
    const encode = <Body>(made: Body): Body | Buffer => (access === 'open' ? publicResponses.encode(made) : made)
    const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
      const state = states.get(request)
      if (state === undefined)
        return replyWithError(reply, refuse('emptyCredentials', 'the request is not authenticated'))
      const { caller } = state
      const work = (): Promise<unknown> =>
        resultOf(request, state, { shapes, handle, maxUploadBytes: current().maxUploadBytes })
      const result = await whileWorking(state, () => audited({ name, endpoint, caller, request, audit }, work))
      if (result instanceof ApiError && result.guessedAccount !== undefined) {
        // While it is delayed, it does not count as a request in progress.
        state.ticket?.release()
        await current().authenticator.recordFailure(result.guessedAccount, caller.address)
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
    for (const url of urlsOf(endpoint)) {
      server.route({ method, url, config: { access, body }, handler })
    }
  }
}

const knownShapes = new WeakMap<Endpoint, RequestShapes>()

/** Returns the checks of an endpoint, which are compiled once for all servers of this process. */
function shapesOf(endpoint: Endpoint): RequestShapes {
  const shapes = knownShapes.get(endpoint) ?? new RequestShapes(endpoint)
  knownShapes.set(endpoint, shapes)
  return shapes
}

interface Service {
  readonly shapes: RequestShapes
  readonly maxUploadBytes: number
  handle(namespace: string | undefined): Handler<Endpoint> | undefined
}

async function resultOf(
  request: FastifyRequest,
  { caller, disconnected }: RequestState,
  service: Service,
): Promise<unknown> {
  const { shapes } = service
  const { endpoint } = shapes
  const { username } = request.params as { readonly username?: unknown }
  const denied = endpoint.access === 'open' ? undefined : authorizeCaller({ endpoint, username }, caller)
  if (denied !== undefined) return denied
  const namespace = namespaceOfRequest(endpoint, caller, request.query as Record<string, string>)
  if (namespace instanceof ApiError) return namespace
  if (endpoint.isLong === true) request.raw.socket.setTimeout(longRequestTimeoutMs)
  const read = readRequest(shapes, request, caller)
  if (read instanceof ApiError) return read
  const handle = service.handle(namespace)
  if (endpoint.body !== 'upload') return handle?.({ ...read, namespace, gone: disconnected })
  const upload = await readUpload(request.headers['content-type'], request.raw, service.maxUploadBytes)
  const result = upload instanceof ApiError ? upload : await handle?.({ ...read, body: upload, namespace })
  await drainBody(request.raw)
  return result
}

interface Audited extends Pick<AuditedRequest, 'name' | 'endpoint' | 'caller'> {
  readonly request: FastifyRequest
  readonly audit: AuditOperations
}

/** A change is logged before the response is sent. */
async function audited({ request, audit, ...what }: Audited, work: () => Promise<unknown>): Promise<unknown> {
  const { url, body } = request
  const requestedNamespace = namespaceOfRequest(what.endpoint, what.caller, request.query as Record<string, string>)
  const namespace = requestedNamespace instanceof ApiError ? what.caller.namespace : requestedNamespace
  const auditedRequest: AuditedRequest = { ...what, url, body, namespace, atMs: Date.now() }
  const note = async (result: unknown): Promise<void> => {
    if (isAudited(auditedRequest, result)) await audit.note(auditEntryOf(auditedRequest, result))
  }
  try {
    const result = await work()
    await note(result)
    return result
  } catch (error) {
    await note(error)
    throw error
  }
}

async function whileWorking<Result>(state: RequestState, work: () => Promise<Result>): Promise<Result> {
  state.isHandled = true
  try {
    return await work()
  } finally {
    state.isHandled = false
    if (state.hasDisconnected) state.ticket?.release()
  }
}

function replyWithError(reply: FastifyReply, refusal: ApiError): FastifyReply {
  const { status, headers, body } = formatRefusal(refusal, reply.request.url)
  return reply.code(status).headers(headers).type('application/json; charset=utf-8').send(body)
}

async function listenAt(server: FastifyInstance, at: ListenAt): ReturnType<ManagementServer['listen']> {
  try {
    await server.listen(at)
    if ('path' in at) await chmod(at.path, 0o600)
  } catch (error) {
    const why = error as NodeJS.ErrnoException
    if ('path' in at) return { problem: `http_server: cannot listen on ${at.path}: ${why.message}` }
    return { problem: listenErrorText(why, at.host, at.port) }
  }
  const address = server.server.address()
  return { port: typeof address === 'object' && address !== null ? address.port : 0 }
}

async function closeServer(framework: FastifyInstance, graceMs: number): Promise<void> {
  const { server } = framework
  // The listening socket is closed now, not when the framework does it, because its address may be needed.
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  const end = setTimeout(() => server.closeAllConnections(), graceMs)
  await Promise.all([closed, framework.close()])
  clearTimeout(end)
}
