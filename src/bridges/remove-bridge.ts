// Ends the local session of a bridge that is not configured any more, with its queue. It is tried until it succeeds,
// because otherwise the queue would remain forever.

import type { Packet } from '../protocol/index.ts'
import { connectLocal } from './connection/connect-packets.ts'
import { describeLocalRefusal } from './connection/describe-refusal.ts'
import { openLocalLink } from './bridge-links.ts'
import type { LinkCallbacks, PacketLink } from '../mqtt-client/index.ts'
import type { BridgeSettings } from './model/bridge-settings.ts'
import type { BridgeDependencies } from './model/bridge-dependencies.ts'

/** Timeout of the own broker's response, then it is tried again. */
const retryMs = 30_000

export class BridgeRemoval implements LinkCallbacks {
  readonly #settings: BridgeSettings
  readonly #dependencies: BridgeDependencies
  #link: PacketLink | undefined
  /** When `tick` must be called; Infinity: never. */
  dueAtMs = Infinity

  constructor(settings: BridgeSettings, dependencies: BridgeDependencies) {
    this.#settings = settings
    this.#dependencies = dependencies
  }

  begin(): void {
    this.dueAtMs = this.#dependencies.nowMs() + retryMs
    this.#link = openLocalLink(this, this.#dependencies)
    this.#link.send(connectLocal(this.#settings, { receiveMaximum: 1, endsSession: true }))
  }

  tick(nowMs: number): void {
    if (nowMs < this.dueAtMs) return
    this.closeLinks()
    const { subscriptions, spooled, unreleased } = this.#dependencies.broker.readSessionStatus()
    if (subscriptions.size + spooled + unreleased.length > 0) this.begin()
  }

  closeLinks(): void {
    this.#link?.destroy()
    this.#link = undefined
    this.dueAtMs = Infinity
  }

  handlePacket(link: PacketLink, packet: Packet): void {
    // The session is new and ends with its connection.
    if (packet.type === 'connack' && describeLocalRefusal(packet) === undefined) link.destroy()
  }

  handleMalformed(): void {}

  handleClosed(): void {}
}
