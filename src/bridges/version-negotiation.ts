// How each server is spoken to: what the settings say, and what has been learnt of it since they hold.
//
//   as configured --it tells its name--> tries 5.0 --CONNACK with a name--> 5.0
//         ^                                 |                               |
//         '---------anything else-----------'-------CONNACK without---------'
//
// Where the remote broker is a Godwit 5.0 is spoken, whatever is configured: only there is room for the marks by which
// messages that go round are found out. Who promises this and does not keep it is taken at its word five times, with growing
// pauses, and again only after a connection that lasted: a Godwit that dies in between does not do so five times in a row.
//
// Before 5.0 the bridge says in CONNECT that it is one, so that what it sent does not come back, and a Godwit tells its
// name. Some brokers do not know the bit for that, and say so with CONNACK, or just close:
//
//   said --refused as unknown--------------------------------------------------> left out
//   said --closed, at once--> left out once --let in--> said again --closed--> left out
//     ^                            |                        |
//     '---closed as well-----------'------------------------'---let in: something else had closed it

import type { ProtocolVersion } from '../protocol/index.ts'
import { saysBridge, type BridgeSettings } from './settings.ts'

/** What a server is spoken to in, and whether it is told that we are a bridge. */
export interface NegotiatedVersion {
  readonly version: ProtocolVersion
  readonly saysBridge: boolean
  readonly language: Language
  /** It would be told that we are a bridge, and does not bear it. */
  readonly lacksBit: boolean
}

/** The last two: 5.0 is spoken in place of what is configured. */
export type Language = 'as configured' | 'tries 5.0' | '5.0'

interface ServerVersionState {
  language: Language
  /** Tries of 5.0 that came to nothing, one after the other. */
  failedTries: number
  bit: 'said' | 'left out once' | 'said again' | 'left out'
  /** What it means that the bit is left out has been told. */
  isWarnedOf: boolean
}

const maxFailedTries = 5

export class VersionNegotiation {
  readonly #servers = new Map<string, ServerVersionState>()

  with(server: string, settings: BridgeSettings): NegotiatedVersion {
    const { language, bit } = this.#of(server)
    const isAsConfigured = language === 'as configured'
    const isForBridges = isAsConfigured && saysBridge(settings)
    const isSaid = bit === 'said' || bit === 'said again'
    return {
      version: isAsConfigured ? settings.version : 5,
      language,
      saysBridge: isForBridges && isSaid,
      lacksBit: isForBridges && !isSaid,
    }
  }

  /** It says that it is a Godwit. True: it is to be asked in 5.0. */
  recordGodwit(server: string): boolean {
    const servers = this.#of(server)
    if (servers.failedTries >= maxFailedTries) return false
    servers.language = 'tries 5.0'
    return true
  }

  /** It has let in the bridge, which spoke 5.0 in place of what is configured, and is a Godwit. */
  recordUpgrade(server: string): void {
    const servers = this.#of(server)
    servers.language = '5.0'
    servers.failedTries = 0
  }

  /** It does not take the bit, or so it seems: `isSaid`: it has said so. True: it is to be asked without. */
  leaveBitOut(server: string, isSaid: boolean): boolean {
    const servers = this.#of(server)
    if (servers.bit !== 'said' && servers.bit !== 'said again') return false
    servers.bit = isSaid || servers.bit === 'said again' ? 'left out' : 'left out once'
    return true
  }

  /** It lets in the bridge, which spoke as configured. True: it is to be asked once more, with the bit. */
  recordAccepted(server: string): boolean {
    const servers = this.#of(server)
    if (servers.bit === 'said again') servers.bit = 'said'
    if (servers.bit !== 'left out once') return false
    servers.bit = 'said again'
    return true
  }

  /** True: nobody has been told yet that it has the bit left out. */
  isFirstWarning(server: string): boolean {
    const servers = this.#of(server)
    const isFirstWarning = !servers.isWarnedOf
    servers.isWarnedOf = true
    return isFirstWarning
  }

  /** An attempt has failed, or a connection. `wasThere`: it has heard CONNECT, and has not let in the bridge. */
  recordFailure(server: string, wasThere: boolean): void {
    const servers = this.#of(server)
    if (servers.bit !== 'left out') servers.bit = 'said'
    if (!wasThere) return
    if (servers.language === 'tries 5.0') servers.failedTries++
    servers.language = 'as configured'
  }

  /** A connection with it has lasted: what it would not do before it may do at the next one. */
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
