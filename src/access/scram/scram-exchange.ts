// One SCRAM exchange: the client proves that it knows a password, and the broker that it has the stored record (RFC 5802, section 3,
// and RFC 7677).
//
//   awaiting-first --client-first--> awaiting-final --client-final--> over
//                   <--server-first--                <--server-final--

import { randomBytes, timingSafeEqual } from 'node:crypto'
import { hash } from 'node:crypto'
import type { ScramRecord } from '../../records/index.ts'
import { hashBytes, hashNames, computeHmac, deriveSalt, type ScramAlgorithm } from './scram-record.ts'
import { prepareText, readClientFinal, readClientFirst, readText, type ClientFirst } from './scram-text.ts'

export type ScramStep =
  | { readonly step: 'goes-on'; readonly data: Buffer | undefined }
  | { readonly step: 'done'; readonly data: Buffer; readonly record: ScramRecord }
  | { readonly step: 'failed'; readonly why: string }

export interface ScramDependencies {
  /** Returns the current record; undefined if no user of this name may use this method. */
  find(username: string): ScramRecord | undefined
  /** For the salts of unknown users. */
  readonly secret: Uint8Array
  /** Iterations that are sent for unknown users. */
  readonly iterations: number
}

type Phase =
  | { readonly phase: 'awaiting-first' }
  | {
      readonly phase: 'awaiting-final'
      readonly first: ClientFirst
      readonly serverFirst: string
      readonly nonce: string
      readonly record: ScramRecord
      readonly isKnown: boolean
    }
  | { readonly phase: 'over' }

const nonceBytes = 24

export class ScramExchange {
  readonly algorithm: ScramAlgorithm
  readonly #dependencies: ScramDependencies
  #phase: Phase = { phase: 'awaiting-first' }

  constructor(algorithm: ScramAlgorithm, dependencies: ScramDependencies) {
    this.algorithm = algorithm
    this.#dependencies = dependencies
  }

  /** Handles a message of the client and returns the response. No data at first requests the start. */
  handleMessage(data: Uint8Array | undefined): ScramStep {
    const phase = this.#phase
    this.#phase = { phase: 'over' }
    switch (phase.phase) {
      case 'awaiting-first':
        return this.#handleFirst(data)
      case 'awaiting-final':
        return this.#handleFinal(data, phase)
      case 'over':
        return createFailure('the exchange is already complete')
      default:
        return phase satisfies never
    }
  }

  #handleFirst(data: Uint8Array | undefined): ScramStep {
    if (data === undefined || data.length === 0) {
      this.#phase = { phase: 'awaiting-first' }
      return { step: 'goes-on', data: undefined }
    }
    const text = readText(data)
    const first = text === undefined ? { problem: 'the first message is not text' } : readClientFirst(text)
    if ('problem' in first) return createFailure(first.problem)
    const username = prepareText(first.username)
    if (username === undefined) return createFailure('the user name is malformed')
    const known = this.#dependencies.find(username)
    const record = known ?? this.#createPlaceholderUser(username)
    const nonce = first.nonce + randomBytes(nonceBytes).toString('base64')
    const salt = Buffer.from(record.salt).toString('base64')
    const serverFirst = `r=${nonce},s=${salt},i=${record.iterations}`
    this.#phase = { phase: 'awaiting-final', first, serverFirst, nonce, record, isKnown: known !== undefined }
    return { step: 'goes-on', data: Buffer.from(serverFirst) }
  }

  #handleFinal(data: Uint8Array | undefined, phase: Extract<Phase, { phase: 'awaiting-final' }>): ScramStep {
    const { first, serverFirst, nonce, record, isKnown } = phase
    const text = data === undefined ? undefined : readText(data)
    const final = text === undefined ? undefined : readClientFinal(text)
    if (final === undefined) return createFailure('the last message is malformed')
    if (final.nonce !== nonce) return createFailure('the nonce is another one')
    if (final.channelBinding !== Buffer.from(first.header).toString('base64')) {
      return createFailure('the beginning of the first message was another one')
    }
    const { algorithm } = this
    const authMessage = `${first.bare},${serverFirst},${final.withoutProof}`
    const signature = computeHmac(algorithm, record.storedKey, authMessage)
    if (final.proof.length !== signature.length) return createFailure('the password is wrong')
    const clientKey = xor(final.proof, signature)
    const shown = hash(hashNames[algorithm], clientKey, 'buffer')
    const isRight = shown.length === record.storedKey.length && timingSafeEqual(shown, record.storedKey)
    if (!isKnown) return createFailure('the user is unknown')
    if (!isRight) return createFailure('the password is wrong')
    // The current record is used, which may differ from that at the start.
    const present = this.#dependencies.find(record.username)
    if (present === undefined || !isSameKey(present, record)) return createFailure('the user has changed meanwhile')
    const verifier = computeHmac(algorithm, record.serverKey, authMessage).toString('base64')
    return { step: 'done', data: Buffer.from(`v=${verifier}`), record: present }
  }

  /** An unknown user gets the same messages as others, and fails at the end. */
  #createPlaceholderUser(username: string): ScramRecord {
    const { algorithm } = this
    return {
      kind: 'scram',
      username,
      algorithm,
      salt: deriveSalt(username, algorithm, this.#dependencies.secret),
      iterations: this.#dependencies.iterations,
      storedKey: randomBytes(hashBytes[algorithm]),
      serverKey: randomBytes(hashBytes[algorithm]),
      isSuperuser: false,
      createdAtMs: 0,
    }
  }
}

function createFailure(why: string): ScramStep {
  return { step: 'failed', why }
}

function isSameKey(one: ScramRecord, other: ScramRecord): boolean {
  return Buffer.compare(one.storedKey, other.storedKey) === 0
}

function xor(a: Uint8Array, b: Uint8Array): Buffer {
  return Buffer.from(a.map((byte, index) => byte ^ b[index]))
}
