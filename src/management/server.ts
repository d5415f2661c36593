// Serves the contract over HTTP: after authentication and the checks of its endpoint, a request is passed to the handler of the same
// name.
//
//   bytes -> [limits] -> authentication -> route -> [queue] -> params, query, body checked -> handler -> response
//
// Authentication comes first, so unauthenticated callers do not learn which paths exist.

import { chmod } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { describeListenError } from '../transports/index.ts'
import type { Authenticator } from './auth/request-authenticator.ts'
import { replyWithPage } from './dashboard/dashboard-routes.ts'
import { isMqttUpgrade, MqttUpgrades } from './dashboard/mqtt-upgrade.ts'
import { refuse } from './http/api-error.ts'
import {
  headersTimeoutMs,
  idleTimeoutMs,
  keepAliveTimeoutMs,
  longRequestTimeoutMs,
  maxConnections,
  maxHeaderBytes,
  maxOpenBodyBytes,
  maxPathPart,
  maxWaitingRequests,
  timeoutCheckMs,
} from './http/http-limits.ts'
import { replyToExpectation, replyToMalformedRequest } from './http/malformed-requests.ts'
import { refuseUnknownPath } from './http/not-found.ts'
import { OpenConnections } from './http/open-connections.ts'
import { PublicResponses } from './http/public-responses.ts'
import { normalizePath, readQueryString } from './http/query-string.ts'
import { readBody } from './http/read-body.ts'
import { RequestLimiter } from './http/request-limiter.ts'
import { addEndpointRoutes } from './endpoint-routes.ts'
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from './fastify-library.ts'
import { replyWithError } from './reply-with-error.ts'
import { addRequestHooks, replyToUnreadablePath } from './request-hooks.ts'
import { isPublic, isUpload } from './request-kinds.ts'
import type { ManagementOptions, ManagementSettings, ServerContext } from './server-context.ts'

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

export function createManagementServer(options: ManagementOptions): ManagementServer {
  let settings: ManagementSettings = options
  const server = createFramework(() => settings.authenticator, options.headerBytes ?? maxHeaderBytes)
  const limiter = new RequestLimiter(settings.maxRequests, maxWaitingRequests)
  const connections = new OpenConnections(maxConnections)
  const publicResponses = new PublicResponses()
  const context: ServerContext = {
    server,
    options,
    limiter,
    publicResponses,
    connections,
    readSettings: () => settings,
  }
  // Bodies are read by their endpoint, whatever the content type.
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('*', async (request: FastifyRequest, body: IncomingMessage) => {
    if (isUpload(request)) return undefined
    return readBody(body, isPublic(request) ? maxOpenBodyBytes : settings.maxBodyBytes)
  })
  addEndpointRoutes(context, addRequestHooks(context))
  addDashboard(context)
  const upgrades = addMqttUpgrade(context)
  server.setNotFoundHandler(({ method, url }, reply) =>
    replyWithError(reply, refuseUnknownPath(options.endpoints, method, url)),
  )
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
      // `checkRequestForm` checks it, with the usual form of a refusal.
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

/** The page and its files are not endpoints of the contract: they contain no data and are for browsers only. */
function addDashboard({ server, options, readSettings }: ServerContext): void {
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { dashboard, authenticator } = readSettings()
    const { name: asset } = request.params as { readonly name?: string }
    const encodings = request.headers['accept-encoding']
    const response = await replyWithPage(dashboard === undefined ? undefined : options.dashboardFiles, {
      endpoints: options.endpoints,
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
function addMqttUpgrade({ server, options, connections, readSettings }: ServerContext): MqttUpgrades | undefined {
  if (options.mqttSocket === undefined) return undefined
  const upgrades = new MqttUpgrades(options.mqttSocket)
  server.server.on('upgrade', (request, socket, head) => {
    const { dashboard } = readSettings()
    const client = socket as Socket
    connections.remove(client)
    const address = server.server.address()
    const isLoopback = typeof address === 'object' && address !== null && isLoopbackAddress(address.address)
    upgrades.handle(request, client, head, dashboard === undefined ? undefined : { ...dashboard, isLoopback })
  })
  return upgrades
}

const isLoopbackAddress = (address: string): boolean => address === '::1' || address.startsWith('127.')

async function listenAt(server: FastifyInstance, at: ListenAt): ReturnType<ManagementServer['listen']> {
  try {
    await server.listen(at)
    if ('path' in at) await chmod(at.path, 0o600)
  } catch (error) {
    const why = error as NodeJS.ErrnoException
    if ('path' in at) return { problem: `http_server: cannot listen on ${at.path}: ${why.message}` }
    return { problem: describeListenError(why, at.host, at.port) }
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
