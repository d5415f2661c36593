// What the bridge has agreed on with either broker: what it is subscribed to here, whom it is joined with, and what the
// remote broker has granted.

import type {
  ConnackPacket,
  SubackPacket,
  SubscribePacket,
  TopicFilter,
  UnsubackPacket,
  UnsubscribePacket,
} from '../protocol/index.ts'
import { spoolProperties } from '../core/index.ts'
import { refusalHere, refusalThere } from './connect-remote.ts'
import { ForwardPlaces } from './forward-slots.ts'
import { type ChangesThere, GrantedThere } from './remote-subscriptions.ts'
import type { PacketLink } from './packet-link.ts'
import { type ClientWishes, mostPassedOn, PassedOn } from './transparent-subscriptions.ts'
import type { BridgeSettings } from './settings.ts'
import {
  type Changes,
  changesHere,
  changesThere,
  joinedMark,
  keepMark,
  type Marks,
  packetsThere,
  requestsThere,
  sayHere,
  SubscribeIds,
} from './subscriptions.ts'
import type { LocalBroker, LocalStanding } from './world.ts'

const tooMany = `clients are subscribed to more than ${mostPassedOn} filters: those beyond are not passed on`

/** Then it is waited until everything has been answered, and they are replaced. */
const mostUnsureMarks = 16

/** What our own broker has refused is asked for again after so long: it does so while its disk fails. */
const againHereMs = 5_000

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
  readonly #idsThere = new SubscribeIds((packetId) => this.#granted.isAsked({ packetId }))
  #granted = new GrantedThere([])
  #meeting: Meeting | undefined
  /** What goes to the remote broker when a mark here says that it may be there: by the packet id of that. */
  readonly #untilMarked = new Map<number, readonly (SubscribePacket | UnsubscribePacket)[]>()
  /** Marks of that kind, until they are all replaced by what has been granted. */
  #unsureMarks = 0
  #wasFull = false
  /** The session here knows of them as long as nothing else is said. */
  #hasHadLimits = false
  /** [MQTT5-3.2.2.3.12] To a remote broker that takes none it would be a breach to send one, and the bridge needs none. */
  #takesIdentifiers = true
  /** Our own broker has refused something before the two met. */
  #isRefusedHere = false
  /** When what our own broker has refused is asked for again. */
  #againHereAtMs = Infinity
  /** Subscriptions of clients that are made there as well. */
  readonly passedOn = new PassedOn()
  readonly places = new ForwardPlaces()

  constructor(broker: LocalBroker) {
    this.#broker = broker
  }

  /** The two hold the two ends of the same messages. */
  isJoinedWith(server: string, { clientId }: BridgeSettings): boolean {
    return this.#broker.standing().subscriptions.has(joinedMark(server, clientId))
  }

  /** The marks of a new connection. */
  begin(server: string, { clientId }: BridgeSettings, { sessionPresent, properties }: ConnackPacket): Marks {
    this.#granted = new GrantedThere(sessionPresent ? this.#keptMarks : [])
    this.#takesIdentifiers = properties?.subscriptionIdentifiersAvailable ?? true
    return { joined: joinedMark(server, clientId), granted: this.#granted.marks }
  }

  /** Limits of the spool: also that there are none any more. */
  hasLimitsToSay({ spool }: BridgeSettings): boolean {
    this.#hasHadLimits ||= spoolProperties(spool).length > 0
    return this.#hasHadLimits
  }

  /** The rules are these from now on. */
  takeForwards({ forwards }: BridgeSettings, isAnew = false): void {
    this.places.take(forwards, this.#found(isAnew).keys())
  }

  /** What is to be said here. `marks`: undefined where they stay as they are. `isAnew`: to a session that has nothing yet. */
  changesHere(settings: BridgeSettings, marks: Marks | undefined, isAnew = false): Changes {
    return changesHere({ subscriptions: this.#found(isAnew) }, settings, marks, this.places.mark)
  }

  #found(isAnew: boolean): LocalStanding['subscriptions'] {
    return isAnew ? new Map() : this.#broker.standing().subscriptions
  }

  /** Gives the number of answers. */
  sayHere(link: PacketLink, changes: Changes): number {
    return sayHere(link, changes, this.#ids)
  }

  /** In a new connection: what the remote broker has not granted yet, and what it is to take back. */
  meet(meeting: Meeting, isKnown: boolean, nowMs: number): void {
    const { settings } = meeting
    this.#meeting = meeting
    if (this.#isRefusedHere) this.#againHereAtMs = nowMs + againHereMs
    this.#isRefusedHere = false
    this.#useRules(settings, nowMs)
    if (settings.isTransparent) {
      this.passedOn.meet(isKnown ? this.#granted.all : undefined, nowMs)
    } else {
      const requests = requestsThere(settings, isKnown)
      const missing = this.#granted.missing(requests)
      this.passedOn.meet(undefined, nowMs)
      // From 5.0 on what is subscribed to can be said again without any harm.
      this.#ask(settings.version === 5 ? { ...missing, requests } : missing)
    }
  }

  /** One of the two is gone. */
  part(): void {
    this.#meeting = undefined
    this.#untilMarked.clear()
    this.#unsureMarks = 0
    this.#againHereAtMs = Infinity
    this.passedOn.part()
  }

  /** Other rules in a connection that goes on. */
  changeRules(before: BridgeSettings, settings: BridgeSettings, nowMs: number): void {
    if (this.#meeting === undefined) return
    this.#meeting = { ...this.#meeting, settings }
    this.sayHere(this.#meeting.local, this.changesHere(settings, undefined))
    this.#useRules(settings, nowMs)
    if (settings.isTransparent) {
      if (!before.isTransparent) this.passedOn.meet(this.#granted.all, nowMs)
    } else if (before.isTransparent) this.#ask({ gone: [], requests: requestsThere(settings, true) })
    else this.#ask(changesThere(before, settings))
  }

  /** What clients here are subscribed to has changed. */
  takeWishes(wishes: ClientWishes, nowMs: number): void {
    this.passedOn.take(wishes, nowMs)
  }

  /** When `tick` is to be called; Infinity: not. */
  get dueAtMs(): number {
    return Math.min(this.passedOn.dueAtMs, this.#againHereAtMs)
  }

  /** Gives a warning, if there is one. */
  tick(nowMs: number): string | undefined {
    if (nowMs >= this.#againHereAtMs) this.#askHereAgain()
    this.passedOn.tick(nowMs)
    this.#passOn()
    const wasFull = this.#wasFull
    this.#wasFull = this.passedOn.isFull
    return this.#wasFull && !wasFull ? tooMany : undefined
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

  /** SUBACK or UNSUBACK of our own broker. Gives what it refuses, as a sentence. */
  takeAnswerHere(answer: SubackPacket | UnsubackPacket, nowMs: number): string | undefined {
    const packets = this.#untilMarked.get(answer.packetId)
    this.#untilMarked.delete(answer.packetId)
    for (const packet of packets ?? []) this.#meeting?.remote.send(packet)
    const refusal = refusalHere(answer)
    if (refusal !== undefined) this.#againHereAtMs = nowMs + againHereMs
    return refusal
  }

  /** Before the two have met. Gives the refusal, if it is one. */
  noteAnswerHere(refusal: string | undefined): string | undefined {
    this.#isRefusedHere ||= refusal !== undefined
    return refusal
  }

  #askHereAgain(): void {
    if (this.#meeting === undefined) return
    this.#againHereAtMs = Infinity
    // While it is not known what is granted the marks of that stay, and are kept with the last answer.
    if (!this.#granted.isWaiting) return this.#keepMarks()
    this.sayHere(this.#meeting.local, this.changesHere(this.#meeting.settings, undefined))
  }

  #keepMarks(): void {
    if (this.#meeting === undefined) return
    this.sayHere(this.#meeting.local, this.#changesWithMarks(this.#meeting))
    this.#unsureMarks = 0
    this.#passOn()
  }

  #changesWithMarks({ server, settings }: Meeting): Changes {
    const marks = { joined: joinedMark(server, settings.clientId), granted: this.#granted.marks }
    return this.changesHere(settings, marks)
  }

  #useRules(settings: BridgeSettings, nowMs: number): void {
    this.passedOn.use(settings.isTransparent, requestsThere(settings, false), nowMs)
  }

  #passOn(): void {
    if (this.#meeting === undefined) return
    const { local, settings } = this.#meeting
    while (this.#unsureMarks < mostUnsureMarks) {
      const next = this.passedOn.next(settings.version)
      if (next === undefined) return
      const packets = this.#packetsFor(next, settings)
      for (const { packetId } of packets) this.passedOn.noteAsked(packetId, next)
      const mark = GrantedThere.unsureMark(next)
      if (mark === undefined) for (const packet of packets) this.#meeting.remote.send(packet)
      else {
        const kept = keepMark(mark, this.#ids)
        this.#untilMarked.set(kept.packetId, packets)
        this.#unsureMarks++
        local.send(kept)
      }
    }
  }

  #ask(changes: ChangesThere): void {
    if (this.#meeting === undefined) return
    const { remote, settings } = this.#meeting
    for (const packet of this.#packetsFor(changes, settings)) remote.send(packet)
  }

  #packetsFor(changes: ChangesThere, settings: BridgeSettings): readonly (SubscribePacket | UnsubscribePacket)[] {
    const said = this.#takesIdentifiers ? settings : { ...settings, subscriptionIdentifier: undefined }
    const packets = packetsThere(said, changes, this.#idsThere)
    for (const packet of packets) this.#granted.noteAsked(packet)
    return packets
  }

  get #keptMarks(): readonly TopicFilter[] {
    return GrantedThere.marksAmong(this.#broker.standing().subscriptions.keys())
  }
}
