// What is said to our own broker before messages go, over a connection of its own: what the session here is subscribed to,
// its marks, its limits. Messages that come meanwhile are left without an answer, and come again.

import type { Packet, ProtocolError } from '../protocol/index.ts'
import { connectHere, endHere, goodbye, refusalHere } from './connect-remote.ts'
import type { LinkOwner, PacketLink } from './packet-link.ts'
import type { BridgeSettings } from './settings.ts'

export interface PreparationParts {
  /** Our end of a connection to our own broker, read by this owner. */
  linkTo(owner: LinkOwner): PacketLink
  /** All has been said and answered. */
  done(): void
  fail(why: string): void
  /** Undefined: there is nothing to warn of. */
  warnIf(text: string | undefined): void
}

export class Preparation implements LinkOwner {
  readonly #parts: PreparationParts
  readonly #link: PacketLink
  #answersOwed = 0

  constructor(parts: PreparationParts) {
    this.#parts = parts
    this.#link = parts.linkTo(this)
  }

  /** `say` gives the number of answers to what it says. `isAnew`: the session begins anew with it. */
  begin(settings: BridgeSettings, { isAnew }: { readonly isAnew: boolean }, say: (link: PacketLink) => number): void {
    this.#link.send(connectHere(settings, { receiveMaximum: 1, isAnew }))
    this.#answersOwed = say(this.#link)
  }

  leave(): void {
    this.#link.cut()
  }

  notePacket(_link: PacketLink, packet: Packet): void {
    switch (packet.type) {
      case 'connack': {
        const refusal = refusalHere(packet)
        return refusal === undefined ? this.#endIfDone() : this.#parts.fail(refusal)
      }
      case 'suback':
      case 'unsuback':
        this.#parts.warnIf(refusalHere(packet))
        this.#answersOwed--
        return this.#endIfDone()
      case 'disconnect':
        return this.#parts.fail(endHere(packet))
      default:
    }
  }

  noteFault(_link: PacketLink, error: ProtocolError): void {
    this.#parts.fail(`this broker: ${error.message}`)
  }

  noteClosed(_link: PacketLink, error: Error | undefined): void {
    this.#parts.fail(`this broker closed the connection${error === undefined ? '' : `: ${error.message}`}`)
  }

  noteHeard(): void {}

  noteRead(): void {}

  noteWritten(): void {}

  #endIfDone(): void {
    if (this.#answersOwed > 0) return
    this.#link.end(goodbye(5, {}))
    this.#parts.done()
  }
}
