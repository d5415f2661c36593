// Answers what the core asks: who may come in, and what they may do. One for each shard, with everything at hand that can
// be at hand; what others have to be asked for comes as a promise.

import {
  type AccessRecord,
  type AccessRecordKey,
  type ConnectVerdict,
  type Connection,
  type Identity,
  type Question,
} from '../core/index.ts'
import { reasonCodes, type ReasonCode } from '../protocol/index.ts'
import type { Log } from '../telemetry/index.ts'
import type { AccessSettings, AuthenticatorName } from './access-settings.ts'
import type { Attempt, Authenticator, Ignored, Success } from './authenticators/authenticator.ts'
import { AuthenticationChain, type ChainLink, type Decision } from './authenticators/chain.ts'
import { PasswordAuthenticator } from './authenticators/password.ts'
import { CredentialBook } from './credentials/credential-book.ts'
import { defaultHashManner } from './credentials/password-hash.ts'
import { AccessRules } from './rules/access-rules.ts'

export type ConnectQuestion = Extract<Question, { kind: 'may-connect' }>
export type AuthenticateQuestion = Extract<Question, { kind: 'authenticate' }>
export type PermissionQuestion = Extract<Question, { kind: 'may-do' }>

export interface AccessWorld {
  readonly log: Log
  /** The clock of the shard: wall clock at its start, and it never goes back. */
  nowMs(): number
  /** `permissions.epoch` has grown by itself, and not by a call of `changeSettings` or `applyRecords`. */
  permissionsChanged(): void
}

/** What has changed among the stored records. */
export interface RecordChange {
  readonly put: readonly AccessRecord[]
  readonly delete: readonly AccessRecordKey[]
}

export class AccessControl {
  readonly permissions: AccessRules
  readonly #world: AccessWorld
  readonly #credentials = new CredentialBook()
  #settings: AccessSettings
  #chain: AuthenticationChain

  constructor(settings: AccessSettings, world: AccessWorld) {
    this.#world = world
    this.#settings = settings
    this.#chain = this.#build(settings)
    this.permissions = new AccessRules(settings.rules, { nowMs: () => world.nowMs(), mayStay: () => true })
  }

  /** Whether this client may come in. At once, unless somebody elsewhere has to be asked. */
  answer(question: ConnectQuestion | AuthenticateQuestion): ConnectVerdict | Promise<ConnectVerdict> {
    if (question.kind === 'authenticate' || question.authenticationMethod !== undefined) {
      return this.#refuse(question, reasonCodes.badAuthenticationMethod, 'this authentication method is not known')
    }
    const attempt = this.#attemptOf(question)
    const decided = this.#chain.run(attempt)
    if (decided instanceof Promise) return decided.then((decision) => this.#verdictOf(question, attempt, decision))
    return this.#verdictOf(question, attempt, decided)
  }

  /** Finds out what `permissions` did not know. When it is there (or when this gives nothing) the core asks again. */
  prepare(_question: PermissionQuestion): Promise<void> | undefined {
    return undefined
  }

  /** New settings, in force from here on. Who is in stays in; what they may do is `permissions-changed`. */
  changeSettings(settings: AccessSettings): void {
    this.#settings = settings
    this.#chain = this.#build(settings)
    this.permissions.changeSettings(settings.rules)
  }

  /** What is stored has changed, or is read at the start. True: `permissions` may give other answers than before. */
  applyRecords(change: RecordChange): boolean {
    for (const key of change.delete) if (key.kind === 'credential') this.#credentials.delete(key.by, key.id)
    for (const record of change.put) if (record.kind === 'credential') this.#credentials.put(record)
    return this.permissions.applyRecords(change)
  }

  /** This client is gone: what was kept for it may go. */
  forget(_connection: Connection): void {}

  /** Nothing is asked any more. */
  close(): void {}

  #build(settings: AccessSettings): AuthenticationChain {
    this.#credentials.setPresets(settings.credentials)
    const links: ChainLink[] = []
    for (const name of settings.chain) {
      const authenticator = this.#authenticatorOf(name)
      if (authenticator !== undefined) links.push({ name, authenticator })
    }
    return new AuthenticationChain(links, { failingDenies: settings.profile === 'hardened' })
  }

  #authenticatorOf(name: AuthenticatorName): Authenticator | undefined {
    if (name === 'password') return new PasswordAuthenticator(this.#credentials, defaultHashManner.algorithm)
    return undefined
  }

  #attemptOf({ connection, clientId, username, password }: ConnectQuestion): Attempt {
    const nowMs = this.#world.nowMs()
    return { connection, clientId, username: connection.arrival?.username ?? username, password, nowMs }
  }

  #verdictOf(question: ConnectQuestion, attempt: Attempt, decision: Decision | Ignored): ConnectVerdict {
    switch (decision.result) {
      case 'success':
        return { allowed: true, identity: identityOf(attempt, decision) }
      case 'reject':
        return this.#refuse(question, decision.reason, `${decision.by}: ${decision.why}`)
      case 'failed':
        return this.#refuse(question, reasonCodes.serverUnavailable, `${decision.by}: ${decision.why}`)
      case 'ignore':
        return this.#strangersVerdict(question, attempt)
      default:
        return decision satisfies never
    }
  }

  /** architecture: with `auth.allow_anonymous` unset strangers are let in where only this machine can reach. */
  #strangersVerdict(question: ConnectQuestion, attempt: Attempt): ConnectVerdict {
    const { allowAnonymous, profile, isChainConfigured } = this.#settings
    if (profile === 'hardened' && isChainConfigured && this.#chain.isEmpty) {
      return this.#refuse(question, reasonCodes.notAuthorized, 'auth.chain has nothing in it that could let anybody in')
    }
    if (allowAnonymous ?? (profile === 'legacy' || attempt.connection.listener.isLoopback)) {
      return { allowed: true, identity: identityOf(attempt, stranger) }
    }
    // Whoever shows something gets the same answer as one that is known and shows the wrong thing.
    const hasShownSomething = attempt.username !== undefined || attempt.password !== undefined
    return hasShownSomething
      ? this.#refuse(question, reasonCodes.badUserNameOrPassword, 'nobody knows this client')
      : this.#refuse(question, reasonCodes.notAuthorized, 'anonymous clients are not allowed')
  }

  /** The client hears what kind of refusal it is; why it is refused is for the operator. */
  #refuse(
    question: ConnectQuestion | AuthenticateQuestion,
    reason: ReasonCode,
    why: string,
  ): ConnectVerdict & { allowed: false } {
    const { clientId, connection } = question
    this.#world.log.warn('client not authenticated', { clientId, address: connection.peerAddress, why })
    return { allowed: false, reason, reasonString: wordsFor(reason) }
  }
}

const stranger: Success = { result: 'success', isSuperuser: false }

function identityOf({ connection, clientId, username }: Attempt, success: Success): Identity {
  return {
    clientId,
    username: success.username ?? username,
    peerAddress: connection.peerAddress,
    isSuperuser: success.isSuperuser,
    expiresAtMs: success.expiresAtMs,
    grants: success.grants,
  }
}

function wordsFor(reason: ReasonCode): string {
  switch (reason) {
    case reasonCodes.badUserNameOrPassword:
      return 'the user name or the password is not right'
    case reasonCodes.badAuthenticationMethod:
      return 'this authentication method is not supported'
    case reasonCodes.serverUnavailable:
      return 'who may connect cannot be found out now'
    case reasonCodes.banned:
      return 'banned'
    default:
      return 'not allowed to connect'
  }
}
