// Slows password guesses. A login is delayed before its password is checked, so that the time tells nothing, and only on its own
// connection.
//
//   per address and user name   5 failed logins: no delay; then 200 ms, 400 ms ... 5 s, one login after the other
//   per address                 200 failed logins, then 20 per second; further logins are refused without a check
//
// The first failed login of each user name at an address, and all further ones, are limited separately. So clients that repeat wrong passwords
// do not keep the first right login of another user from being checked, for example behind one proxy after a restart.
//
// All shards of a node count together: see login-table.ts.
//
// A client cannot lock another one out: failures of one address do not count for others, and a client that logged in from the same address
// with the same password within a day is not delayed. A client without failed logins at its address costs one hash, when it succeeds.

import { type FailedLoginConfig, toNetwork } from '../../config/index.ts'
import { LoginTable } from './login-table.ts'
import type { Digest } from './shared-digest-map.ts'

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
  readonly firstLeft: number
  /** The same of names with failed logins. */
  readonly left: number
}

interface NameFailures {
  readonly count: number
  readonly lastAtMs: number
  /** When the last of the delayed logins is due. */
  readonly dueAtMs: number
}

interface LoginKeys {
  readonly addressKey: Digest
  readonly nameKey: Digest | undefined
  readonly loginKey: Digest
}

const failuresForgottenAfterMs = 900_000
const knownForMs = 86_400_000

const atOnce: LoginDecision = { isRefused: false, afterMs: 0 }

export class LoginThrottle {
  #settings: FailedLoginConfig
  readonly #table: LoginTable

  constructor(settings: FailedLoginConfig, table = new LoginTable()) {
    this.#settings = settings
    this.#table = table
  }

  changeSettings(settings: FailedLoginConfig): void {
    this.#settings = settings
  }

  /** Number of addresses, names and logins in memory. */
  get size(): number {
    const { addresses, names, known } = this.#table
    return addresses.size + names.size + known.size
  }

  /** Called before the password is checked. */
  begin(login: Login, nowMs: number): LoginDecision {
    // Without the lock: a failure of another shard that is being recorded counts for the next login.
    if (!this.#settings.isEnabled || this.#table.addresses.size === 0) return atOnce
    const keys = {
      addressKey: this.#toAddressKey(login),
      nameKey: this.#toNameKey(login),
      loginKey: this.#toLoginKey(login),
    }
    return this.#table.runExclusively(() => this.#decide(login, keys, nowMs))
  }

  #decide(login: Login, { addressKey, nameKey, loginKey }: LoginKeys, nowMs: number): LoginDecision {
    const { maxDelayMs } = this.#settings
    const address = this.#findAddress(addressKey, nowMs)
    if (address === undefined || this.#isKnown(loginKey, nowMs)) return atOnce
    const failures = this.#findName(nameKey, nowMs)
    const left = isFirst(login, failures) ? address.firstLeft : address.left
    if (left < 1) return { isRefused: true, afterMs: maxDelayMs }
    const stepMs = failures === undefined ? 0 : this.#computeDelayMs(failures)
    if (nameKey === undefined || failures === undefined || stepMs === 0) return atOnce
    const dueAtMs = Math.max(failures.dueAtMs, nowMs) + stepMs
    if (dueAtMs - nowMs > maxDelayMs) return { isRefused: true, afterMs: maxDelayMs }
    this.#table.names.set(nameKey, [failures.count, failures.lastAtMs, dueAtMs])
    return { isRefused: false, afterMs: dueAtMs - nowMs }
  }

  recordFailedLogin(login: Login, nowMs: number): void {
    if (!this.#settings.isEnabled) return
    const keys = { addressKey: this.#toAddressKey(login), nameKey: this.#toNameKey(login) }
    this.#table.runExclusively(() => this.#recordFailure(login, keys, nowMs))
  }

  #recordFailure(login: Login, { addressKey, nameKey }: Omit<LoginKeys, 'loginKey'>, nowMs: number): void {
    const { addressBurst } = this.#settings
    const { firstLeft, left } = this.#findAddress(addressKey, nowMs) ?? { firstLeft: addressBurst, left: addressBurst }
    const known = this.#findName(nameKey, nowMs)
    const failures = isFirst(login, known)
      ? [Math.max(0, firstLeft - 1), left, nowMs]
      : [firstLeft, Math.max(0, left - 1), nowMs]
    this.#table.addresses.set(addressKey, failures)
    if (nameKey === undefined) return
    const { count, dueAtMs } = known ?? { count: 0, dueAtMs: nowMs }
    this.#table.names.set(nameKey, [count + 1, nowMs, dueAtMs])
  }

  recordSuccessfulLogin(login: Login, nowMs: number): void {
    if (!this.#settings.isEnabled) return
    const nameKey = this.#table.names.size === 0 ? undefined : this.#toNameKey(login)
    const loginKey = this.#toLoginKey(login)
    this.#table.runExclusively(() => {
      const { names, known } = this.#table
      // Repeated logins of a known client must not give new free attempts to an attacker.
      const failures = nameKey === undefined || this.#isKnown(loginKey, nowMs) ? undefined : names.find(nameKey)
      if (failures !== undefined) names.delete(failures)
      known.set(loginKey, [nowMs])
    })
  }

  #isKnown(key: Digest, nowMs: number): boolean {
    const { known } = this.#table
    const entry = known.find(key)
    return entry !== undefined && nowMs - known.readValue(entry, 0) < knownForMs
  }

  /** Returns the failures of an address, reduced by the recovery since the last failure. */
  #findAddress(key: Digest, nowMs: number): AddressFailures | undefined {
    const { addresses } = this.#table
    const entry = addresses.find(key)
    if (entry === undefined) return undefined
    const { addressRate, addressBurst } = this.#settings
    // The clocks of shards differ by some milliseconds.
    const passedMs = Math.max(0, nowMs - addresses.readValue(entry, 2))
    const recovered = (passedMs * addressRate) / 1_000
    const firstLeft = Math.min(addressBurst, addresses.readValue(entry, 0) + recovered)
    const left = Math.min(addressBurst, addresses.readValue(entry, 1) + recovered)
    // The names of this address are kept longer than the recovery of its rate.
    const isForgotten = left === addressBurst && firstLeft === addressBurst && passedMs >= failuresForgottenAfterMs
    if (isForgotten) addresses.delete(entry)
    return isForgotten ? undefined : { firstLeft, left }
  }

  #findName(key: Digest | undefined, nowMs: number): NameFailures | undefined {
    const { names } = this.#table
    const entry = key && names.find(key)
    if (entry === undefined) return undefined
    const [count, lastAtMs, dueAtMs] = [names.readValue(entry, 0), names.readValue(entry, 1), names.readValue(entry, 2)]
    if (nowMs - lastAtMs < failuresForgottenAfterMs) return { count, lastAtMs, dueAtMs }
    names.delete(entry)
    return undefined
  }

  #computeDelayMs({ count }: NameFailures): number {
    const { freeAttempts, firstDelayMs, maxDelayMs } = this.#settings
    return count < freeAttempts ? 0 : Math.min(firstDelayMs * 2 ** (count - freeAttempts), maxDelayMs)
  }

  #toAddressKey({ address }: Login): Digest {
    return this.#table.digest('address', toNetwork(address))
  }

  #toNameKey({ address, namespace = '', name }: Login): Digest | undefined {
    return name === undefined ? undefined : this.#table.digest('name', toNetwork(address), namespace, name)
  }

  #toLoginKey({ address, namespace = '', name = '', secret = noBytes }: Login): Digest {
    return this.#table.digest('login', toNetwork(address), namespace, name, secret)
  }
}

const noBytes = new Uint8Array(0)

/** A login whose name is not known yet (SCRAM) may repeat a name. */
function isFirst({ name }: Login, failures: NameFailures | undefined): boolean {
  return name !== undefined && failures === undefined
}
