// Passwords of people, and how they are kept: so that one guess takes a good part of a second's hundredth and much
// memory. Guesses are worked on one at a time and address by address, so that many of them neither fill the machine nor
// keep anybody else waiting for long. However many wait, each is looked at while its client is there: one of them may be right. Their number
// has a limit where requests come in: so many connections, and so many requests of each that are not answered. Within an
// address the names take turns, and a name that was right there lately has a turn beside the address.
//
//   who is in already   another password            ──── first ──┐
//   10.0.0.9            admin: guess guess guess    ─┐           │
//                       root: guess guess guess      ├─ in turns ┼──► one at a time
//   10.0.0.9 and ann    ann, right there lately      │           │
//   10.0.0.1            admin                       ─┘           ┘

import crypto, { type BinaryLike } from 'node:crypto'
import type { KeptPassword } from '../../records/index.ts'

const saltBytes = 16
const hashBytes = 32
/**
 * 46 MiB, once, which costs a guesser what 19 MiB twice do. More than 32 MiB are given back to the system each time;
 * less the C library keeps for the next time, for each thread of the pool that has ever worked on one: some 400 MiB.
 */
const argonParameters = { algorithm: 'argon2id', memory: 47_104, passes: 1, lanes: 1 } as const
/** For a Node that was built without argon2: 32 MiB and a little. */
const scryptParameters = { algorithm: 'scrypt', memory: 32_768, passes: 8, lanes: 1 } as const

/** In the place of an address: of those who have signed in, whom no stranger keeps waiting. */
export const authenticatedOrigin = ''

/** Whose password it is said to be. */
export interface ClaimedName {
  readonly name: string
  /** The name signed in from this address with the right password lately. */
  readonly wasRightHere: boolean
  /** Aborted when nobody waits for the answer any more. */
  readonly gone?: AbortSignal | undefined
}

const unnamed: ClaimedName = { name: '', wasRightHere: false }

/** Where a derivation waits: turns rotate, and names rotate within a turn. */
interface Place {
  readonly turn: string
  readonly name: string
  readonly gone?: AbortSignal | undefined
}

type HashParameters = Omit<KeptPassword, 'salt' | 'hash'>

const passwordParameters: HashParameters = typeof crypto.argon2 === 'function' ? argonParameters : scryptParameters

/** Of a random secret: nobody finds it by trying, so that it may be quick. */
export function hashSecret(secret: string): KeptPassword {
  const salt = crypto.randomBytes(saltBytes)
  return { algorithm: 'sha256', memory: 0, passes: 0, lanes: 0, salt, hash: digestOf(secret, salt) }
}

export class PasswordHasher {
  /** By turn, then by name. */
  readonly #waiting: Map<string, Map<string, Set<() => void>>>
  readonly #stranger: KeptPassword
  #isBusy: boolean

  constructor() {
    this.#waiting = new Map()
    this.#isBusy = false
    this.#stranger = { ...passwordParameters, salt: crypto.randomBytes(saltBytes), hash: crypto.randomBytes(hashBytes) }
  }

  /** A password of somebody, as it is to be kept. */
  async hash(password: string): Promise<KeptPassword> {
    const salt = crypto.randomBytes(saltBytes)
    return {
      ...passwordParameters,
      salt,
      hash: await this.#queue(ofInsiders, () => derive(password, passwordParameters, salt)),
    }
  }

  /**
   * Whether it is the password that was kept; undefined: of nobody. It takes the time of one person's password for
   * everybody who is wrong, also where a secret was kept or nobody is known. A wrong password of a name that was right
   * here lately is worked on a second time in the turn of its address: its answer comes no sooner than that of any other
   * name, and does not tell that the name is known.
   */
  async isPassword(
    password: string,
    kept: KeptPassword | undefined,
    from: string,
    { name, wasRightHere, gone }: ClaimedName = unnamed,
  ): Promise<boolean> {
    if (kept?.algorithm === 'sha256' && areEqual(digestOf(password, kept.salt), kept.hash)) return true
    const compared = kept === undefined || kept.algorithm === 'sha256' ? this.#stranger : kept
    const isRight = async (turn: string): Promise<boolean> => {
      const hash = await this.#queue({ turn, name, gone }, () => derive(password, compared, compared.salt))
      return areEqual(hash, compared.hash) && compared === kept
    }
    if (wasRightHere && (await isRight(`${from} ${name}`))) return true
    return isRight(from)
  }

  /** What waits is not worked on any more, and never resolves. */
  close(): void {
    this.#waiting.clear()
  }

  /** Never resolves where `gone` is aborted while it waits: the place is free at once. */
  async #queue<Result>(place: Place, work: () => Promise<Result>): Promise<Result> {
    if (this.#isBusy) await this.#wait(place)
    this.#isBusy = true
    try {
      return await work()
    } finally {
      this.#isBusy = false
      this.#startNext()
    }
  }

  #wait({ turn, name, gone }: Place): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
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

  /** The first of the turn, and in it of the name, that was not asked for the longest time. Constant time. */
  #startNext(): void {
    const inside = this.#waiting.get(authenticatedOrigin)
    const [waiting] = inside === undefined ? this.#waiting : [[authenticatedOrigin, inside] as const]
    const [ofName] = waiting?.[1] ?? []
    if (waiting === undefined || ofName === undefined) return
    const [turn, names] = waiting
    const [name, requests] = ofName
    const [next] = requests
    if (next !== undefined) requests.delete(next)
    names.delete(name)
    if (requests.size > 0) names.set(name, requests)
    this.#waiting.delete(turn)
    if (names.size > 0) this.#waiting.set(turn, names)
    // Who comes in between now and then waits too.
    this.#isBusy = true
    next?.()
  }
}

const ofInsiders: Place = { turn: authenticatedOrigin, name: '' }

/** A record that somebody has written by hand may have a hash of any length. */
function areEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && crypto.timingSafeEqual(one, other)
}

function digestOf(secret: string, salt: BinaryLike): Buffer {
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
