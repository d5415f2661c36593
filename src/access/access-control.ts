// Authenticates clients and authorizes their actions. Each shard has one, with everything that can be in memory;
// decisions of remote services are promises.

import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import {
  type AuthenticationResult,
  type Connection,
  type ConnectionOrigin,
  type Identity,
  namespacedName,
  type CoreRequest,
  splitNamespacedName,
} from '../core/index.ts'
import { assert, reasonCodes, type ReasonCode } from '../protocol/index.ts'
import type { AccessRecord, AccessRecordKey, BanRecord } from '../records/index.ts'
import type { Log } from '../telemetry/index.ts'
import type { AccessSettings } from './access-settings.ts'
import type {
  Attempt,
  Authenticator,
  AuthenticatorName,
  UnknownClient,
  Accepted,
} from './authenticators/authenticator.ts'
import { AuthenticationChain, type ChainLink, type ChainResult } from './chain/authentication-chain.ts'
import { type ListenerAuthentication, ListenerChains } from './chain/listener-chains.ts'
import { PasswordAuthenticator } from './authenticators/password-authenticator.ts'
import { CertificateAuthenticator, PskAuthenticator } from './authenticators/transport-authenticators.ts'
import type { BanSubject } from './bans/ban-list.ts'
import { Bans } from './bans/bans.ts'
import { CredentialTable } from './credentials/credential-table.ts'
import { GatewayUsers } from './credentials/gateway-users.ts'
import { LoginTable } from './failed-logins/login-table.ts'
import { type Login, LoginThrottle } from './failed-logins/login-throttle.ts'
import { HttpAuthorizer, type HttpDecision } from './http/http-authorizer.ts'
import { AccessRules } from './rules/access-rules.ts'
import type { Action, Decision as RuleDecision } from './rules/compiled-rule.ts'
import { tokenGrants } from './rules/token-grants.ts'
import { ScramAuthenticator } from './scram/scram-authenticator.ts'
import type { ScramStep } from './scram/scram-exchange.ts'
import { TokenAuthenticator, type TokenSettings } from './tokens/token-authenticator.ts'
import { readTokenHeader } from './tokens/token-check.ts'
import { readTokenKeys } from './tokens/token-keys.ts'

export type ConnectRequest = Extract<CoreRequest, { kind: 'authenticate' }>
export type AuthenticateRequest = Extract<CoreRequest, { kind: 'continue-authentication' }>
export type AuthorizationRequest = Extract<CoreRequest, { kind: 'authorize' }>

export interface AccessDependencies {
  readonly log: Log
  /** The clock of the shard: wall clock at its start, never decreasing. */
  nowMs(): number
  /** Resolves after this time. Undefined: the system clock is used. */
  wait?(ms: number): Promise<unknown>
  /** `permissions.epoch` has grown, not because of a call of `changeSettings` or `applyRecords`. */
  permissionsChanged(): void
  /** Failed logins of the node. Undefined: failed logins of this instance only. */
  readonly logins?: { readonly table: SharedArrayBuffer; readonly shard: number } | undefined
}

/** Changes of stored records. */
export interface RecordChange {
  readonly put: readonly AccessRecord[]
  readonly delete: readonly AccessRecordKey[]
}

/** With the name of the authenticator that accepted the client. */
type Admission = Accepted & { readonly by: AuthenticatorName | 'anonymous' }

export class AccessControl {
  readonly permissions: AccessRules
  readonly #dependencies: AccessDependencies
  readonly #credentials = new CredentialTable()
  readonly #gatewayUsers = new GatewayUsers()
  readonly #listenerChains = new ListenerChains(this.#gatewayUsers)
  readonly #scram = new ScramAuthenticator()
  readonly #preSharedKeys = new Map<string, Uint8Array>()
  readonly #bans: Bans
  readonly #throttle: LoginThrottle
  #settings: AccessSettings
  #http: HttpAuthorizer | undefined
  #chain: AuthenticationChain

  constructor(settings: AccessSettings, dependencies: AccessDependencies) {
    this.#dependencies = dependencies
    this.#settings = settings
    this.#chain = this.#buildChain(settings)
    this.#bans = new Bans(settings.flapping)
    const { logins } = dependencies
    this.#throttle = new LoginThrottle(settings.failedLogins, new LoginTable(logins?.table, logins?.shard))
    this.permissions = new AccessRules(settings.rules, {
      nowMs: () => dependencies.nowMs(),
      mayStay: (who) => this.#bans.find(who, dependencies.nowMs()) === undefined,
    })
  }

  /** Authenticates a client: at once, unless a service must decide. */
  authenticate(request: ConnectRequest | AuthenticateRequest): AuthenticationResult | Promise<AuthenticationResult> {
    if (request.kind === 'continue-authentication') return this.#authenticateFurther(request)
    const attempt = this.#createAttempt(request)
    const { connection, namespace, clientId, username } = attempt
    const { peerAddress } = connection
    const banned = this.#refuseBanned({ namespace, clientId, username, peerAddress }, attempt)
    if (banned !== undefined) return banned
    return this.#inTurn(request, attempt)
  }

  /** A login is delayed, or refused without checking its password, if its address or user name has failed logins. */
  #inTurn(request: ConnectRequest, attempt: Attempt): AuthenticationResult | Promise<AuthenticationResult> {
    const login = this.#loginOf(attempt, request.authenticationMethod)
    const turn = login && this.#throttle.begin(login, attempt.nowMs)
    if (turn === undefined || turn.afterMs === 0) return this.#authenticate(request, attempt)
    return this.#wait(turn.afterMs).then(() => {
      const present = { ...attempt, nowMs: this.#dependencies.nowMs() }
      if (!turn.isRefused && attempt.connection.now.state !== 'closed') return this.#authenticate(request, present)
      return this.#refuse(present, reasonCodes.connectionRateExceeded, 'too many failed logins from its address')
    })
  }

  #authenticate(request: ConnectRequest, attempt: Attempt): AuthenticationResult | Promise<AuthenticationResult> {
    const { authenticationMethod: method, authenticationData: data } = request
    if (method !== undefined) return this.#authenticateBy(method, data, attempt)
    const decided = this.#chainOf(attempt).run(attempt)
    if (decided instanceof Promise) return decided.then((late) => this.#resultOf(attempt, late))
    return this.#resultOf(attempt, decided)
  }

  /** Returns the chain of the listener, of its gateway, or of the broker. */
  #chainOf({ connection: { listener } }: Attempt): AuthenticationChain {
    const own = listener.authentication as ListenerAuthentication | undefined
    return own === undefined ? this.#chain : this.#listenerChains.of(own)
  }

  /** Returns the credentials of the client; undefined if these cannot be guessed, such as a signed token. */
  #loginOf({ connection, namespace, clientId, username, password }: Attempt, method?: string): Login | undefined {
    const { peerAddress: address } = connection
    if (method !== undefined) {
      // The user name comes later, so the client ID identifies the client.
      return { address, namespace, name: undefined, secret: Buffer.from(`${method}\0${clientId}`) }
    }
    if (password === undefined && username === undefined) return undefined
    const token = this.#settings.token?.from === 'username' ? username : password?.toString('latin1')
    const isToken = this.#settings.token !== undefined && token !== undefined && readTokenHeader(token) !== undefined
    return isToken ? undefined : { address, namespace, name: username ?? clientId, secret: password }
  }

  #noteLogin(attempt: Attempt, isRight: boolean, method?: string): void {
    const login = this.#loginOf(attempt, method)
    if (login === undefined) return
    if (isRight) this.#throttle.noteSucceeded(login, attempt.nowMs)
    else this.#throttle.noteFailed(login, attempt.nowMs)
  }

  #wait(ms: number): Promise<unknown> {
    return this.#dependencies.wait?.(ms) ?? delay(ms, undefined, { ref: false })
  }

  /**
   * Gets a decision that `permissions` did not know. When the promise resolves (or if there is none) the core checks
   * again.
   */
  prepare(request: AuthorizationRequest): Promise<void> | undefined {
    const { connection, identity, action, topic } = request
    const { namespace, clientId, username } = identity
    const service = this.#http
    return service?.authorize({ connection, namespace, clientId, username, action, topic }).then((decision) => {
      // A service that is not used any more decides nothing: no response is not a denial.
      return service === this.#http ? this.#recordResponse(request, decision) : this.prepare(request)
    })
  }

  /** Returns the rule or the reason that decides; undefined if a service decides that was not queried. */
  explain(who: Identity, action: Action, topic: string): RuleDecision | undefined {
    return this.permissions.explain(who, action, topic)
  }

  /** Applies new settings. Connected clients remain; `permissions-changed` concerns their actions. */
  changeSettings(settings: AccessSettings): void {
    this.#settings = settings
    const before = this.#http
    this.#chain = this.#buildChain(settings)
    // Clients whose request to the old service is pending are refused; they may retry.
    if (before !== this.#http) before?.close()
    this.#bans.changeSettings(settings.flapping)
    this.#throttle.changeSettings(settings.failedLogins)
    this.permissions.changeSettings(settings.rules)
  }

  /** Stored records have changed, or are read at start. Returns true if results of `permissions` may change. */
  applyRecords(change: RecordChange): boolean {
    for (const key of change.delete) {
      if (key.kind === 'credential') this.#credentials.delete(key)
      else if (key.kind === 'gateway-user') this.#gatewayUsers.delete(key)
      else if (key.kind === 'scram') this.#scram.delete(key)
      else if (key.kind === 'psk') this.#preSharedKeys.delete(namespacedName(key.namespace, key.identity))
    }
    for (const record of change.put) {
      if (record.kind === 'credential') this.#credentials.put(record)
      else if (record.kind === 'gateway-user') this.#gatewayUsers.put(record)
      else if (record.kind === 'scram') this.#scram.put(record)
      else if (record.kind === 'psk')
        this.#preSharedKeys.set(namespacedName(record.namespace, record.identity), record.key)
    }
    const haveRulesChanged = this.permissions.applyRecords(change)
    if (!this.#bans.applyRecords(change)) return haveRulesChanged
    this.permissions.noteChange()
    return true
  }

  /** Whether this address is banned for all clients. */
  isBanned(peerAddress: string): boolean {
    const subject = { namespace: undefined, clientId: '', username: undefined, peerAddress }
    return this.#bans.find(subject, this.#dependencies.nowMs()) !== undefined
  }

  /** Returns the clients of a namespace, or of none, that are banned for flapping, oldest first. */
  flapping(namespace: string | undefined): readonly BanRecord[] {
    return this.#bans.flapping(namespace, this.#dependencies.nowMs())
  }

  /** Returns the stored key of an identity for a handshake: of the namespace, or otherwise one without a namespace. */
  preSharedKey(identity: string, namespace: string | undefined): Uint8Array | undefined {
    // An identity must not contain a namespace.
    if (identity.includes('\0')) return undefined
    return this.#preSharedKeys.get(namespacedName(namespace, identity)) ?? this.#preSharedKeys.get(identity)
  }

  /** The client disconnected: its state may be deleted. */
  forget(connection: Connection): void {
    this.#scram.forget(connection)
    const ban = this.#bans.recordDisconnect(connection, this.#dependencies.nowMs())
    if (ban === undefined) return
    const { who: clientId, reason, untilMs } = ban
    this.#dependencies.log.warn('client banned', { clientId, address: connection.peerAddress, why: reason, untilMs })
  }

  /** No further requests are made. */
  close(): void {
    this.#http?.close()
    this.#listenerChains.close()
  }

  #recordResponse({ identity, action, topic }: AuthorizationRequest, decision: HttpDecision): void {
    if (decision.result === 'failed') {
      const { clientId } = identity
      this.#dependencies.log.warn('authorization service failed', { clientId, why: decision.why })
    }
    this.permissions.recordResponse(identity, action, topic, decision.result)
  }

  #buildChain(settings: AccessSettings): AuthenticationChain {
    this.#credentials.setConfigured(settings.credentials)
    this.#scram.changeSettings(settings.chain.includes('scram') ? settings.scram : undefined)
    this.#http = httpAuthorizerOf(settings.http, this.#http)
    const links: ChainLink[] = []
    for (const name of settings.chain) {
      const authenticator = this.#createAuthenticator(name, settings)
      if (authenticator !== undefined) links.push({ name, authenticator })
    }
    return new AuthenticationChain(links, { refusesOnError: settings.profile === 'hardened' })
  }

  #createAuthenticator(name: AuthenticatorName, settings: AccessSettings): Authenticator | undefined {
    switch (name) {
      case 'certificate':
        return new CertificateAuthenticator(settings.certificateName)
      case 'psk':
        return new PskAuthenticator()
      case 'password':
        return new PasswordAuthenticator(this.#credentials, settings.hashParameters.algorithm)
      case 'jwt':
        return settings.token === undefined ? undefined : tokenAuthenticator(settings.token)
      case 'http':
        return this.#http
      case 'scram':
        return undefined // The client requests it: see `#authenticateBy`.
      default:
        return name satisfies never
    }
  }

  #createAttempt({ connection, clientId: session, username, password }: ConnectRequest): Attempt {
    const { namespace, name: clientId } = splitNamespacedName(session)
    return { connection, namespace, clientId, username, password, nowMs: this.#dependencies.nowMs() }
  }

  /** [MQTT5-4.12.0-1] The client names its authentication method. */
  #authenticateBy(
    method: string,
    data: Buffer | undefined,
    attempt: Attempt,
  ): AuthenticationResult | Promise<AuthenticationResult> {
    if (!this.#scram.isOffered(method)) {
      return this.#refuse(attempt, reasonCodes.badAuthenticationMethod, 'the authentication method is not known')
    }
    return this.#resultOfStep(
      attempt,
      method,
      this.#scram.startExchange(attempt.connection, method, { data, namespace: attempt.namespace }),
    )
  }

  #authenticateFurther(request: AuthenticateRequest): AuthenticationResult | Promise<AuthenticationResult> {
    const { connection, clientId: session, method, data, isReauthentication } = request
    const { namespace, name: clientId } = splitNamespacedName(session)
    const nothingShown = { username: undefined, password: undefined }
    const nowMs = this.#dependencies.nowMs()
    const attempt = { connection, namespace, clientId, ...nothingShown, nowMs, isReauthentication }
    // The core checks the order of steps: a first one comes only if no exchange is in progress.
    if (isReauthentication && !this.#scram.isInProgress(connection)) return this.#authenticateBy(method, data, attempt)
    return this.#resultOfStep(attempt, method, this.#scram.continueExchange(connection, method, data))
  }

  #resultOfStep(
    attempt: Attempt,
    method: string,
    step: ScramStep,
  ): AuthenticationResult | Promise<AuthenticationResult> {
    switch (step.step) {
      case 'goes-on':
        return { allowed: 'not-yet', authenticationData: step.data }
      case 'failed':
        this.#noteLogin(attempt, false, method)
        return this.#refuse(attempt, reasonCodes.notAuthorized, `scram: ${step.why}`)
      case 'done': {
        const { username, isSuperuser } = step.record
        this.#noteLogin(attempt, true, method)
        return this.#admit(attempt, { result: 'accepted', username, isSuperuser, by: 'scram' }, step.data)
      }
      default:
        return step satisfies never
    }
  }

  #resultOf(
    attempt: Attempt,
    decided: ChainResult | UnknownClient,
  ): AuthenticationResult | Promise<AuthenticationResult> {
    switch (decided.result) {
      case 'accepted':
        this.#noteLogin(attempt, true)
        return this.#admit(attempt, decided)
      case 'refused':
        this.#noteLogin(attempt, false)
        return this.#refuse(attempt, decided.reason, `${decided.by}: ${decided.why}`)
      case 'failed':
        return this.#refuse(attempt, reasonCodes.serverUnavailable, `${decided.by}: ${decided.why}`)
      case 'unknown-client':
        return this.#resultForUnknownClient(attempt)
      default:
        return decided satisfies never
    }
  }

  /** If `auth.allow_anonymous` is not set, clients that no authenticator knows are accepted on loopback listeners only. */
  #resultForUnknownClient(attempt: Attempt): AuthenticationResult | Promise<AuthenticationResult> {
    const { allowAnonymous, profile, isChainConfigured, chain } = this.#settings
    const { namespace, username, password, connection } = attempt
    if (profile === 'hardened' && isChainConfigured && chain.length === 0) {
      return this.#refuse(
        attempt,
        reasonCodes.notAuthorized,
        'auth.chain has no authenticator that could accept a client',
      )
    }
    const isOwn = connection.listener.authentication !== undefined
    // The name belongs to a SCRAM user, and rules for the name concern that user.
    const isNameOfAnother = username !== undefined && this.#scram.isUser(username, namespace)
    if (!isOwn && !isNameOfAnother && (allowAnonymous ?? (profile === 'legacy' || connection.listener.isLoopback))) {
      return this.#admit(attempt, { result: 'accepted', username, isSuperuser: false, by: 'anonymous' })
    }
    this.#noteLogin(attempt, false)
    // With credentials, the response is that for a known client with wrong credentials.
    const hasLogin = username !== undefined || password !== undefined
    const refusal = hasLogin
      ? this.#refuse(attempt, reasonCodes.badUserNameOrPassword, 'no authenticator knows this client')
      : this.#refuse(attempt, reasonCodes.notAuthorized, 'anonymous clients are not allowed')
    if (connection.origin?.certificate === undefined || chain.includes('certificate')) return refusal
    return withHint(refusal, 'its certificate was verified and is not used: set auth.certificate.enable = true')
  }

  #admit(
    attempt: Attempt,
    success: Admission,
    authenticationData?: Buffer,
  ): AuthenticationResult | Promise<AuthenticationResult> {
    const decision = (isSuperuser: boolean): AuthenticationResult => {
      const identity = identityOf(attempt, { ...success, isSuperuser })
      // Authentication may have changed its name.
      const banned = this.#refuseBanned(identity, attempt)
      if (banned !== undefined) return banned
      this.#bans.recordConnect(attempt.connection, identity)
      return { allowed: true, identity, ...(authenticationData === undefined ? undefined : { authenticationData }) }
    }
    if (success.isSuperuser || this.#http?.hasSuperuserRequest !== true) return decision(success.isSuperuser)
    return this.#http.isSuperuser({ ...attempt, username: success.username }).then(decision)
  }

  #refuseBanned(subject: BanSubject, attempt: Attempt): AuthenticationResult | undefined {
    const ban = this.#bans.find(subject, attempt.nowMs)
    if (ban === undefined) return undefined
    return this.#refuse(attempt, reasonCodes.banned, `banned by ${ban.by} as ${ban.as} ${ban.who}: ${ban.reason}`)
  }

  /** The client gets the reason code; the details are for administrators. */
  #refuse(
    { clientId, connection, isReauthentication }: Attempt,
    reason: ReasonCode,
    why: string,
  ): AuthenticationResult & { allowed: false } {
    if (isReauthentication === true) {
      const listener = connection.listener.name
      this.#dependencies.log.warn('client not authenticated again', {
        clientId,
        listener,
        address: connection.peerAddress,
        why,
      })
    }
    return { allowed: false, reason, reasonString: reasonText(reason), cause: why }
  }
}

/** For client and log: not secret. */
function withHint(
  refusal: AuthenticationResult & { allowed: false },
  hint: string,
): AuthenticationResult & { allowed: false } {
  return { ...refusal, reasonString: `${refusal.reasonString}; ${hint}`, cause: `${refusal.cause}; ${hint}` }
}

/** An unchanged authorizer is kept, with its connections and its cache. */
function httpAuthorizerOf(
  settings: AccessSettings['http'],
  before: HttpAuthorizer | undefined,
): HttpAuthorizer | undefined {
  if (settings === undefined) return undefined
  return before !== undefined && isDeepStrictEqual(before.settings, settings) ? before : new HttpAuthorizer(settings)
}

/** Keys were validated with the settings, so a problem now is an internal error. */
function tokenAuthenticator(settings: TokenSettings): TokenAuthenticator {
  const read = readTokenKeys(settings.key)
  assert('keys' in read, 'the keys for tokens were checked before')
  return new TokenAuthenticator(settings, read.keys, tokenGrants)
}

/** Written out: with a spread, each client would take 32 bytes more. */
function identityOf({ connection, namespace, clientId }: Attempt, success: Admission): Identity {
  return {
    namespace,
    clientId,
    username: success.username,
    principal: principalOf(success, connection),
    peerAddress: connection.peerAddress,
    isSuperuser: success.isSuperuser,
    expiresAtMs: success.expiresAtMs,
    grants: success.grants,
    authenticatedBy: success.by,
  }
}

/** The authenticated name: a client that proved its client ID may send any user name. */
function principalOf({ by, username, provesClientId }: Admission, { listener, origin }: Connection): string {
  if (by === 'anonymous') return (listener.gateway === undefined ? undefined : deviceIn(origin)) ?? 'anonymous'
  return provesClientId === true ? 'clientid' : `user:${username ?? ''}`
}

/**
 * The identity that the DTLS handshake of a device proved. It counts also where no authenticator uses it: the gateway passes the datagrams of
 * this identity to its client.
 */
function deviceIn(origin: ConnectionOrigin | undefined): string | undefined {
  if (origin?.pskIdentity !== undefined) return `psk:${origin.pskIdentity}`
  return origin?.certificate === undefined ? undefined : `certificate:${origin.certificate.subject}`
}

function reasonText(reason: ReasonCode): string {
  switch (reason) {
    case reasonCodes.badUserNameOrPassword:
      return 'the user name or the password is not right'
    case reasonCodes.badAuthenticationMethod:
      return 'this authentication method is not supported'
    case reasonCodes.serverUnavailable:
      return 'who may connect cannot be found out now'
    case reasonCodes.banned:
      return 'banned'
    case reasonCodes.connectionRateExceeded:
      return 'too many failed logins, try again later'
    default:
      return 'not allowed to connect'
  }
}
