// All bans: stored ones, and those of flapping clients, which are in memory until a restart. A ban of a namespace
// applies to its clients; one without a namespace applies to all.

import type { FlappingConfig } from '../../config/index.ts'
import { type Connection, toNamespacedName } from '../../core/index.ts'
import type { AccessRecord, AccessRecordKey, BanRecord } from '../../records/index.ts'
import { BanList, hasExpired, type BanSubject } from './ban-list.ts'
import { FlappingDetector } from './flapping-detector.ts'

/** Maximum clients banned for flapping; beyond it the oldest of these bans ends. */
const maxFlappers = 10_000

export class Bans {
  /** By namespace. */
  readonly #stored = new Map<string | undefined, BanList>()
  /**
   * By session, user name and address: a client that connects with another's client ID cannot cause a ban of the other.
   */
  readonly #flappers = new Map<string, BanRecord>()
  readonly #detector: FlappingDetector
  /** Connected clients, by connection, while flapping is detected. */
  readonly #connections = new WeakMap<Connection, BanSubject>()

  constructor(settings: FlappingConfig) {
    this.#detector = new FlappingDetector(settings)
  }

  /** Flapping bans end with their detector. */
  changeSettings(settings: FlappingConfig): void {
    this.#detector.changeSettings(settings)
    if (!settings.isEnabled) this.#flappers.clear()
  }

  /** Returns whether any of the records is a ban. */
  applyRecords(change: {
    readonly put: readonly AccessRecord[]
    readonly delete: readonly AccessRecordKey[]
  }): boolean {
    let hasChanged = false
    for (const key of change.delete) {
      if (key.kind !== 'ban') continue
      this.#stored.get(key.namespace)?.delete(key)
      // Deleting a ban also ends the flapping ban of the client.
      if (key.as === 'clientid') this.#releaseFlappers(toNamespacedName(key.namespace, key.who))
      hasChanged = true
    }
    for (const record of change.put) {
      if (record.kind !== 'ban') continue
      this.#ensureBanList(record.namespace).put(record)
      hasChanged = true
    }
    return hasChanged
  }

  /** Returns the ban of this client; undefined if there is none. */
  find(subject: BanSubject, nowMs: number): BanRecord | undefined {
    const { namespace } = subject
    const key = this.#flappers.size === 0 ? '' : toFlapperKey(subject)
    const flapper = this.#flappers.get(key)
    if (flapper !== undefined) {
      if (!hasExpired(flapper, nowMs)) return flapper
      this.#flappers.delete(key)
    }
    const own = namespace === undefined ? undefined : this.#stored.get(namespace)?.find(subject, nowMs)
    return own ?? this.#stored.get(undefined)?.find(subject, nowMs)
  }

  /** Returns the clients of a namespace, or of none, that are banned for flapping, oldest first. */
  listFlappingBans(namespace: string | undefined, nowMs: number): BanRecord[] {
    return [...this.#flappers.values()].filter((ban) => ban.namespace === namespace && !hasExpired(ban, nowMs))
  }

  #ensureBanList(namespace: string | undefined): BanList {
    const list = this.#stored.get(namespace) ?? new BanList()
    this.#stored.set(namespace, list)
    return list
  }

  #releaseFlappers(session: string): void {
    for (const key of this.#flappers.keys()) if (key.startsWith(`${session}${keySeparator}`)) this.#flappers.delete(key)
  }

  /** The client was accepted. */
  recordConnect(connection: Connection, { namespace, clientId, username, peerAddress }: BanSubject): void {
    if (this.#detector.isEnabled) this.#connections.set(connection, { namespace, clientId, username, peerAddress })
  }

  /** The connection has ended. Returns a ban if that happened too often. */
  recordDisconnect(connection: Connection, nowMs: number): BanRecord | undefined {
    const subject = this.#connections.get(connection)
    if (subject === undefined) return undefined
    this.#connections.delete(connection)
    if (connection.wasDisplaced) return undefined
    const key = toFlapperKey(subject)
    const untilMs = this.#detector.recordDisconnect(key, nowMs)
    if (untilMs === undefined) return undefined
    const { namespace, clientId, username, peerAddress } = subject
    // Other users and addresses with this client ID are not banned, and lists show the client ID only.
    const user = username === undefined ? 'without a user name' : `as user ${JSON.stringify(username)}`
    const ban: BanRecord = {
      kind: 'ban',
      namespace,
      as: 'clientid',
      who: clientId,
      reason: `it connected and disconnected too often ${user} from ${peerAddress}`,
      by: 'flapping detector',
      atMs: nowMs,
      untilMs,
    }
    this.#flappers.set(key, ban)
    for (const oldest of this.#flappers.keys()) {
      if (this.#flappers.size <= maxFlappers) break
      this.#flappers.delete(oldest)
    }
    return ban
  }
}

/** Client IDs and user names do not contain U+0000, and namespaced names contain one. */
const keySeparator = '\0\0'

function toFlapperKey({ namespace, clientId, username, peerAddress }: BanSubject): string {
  return [toNamespacedName(namespace, clientId), username ?? '', peerAddress].join(keySeparator)
}
