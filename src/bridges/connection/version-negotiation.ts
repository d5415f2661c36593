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
// Before 5.0, the bridge sends the bridge bit in CONNECT. Then the remote broker does not send the bridge its own messages, and a
// remote Godwit broker sends its name. Some brokers do not know this bit, and refuse or close the connection:
//
//   sent --refused as unknown------------------------------------------------------> omitted
//   sent --closed at once--> omitted once --accepted--> sent again --closed---------> omitted
//     ^                            |                          |
//     '---closed as well-----------'--------------------------'---accepted: the cause was another

import type { ProtocolVersion } from '../../protocol/index.ts'
import { shouldSendBridgeBit, type BridgeSettings } from '../model/bridge-settings.ts'

/** The version for a server, and whether CONNECT has the bridge bit. */
export interface NegotiatedVersion {
  readonly version: ProtocolVersion
  readonly sendsBridgeBit: boolean
  readonly versionChoice: VersionChoice
  /** The bridge bit is intended, but the server does not accept it. */
  readonly lacksBit: boolean
}

/** The last two: 5.0 is used instead of the configured version. */
export type VersionChoice = 'as configured' | 'tries 5.0' | '5.0'

interface ServerVersionState {
  versionChoice: VersionChoice
  /** Consecutive failed attempts with 5.0. */
  failedTries: number
  bit: 'sent' | 'omitted once' | 'sent again' | 'omitted'
  /** The effect of the missing bridge bit was reported. */
  isWarnedOf: boolean
}

const maxFailedTries = 5

export class VersionNegotiation {
  readonly #servers = new Map<string, ServerVersionState>()

  negotiate(server: string, settings: BridgeSettings): NegotiatedVersion {
    const { versionChoice, bit } = this.#ensureState(server)
    const isAsConfigured = versionChoice === 'as configured'
    const isForBridges = isAsConfigured && shouldSendBridgeBit(settings)
    const isSent = bit === 'sent' || bit === 'sent again'
    return {
      version: isAsConfigured ? settings.version : 5,
      versionChoice,
      sendsBridgeBit: isForBridges && isSent,
      lacksBit: isForBridges && !isSent,
    }
  }

  /** Records that the broker is Godwit. Returns true if the bridge must try 5.0. */
  recordGodwit(server: string): boolean {
    const state = this.#ensureState(server)
    if (state.failedTries >= maxFailedTries) return false
    state.versionChoice = 'tries 5.0'
    return true
  }

  /** Records that the broker is Godwit and has accepted 5.0 instead of the configured version. */
  recordUpgrade(server: string): void {
    const state = this.#ensureState(server)
    state.versionChoice = '5.0'
    state.failedTries = 0
  }

  /** The remote broker does not accept the bit, or seems not to; `isExplicit`: it reported that. Returns true if the next attempt must be without the bit. */
  omitBit(server: string, isExplicit: boolean): boolean {
    const state = this.#ensureState(server)
    if (state.bit !== 'sent' && state.bit !== 'sent again') return false
    state.bit = isExplicit || state.bit === 'sent again' ? 'omitted' : 'omitted once'
    return true
  }

  /** Records that the broker accepts the configured version. Returns true if the bridge must try again with the bit. */
  recordAccepted(server: string): boolean {
    const state = this.#ensureState(server)
    if (state.bit === 'sent again') state.bit = 'sent'
    if (state.bit !== 'omitted once') return false
    state.bit = 'sent again'
    return true
  }

  /** Returns true if the missing bridge bit was not reported yet. */
  isFirstWarning(server: string): boolean {
    const state = this.#ensureState(server)
    const isFirstWarning = !state.isWarnedOf
    state.isWarnedOf = true
    return isFirstWarning
  }

  /** An attempt or a connection failed. `wasThere`: it received CONNECT and did not accept the bridge. */
  recordFailure(server: string, wasThere: boolean): void {
    const state = this.#ensureState(server)
    if (state.bit !== 'omitted') state.bit = 'sent'
    if (!wasThere) return
    if (state.versionChoice === 'tries 5.0') state.failedTries++
    state.versionChoice = 'as configured'
  }

  /** A connection was stable: what it refused before may be tried again. */
  recordStable(server: string): void {
    const state = this.#ensureState(server)
    state.failedTries = 0
    state.bit = 'sent'
    state.isWarnedOf = false
  }

  #ensureState(server: string): ServerVersionState {
    const known = this.#servers.get(server)
    if (known !== undefined) return known
    const state: ServerVersionState = { versionChoice: 'as configured', failedTries: 0, bit: 'sent', isWarnedOf: false }
    this.#servers.set(server, state)
    return state
  }
}
