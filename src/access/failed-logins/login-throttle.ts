// Slows password guesses. A login is delayed before its password is checked, so that the time tells nothing, and only on its own
// connection.
//
//   per address and user name   5 failed logins: no delay; then 200 ms, 400 ms ... 5 s, one login after the other
//   per address                 200 failed logins, then 20 per second; further logins are refused without a check
//
// The first failed login of each user name at an address, and all further ones, are limited separately. So clients that repeat wrong passwords
// do not keep the first right login of another user from being checked, for example behind one proxy after a restart.
//
// A client cannot lock another one out: failures of one address do not count for others, and a client that logged in from the same address
// with the same password within a day is not delayed. A client without failed logins at its address costs one hash, when it succeeds.

import { hash, randomBytes } from 'node:crypto'
import { networkOf } from '../../config/index.ts'

/** auth.failed_logins */
export interface FailedLoginSettings {
  readonly isEnabled: boolean
  readonly freeAttempts: number
  readonly firstDelayMs: number
  readonly maxDelayMs: number
  readonly addressRate: number
  readonly addressBurst: number
}

export const defaultFailedLoginSettings: FailedLoginSettings = {
  isEnabled: true,
  freeAttempts: 5,
  firstDelayMs: 200,
  maxDelayMs: 5_000,
  addressRate: 20,
  addressBurst: 200,
}

export interface Login {
  readonly address: string
  readonly namespace: string | undefined
  /** Undefined if not known yet (SCRAM); then only the address counts. */
  readonly name: string | undefined
  /** The credentials. */
  readonly secret: Uint8Array | undefined
}

/** Whether to check the password, and when to respond. */
export interface LoginDecision {
  readonly isRefused: boolean
  readonly afterMs: number
}

interface AddressFailures {
  /** Failed logins left of names without failed logins, before further ones are refused. */
  firstLeft: number
  /** The same of names with failed logins. */
  left: number
  atMs: number
}

interface NameFailures {
  count: number
  lastAtMs: number
  /** When the last of the delayed logins is due. */
  dueAtMs: number
}

/** Maximum numbers of entries. Beyond them the oldest entry is dropped. */
const maxAddresses = 8_192
const maxNames = 8_192
const maxKnownLogins = 16_384
const failuresForgottenAfterMs = 900_000
const knownForMs = 86_400_000
const keyBytes = 16

const atOnce: LoginDecision = { isRefused: false, afterMs: 0 }

export class LoginThrottle {
  #settings: FailedLoginSettings
  readonly #addresses = new Map<string, AddressFailures>()
  readonly #names = new Map<string, NameFailures>()
  /** Successful logins by digest, with the time of the last one. */
  readonly #known = new Map<string, number>()
  /** Makes the digests useless outside of this process. */
  readonly #salt = randomBytes(keyBytes)

  constructor(settings: FailedLoginSettings) {
    this.#settings = settings
  }

  changeSettings(settings: FailedLoginSettings): void {
    this.#settings = settings
  }

  /** Number of addresses, names and logins in memory. */
  get size(): number {
    return this.#addresses.size + this.#names.size + this.#known.size
  }

  /** Called before the password is checked. */
  begin(login: Login, nowMs: number): LoginDecision {
    const { isEnabled, maxDelayMs } = this.#settings
    if (!isEnabled || this.#addresses.size === 0) return atOnce
    const network = networkOf(login.address)
    const address = this.#addressOf(network, nowMs)
    if (address === undefined || this.#isKnown(login, nowMs)) return atOnce
    const failures = this.#nameOf(login, nowMs)
    const left = isFirst(login, failures) ? address.firstLeft : address.left
    if (left < 1) return { isRefused: true, afterMs: maxDelayMs }
    const stepMs = failures === undefined ? 0 : this.#stepMs(failures)
    if (failures === undefined || stepMs === 0) return atOnce
    const dueAtMs = Math.max(failures.dueAtMs, nowMs) + stepMs
    if (dueAtMs - nowMs > maxDelayMs) return { isRefused: true, afterMs: maxDelayMs }
    failures.dueAtMs = dueAtMs
    return { isRefused: false, afterMs: dueAtMs - nowMs }
  }

  noteFailed(login: Login, nowMs: number): void {
    if (!this.#settings.isEnabled) return
    const network = networkOf(login.address)
    const { addressBurst } = this.#settings
    const address = this.#addressOf(network, nowMs) ?? { firstLeft: addressBurst, left: addressBurst, atMs: nowMs }
    const known = this.#nameOf(login, nowMs)
    if (isFirst(login, known)) address.firstLeft = Math.max(0, address.firstLeft - 1)
    else address.left = Math.max(0, address.left - 1)
    remember(this.#addresses, network, address, maxAddresses)
    if (login.name === undefined) return
    const failures = known ?? { count: 0, lastAtMs: nowMs, dueAtMs: nowMs }
    failures.count += 1
    failures.lastAtMs = nowMs
    remember(this.#names, nameKey(login), failures, maxNames)
  }

  noteSucceeded(login: Login, nowMs: number): void {
    if (!this.#settings.isEnabled) return
    // Repeated logins of a known client must not give new free attempts to an attacker.
    if (!this.#isKnown(login, nowMs) && login.name !== undefined) this.#names.delete(nameKey(login))
    remember(this.#known, this.#digestOf(login), nowMs, maxKnownLogins)
  }

  #isKnown(login: Login, nowMs: number): boolean {
    const lastAtMs = this.#known.get(this.#digestOf(login))
    return lastAtMs !== undefined && nowMs - lastAtMs < knownForMs
  }

  #digestOf({ address, namespace = '', name = '', secret = noBytes }: Login): string {
    const who = `${networkOf(address)}\0${namespace}\0${name}\0`
    return hash('sha256', Buffer.concat([this.#salt, Buffer.from(who), secret]), 'base64')
  }

  /** Returns the failures of an address, reduced by the recovery since the last failure. */
  #addressOf(network: string, nowMs: number): AddressFailures | undefined {
    const address = this.#addresses.get(network)
    if (address === undefined) return undefined
    const { addressRate, addressBurst } = this.#settings
    const passedMs = nowMs - address.atMs
    const recovered = (passedMs * addressRate) / 1_000
    address.left = Math.min(addressBurst, address.left + recovered)
    address.firstLeft = Math.min(addressBurst, address.firstLeft + recovered)
    address.atMs = nowMs
    // The names of this address are kept longer than the recovery of its rate.
    const isRecovered = address.left === addressBurst && address.firstLeft === addressBurst
    const isForgotten = isRecovered && passedMs >= failuresForgottenAfterMs
    if (isForgotten) this.#addresses.delete(network)
    return isForgotten ? undefined : address
  }

  #nameOf(login: Login, nowMs: number): NameFailures | undefined {
    if (login.name === undefined || this.#names.size === 0) return undefined
    const key = nameKey(login)
    const failures = this.#names.get(key)
    if (failures === undefined || nowMs - failures.lastAtMs < failuresForgottenAfterMs) return failures
    this.#names.delete(key)
    return undefined
  }

  #stepMs({ count }: NameFailures): number {
    const { freeAttempts, firstDelayMs, maxDelayMs } = this.#settings
    return count < freeAttempts ? 0 : Math.min(firstDelayMs * 2 ** (count - freeAttempts), maxDelayMs)
  }
}

const noBytes = new Uint8Array(0)

/** A login whose name is not known yet (SCRAM) may repeat a name. */
function isFirst({ name }: Login, failures: NameFailures | undefined): boolean {
  return name !== undefined && failures === undefined
}

/** Names may be long, so digests are stored. */
function nameKey({ address, namespace = '', name = '' }: Login): string {
  return `${networkOf(address)} ${hash('sha256', `${namespace}\0${name}`, 'base64')}`
}

/** Stores the value as the newest entry of the map. Beyond the maximum, the oldest entry is dropped. */
function remember<T>(map: Map<string, T>, key: string, value: T, maxEntries: number): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= maxEntries) return
  const oldest = map.keys().next().value
  if (oldest !== undefined) map.delete(oldest)
}
