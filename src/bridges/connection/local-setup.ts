// Sets up the local session before messages are forwarded, over a connection of its own: subscriptions, marks, limits.
// Messages that arrive meanwhile are not acknowledged, and are sent again.

import type { Packet, ProtocolError } from '../../protocol/index.ts'
import { connectLocal } from './connect-packets.ts'
import { describeLocalDisconnect, describeLocalRefusal } from './describe-refusal.ts'
import { createDisconnectPacket, type LinkCallbacks, type PacketLink } from '../../mqtt-client/index.ts'
import type { BridgeSettings } from '../model/bridge-settings.ts'

export interface LocalSetupDependencies {
  /** Opens a connection to the own broker for this owner. */
  openLink(owner: LinkCallbacks): PacketLink
  /** Called when the local broker has acknowledged all packets. */
  onDone(): void
  fail(why: string): void
  /** Undefined: no warning. */
  warnIf(text: string | undefined): void
}

export class LocalSetup implements LinkCallbacks {
  readonly #dependencies: LocalSetupDependencies
  readonly #link: PacketLink
  #pendingAcks = 0

  constructor(dependencies: LocalSetupDependencies) {
    this.#dependencies = dependencies
    this.#link = dependencies.openLink(this)
  }

  /** Starts the setup. `sendPackets` returns the number of expected acknowledgements. `isSessionNew`: the session starts empty. */
  begin(
    settings: BridgeSettings,
    { isSessionNew }: { readonly isSessionNew: boolean },
    sendPackets: (link: PacketLink) => number,
  ): void {
    this.#link.send(connectLocal(settings, { receiveMaximum: 1, isSessionNew }))
    this.#pendingAcks = sendPackets(this.#link)
  }

  closeLinks(): void {
    this.#link.destroy()
  }

  handlePacket(_link: PacketLink, packet: Packet): void {
    switch (packet.type) {
      case 'connack': {
        const refusal = describeLocalRefusal(packet)
        return refusal === undefined ? this.#endIfDone() : this.#dependencies.fail(refusal)
      }
      case 'suback':
      case 'unsuback':
        this.#dependencies.warnIf(describeLocalRefusal(packet))
        this.#pendingAcks--
        return this.#endIfDone()
      case 'disconnect':
        return this.#dependencies.fail(describeLocalDisconnect(packet))
      default:
    }
  }

  handleMalformed(_link: PacketLink, error: ProtocolError): void {
    this.#dependencies.fail(`this broker: ${error.message}`)
  }

  handleClosed(_link: PacketLink, error: Error | undefined): void {
    this.#dependencies.fail(`this broker closed the connection${error === undefined ? '' : `: ${error.message}`}`)
  }

  #endIfDone(): void {
    if (this.#pendingAcks > 0) return
    this.#link.end(createDisconnectPacket(5, {}))
    this.#dependencies.onDone()
  }
}
