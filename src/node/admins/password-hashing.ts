// Password hashing for API accounts: one check takes almost a hundredth of a second and much memory. Checks run one at a time and
// alternate between addresses, so that many guesses neither exhaust the machine nor delay others for long. Every waiting password is
// checked while its client is connected, because it may be correct. Connections and requests limit their number. Within an address the
// names alternate, and a name that was correct there recently has its own turn next to the address. Names without a wrong password at this
// address come before names with one, so repeated guesses do not delay the first login of another user behind the same proxy.
//
//   authenticated       another password            ──── first ──┐
//   10.0.0.9            admin: guess guess guess    ─┐           │
//                       root: guess guess guess      ├─ in turns ┼──► one at a time
//   10.0.0.9 and ann    ann, correct there recently  │           │
//   10.0.0.1            admin                       ─┘           ┘

import crypto, { type BinaryLike } from 'node:crypto'
import type { StoredPassword } from '../../records/index.ts'

const saltBytes = 16
const hashBytes = 32
/**
 * One pass over 46 MiB costs an attacker as much as two passes over 19 MiB. The C library returns blocks above 32 MiB to the system each
 * time. It would keep smaller blocks for each thread of the pool, which is about 400 MiB.
 */
const argonParameters = { algorithm: 'argon2id', memory: 47_104, passes: 1, lanes: 1 } as const
/** Parameters for a Node without argon2. They use slightly more than 32 MiB. */
const scryptParameters = { algorithm: 'scrypt', memory: 32_768, passes: 8, lanes: 1 } as const

/** Replaces the address for authenticated callers, so that unauthenticated ones cannot delay them. */
export const authenticatedOrigin = ''

/** The name that a password belongs to. */
export interface ClaimedName {
  readonly name: string
  /** The name used the correct password from this address recently. */
  readonly wasRightHere: boolean
  /** Aborted when the result is not needed any more. */
  readonly gone?: AbortSignal | undefined
}

/** Time for which a wrong password of a name at an address is remembered, and maximum number of such names; the oldest is dropped. */
const failedForMs = 900_000
const maxFailedNames = 8_192
/** Of this number of checks of one address, at most one is of a name with wrong passwords while other names wait. */
const checksPerFailedName = 4

const unnamed: ClaimedName = { name: '', wasRightHere: false }

/** Position in the queue: turns alternate, and names alternate within a turn. */
interface Place {
  readonly turn: string
  readonly name: string
  /** The name had a wrong password in this turn recently. */
  readonly hasFailed?: boolean
  readonly gone?: AbortSignal | undefined
}

type HashParameters = Omit<StoredPassword, 'salt' | 'hash'>

const passwordParameters: HashParameters = typeof crypto.argon2 === 'function' ? argonParameters : scryptParameters

/** Hashes a random secret. It cannot be guessed, so the hash may be fast. */
export function hashSecret(secret: string): StoredPassword {
  const salt = crypto.randomBytes(saltBytes)
  return { algorithm: 'sha256', memory: 0, passes: 0, lanes: 0, salt, hash: computeDigest(secret, salt) }
}

/** Returns whether `secret` is that of an API key. */
export function isSecret(secret: string, { algorithm, salt, hash }: StoredPassword): boolean {
  return algorithm === 'sha256' && areEqual(computeDigest(secret, salt), hash)
}

export class PasswordHasher {
  /** Waiting checks by turn, then by name. */
  readonly #waiting: Map<string, Map<string, Set<() => void>>>
  readonly #placeholder: StoredPassword
  /** Digests of turns and names with a wrong password, with the time, oldest first. */
  readonly #failed = new Map<string, number>()
  #isBusy: boolean
  #startedChecks = 0

  constructor() {
    this.#waiting = new Map()
    this.#isBusy = false
    this.#placeholder = {
      ...passwordParameters,
      salt: crypto.randomBytes(saltBytes),
      hash: crypto.randomBytes(hashBytes),
    }
  }

  /** Hashes a password for storage. */
  async hash(password: string): Promise<StoredPassword> {
    const salt = crypto.randomBytes(saltBytes)
    return {
      ...passwordParameters,
      salt,
      hash: await this.#queue(authenticatedPlace, () => derive(password, passwordParameters, salt)),
    }
  }

  /**
   * Checks a password against the stored hash; undefined: there is none. For wrong passwords it takes the time of an
   * account's password, also for secrets and unknown names. A wrong password of a name that was correct here recently
   * is checked a second time in the turn of its address, so that the time of the response does not show that the name
   * is known.
   */
  async isPassword(
    password: string,
    kept: StoredPassword | undefined,
    from: string,
    { name, wasRightHere, gone }: ClaimedName = unnamed,
  ): Promise<boolean> {
    if (kept !== undefined && isSecret(password, kept)) return true
    const compared = kept === undefined || kept.algorithm === 'sha256' ? this.#placeholder : kept
    const isRight = async (turn: string): Promise<boolean> => {
      const place = { turn, name, gone, hasFailed: this.#hasFailed(turn, name) }
      const hash = await this.#queue(place, () => derive(password, compared, compared.salt))
      const isCorrect = areEqual(hash, compared.hash) && compared === kept
      this.#recordResult(turn, name, isCorrect)
      return isCorrect
    }
    if (wasRightHere && (await isRight(`${from} ${name}`))) return true
    return isRight(from)
  }

  /** Drops the waiting checks: their promises never resolve. */
  close(): void {
    this.#waiting.clear()
  }

  /** Runs `work` when it is its turn. If `gone` is aborted before, the promise never resolves and the place in the queue is free at once. */
  async #queue<Result>(entry: Place, work: () => Promise<Result>): Promise<Result> {
    if (this.#isBusy) await this.#wait(entry)
    this.#isBusy = true
    try {
      return await work()
    } finally {
      this.#isBusy = false
      this.#startNext()
    }
  }

  #hasFailed(turn: string, name: string): boolean {
    const atMs = this.#failed.get(computeFailureKey(turn, name))
    return atMs !== undefined && performance.now() - atMs < failedForMs
  }

  #recordResult(turn: string, name: string, isCorrect: boolean): void {
    const key = computeFailureKey(turn, name)
    this.#failed.delete(key)
    if (isCorrect) return
    this.#failed.set(key, performance.now())
    const oldest = this.#failed.keys().next().value
    if (this.#failed.size > maxFailedNames && oldest !== undefined) this.#failed.delete(oldest)
  }

  #wait({ turn, name: plainName, hasFailed = false, gone }: Place): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const name = hasFailed ? `${failedMark}${plainName}` : plainName
    const names = this.#waiting.get(turn) ?? new Map<string, Set<() => void>>()
    this.#waiting.set(turn, names)
    const ofName = names.get(name) ?? new Set()
    names.set(name, ofName.add(resolve))
    gone?.addEventListener('abort', () => this.#leave({ turn, name }, resolve), { once: true })
    return promise
  }

  #leave({ turn, name }: Place, waiting: () => void): void {
    const names = this.#waiting.get(turn)
    const ofName = names?.get(name)
    if (names === undefined || ofName === undefined) return
    ofName.delete(waiting)
    if (ofName.size === 0) names.delete(name)
    if (names.size === 0) this.#waiting.delete(turn)
  }

  /** Starts the first check of the turn and name that waited longest. Constant time. */
  #startNext(): void {
    const inside = this.#waiting.get(authenticatedOrigin)
    const [waiting] = inside === undefined ? this.#waiting : [[authenticatedOrigin, inside] as const]
    const ofName = waiting === undefined ? undefined : this.#chooseName(waiting[1])
    if (waiting === undefined || ofName === undefined) return
    const [turn, names] = waiting
    const [name, requests] = ofName
    const [next] = requests
    if (next !== undefined) requests.delete(next)
    names.delete(name)
    if (requests.size > 0) names.set(name, requests)
    this.#waiting.delete(turn)
    if (names.size > 0) this.#waiting.set(turn, names)
    // Checks that arrive in between wait too.
    this.#isBusy = true
    next?.()
  }

  /** Returns the name that waited longest: usually of those without a wrong password. */
  #chooseName(names: Map<string, Set<() => void>>): [string, Set<() => void>] | undefined {
    const isTurnOfFailed = ++this.#startedChecks % checksPerFailedName === 0
    let other: [string, Set<() => void>] | undefined
    for (const entry of names) {
      if (entry[0].startsWith(failedMark) === isTurnOfFailed) return entry
      other ??= entry
    }
    return other
  }
}

/** Begins the names of the queue that had a wrong password. No name of an account contains it. */
const failedMark = '\0'

function computeFailureKey(turn: string, name: string): string {
  return crypto
    .createHash('sha256')
    .update(JSON.stringify([turn, name]))
    .digest('base64')
}

const authenticatedPlace: Place = { turn: authenticatedOrigin, name: '' }

/** A record written by hand may have a hash of any length. */
function areEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && crypto.timingSafeEqual(one, other)
}

function computeDigest(secret: string, salt: BinaryLike): Buffer {
  return crypto.createHash('sha256').update(salt).update(secret).digest()
}

function derive(password: string, manner: HashParameters, salt: Uint8Array): Promise<Buffer> {
  const { algorithm, memory, passes, lanes } = manner
  return new Promise((resolve, reject) => {
    const finish = (error: Error | null, hash: Buffer): void => (error === null ? resolve(hash) : reject(error))
    if (algorithm === 'argon2id') {
      const parameters = { message: password, nonce: salt, parallelism: lanes, tagLength: hashBytes, memory, passes }
      crypto.argon2('argon2id', parameters, finish)
    } else {
      const maxmem = 256 * memory * passes
      crypto.scrypt(password, salt, hashBytes, { N: memory, r: passes, p: lanes, maxmem }, finish)
    }
  })
}
