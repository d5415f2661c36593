// The end of a bridge that is not configured any more: its session here goes, with all that waits in it. It is tried as often as it
// takes, for nobody would ever empty what is left.

import type { Packet } from '../protocol/index.ts'
import { connectHere, refusalHere } from './connect-remote.ts'
import { linkHere } from './connect-local.ts'
import type { LinkOwner, PacketLink } from './packet-link.ts'
import type { BridgeSettings } from './settings.ts'
import type { BridgeWorld } from './world.ts'

/** Our own broker has ended it in this time, or it is asked once more. */
const patienceMs = 30_000

export class Retirement implements LinkOwner {
  readonly #settings: BridgeSettings
  readonly #world: BridgeWorld
  #link: PacketLink | undefined
  /** When `tick` is to be called; Infinity: not. */
  dueAtMs = Infinity

  constructor(settings: BridgeSettings, world: BridgeWorld) {
    this.#settings = settings
    this.#world = world
  }

  begin(): void {
    this.dueAtMs = this.#world.nowMs() + patienceMs
    this.#link = linkHere(this, this.#world)
    this.#link.send(connectHere(this.#settings, { receiveMaximum: 1, ends: true }))
  }

  tick(nowMs: number): void {
    if (nowMs < this.dueAtMs) return
    this.leave()
    const { subscriptions, spooled, unreleased } = this.#world.broker.standing()
    if (subscriptions.size + spooled + unreleased.length > 0) this.begin()
  }

  leave(): void {
    this.#link?.cut()
    this.#link = undefined
    this.dueAtMs = Infinity
  }

  notePacket(link: PacketLink, packet: Packet): void {
    // The session has begun anew, and ends with its connection.
    if (packet.type === 'connack' && refusalHere(packet) === undefined) link.cut()
  }

  noteFault(): void {}

  noteClosed(): void {}

  noteHeard(): void {}

  noteRead(): void {}

  noteWritten(): void {}
}
