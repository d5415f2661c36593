// Why a request is not carried out, as a value: handlers give it back in place of an answer.

import { type ReasonName, reasonOf, reasons, type ResultCodeName, resultCodes } from '../contract/index.ts'

export interface Refused {
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
  readonly guessed?: string | undefined
}

export class Refusal implements Refused {
  readonly code: number
  readonly status: number
  readonly message: string
  readonly reason: ReasonName
  readonly parts: Readonly<Record<string, string>> | undefined
  readonly guessed: string | undefined

  constructor({ code, status, message, reason, parts, guessed }: Refused) {
    this.code = code
    this.status = status
    this.message = message
    this.reason = reason
    this.parts = parts
    this.guessed = guessed
  }

  /** The same, where the fifth version has a word of its own for it. */
  withReason(reason: ReasonName): Refusal {
    return new Refusal({ code: this.code, status: this.status, message: this.message, reason })
  }

  withParts(parts: Readonly<Record<string, string>>): Refusal {
    return new Refusal({ code: this.code, status: this.status, message: this.message, reason: this.reason, parts })
  }

  asGuess(guessed: string): Refusal {
    return new Refusal({ code: this.code, status: this.status, message: this.message, reason: this.reason, guessed })
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
export function refuse(name: ResultCodeName, message: string, status?: number): Refusal {
  const { code, status: usual } = resultCodes[name]
  return new Refusal({ code, status: status ?? usual, message, reason: reasonOf(name, status ?? usual) })
}

/** The same in the words of the fifth version. */
export function refuseFor(reason: ReasonName, message: string): Refusal {
  const { result, status } = reasons[reason]
  return new Refusal({ code: resultCodes[result].code, status, message, reason })
}

/** As it is sent to who asked for `url`. */
export function bodyOfRefusal({ code, reason, message, parts }: Refusal, url: string): string {
  return JSON.stringify(/^\/api\/v5(?![^/?#])/.test(url) ? { code, reason, message, parts } : { code, message })
}
