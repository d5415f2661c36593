// A refusal as a value, which handlers return instead of a reply.

import { maskUrlSecrets } from '../../config/index.ts'
import { type ReasonName, toReason, reasons, type ResultCodeName, resultCodes } from '../../contract/index.ts'

export interface ApiErrorFields {
  readonly code: number
  /** HTTP status. */
  readonly status: number
  /** The error, the wrong value, and what to do. */
  readonly message: string
  /** The reason of version 5. */
  readonly reason: ReasonName
  /** For a change that was applied partly: the failures by part. */
  readonly parts?: Readonly<Record<string, string>> | undefined
  /** The account whose password was wrong in an authenticated request: the response is delayed like a failed login. */
  readonly guessedAccount?: string | undefined
  /** Details for a login that needs a second factor. */
  readonly mfa?: Readonly<Record<string, string>> | undefined
}

export class ApiError implements ApiErrorFields {
  readonly code: number
  readonly status: number
  readonly message: string
  readonly reason: ReasonName
  readonly parts: Readonly<Record<string, string>> | undefined
  readonly guessedAccount: string | undefined
  readonly mfa: Readonly<Record<string, string>> | undefined

  constructor({ code, status, message, reason, parts, guessedAccount, mfa }: ApiErrorFields) {
    this.code = code
    this.status = status
    // A message may quote a URL of the request or of the configuration.
    this.message = maskUrlSecrets(message)
    this.reason = reason
    this.parts = parts
    this.guessedAccount = guessedAccount
    this.mfa = mfa
  }

  /** Returns the same refusal with a reason of version 5. */
  withReason(reason: ReasonName): ApiError {
    return new ApiError({ code: this.code, status: this.status, message: this.message, reason })
  }

  withParts(parts: Readonly<Record<string, string>>): ApiError {
    return new ApiError({ code: this.code, status: this.status, message: this.message, reason: this.reason, parts })
  }

  withMfa(mfa: Readonly<Record<string, string>>): ApiError {
    return new ApiError({ code: this.code, status: this.status, message: this.message, reason: this.reason, mfa })
  }

  withGuessedAccount(guessedAccount: string): ApiError {
    return new ApiError({
      code: this.code,
      status: this.status,
      message: this.message,
      reason: this.reason,
      guessedAccount,
    })
  }
}

/** Maximum characters of a value in a message. */
const maxRepeatedCharacters = 100

/** Quotes a value of a request for a message. */
export function quoteShortened(value: string): string {
  const isLong = value.length > maxRepeatedCharacters
  return JSON.stringify(isLong ? `${value.slice(0, maxRepeatedCharacters)}...` : value)
}

/** `status`: if it is not the default of the code. */
export function refuse(name: ResultCodeName, message: string, status?: number): ApiError {
  const { code, status: usual } = resultCodes[name]
  return new ApiError({ code, status: status ?? usual, message, reason: toReason(name, status ?? usual) })
}

/** Does the same for a reason of version 5. */
export function refuseFor(reason: ReasonName, message: string): ApiError {
  const { result, status } = reasons[reason]
  return new ApiError({ code: resultCodes[result].code, status, message, reason })
}

/** Reasons that version 4 returns as well. */
const reasonsOfBoth: ReadonlySet<ReasonName> = new Set<ReasonName>(['NOT_MATCH'])

/** Returns the response body for `url`. */
export function formatErrorBody({ code, reason, message, parts, mfa }: ApiError, url: string): string {
  const hasReason = /^\/api\/v5(?![^/?#])/.test(url) || reasonsOfBoth.has(reason)
  return JSON.stringify(hasReason ? { code, reason, message, parts, mfa } : { code, message })
}
