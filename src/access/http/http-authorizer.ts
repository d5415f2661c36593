// Queries a configured HTTP service about clients: authentication (auth_req), superuser (super_req), and authorization (acl_req).
//
//   200, 204   allow; with a JSON body {"result": "allow" | "deny" | "ignore", "is_superuser": true | false} as stated
//   4xx        deny
//   others     the service fails: unknown

import { hash, randomBytes } from 'node:crypto'
import type { HttpAuthConfig } from '../../config/index.ts'
import { type Connection, toNamespacePrefix } from '../../core/index.ts'
import { reasonCodes } from '../../protocol/index.ts'
import {
  unknownClient,
  type Attempt,
  type Authenticator,
  type AuthenticatorResult,
} from '../authenticators/authenticator.ts'
import type { Placeholders } from '../authenticators/placeholders.ts'
import { ResponseCache } from './response-cache.ts'
import { HttpClient, type HttpResponse, type HttpRequest } from './http-client.ts'
import { fillRequest } from './http-request.ts'

/** An action of a client. */
export interface HttpAction {
  readonly connection: Connection
  readonly namespace?: string | undefined
  readonly clientId: string
  readonly username: string | undefined
  readonly action: 'publish' | 'subscribe'
  readonly topic: string
}

export type HttpDecision =
  | { readonly result: 'allow'; /** Undefined: not stated. */ readonly isSuperuser: boolean | undefined }
  | { readonly result: 'deny' | 'ignore' }
  | { readonly result: 'failed'; readonly why: string }

const maxCachedResponses = 10_000

export class HttpAuthorizer implements Authenticator {
  readonly settings: HttpAuthConfig
  readonly #client: HttpClient
  readonly #cache: ResponseCache<HttpDecision>
  /** Requests contain passwords, so cache keys are salted hashes. */
  readonly #cacheKeySalt = randomBytes(32).toString('base64')

  constructor(settings: HttpAuthConfig) {
    this.settings = settings
    this.#client = new HttpClient(settings)
    this.#cache = new ResponseCache(maxCachedResponses, settings.cacheTtlMs)
  }

  close(): void {
    this.#client.close()
  }

  authenticate(attempt: Attempt): AuthenticatorResult | Promise<AuthenticatorResult> {
    const { authRequest } = this.settings
    if (authRequest === undefined) return unknownClient
    const decision = this.#requestCached(fillRequest(authRequest, toPlaceholders(attempt)), attempt)
    return decision instanceof Promise
      ? decision.then((found) => toAuthenticatorResult(found, attempt))
      : toAuthenticatorResult(decision, attempt)
  }

  /** Returns whether all actions are allowed. If the service fails, they are not. */
  async isSuperuser(attempt: Attempt): Promise<boolean> {
    const { superRequest } = this.settings
    if (superRequest === undefined) return false
    const decision = await this.#requestCached(fillRequest(superRequest, toPlaceholders(attempt)), attempt)
    return decision.result === 'allow' && decision.isSuperuser !== false
  }

  get hasSuperuserRequest(): boolean {
    return this.settings.superRequest !== undefined
  }

  /** Without a cache, because the caller has one. */
  async authorize(action: HttpAction): Promise<HttpDecision> {
    const { aclRequest } = this.settings
    if (aclRequest === undefined) return { result: 'ignore' }
    const values = {
      ...toPlaceholders({ ...action, password: undefined }),
      topic: action.topic,
      access: action.action === 'subscribe' ? '1' : '2',
    }
    return this.#send(fillRequest(aclRequest, values), action.connection)
  }

  #requestCached(request: HttpRequest, { connection, nowMs }: Attempt): HttpDecision | Promise<HttpDecision> {
    if (this.settings.cacheTtlMs === 0) return this.#send(request, connection)
    const key = hash('sha256', `${this.#cacheKeySalt}\n${request.method} ${request.url.href}\n${request.body ?? ''}`)
    const known = this.#cache.find(key, nowMs)
    if (known !== undefined) return known
    return this.#send(request, connection).then((decision) => {
      // A service that failed may work at the next request.
      if (decision.result !== 'failed') this.#cache.put(key, decision, nowMs)
      return decision
    })
  }

  async #send(request: HttpRequest, connection: Connection): Promise<HttpDecision> {
    const response = await this.#client.send(request, () => connection.now.state !== 'closed')
    return 'failure' in response ? createFailure(`the service ${response.failure}`) : toDecision(response)
  }
}

function toPlaceholders(
  attempt: Pick<Attempt, 'connection' | 'namespace' | 'clientId' | 'username' | 'password'>,
): Placeholders {
  const { connection } = attempt
  const { listener, origin } = connection
  return {
    clientid: attempt.clientId,
    username: attempt.username,
    password: attempt.password?.toString('utf8'),
    peerhost: connection.peerAddress,
    protocol: 'mqtt',
    port: listener.port === undefined ? undefined : String(listener.port),
    cert_common_name: origin?.certificate?.commonName,
    cert_subject: origin?.certificate?.subject,
    mountpoint: `${toNamespacePrefix(attempt.namespace)}${listener.mountpoint ?? ''}`,
  }
}

function toAuthenticatorResult(decision: HttpDecision, { username }: Attempt): AuthenticatorResult {
  switch (decision.result) {
    case 'allow':
      return { result: 'accepted', username, isSuperuser: decision.isSuperuser === true }
    case 'deny':
      return { result: 'refused', reason: reasonCodes.badUserNameOrPassword, why: 'the service denied access' }
    case 'ignore':
      return unknownClient
    case 'failed':
      return { result: 'failed', why: decision.why }
    default:
      return decision satisfies never
  }
}

function toDecision({ status, contentType, body }: HttpResponse): HttpDecision {
  if (status === 200 || status === 204) return readBody(contentType, body)
  if (status >= 400 && status < 500) return { result: 'deny' }
  const isRedirect = status >= 300 && status < 400
  return createFailure(
    isRedirect ? 'the service redirects the request, which is not supported' : `the service returned status ${status}`,
  )
}

const malformed = createFailure('the service returned JSON that is not a decision')
const plainAllow: HttpDecision = { result: 'allow', isSuperuser: undefined }

function readBody(contentType: string, body: string): HttpDecision {
  const parsed = parseObject(body)
  if (contentType === 'application/json' && body !== '') return parsed === undefined ? malformed : parseDecision(parsed)
  // Many services send a wrong content type or none: a JSON denial is honored anyway.
  if (parsed !== undefined && ('result' in parsed || 'is_superuser' in parsed)) return parseDecision(parsed)
  return body.trim() === 'ignore' ? { result: 'ignore' } : plainAllow
}

function parseObject(body: string): Readonly<Record<string, unknown>> | undefined {
  if (!body.trimStart().startsWith('{')) return undefined
  try {
    return JSON.parse(body) as Record<string, unknown>
  } catch {
    return undefined
  }
}

function parseDecision({
  result = 'allow',
  is_superuser: isSuperuser,
}: Readonly<Record<string, unknown>>): HttpDecision {
  if (result === 'deny' || result === 'ignore') return { result }
  if (result !== 'allow') return malformed
  return isSuperuser === undefined || typeof isSuperuser === 'boolean' ? { result: 'allow', isSuperuser } : malformed
}

function createFailure(why: string): HttpDecision {
  return { result: 'failed', why }
}
