// What the bridge has agreed on with either broker: what it is subscribed to here, whom it is joined with, and what the
// remote broker has granted.

import type { SubackPacket, TopicFilter, UnsubackPacket } from '../protocol/index.ts'
import { refusalThere } from './connecting.ts'
import { type ChangesThere, GrantedThere } from './granted-there.ts'
import type { PacketLink } from './packet-link.ts'
import type { BridgeSettings } from './settings.ts'
import {
  type Changes,
  changesHere,
  changesThere,
  joinedMark,
  type Marks,
  packetsThere,
  requestsThere,
  sayHere,
  SubscribeIds,
} from './subscriptions.ts'
import type { LocalBroker } from './world.ts'

export class Agreements {
  readonly #broker: LocalBroker
  readonly #ids = new SubscribeIds()
  #granted = new GrantedThere(undefined)

  constructor(broker: LocalBroker) {
    this.#broker = broker
  }

  /** The two hold the two ends of the same messages. */
  isJoinedWith(server: string, { clientId }: BridgeSettings): boolean {
    return this.#broker.standing().subscriptions.has(joinedMark(server, clientId))
  }

  /** The marks of a new connection. `isKnown`: the remote broker has the session of the bridge. */
  begin(server: string, { clientId }: BridgeSettings, isKnown: boolean): Marks {
    const granted = isKnown ? this.#keptMark : undefined
    this.#granted = new GrantedThere(granted)
    return { joined: joinedMark(server, clientId), granted }
  }

  /** What is to be said here. `marks`: undefined where they stay as they are. */
  changesHere(settings: BridgeSettings, marks: Marks | undefined): Changes {
    return changesHere(this.#broker.standing(), settings, marks)
  }

  /** Gives the number of answers. */
  sayHere(link: PacketLink, changes: Changes): number {
    return sayHere(link, changes, this.#ids)
  }

  /** In a new connection: what the remote broker has not granted yet, and what it is to take back. */
  askThere(link: PacketLink, settings: BridgeSettings, isKnown: boolean): void {
    const requests = requestsThere(settings, isKnown)
    const missing = this.#granted.missing(requests)
    // From 5.0 on what is subscribed to can be said again without any harm.
    this.#ask(link, settings, settings.version === 5 ? { ...missing, requests } : missing)
  }

  /** Other rules in a connection that goes on. */
  changeRules(links: { local: PacketLink; remote: PacketLink }, before: BridgeSettings, after: BridgeSettings): void {
    this.sayHere(links.local, this.changesHere(after, undefined))
    this.#ask(links.remote, after, changesThere(before, after))
  }

  /**
   * SUBACK or UNSUBACK of the remote broker. When all are there it is kept what has been granted. Gives what the remote broker
   * does not want, as a sentence: of what was asked for, or it could say so without end.
   */
  takeAnswer(
    answer: SubackPacket | UnsubackPacket,
    { local, server, settings }: { local: PacketLink; server: string; settings: BridgeSettings },
  ): string | undefined {
    if (!this.#granted.isAsked(answer)) return undefined
    if (this.#granted.take(answer)) {
      const marks = { joined: joinedMark(server, settings.clientId), granted: this.#granted.mark }
      this.sayHere(local, this.changesHere(settings, marks))
    }
    return refusalThere(answer)
  }

  #ask(link: PacketLink, settings: BridgeSettings, changes: ChangesThere): void {
    for (const packet of packetsThere(settings, changes, this.#ids)) {
      this.#granted.noteAsked(packet)
      link.send(packet)
    }
  }

  get #keptMark(): TopicFilter | undefined {
    return GrantedThere.markAmong(this.#broker.standing().subscriptions.keys())
  }
}
