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
export interface Dialect {
  readonly version: ProtocolVersion
  readonly saysBridge: boolean
  readonly language: Language
  /** It would be told that we are a bridge, and does not bear it. */
  readonly lacksBit: boolean
}

/** The last two: 5.0 is spoken in place of what is configured. */
export type Language = 'as configured' | 'tries 5.0' | '5.0'

interface Learnt {
  language: Language
  /** Tries of 5.0 that came to nothing, one after the other. */
  lostTries: number
  bit: 'said' | 'left out once' | 'said again' | 'left out'
  /** What it means that the bit is left out has been told. */
  isWarnedOf: boolean
}

const mostLostTries = 5

export class Dialects {
  readonly #learnt = new Map<string, Learnt>()

  with(server: string, settings: BridgeSettings): Dialect {
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
  noteName(server: string): boolean {
    const learnt = this.#of(server)
    if (learnt.lostTries >= mostLostTries) return false
    learnt.language = 'tries 5.0'
    return true
  }

  /** It has let in the bridge, which spoke 5.0 in place of what is configured, and is a Godwit. */
  noteKept(server: string): void {
    const learnt = this.#of(server)
    learnt.language = '5.0'
    learnt.lostTries = 0
  }

  /** It does not take the bit, or so it seems: `isSaid`: it has said so. True: it is to be asked without. */
  leaveBitOut(server: string, isSaid: boolean): boolean {
    const learnt = this.#of(server)
    if (learnt.bit !== 'said' && learnt.bit !== 'said again') return false
    learnt.bit = isSaid || learnt.bit === 'said again' ? 'left out' : 'left out once'
    return true
  }

  /** It lets in the bridge, which spoke as configured. True: it is to be asked once more, with the bit. */
  noteLetIn(server: string): boolean {
    const learnt = this.#of(server)
    if (learnt.bit === 'said again') learnt.bit = 'said'
    if (learnt.bit !== 'left out once') return false
    learnt.bit = 'said again'
    return true
  }

  /** True: nobody has been told yet that it has the bit left out. */
  isNews(server: string): boolean {
    const learnt = this.#of(server)
    const isNews = !learnt.isWarnedOf
    learnt.isWarnedOf = true
    return isNews
  }

  /** An attempt has failed, or a connection. `wasThere`: it has heard CONNECT, and has not let in the bridge. */
  noteFailure(server: string, wasThere: boolean): void {
    const learnt = this.#of(server)
    if (learnt.bit !== 'left out') learnt.bit = 'said'
    if (!wasThere) return
    if (learnt.language === 'tries 5.0') learnt.lostTries++
    learnt.language = 'as configured'
  }

  /** A connection with it has lasted: what it would not do before it may do at the next one. */
  noteSteady(server: string): void {
    const learnt = this.#of(server)
    learnt.lostTries = 0
    learnt.bit = 'said'
    learnt.isWarnedOf = false
  }

  #of(server: string): Learnt {
    const known = this.#learnt.get(server)
    if (known !== undefined) return known
    const learnt: Learnt = { language: 'as configured', lostTries: 0, bit: 'said', isWarnedOf: false }
    this.#learnt.set(server, learnt)
    return learnt
  }
}
