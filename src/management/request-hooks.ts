// What each request passes before its endpoint is known: limits, form, authentication, origin, and the queue.

import type { Caller } from '../contract/index.ts'
import type { Authenticator } from './auth/request-authenticator.ts'
import { ApiError, refuse } from './http/api-error.ts'
import { maxPendingRequests, requestTimeoutMs } from './http/http-limits.ts'
import { replyToMalformedRequest } from './http/malformed-requests.ts'
import { refuseForeignOrigin, refuseUnknownHost } from './http/origin-check.ts'
import { checkRequestForm } from './http/check-request-form.ts'
import type { FastifyReply, FastifyRequest } from './fastify-library.ts'
import { replyWithError } from './reply-with-error.ts'
import { isForStartPage, isPublic, isUpload } from './request-kinds.ts'
import type { RequestState, ServerContext } from './server-context.ts'

/** Adds the hooks. Returns the state of each request. */
export function addRequestHooks(context: ServerContext): WeakMap<FastifyRequest, RequestState> {
  const { server, limiter, connections, publicResponses, readSettings } = context
  const states = new WeakMap<FastifyRequest, RequestState>()
  server.server.on('connection', (socket) => connections.add(socket))
  server.addHook('onRequest', async (request, reply) => {
    const { socket } = request.raw
    reply.raw.once('close', () => connections.countRequest(socket, -1))
    if (connections.countRequest(socket, 1) > maxPendingRequests) return void socket.destroy()
    void reply.headers(safeHeaders)
    const malformed = checkRequestForm(request.raw)
    // After a malformed request it is unknown where the next one starts: the connection is closed.
    if (malformed !== undefined) return replyWithError(reply.header('connection', 'close'), malformed)
    // The content type is not used; the framework would refuse an invalid one.
    if (!mediaType.test(request.headers['content-type'] ?? '')) delete request.headers['content-type']
    limitRequestTime(request, reply)
    const { authenticator, dashboard } = readSettings()
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
    const disconnected = createDisconnectSignal(reply)
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

/** Returns a signal that is aborted when the response was sent or the client has disconnected. */
function createDisconnectSignal(reply: FastifyReply): AbortSignal {
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

/** Hooks do not run for a path that cannot be decoded. */
export async function replyToUnreadablePath(
  request: FastifyRequest,
  reply: FastifyReply,
  authenticator: Authenticator,
): Promise<void> {
  void reply.headers(safeHeaders)
  const malformed = checkRequestForm(request.raw)
  if (malformed !== undefined) return void replyWithError(reply.header('connection', 'close'), malformed)
  const gone = createDisconnectSignal(reply)
  const caller = await authenticator.authenticate(request.headers.authorization, request.ip ?? '', { gone })
  const unreadable = refuse('invalidParameter', 'the path is not percent-encoded text in UTF-8')
  replyWithError(reply, caller instanceof ApiError ? caller : unreadable)
}
