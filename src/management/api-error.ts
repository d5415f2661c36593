// Why a request is not carried out, as a value: handlers give it back in place of an answer.

import { type ReasonName, reasonOf, reasons, type ResultCodeName, resultCodes } from '../contract/index.ts'

export interface ApiErrorFields {
  readonly code: number
  /** Of HTTP. */
  readonly status: number
  /** What is wrong, with what, and what to do. */
  readonly message: string
  /** As the fifth version of the API says it. */
  readonly reason: ReasonName
  /** Of what was carried out in parts: what failed, by part. The rest is in force. */
  readonly parts?: Readonly<Record<string, string>> | undefined
  /** Whose password was shown wrongly, by somebody who is in: the answer waits as at the door. */
  readonly guessedAccount?: string | undefined
}

export class ApiError implements ApiErrorFields {
  readonly code: number
  readonly status: number
  readonly message: string
  readonly reason: ReasonName
  readonly parts: Readonly<Record<string, string>> | undefined
  readonly guessedAccount: string | undefined

  constructor({ code, status, message, reason, parts, guessedAccount }: ApiErrorFields) {
    this.code = code
    this.status = status
    this.message = message
    this.reason = reason
    this.parts = parts
    this.guessedAccount = guessedAccount
  }

  /** The same, where the fifth version has a word of its own for it. */
  withReason(reason: ReasonName): ApiError {
    return new ApiError({ code: this.code, status: this.status, message: this.message, reason })
  }

  withParts(parts: Readonly<Record<string, string>>): ApiError {
    return new ApiError({ code: this.code, status: this.status, message: this.message, reason: this.reason, parts })
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

/** Characters of a value that a message repeats. */
const maxRepeatedCharacters = 100

/** A value of a request in quotes, for a message. */
export function shortened(value: string): string {
  const isLong = value.length > maxRepeatedCharacters
  return JSON.stringify(isLong ? `${value.slice(0, maxRepeatedCharacters)}...` : value)
}

/** `status`: where it is not the one that goes with the code. */
export function refuse(name: ResultCodeName, message: string, status?: number): ApiError {
  const { code, status: usual } = resultCodes[name]
  return new ApiError({ code, status: status ?? usual, message, reason: reasonOf(name, status ?? usual) })
}

/** The same in the words of the fifth version. */
export function refuseFor(reason: ReasonName, message: string): ApiError {
  const { result, status } = reasons[reason]
  return new ApiError({ code: resultCodes[result].code, status, message, reason })
}

/** Reasons that version 4 says as well. */
const reasonsOfBoth: ReadonlySet<ReasonName> = new Set<ReasonName>(['NOT_MATCH'])

/** As it is sent to who asked for `url`. */
export function bodyOfError({ code, reason, message, parts }: ApiError, url: string): string {
  const hasReason = /^\/api\/v5(?![^/?#])/.test(url) || reasonsOfBoth.has(reason)
  return JSON.stringify(hasReason ? { code, reason, message, parts } : { code, message })
}
