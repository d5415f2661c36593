// The end of a bridge that is not configured any more: its session here goes, with all that waits in it. It is tried as often as it
// takes, for nobody would ever empty what is left.

import type { Packet } from '../protocol/index.ts'
import { connectLocal } from './connect-packets.ts'
import { localRefusal } from './refusal-text.ts'
import { linkLocal } from './bridge-links.ts'
import type { LinkCallbacks, PacketLink } from './packet-link.ts'
import type { BridgeSettings } from './settings.ts'
import type { BridgeDependencies } from './world.ts'

/** Our own broker has ended it in this time, or it is asked once more. */
const retryMs = 30_000

export class BridgeRemoval implements LinkCallbacks {
  readonly #settings: BridgeSettings
  readonly #dependencies: BridgeDependencies
  #link: PacketLink | undefined
  /** When `tick` is to be called; Infinity: not. */
  dueAtMs = Infinity

  constructor(settings: BridgeSettings, dependencies: BridgeDependencies) {
    this.#settings = settings
    this.#dependencies = dependencies
  }

  begin(): void {
    this.dueAtMs = this.#dependencies.nowMs() + retryMs
    this.#link = linkLocal(this, this.#dependencies)
    this.#link.send(connectLocal(this.#settings, { receiveMaximum: 1, ends: true }))
  }

  tick(nowMs: number): void {
    if (nowMs < this.dueAtMs) return
    this.closeLinks()
    const { subscriptions, spooled, unreleased } = this.#dependencies.broker.sessionStatus()
    if (subscriptions.size + spooled + unreleased.length > 0) this.begin()
  }

  closeLinks(): void {
    this.#link?.destroy()
    this.#link = undefined
    this.dueAtMs = Infinity
  }

  handlePacket(link: PacketLink, packet: Packet): void {
    // The session has begun anew, and ends with its connection.
    if (packet.type === 'connack' && localRefusal(packet) === undefined) link.destroy()
  }

  handleMalformed(): void {}

  handleClosed(): void {}

  handleBytes(): void {}

  handleRead(): void {}

  handleWritten(): void {}
}
