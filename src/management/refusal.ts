// Why a request is not carried out, as a value: handlers give it back in place of an answer.

import { type ResultCodeName, resultCodes } from '../contract/index.ts'

export class Refusal {
  readonly code: number
  /** Of HTTP. */
  readonly status: number
  /** What is wrong, with what, and what to do. */
  readonly message: string

  constructor(name: ResultCodeName, message: string, status: number) {
    this.code = resultCodes[name].code
    this.message = message
    this.status = status
  }
}

/** `status`: where it is not the one that goes with the code. */
export function refuse(name: ResultCodeName, message: string, status?: number): Refusal {
  return new Refusal(name, message, status ?? resultCodes[name].status)
}
