// From a stream that is open to a remote broker that has let the bridge in:
//
//   bridge                remote broker
//     | CONNECT -----------> |
//     | <---------- CONNACK  |
//     | <-- PUBLISH, a name  |     a Godwit, before 5.0: the bridge comes again with 5.0
//     | PINGREQ -----------> |     only before 5.0: what would have come behind CONNACK stands before the answer
//     | <--------- PINGRESP  |     or nothing for `listeningMs`: whoever is no Godwit may leave a ping without its answer
//
// What becomes of it is a step that the bridge takes. Where a connection was made to learn something, or to have the remote broker
// forget the bridge, the next one is made at once, to the same server.

import type { ConnackPacket, DisconnectPacket, Packet, ProtocolVersion } from '../protocol/index.ts'
import { connectThere, goodbye, isUnknownVersion, wordsOfReason } from './connect-remote.ts'
import type { Dialect, Dialects } from './version-negotiation.ts'
import { nameIn, tellsName } from './loop-marker.ts'
import type { PacketLink } from './packet-link.ts'
import type { BridgeSettings } from './settings.ts'
import type { BridgeEvent } from './status.ts'
import type { LocalBroker } from './world.ts'

/** A Godwit says its name before it answers a ping: who is silent for so long tells none. */
export const listeningMs = 2_000

export type Step =
  | { readonly step: 'wait' }
  /** `early`: what has come behind CONNACK already, and is to be heard first. */
  | { readonly step: 'join'; readonly connack: ConnackPacket; readonly early: Packet | undefined }
  /** Leave, and dial the same server after `pauseMs`. `isCleared`: it has forgotten the bridge, and told no name. */
  | {
      readonly step: 'again'
      readonly farewell: DisconnectPacket | undefined
      readonly isCleared: boolean
      readonly pauseMs: number
    }
  | { readonly step: 'fail'; readonly why: string }
  | { readonly step: 'breach'; readonly text: string }

export interface GreetingParts {
  readonly link: PacketLink
  readonly server: string
  /** As they are for this connection: with the version that it speaks. */
  readonly settings: BridgeSettings
  readonly dialect: Dialect
  readonly dialects: Dialects
  readonly broker: LocalBroker
  /** The two hold the two ends of the same messages. */
  readonly isJoined: boolean
  /** See `Step`. */
  readonly isCleared: boolean
  tell(event: BridgeEvent): void
}

export class Greeting {
  readonly #parts: GreetingParts
  /** Before 5.0 a clean session ends with its connection: one is made for that alone, and then the one that is kept. */
  readonly #clears: boolean
  readonly #cleanStart: boolean
  /** It has let the bridge in, and is being listened to for its name. */
  connack: ConnackPacket | undefined

  constructor(parts: GreetingParts) {
    this.#parts = parts
    const { settings, isJoined, isCleared } = parts
    const isUnknown = !isJoined && !isCleared
    this.#clears = isUnknown && settings.version !== 5 && !settings.cleanStart
    this.#cleanStart = settings.cleanStart || isUnknown
  }

  begin(): void {
    const { link, settings, broker, dialect } = this.#parts
    link.send(connectThere(settings, broker, { cleanStart: this.#cleanStart, saysBridge: dialect.saysBridge }))
  }

  take(packet: Packet): Step {
    if (this.connack !== undefined) return this.#takeFirst(this.connack, packet)
    if (packet.type === 'connack') return this.#takeConnack(packet)
    return { step: 'breach', text: `${packet.type} before connack` }
  }

  /** The remote broker has closed the connection. */
  close(): Step | undefined {
    const { dialect, dialects, server } = this.#parts
    const isAnswer = this.connack === undefined && dialect.saysBridge
    return isAnswer && dialects.leaveBitOut(server, false) ? again() : undefined
  }

  #takeConnack(connack: ConnackPacket): Step {
    const { dialect, dialects, server, isJoined, isCleared, link } = this.#parts
    if (dialect.saysBridge && isUnknownVersion(connack, dialect.version) && dialects.leaveBitOut(server, true))
      return again()
    if (connack.reasonCode !== 0) {
      const words = wordsOfReason(connack.reasonCode, dialect.version, connack.properties?.reasonString)
      return { step: 'fail', why: `the remote broker refused the bridge: ${words}` }
    }
    const isAsConfigured = dialect.language === 'as configured'
    if (!isAsConfigured && nameIn(connack) === undefined) return this.#fallBack()
    if (connack.sessionPresent && (this.#cleanStart || !isJoined))
      return { step: 'breach', text: 'a session that was to be forgotten is there' }
    if (!isAsConfigured) dialects.noteKept(server)
    else if (dialects.noteLetIn(server)) return again(dialect.version)
    if (dialect.lacksBit) this.#warnOfEchoes()
    if (!dialect.saysBridge || isCleared) return this.#letIn(connack, undefined)
    this.connack = connack
    link.send({ type: 'pingreq' })
    return { step: 'wait' }
  }

  /** Nothing has come behind CONNACK for `listeningMs`. Undefined: it has not let the bridge in yet. */
  endListening(): Step | undefined {
    return this.connack === undefined ? undefined : this.#letIn(this.connack, undefined)
  }

  /** What comes first behind CONNACK. */
  #takeFirst(connack: ConnackPacket, packet: Packet): Step {
    if (!tellsName(packet)) return this.#letIn(connack, packet)
    const { dialect, dialects, server } = this.#parts
    if (!dialects.noteName(server)) return this.#letIn(connack, undefined)
    this.#notice(`the remote broker is a Godwit: MQTT 5.0 is spoken with ${server}`)
    return again(dialect.version)
  }

  #letIn(connack: ConnackPacket, early: Packet | undefined): Step {
    const { dialect, settings } = this.#parts
    if (this.#clears) return { ...again(dialect.version), isCleared: true, pauseMs: settings.connectPauseMs }
    return { step: 'join', connack, early }
  }

  /** It speaks 5.0 and has no name. The operator may have had a reason to say another version. */
  #fallBack(): Step {
    const { dialect, dialects, server, link } = this.#parts
    if (dialect.language === 'tries 5.0') {
      link.end(goodbye(5, {}))
      return { step: 'fail', why: 'the remote broker told a name as Godwits do before MQTT 5.0, and none with it' }
    }
    dialects.noteFailure(server, true)
    this.#notice(`the remote broker is no Godwit any more: MQTT is spoken as configured with ${server}`)
    return again(5)
  }

  #warnOfEchoes(): void {
    const { dialects, server, settings } = this.#parts
    const isHarmless = settings.forwards.length === 0 || settings.subscriptions.length === 0
    if (isHarmless || !dialects.isNews(server)) return
    const text =
      'the remote broker cannot be asked not to send back what the bridge sent: rules both ways must not meet'
    this.#parts.tell({ event: 'warning', text })
  }

  #notice(text: string): void {
    this.#parts.tell({ event: 'notice', text })
  }
}

/** `version`: in which a last word is said. */
function again(version?: ProtocolVersion): Extract<Step, { step: 'again' }> {
  return {
    step: 'again',
    farewell: version === undefined ? undefined : goodbye(version, {}),
    isCleared: false,
    pauseMs: 0,
  }
}
