// The handshake from an open stream to a remote broker that has accepted the bridge:
//
//   bridge                remote broker
//     | CONNECT -----------> |
//     | <---------- CONNACK  |
//     | <-- PUBLISH, a name  |     from Godwit, before 5.0: the bridge reconnects with 5.0
//     | PINGREQ -----------> |     before 5.0 only: a name after CONNACK would precede the response
//     | <--------- PINGRESP  |     or no packet for `nameWaitMs`: other brokers may not respond to PINGREQ
//
// The result is a step that the bridge takes. If the connection only found the version, or only made the remote broker delete the session,
// the bridge reconnects at once to the same server.

import {
  describeReason,
  type ConnackPacket,
  type DisconnectPacket,
  type Packet,
  type ProtocolVersion,
} from '../../protocol/index.ts'
import { connectRemote, isUnknownVersion } from './connect-packets.ts'
import type { NegotiatedVersion, VersionNegotiation } from './version-negotiation.ts'
import { findBrokerName, isNameAnnouncement } from '../rules/loop-marker.ts'
import { createDisconnectPacket, type PacketLink } from '../../mqtt-client/index.ts'
import type { BridgeSettings } from '../model/bridge-settings.ts'
import type { BridgeEvent } from '../model/status.ts'
import type { LocalBroker } from '../model/bridge-dependencies.ts'

/** Godwit sends its name before it responds to PINGREQ: after this silence there is none. */
export const nameWaitMs = 2_000

export type Step =
  | { readonly step: 'wait' }
  /** `earlyPacket`: arrived after CONNACK, and must be handled first. */
  | { readonly step: 'join'; readonly connack: ConnackPacket; readonly earlyPacket: Packet | undefined }
  /** Disconnect, and dial the same server after `pauseMs`. `isCleared`: the remote broker deleted the session, and sent no name. */
  | {
      readonly step: 'reconnect'
      readonly disconnect: DisconnectPacket | undefined
      readonly isCleared: boolean
      readonly pauseMs: number
    }
  | { readonly step: 'fail'; readonly why: string }
  | { readonly step: 'protocol-error'; readonly text: string }

export interface HandshakeDependencies {
  readonly link: PacketLink
  readonly server: string
  /** Settings of this connection, with its MQTT version. */
  readonly settings: BridgeSettings
  readonly negotiated: NegotiatedVersion
  readonly versions: VersionNegotiation
  readonly broker: LocalBroker
  /** Both sessions refer to the same messages. */
  readonly isJoined: boolean
  /** See `Step`. */
  readonly isCleared: boolean
  emit(event: BridgeEvent): void
}

export class ConnectHandshake {
  readonly #dependencies: HandshakeDependencies
  /**
   * Before 5.0 a clean session ends with its connection: one connection clears the session, and the next one is
   * permanent.
   */
  readonly #clears: boolean
  readonly #cleanStart: boolean
  /** CONNACK with which the remote broker accepted the bridge. The bridge now waits for the name of the broker. */
  connack: ConnackPacket | undefined

  constructor(dependencies: HandshakeDependencies) {
    this.#dependencies = dependencies
    const { settings, isJoined, isCleared } = dependencies
    const isUnknown = !isJoined && !isCleared
    this.#clears = isUnknown && settings.version !== 5 && !settings.cleanStart
    this.#cleanStart = settings.cleanStart || isUnknown
  }

  begin(): void {
    const { link, settings, broker, negotiated } = this.#dependencies
    link.send(
      connectRemote(settings, broker, { cleanStart: this.#cleanStart, sendsBridgeBit: negotiated.sendsBridgeBit }),
    )
  }

  handleStep(packet: Packet): Step {
    if (this.connack !== undefined) return this.#handleFirstPacket(this.connack, packet)
    if (packet.type === 'connack') return this.#handleConnack(packet)
    return { step: 'protocol-error', text: `${packet.type} before connack` }
  }

  /** The remote broker has closed the connection. */
  close(): Step | undefined {
    const { negotiated, versions, server } = this.#dependencies
    const isRefusal = this.connack === undefined && negotiated.sendsBridgeBit
    return isRefusal && versions.omitBit(server, false) ? createRetryStep() : undefined
  }

  #handleConnack(connack: ConnackPacket): Step {
    const { negotiated, versions, server, isJoined, isCleared, link } = this.#dependencies
    if (negotiated.sendsBridgeBit && isUnknownVersion(connack, negotiated.version) && versions.omitBit(server, true))
      return createRetryStep()
    if (connack.reasonCode !== 0) {
      const words = describeReason(connack.reasonCode, negotiated.version, connack.properties?.reasonString)
      return { step: 'fail', why: `the remote broker refused the bridge: ${words}` }
    }
    const isAsConfigured = negotiated.versionChoice === 'as configured'
    if (!isAsConfigured && findBrokerName(connack) === undefined) return this.#retryConfiguredVersion()
    if (connack.sessionPresent && (this.#cleanStart || !isJoined))
      return { step: 'protocol-error', text: 'session present, although CONNECT requested a new session' }
    if (!isAsConfigured) versions.recordUpgrade(server)
    else if (versions.recordAccepted(server)) return createRetryStep(negotiated.version)
    if (negotiated.lacksBit) this.#warnOfEchoes()
    if (!negotiated.sendsBridgeBit || isCleared) return this.#accept(connack, undefined)
    this.connack = connack
    link.send({ type: 'pingreq' })
    return { step: 'wait' }
  }

  /** No packet arrived after CONNACK for `nameWaitMs`. Undefined: it has not accepted the bridge yet. */
  endNameWait(): Step | undefined {
    return this.connack === undefined ? undefined : this.#accept(this.connack, undefined)
  }

  /** Handles the first packet after CONNACK. */
  #handleFirstPacket(connack: ConnackPacket, packet: Packet): Step {
    if (!isNameAnnouncement(packet)) return this.#accept(connack, packet)
    const { negotiated, versions, server } = this.#dependencies
    if (!versions.recordGodwit(server)) return this.#accept(connack, undefined)
    this.#emitNotice(`the remote broker is a Godwit: MQTT 5.0 is used with ${server}`)
    return createRetryStep(negotiated.version)
  }

  #accept(connack: ConnackPacket, earlyPacket: Packet | undefined): Step {
    const { negotiated, settings } = this.#dependencies
    if (this.#clears)
      return { ...createRetryStep(negotiated.version), isCleared: true, pauseMs: settings.connectPauseMs }
    return { step: 'join', connack, earlyPacket }
  }

  /** The remote broker accepts 5.0 and sends no name. Another version may be configured for a reason. */
  #retryConfiguredVersion(): Step {
    const { negotiated, versions, server, link } = this.#dependencies
    if (negotiated.versionChoice === 'tries 5.0') {
      link.end(createDisconnectPacket(5, {}))
      return {
        step: 'fail',
        why: 'the remote broker announced itself as a Godwit with an older version of MQTT, but not with 5.0',
      }
    }
    versions.recordFailure(server, true)
    this.#emitNotice(
      `the remote broker is not a Godwit any more: the configured version of MQTT is used with ${server}`,
    )
    return createRetryStep(5)
  }

  #warnOfEchoes(): void {
    const { versions, server, settings } = this.#dependencies
    const isHarmless = settings.forwards.length === 0 || settings.subscriptions.length === 0
    if (isHarmless || !versions.isFirstWarning(server)) return
    const text =
      'the remote broker may return messages that the bridge sent: forward and subscription rules must not overlap'
    this.#dependencies.emit({ event: 'warning', text })
  }

  #emitNotice(text: string): void {
    this.#dependencies.emit({ event: 'notice', text })
  }
}

/** `version`: of the DISCONNECT packet. */
function createRetryStep(version?: ProtocolVersion): Extract<Step, { step: 'reconnect' }> {
  return {
    step: 'reconnect',
    disconnect: version === undefined ? undefined : createDisconnectPacket(version, {}),
    isCleared: false,
    pauseMs: 0,
  }
}
