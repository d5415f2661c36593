// Authenticates clients and authorizes their actions. Each shard has one, with everything that can be in memory;
// decisions of remote services are promises.

import { setTimeout as delay } from 'node:timers/promises'
import {
  type AuthenticationResult,
  type Connection,
  type CoreRequest,
  type Identity,
  splitNamespacedName,
} from '../core/index.ts'
import { reasonCodes, type ReasonCode } from '../protocol/index.ts'
import type { BanRecord } from '../records/index.ts'
import type { Log } from '../telemetry/index.ts'
import type { AccessSettings } from './access-settings.ts'
import { type Admission, toIdentity } from './authenticators/accepted-identity.ts'
import type { Attempt, UnknownClient } from './authenticators/authenticator.ts'
import type { ChainResult } from './chain/authentication-chain.ts'
import { AuthenticatorSet, type RecordChange } from './authenticator-set.ts'
import type { BanSubject } from './bans/ban-list.ts'
import { Bans } from './bans/bans.ts'
import { LoginTable } from './failed-logins/login-table.ts'
import { type Login, LoginThrottle } from './failed-logins/login-throttle.ts'
import type { HttpDecision } from './http/http-authorizer.ts'
import { AccessRules } from './rules/access-rules.ts'
import type { Action, Decision as RuleDecision } from './rules/compiled-rule.ts'
import type { ScramStep } from './scram/scram-exchange.ts'
import type { AccessPlugins, PluginAuthentication } from './plugins/access-plugins.ts'
import { parseTokenGrants } from './rules/token-grants.ts'
import { readTokenHeader } from './tokens/token-check.ts'

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
  onPermissionsChanged(): void
  /** Undefined: there are none. */
  readonly plugins?: AccessPlugins | undefined
  /** Failed logins of the node. Undefined: failed logins of this instance only. */
  readonly logins?: { readonly table: SharedArrayBuffer; readonly shard: number } | undefined
}

export class AccessControl {
  readonly permissions: AccessRules
  readonly #dependencies: AccessDependencies
  readonly #authenticators: AuthenticatorSet
  readonly #bans: Bans
  readonly #throttle: LoginThrottle
  #settings: AccessSettings

  constructor(settings: AccessSettings, dependencies: AccessDependencies) {
    this.#dependencies = dependencies
    this.#settings = settings
    this.#authenticators = new AuthenticatorSet(settings)
    this.#bans = new Bans(settings.flapping)
    const { logins } = dependencies
    this.#throttle = new LoginThrottle(settings.failedLogins, new LoginTable(logins?.table, logins?.shard))
    this.permissions = new AccessRules(settings.rules, {
      nowMs: () => dependencies.nowMs(),
      plugins: dependencies.plugins,
      mayStay: (identity) => this.#bans.find(identity, dependencies.nowMs()) === undefined,
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
    return this.#authenticateInTurn(request, attempt)
  }

  /** A login is delayed, or refused without checking its password, if its address or user name has failed logins. */
  #authenticateInTurn(request: ConnectRequest, attempt: Attempt): AuthenticationResult | Promise<AuthenticationResult> {
    const login = this.#toLogin(attempt, request.authenticationMethod)
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
    const decision = this.#dependencies.plugins?.authenticate(attempt)
    if (decision === undefined) return this.#runChain(attempt)
    return decision.then((decided) => this.#handlePluginResult(attempt, decided))
  }

  #handlePluginResult(
    attempt: Attempt,
    decided: PluginAuthentication,
  ): AuthenticationResult | Promise<AuthenticationResult> {
    switch (decided.result) {
      case 'allow':
        return this.#admitByPlugin(attempt, decided)
      case 'deny':
        this.#recordLogin(attempt, false)
        return this.#refuse(attempt, reasonCodes.badUserNameOrPassword, `plugin ${decided.by}: ${decided.reason}`)
      case 'failed':
        return this.#refuse(attempt, reasonCodes.serverUnavailable, `plugin ${decided.by} failed`)
      case 'busy':
        return this.#refuse(attempt, reasonCodes.serverBusy, `plugin ${decided.by} has max_pending calls`)
      case 'ignore':
        return this.#runChain(attempt)
      default:
        return decided satisfies never
    }
  }

  #admitByPlugin(
    attempt: Attempt,
    { by, isSuperuser, acl, attributes, expiresAtMs }: Extract<PluginAuthentication, { result: 'allow' }>,
  ): AuthenticationResult | Promise<AuthenticationResult> {
    const grants = acl === undefined ? undefined : parseTokenGrants(acl)
    if (acl !== undefined && grants === undefined)
      return this.#refuse(attempt, reasonCodes.serverUnavailable, `plugin ${by} returned an acl that is not valid`)
    this.#recordLogin(attempt, true)
    const { username } = attempt
    return this.#admit(attempt, {
      result: 'accepted',
      username,
      isSuperuser,
      expiresAtMs,
      grants,
      attributes,
      by: `plugin:${by}`,
    })
  }

  #runChain(attempt: Attempt): AuthenticationResult | Promise<AuthenticationResult> {
    const decided = this.#authenticators.selectChain(attempt).run(attempt)
    if (decided instanceof Promise) return decided.then((late) => this.#handleChainResult(attempt, late))
    return this.#handleChainResult(attempt, decided)
  }

  /** Returns the credentials of the client; undefined if these cannot be guessed, such as a signed token. */
  #toLogin({ connection, namespace, clientId, username, password }: Attempt, method?: string): Login | undefined {
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

  #recordLogin(attempt: Attempt, isRight: boolean, method?: string): void {
    const login = this.#toLogin(attempt, method)
    if (login === undefined) return
    if (isRight) this.#throttle.recordSuccessfulLogin(login, attempt.nowMs)
    else this.#throttle.recordFailedLogin(login, attempt.nowMs)
  }

  #wait(ms: number): Promise<unknown> {
    return this.#dependencies.wait?.(ms) ?? delay(ms, undefined, { ref: false })
  }

  /**
   * Gets a decision that `permissions` did not know. When the promise resolves (or if there is none) the core checks
   * again.
   */
  prepare(request: AuthorizationRequest): Promise<void> | undefined {
    const { identity, action, topic } = request
    const { plugins } = this.#dependencies
    if (plugins?.canAuthorize !== true || !plugins.mustAuthorize(identity, topic))
      return this.#prepareByService(request)
    return plugins.authorize(request).then((decision) => {
      this.permissions.recordPluginDecision(identity, { action, topic }, decision)
      return decision.result === 'ignore' && identity.grants === undefined ? this.#prepareByService(request) : undefined
    })
  }

  #prepareByService(request: AuthorizationRequest): Promise<void> | undefined {
    const { connection, identity, action, topic } = request
    const { namespace, clientId, username } = identity
    const service = this.#authenticators.http
    return service?.authorize({ connection, namespace, clientId, username, action, topic }).then((decision) => {
      // A service that is not used any more decides nothing: no response is not a denial.
      return service === this.#authenticators.http
        ? this.#recordResponse(request, decision)
        : this.#prepareByService(request)
    })
  }

  /** Returns the rule or the reason that decides; undefined if a service decides that was not queried. */
  explain(identity: Identity, action: Action, topic: string): RuleDecision | undefined {
    return this.permissions.explain(identity, action, topic)
  }

  /** Applies new settings. Connected clients remain; `permissions-changed` concerns their actions. */
  changeSettings(settings: AccessSettings): void {
    this.#settings = settings
    this.#authenticators.changeSettings(settings)
    this.#bans.changeSettings(settings.flapping)
    this.#throttle.changeSettings(settings.failedLogins)
    this.permissions.changeSettings(settings.rules)
  }

  /** Stored records have changed, or are read at start. Returns true if results of `permissions` may change. */
  applyRecords(change: RecordChange): boolean {
    this.#authenticators.applyRecords(change)
    const haveRulesChanged = this.permissions.applyRecords(change)
    if (!this.#bans.applyRecords(change)) return haveRulesChanged
    this.permissions.invalidateDecisions()
    return true
  }

  /** Whether this address is banned for all clients. */
  isBanned(peerAddress: string): boolean {
    const subject = { namespace: undefined, clientId: '', username: undefined, peerAddress }
    return this.#bans.find(subject, this.#dependencies.nowMs()) !== undefined
  }

  /** Returns the clients of a namespace, or of none, that are banned for flapping, oldest first. */
  listFlappingBans(namespace: string | undefined): readonly BanRecord[] {
    return this.#bans.listFlappingBans(namespace, this.#dependencies.nowMs())
  }

  /** Returns the stored key of an identity for a handshake. */
  findPreSharedKey(identity: string, namespace: string | undefined): Uint8Array | undefined {
    return this.#authenticators.findPreSharedKey(identity, namespace)
  }

  /** The client disconnected: its state may be deleted. */
  forget(connection: Connection): void {
    this.#authenticators.scram.forget(connection)
    const ban = this.#bans.recordDisconnect(connection, this.#dependencies.nowMs())
    if (ban === undefined) return
    const { who: clientId, reason, untilMs } = ban
    this.#dependencies.log.warn('client banned', { clientId, address: connection.peerAddress, why: reason, untilMs })
  }

  /** No further requests are made. */
  close(): void {
    this.#authenticators.close()
  }

  #recordResponse({ identity, action, topic }: AuthorizationRequest, decision: HttpDecision): void {
    if (decision.result === 'failed') {
      const { clientId } = identity
      this.#dependencies.log.warn('authorization service failed', { clientId, why: decision.why })
    }
    this.permissions.recordResponse(identity, action, topic, decision.result)
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
    if (!this.#authenticators.scram.isOffered(method)) {
      return this.#refuse(attempt, reasonCodes.badAuthenticationMethod, 'the authentication method is not known')
    }
    return this.#handleScramStep(
      attempt,
      method,
      this.#authenticators.scram.startExchange(attempt.connection, method, { data, namespace: attempt.namespace }),
    )
  }

  #authenticateFurther(request: AuthenticateRequest): AuthenticationResult | Promise<AuthenticationResult> {
    const { connection, clientId: session, method, data, isReauthentication } = request
    const { namespace, name: clientId } = splitNamespacedName(session)
    const nothingShown = { username: undefined, password: undefined }
    const nowMs = this.#dependencies.nowMs()
    const attempt = { connection, namespace, clientId, ...nothingShown, nowMs, isReauthentication }
    // The core checks the order of steps: a first one comes only if no exchange is in progress.
    if (isReauthentication && !this.#authenticators.scram.isInProgress(connection))
      return this.#authenticateBy(method, data, attempt)
    return this.#handleScramStep(attempt, method, this.#authenticators.scram.continueExchange(connection, method, data))
  }

  #handleScramStep(
    attempt: Attempt,
    method: string,
    step: ScramStep,
  ): AuthenticationResult | Promise<AuthenticationResult> {
    switch (step.step) {
      case 'goes-on':
        return { allowed: 'not-yet', authenticationData: step.data }
      case 'failed':
        this.#recordLogin(attempt, false, method)
        return this.#refuse(attempt, reasonCodes.notAuthorized, `scram: ${step.why}`)
      case 'done': {
        const { username, isSuperuser } = step.record
        this.#recordLogin(attempt, true, method)
        return this.#admit(attempt, { result: 'accepted', username, isSuperuser, by: 'scram' }, step.data)
      }
      default:
        return step satisfies never
    }
  }

  #handleChainResult(
    attempt: Attempt,
    decided: ChainResult | UnknownClient,
  ): AuthenticationResult | Promise<AuthenticationResult> {
    switch (decided.result) {
      case 'accepted':
        this.#recordLogin(attempt, true)
        return this.#admit(attempt, decided)
      case 'refused':
        this.#recordLogin(attempt, false)
        return this.#refuse(attempt, decided.reason, `${decided.by}: ${decided.why}`)
      case 'failed':
        return this.#refuse(attempt, reasonCodes.serverUnavailable, `${decided.by}: ${decided.why}`)
      case 'unknown-client':
        return this.#handleUnknownClient(attempt)
      default:
        return decided satisfies never
    }
  }

  /** If `auth.allow_anonymous` is not set, clients that no authenticator knows are accepted on loopback listeners only. */
  #handleUnknownClient(attempt: Attempt): AuthenticationResult | Promise<AuthenticationResult> {
    const { allowAnonymous, profile, isChainConfigured, chain } = this.#settings
    const { username, password, connection } = attempt
    if (profile === 'hardened' && isChainConfigured && chain.length === 0) {
      return this.#refuse(
        attempt,
        reasonCodes.notAuthorized,
        'auth.chain has no authenticator that could accept a client',
      )
    }
    const isOwn = connection.listener.authentication !== undefined
    if (!isOwn && (allowAnonymous ?? (profile === 'legacy' || connection.listener.isLoopback))) {
      return this.#admit(attempt, { result: 'accepted', username, isSuperuser: false, by: 'anonymous' })
    }
    this.#recordLogin(attempt, false)
    // With credentials, the response is that for a known client with wrong credentials.
    const hasLogin = username !== undefined || password !== undefined
    const refusal = hasLogin
      ? this.#refuse(attempt, reasonCodes.badUserNameOrPassword, 'no authenticator knows this client')
      : this.#refuse(attempt, reasonCodes.notAuthorized, 'anonymous clients are not allowed')
    if (connection.origin?.certificate === undefined || chain.includes('certificate')) return refusal
    return addHint(refusal, 'its certificate was verified and is not used: set auth.certificate.enable = true')
  }

  #admit(
    attempt: Attempt,
    success: Admission,
    authenticationData?: Buffer,
  ): AuthenticationResult | Promise<AuthenticationResult> {
    const decide = (isSuperuser: boolean): AuthenticationResult => {
      const identity = toIdentity(attempt, { ...success, isSuperuser })
      // Authentication may have changed its name.
      const banned = this.#refuseBanned(identity, attempt)
      if (banned !== undefined) return banned
      this.#bans.recordConnect(attempt.connection, identity)
      return { allowed: true, identity, ...(authenticationData === undefined ? undefined : { authenticationData }) }
    }
    if (success.isSuperuser || this.#authenticators.http?.hasSuperuserRequest !== true)
      return decide(success.isSuperuser)
    return this.#authenticators.http.isSuperuser({ ...attempt, username: success.username }).then(decide)
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
    return { allowed: false, reason, reasonString: describeReason(reason), cause: why }
  }
}

/** For client and log: not secret. */
function addHint(
  refusal: AuthenticationResult & { allowed: false },
  hint: string,
): AuthenticationResult & { allowed: false } {
  return { ...refusal, reasonString: `${refusal.reasonString}; ${hint}`, cause: `${refusal.cause}; ${hint}` }
}

function describeReason(reason: ReasonCode): string {
  switch (reason) {
    case reasonCodes.badUserNameOrPassword:
      return 'the user name or the password is not right'
    case reasonCodes.badAuthenticationMethod:
      return 'this authentication method is not supported'
    case reasonCodes.serverUnavailable:
      return 'who may connect cannot be found out now'
    case reasonCodes.serverBusy:
      return 'too many clients connect at once, try again later'
    case reasonCodes.banned:
      return 'banned'
    case reasonCodes.connectionRateExceeded:
      return 'too many failed logins, try again later'
    default:
      return 'not allowed to connect'
  }
}
