// The MQTT version and options for each server: the configured ones, and what was learned since.
//
//   as configured --it sends its name--> tries 5.0 --CONNACK with a name--> 5.0
//         ^                                 |                               |
//         '---------anything else-----------'-------CONNACK without---------'
//
// If the remote broker is Godwit, 5.0 is used whatever is configured, because loop markers require it. A broker that announces this and
// fails to accept 5.0 is tried five times, with increasing pauses, and again only after a stable connection: a Godwit broker that fails
// meanwhile does not do so five times in a row.
//
// Before 5.0 the bridge declares itself in CONNECT, so that it does not receive its own messages, and Godwit sends its name. Some brokers
// do not know this bit, and refuse or close the connection:
//
//   set --refused as unknown---------------------------------------------------> not set
//   set --closed at once--> not set once --accepted--> set again --closed------> not set
//     ^                            |                        |
//     '---closed as well-----------'------------------------'---accepted: the cause was another

import type { ProtocolVersion } from '../protocol/index.ts'
import { saysBridge, type BridgeSettings } from './settings.ts'

/** The version for a server, and whether the bridge declares itself. */
export interface NegotiatedVersion {
  readonly version: ProtocolVersion
  readonly saysBridge: boolean
  readonly language: Language
  /** The declaration is intended, but the server does not accept it. */
  readonly lacksBit: boolean
}

/** The last two: 5.0 is used instead of the configured version. */
export type Language = 'as configured' | 'tries 5.0' | '5.0'

interface ServerVersionState {
  language: Language
  /** Consecutive failed attempts with 5.0. */
  failedTries: number
  bit: 'said' | 'left out once' | 'said again' | 'left out'
  /** The effect of the missing declaration was reported. */
  isWarnedOf: boolean
}

const maxFailedTries = 5

export class VersionNegotiation {
  readonly #servers = new Map<string, ServerVersionState>()

  with(server: string, settings: BridgeSettings): NegotiatedVersion {
    const { language, bit } = this.#of(server)
    const isAsConfigured = language === 'as configured'
    const isForBridges = isAsConfigured && saysBridge(settings)
    const isSent = bit === 'said' || bit === 'said again'
    return {
      version: isAsConfigured ? settings.version : 5,
      language,
      saysBridge: isForBridges && isSent,
      lacksBit: isForBridges && !isSent,
    }
  }

  /** Records that the broker is Godwit. Returns true if the bridge must try 5.0. */
  recordGodwit(server: string): boolean {
    const servers = this.#of(server)
    if (servers.failedTries >= maxFailedTries) return false
    servers.language = 'tries 5.0'
    return true
  }

  /** Records that the broker is Godwit and has accepted 5.0 instead of the configured version. */
  recordUpgrade(server: string): void {
    const servers = this.#of(server)
    servers.language = '5.0'
    servers.failedTries = 0
  }

  /** The remote broker does not accept the bit, or seems not to; `isExplicit`: it reported that. Returns true if the next attempt must be without the bit. */
  leaveBitOut(server: string, isExplicit: boolean): boolean {
    const servers = this.#of(server)
    if (servers.bit !== 'said' && servers.bit !== 'said again') return false
    servers.bit = isExplicit || servers.bit === 'said again' ? 'left out' : 'left out once'
    return true
  }

  /** Records that the broker accepts the configured version. Returns true if the bridge must try again with the bit. */
  recordAccepted(server: string): boolean {
    const servers = this.#of(server)
    if (servers.bit === 'said again') servers.bit = 'said'
    if (servers.bit !== 'left out once') return false
    servers.bit = 'said again'
    return true
  }

  /** Returns true if the missing declaration was not reported yet. */
  isFirstWarning(server: string): boolean {
    const servers = this.#of(server)
    const isFirstWarning = !servers.isWarnedOf
    servers.isWarnedOf = true
    return isFirstWarning
  }

  /** An attempt or a connection failed. `wasThere`: it received CONNECT and did not accept the bridge. */
  recordFailure(server: string, wasThere: boolean): void {
    const servers = this.#of(server)
    if (servers.bit !== 'left out') servers.bit = 'said'
    if (!wasThere) return
    if (servers.language === 'tries 5.0') servers.failedTries++
    servers.language = 'as configured'
  }

  /** A connection was stable: what it refused before may be tried again. */
  recordStable(server: string): void {
    const servers = this.#of(server)
    servers.failedTries = 0
    servers.bit = 'said'
    servers.isWarnedOf = false
  }

  #of(server: string): ServerVersionState {
    const known = this.#servers.get(server)
    if (known !== undefined) return known
    const servers: ServerVersionState = { language: 'as configured', failedTries: 0, bit: 'said', isWarnedOf: false }
    this.#servers.set(server, servers)
    return servers
  }
}
