// What the bridge has agreed on with either broker: what it is subscribed to here, whom it is joined with, and what the
// remote broker has granted.

import type { SubackPacket, TopicFilter, UnsubackPacket } from '../protocol/index.ts'
import { refusalThere } from './connecting.ts'
import { type ChangesThere, GrantedThere } from './granted-there.ts'
import type { PacketLink } from './packet-link.ts'
import { type ClientWishes, mostPassedOn, PassedOn } from './passed-on.ts'
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

const tooMany = `clients are subscribed to more than ${mostPassedOn} filters: those beyond are not passed on`

/** While both brokers are there. */
interface Meeting {
  readonly local: PacketLink
  readonly remote: PacketLink
  readonly server: string
  readonly settings: BridgeSettings
}

export class Agreements {
  readonly #broker: LocalBroker
  readonly #ids = new SubscribeIds()
  #granted = new GrantedThere([])
  #meeting: Meeting | undefined
  /** In this life of the broker: what an earlier one had asked for may not have been kept as a mark. */
  #hasMet = false
  /** Subscriptions of clients that are made there as well. */
  readonly passedOn = new PassedOn()

  constructor(broker: LocalBroker) {
    this.#broker = broker
  }

  /** The two hold the two ends of the same messages. */
  isJoinedWith(server: string, { clientId }: BridgeSettings): boolean {
    return this.#broker.standing().subscriptions.has(joinedMark(server, clientId))
  }

  /** The marks of a new connection. `isKnown`: the remote broker has the session of the bridge. */
  begin(server: string, { clientId }: BridgeSettings, isKnown: boolean): Marks {
    this.#granted = new GrantedThere(isKnown ? this.#keptMarks : [])
    return { joined: joinedMark(server, clientId), granted: this.#granted.marks }
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
  meet(meeting: Meeting, isKnown: boolean, nowMs: number): void {
    const { settings } = meeting
    this.#meeting = meeting
    this.#useRules(settings, nowMs)
    if (settings.isTransparent) {
      const isSure = this.#hasMet || settings.version !== 5
      this.passedOn.meet(isKnown ? this.#granted.all : undefined, isSure, nowMs)
    } else {
      const requests = requestsThere(settings, isKnown)
      const missing = this.#granted.missing(requests)
      this.passedOn.meet(undefined, true, nowMs)
      // From 5.0 on what is subscribed to can be said again without any harm.
      this.#ask(settings.version === 5 ? { ...missing, requests } : missing)
    }
    this.#hasMet = true
  }

  /** One of the two is gone. */
  part(): void {
    this.#meeting = undefined
    this.passedOn.part()
  }

  /** Other rules in a connection that goes on. */
  changeRules(before: BridgeSettings, settings: BridgeSettings, nowMs: number): void {
    if (this.#meeting === undefined) return
    this.#meeting = { ...this.#meeting, settings }
    this.sayHere(this.#meeting.local, this.changesHere(settings, undefined))
    this.#useRules(settings, nowMs)
    if (settings.isTransparent) {
      if (!before.isTransparent) this.passedOn.meet(this.#granted.all, true, nowMs)
    } else if (before.isTransparent) this.#ask({ gone: [], requests: requestsThere(settings, true) })
    else this.#ask(changesThere(before, settings))
  }

  /** What clients here are subscribed to has changed. Gives a warning, if there is one. */
  takeWishes(wishes: ClientWishes, nowMs: number): string | undefined {
    const wasFull = this.passedOn.isFull
    this.passedOn.take(wishes, nowMs)
    return !wasFull && this.passedOn.isFull ? tooMany : undefined
  }

  /** When `tick` is to be called; Infinity: not. */
  get dueAtMs(): number {
    return this.passedOn.dueAtMs
  }

  tick(nowMs: number): void {
    this.passedOn.tick(nowMs)
    this.#passOn()
  }

  /**
   * SUBACK or UNSUBACK of the remote broker. When all are there it is kept what has been granted. Gives what the remote broker
   * does not want, as a sentence: of what was asked for, or it could say so without end; and of what clients want once.
   */
  takeAnswer(answer: SubackPacket | UnsubackPacket): string | undefined {
    if (!this.#granted.isAsked(answer)) return undefined
    const isNews = this.passedOn.takeAnswer(answer)
    const isAll = this.#granted.take(answer)
    this.#passOn()
    if (isAll && !this.#granted.isWaiting) this.#keepMarks()
    return isNews ? refusalThere(answer) : undefined
  }

  #keepMarks(): void {
    if (this.#meeting === undefined) return
    const { local, server, settings } = this.#meeting
    const marks = { joined: joinedMark(server, settings.clientId), granted: this.#granted.marks }
    this.sayHere(local, this.changesHere(settings, marks))
  }

  #useRules(settings: BridgeSettings, nowMs: number): void {
    this.passedOn.use(settings.isTransparent, requestsThere(settings, false), nowMs)
  }

  #passOn(): void {
    if (this.#meeting === undefined) return
    const { version } = this.#meeting.settings
    for (let next = this.passedOn.next(version); next !== undefined; next = this.passedOn.next(version)) {
      for (const packetId of this.#ask(next)) this.passedOn.noteAsked(packetId, next)
    }
  }

  /** Gives the packet ids. */
  #ask(changes: ChangesThere): readonly number[] {
    if (this.#meeting === undefined) return []
    const { remote, settings } = this.#meeting
    return packetsThere(settings, changes, this.#ids).map((packet) => {
      this.#granted.noteAsked(packet)
      remote.send(packet)
      return packet.packetId
    })
  }

  get #keptMarks(): readonly TopicFilter[] {
    return GrantedThere.marksAmong(this.#broker.standing().subscriptions.keys())
  }
}
