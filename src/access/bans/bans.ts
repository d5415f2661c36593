// Everything that keeps a client out whatever it shows: bans that are stored, and those of clients that flap, which are
// kept in memory and forgotten at a restart. A ban of a namespace keeps out of that one; one of none, out of all.

import {
  type AccessRecord,
  type AccessRecordKey,
  type BanRecord,
  type Connection,
  namespacedName,
  splitNamespacedName,
} from '../../core/index.ts'
import { BanBook, hasRunOut, type BanSubject } from './ban-book.ts'
import { FlappingDetector, type FlappingSettings } from './flapping-detector.ts'

/** Clients kept out for flapping at one time; beyond them the one that is kept out longest comes in again. */
const maxFlappers = 10_000

export class Bans {
  /** By namespace. */
  readonly #stored = new Map<string | undefined, BanBook>()
  /** By the name of the session. */
  readonly #flappers = new Map<string, BanRecord>()
  readonly #detector: FlappingDetector
  /** Who came in by which connection, as long as somebody wants to know. */
  readonly #entered = new WeakMap<Connection, string>()

  constructor(settings: FlappingSettings) {
    this.#detector = new FlappingDetector(settings)
  }

  /** Bans in force end with the detector that made them. */
  changeSettings(settings: FlappingSettings): void {
    this.#detector.changeSettings(settings)
    if (!settings.isEnabled) this.#flappers.clear()
  }

  /** Whether any of it is a ban. */
  applyRecords(change: {
    readonly put: readonly AccessRecord[]
    readonly delete: readonly AccessRecordKey[]
  }): boolean {
    let hasChanged = false
    for (const key of change.delete) {
      if (key.kind !== 'ban') continue
      this.#stored.get(key.namespace)?.delete(key)
      // Who is let in by hand is let in.
      if (key.as === 'clientid') this.#flappers.delete(namespacedName(key.namespace, key.who))
      hasChanged = true
    }
    for (const record of change.put) {
      if (record.kind !== 'ban') continue
      this.#bookOf(record.namespace).put(record)
      hasChanged = true
    }
    return hasChanged
  }

  /** The ban that keeps this client out; undefined: none does. */
  find(subject: BanSubject, nowMs: number): BanRecord | undefined {
    const { namespace, clientId } = subject
    const session = namespacedName(namespace, clientId)
    const flapper = this.#flappers.get(session)
    if (flapper !== undefined) {
      if (!hasRunOut(flapper, nowMs)) return flapper
      this.#flappers.delete(session)
    }
    const own = namespace === undefined ? undefined : this.#stored.get(namespace)?.find(subject, nowMs)
    return own ?? this.#stored.get(undefined)?.find(subject, nowMs)
  }

  /** Clients of a namespace, or of none, that are kept out for flapping; the oldest ban first. */
  flapping(namespace: string | undefined, nowMs: number): BanRecord[] {
    return [...this.#flappers.values()].filter((ban) => ban.namespace === namespace && !hasRunOut(ban, nowMs))
  }

  #bookOf(namespace: string | undefined): BanBook {
    const book = this.#stored.get(namespace) ?? new BanBook()
    this.#stored.set(namespace, book)
    return book
  }

  /** This client has been let in. */
  noteEntered(connection: Connection, { namespace, clientId }: Pick<BanSubject, 'namespace' | 'clientId'>): void {
    if (this.#detector.isEnabled) this.#entered.set(connection, namespacedName(namespace, clientId))
  }

  /** The connection has ended. A ban, if that was once too often. */
  noteGone(connection: Connection, nowMs: number): BanRecord | undefined {
    const session = this.#entered.get(connection)
    if (session === undefined) return undefined
    this.#entered.delete(connection)
    const untilMs = this.#detector.noteGone(session, nowMs)
    if (untilMs === undefined) return undefined
    const { namespace, name: clientId } = splitNamespacedName(session)
    const ban: BanRecord = {
      kind: 'ban',
      namespace,
      as: 'clientid',
      who: clientId,
      reason: 'it came and went too often',
      by: 'flapping detector',
      atMs: nowMs,
      untilMs,
    }
    this.#flappers.set(session, ban)
    for (const oldest of this.#flappers.keys()) {
      if (this.#flappers.size <= maxFlappers) break
      this.#flappers.delete(oldest)
    }
    return ban
  }
}
