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
import { localRefusal, remoteRefusal } from './refusal-text.ts'
import { ForwardSlots } from './forward-slots.ts'
import { type RemoteChanges, RemoteSubscriptions } from './remote-subscriptions.ts'
import type { PacketLink } from './packet-link.ts'
import { type ClientFilters, maxTransparentFilters, TransparentSubscriptions } from './transparent-subscriptions.ts'
import type { BridgeSettings } from './settings.ts'
import {
  type Changes,
  localChanges,
  remoteChanges,
  connectedMark,
  storeMark,
  type Marks,
  remotePackets,
  remoteRequests,
  sendLocal,
  SubscribeIds,
} from './subscriptions.ts'
import type { LocalBroker, LocalSessionStatus } from './world.ts'

const tooMany = `clients are subscribed to more than ${maxTransparentFilters} filters: those beyond are not passed on`

/** Then it is waited until everything has been answered, and they are replaced. */
const maxUncertainMarks = 16

/** What our own broker has refused is asked for again after so long: it does so while its disk fails. */
const localRetryMs = 5_000

/** While both brokers are there. */
interface ActiveConnection {
  readonly local: PacketLink
  readonly remote: PacketLink
  readonly server: string
  readonly settings: BridgeSettings
}

export class SubscriptionState {
  readonly #broker: LocalBroker
  readonly #ids = new SubscribeIds()
  readonly #remoteIds = new SubscribeIds((packetId) => this.#granted.isAsked({ packetId }))
  #granted = new RemoteSubscriptions([])
  #connection: ActiveConnection | undefined
  /** What goes to the remote broker when a mark here says that it may be there: by the packet id of that. */
  readonly #untilMarked = new Map<number, readonly (SubscribePacket | UnsubscribePacket)[]>()
  /** Marks of that kind, until they are all replaced by what has been granted. */
  #uncertainMarks = 0
  #wasFull = false
  /** The session here knows of them as long as nothing else is said. */
  #hasHadLimits = false
  /** [MQTT5-3.2.2.3.12] To a remote broker that takes none it would be a breach to send one, and the bridge needs none. */
  #takesIdentifiers = true
  /** Our own broker has refused something before the two met. */
  #isRefusedLocally = false
  /** When what our own broker has refused is asked for again. */
  #localRetryAtMs = Infinity
  /** Subscriptions of clients that are made there as well. */
  readonly transparent = new TransparentSubscriptions()
  readonly slots = new ForwardSlots()

  constructor(broker: LocalBroker) {
    this.#broker = broker
  }

  /** The two hold the two ends of the same messages. */
  isJoinedWith(server: string, { clientId }: BridgeSettings): boolean {
    return this.#broker.sessionStatus().subscriptions.has(connectedMark(server, clientId))
  }

  /** The marks of a new connection. */
  begin(server: string, { clientId }: BridgeSettings, { sessionPresent, properties }: ConnackPacket): Marks {
    this.#granted = new RemoteSubscriptions(sessionPresent ? this.#keptMarks : [])
    this.#takesIdentifiers = properties?.subscriptionIdentifiersAvailable ?? true
    return { joined: connectedMark(server, clientId), granted: this.#granted.marks }
  }

  /** Limits of the spool: also that there are none any more. */
  hasLimitsToSay({ spool }: BridgeSettings): boolean {
    this.#hasHadLimits ||= spoolProperties(spool).length > 0
    return this.#hasHadLimits
  }

  /** The rules are these from now on. */
  useForwards({ forwards }: BridgeSettings, isAnew = false): void {
    this.slots.assign(forwards, this.#found(isAnew).keys())
  }

  /** What is to be said here. `marks`: undefined where they stay as they are. `isAnew`: to a session that has nothing yet. */
  localChanges(settings: BridgeSettings, marks: Marks | undefined, isAnew = false): Changes {
    return localChanges({ subscriptions: this.#found(isAnew) }, settings, marks, this.slots.mark)
  }

  #found(isAnew: boolean): LocalSessionStatus['subscriptions'] {
    return isAnew ? new Map() : this.#broker.sessionStatus().subscriptions
  }

  /** Gives the number of answers. */
  sendLocal(link: PacketLink, changes: Changes): number {
    return sendLocal(link, changes, this.#ids)
  }

  /** In a new connection: what the remote broker has not granted yet, and what it is to take back. */
  connect(connection: ActiveConnection, isKnown: boolean, nowMs: number): void {
    const { settings } = connection
    this.#connection = connection
    if (this.#isRefusedLocally) this.#localRetryAtMs = nowMs + localRetryMs
    this.#isRefusedLocally = false
    this.#useRules(settings, nowMs)
    if (settings.isTransparent) {
      this.transparent.connect(isKnown ? this.#granted.all : undefined, nowMs)
    } else {
      const requests = remoteRequests(settings, isKnown)
      const missing = this.#granted.missing(requests)
      this.transparent.connect(undefined, nowMs)
      // From 5.0 on what is subscribed to can be said again without any harm.
      this.#sendRequests(settings.version === 5 ? { ...missing, requests } : missing)
    }
  }

  /** One of the two is gone. */
  disconnect(): void {
    this.#connection = undefined
    this.#untilMarked.clear()
    this.#uncertainMarks = 0
    this.#localRetryAtMs = Infinity
    this.transparent.disconnect()
  }

  /** Other rules in a connection that goes on. */
  changeRules(before: BridgeSettings, settings: BridgeSettings, nowMs: number): void {
    if (this.#connection === undefined) return
    this.#connection = { ...this.#connection, settings }
    this.sendLocal(this.#connection.local, this.localChanges(settings, undefined))
    this.#useRules(settings, nowMs)
    if (settings.isTransparent) {
      if (!before.isTransparent) this.transparent.connect(this.#granted.all, nowMs)
    } else if (before.isTransparent) this.#sendRequests({ gone: [], requests: remoteRequests(settings, true) })
    else this.#sendRequests(remoteChanges(before, settings))
  }

  /** What clients here are subscribed to has changed. */
  useClientFilters(clientFilters: ClientFilters, nowMs: number): void {
    this.transparent.addChanges(clientFilters, nowMs)
  }

  /** When `tick` is to be called; Infinity: not. */
  get dueAtMs(): number {
    return Math.min(this.transparent.dueAtMs, this.#localRetryAtMs)
  }

  /** Gives a warning, if there is one. */
  tick(nowMs: number): string | undefined {
    if (nowMs >= this.#localRetryAtMs) this.#retryLocal()
    this.transparent.tick(nowMs)
    this.#sendTransparent()
    const wasFull = this.#wasFull
    this.#wasFull = this.transparent.isFull
    return this.#wasFull && !wasFull ? tooMany : undefined
  }

  /**
   * SUBACK or UNSUBACK of the remote broker. When all are there it is kept what has been granted. Gives what the remote broker
   * does not want, as a sentence: of what was asked for, or it could say so without end; and of what clients want once.
   */
  handleRemoteAck(answer: SubackPacket | UnsubackPacket): string | undefined {
    if (!this.#granted.isAsked(answer)) return undefined
    const isNews = this.transparent.handleRemoteAck(answer)
    const isAll = this.#granted.handleAck(answer)
    this.#sendTransparent()
    if (isAll && !this.#granted.isWaiting) this.#storeMarks()
    return isNews ? remoteRefusal(answer) : undefined
  }

  /** SUBACK or UNSUBACK of our own broker. Gives what it refuses, as a sentence. */
  handleLocalAck(answer: SubackPacket | UnsubackPacket, nowMs: number): string | undefined {
    const packets = this.#untilMarked.get(answer.packetId)
    this.#untilMarked.delete(answer.packetId)
    for (const packet of packets ?? []) this.#connection?.remote.send(packet)
    const refusal = localRefusal(answer)
    if (refusal !== undefined) this.#localRetryAtMs = nowMs + localRetryMs
    return refusal
  }

  /** Before the two have met. Gives the refusal, if it is one. */
  recordLocalAck(refusal: string | undefined): string | undefined {
    this.#isRefusedLocally ||= refusal !== undefined
    return refusal
  }

  #retryLocal(): void {
    if (this.#connection === undefined) return
    this.#localRetryAtMs = Infinity
    // While it is not known what is granted the marks of that stay, and are kept with the last answer.
    if (!this.#granted.isWaiting) return this.#storeMarks()
    this.sendLocal(this.#connection.local, this.localChanges(this.#connection.settings, undefined))
  }

  #storeMarks(): void {
    if (this.#connection === undefined) return
    this.sendLocal(this.#connection.local, this.#changesWithMarks(this.#connection))
    this.#uncertainMarks = 0
    this.#sendTransparent()
  }

  #changesWithMarks({ server, settings }: ActiveConnection): Changes {
    const marks = { joined: connectedMark(server, settings.clientId), granted: this.#granted.marks }
    return this.localChanges(settings, marks)
  }

  #useRules(settings: BridgeSettings, nowMs: number): void {
    this.transparent.use(settings.isTransparent, remoteRequests(settings, false), nowMs)
  }

  #sendTransparent(): void {
    if (this.#connection === undefined) return
    const { local, settings } = this.#connection
    while (this.#uncertainMarks < maxUncertainMarks) {
      const next = this.transparent.next(settings.version)
      if (next === undefined) return
      const packets = this.#packetsFor(next, settings)
      for (const { packetId } of packets) this.transparent.noteAsked(packetId, next)
      const mark = RemoteSubscriptions.uncertainMark(next)
      if (mark === undefined) for (const packet of packets) this.#connection.remote.send(packet)
      else {
        const kept = storeMark(mark, this.#ids)
        this.#untilMarked.set(kept.packetId, packets)
        this.#uncertainMarks++
        local.send(kept)
      }
    }
  }

  #sendRequests(changes: RemoteChanges): void {
    if (this.#connection === undefined) return
    const { remote, settings } = this.#connection
    for (const packet of this.#packetsFor(changes, settings)) remote.send(packet)
  }

  #packetsFor(changes: RemoteChanges, settings: BridgeSettings): readonly (SubscribePacket | UnsubscribePacket)[] {
    const said = this.#takesIdentifiers ? settings : { ...settings, subscriptionIdentifier: undefined }
    const packets = remotePackets(said, changes, this.#remoteIds)
    for (const packet of packets) this.#granted.recordRequest(packet)
    return packets
  }

  get #keptMarks(): readonly TopicFilter[] {
    return RemoteSubscriptions.loadMarks(this.#broker.sessionStatus().subscriptions.keys())
  }
}
