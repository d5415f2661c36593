// Subscriptions of the bridge at both brokers, and marks in the local session: the remote broker of the session, and
// its granted subscriptions.

import type {
  ConnackPacket,
  SubackPacket,
  SubscribePacket,
  TopicFilter,
  UnsubackPacket,
  UnsubscribePacket,
} from '../../protocol/index.ts'
import { toSpoolProperties } from '../../core/index.ts'
import { describeLocalRefusal, describeRemoteRefusal } from '../connection/describe-refusal.ts'
import { ForwardSlots } from '../transfer/forward-slots.ts'
import { type RemoteChanges, RemoteSubscriptions } from './remote-subscriptions.ts'
import type { PacketLink } from '../../mqtt-client/index.ts'
import { type ClientFilters, maxTransparentFilters, TransparentSubscriptions } from './transparent-subscriptions.ts'
import type { BridgeSettings } from '../model/bridge-settings.ts'
import {
  type LocalChanges,
  planLocalChanges,
  planRemoteChanges,
  createConnectedMark,
  createMarkPacket,
  type Marks,
  createRemotePackets,
  createRemoteRequests,
  sendLocal,
  SubscribeIds,
} from './plan-subscriptions.ts'
import type { LocalBroker, LocalSessionStatus } from '../model/bridge-dependencies.ts'

const tooMany = `clients are subscribed to more than ${maxTransparentFilters} filters: those beyond are not passed on`

/** Beyond this number, changes wait until all responses have arrived and the marks are replaced. */
const maxUncertainMarks = 16

/** Interval of retries for what the own broker refused, as it does while its disk fails. */
const localRetryMs = 5_000

/** Set while both brokers are connected. */
interface ActiveConnection {
  readonly local: PacketLink
  readonly remote: PacketLink
  readonly server: string
  readonly settings: BridgeSettings
}

export class SubscriptionState {
  readonly #broker: LocalBroker
  readonly #ids = new SubscribeIds()
  readonly #remoteIds = new SubscribeIds((packetId) => this.#granted.isPending({ packetId }))
  #granted = new RemoteSubscriptions([])
  #connection: ActiveConnection | undefined
  /** Packets to the remote broker that wait until a mark is stored here, by the packet identifier of the mark. */
  readonly #untilMarked = new Map<number, readonly (SubscribePacket | UnsubscribePacket)[]>()
  /** Number of such marks until they are replaced by the granted subscriptions. */
  #uncertainMarks = 0
  #wasFull = false
  /** The local session has the limits until others are sent. */
  #hasHadLimits = false
  /**
   * [MQTT5-3.2.2.3.12] Sending an identifier to a remote broker without support would be a protocol error, and the
   * bridge needs none.
   */
  #takesIdentifiers = true
  /** The own broker refused something before both were connected. */
  #isRefusedLocally = false
  /** Next retry of what the own broker refused. */
  #localRetryAtMs = Infinity
  /** Subscriptions of clients that are made at the remote broker. */
  readonly transparent = new TransparentSubscriptions()
  readonly slots = new ForwardSlots()

  constructor(broker: LocalBroker) {
    this.#broker = broker
  }

  /** Returns whether both sessions refer to the same messages. */
  isJoinedWith(server: string, { clientId }: BridgeSettings): boolean {
    return this.#broker.readSessionStatus().subscriptions.has(createConnectedMark(server, clientId))
  }

  /** Returns the marks of a new connection. */
  begin(server: string, { clientId }: BridgeSettings, { sessionPresent, properties }: ConnackPacket): Marks {
    this.#granted = new RemoteSubscriptions(sessionPresent ? this.#keptMarks : [])
    this.#takesIdentifiers = properties?.subscriptionIdentifiersAvailable ?? true
    return { remoteBroker: createConnectedMark(server, clientId), granted: this.#granted.marks }
  }

  /** Returns whether limits must be sent, also if there are none any more. */
  hasUnsentLimits({ spool }: BridgeSettings): boolean {
    this.#hasHadLimits ||= toSpoolProperties(spool).length > 0
    return this.#hasHadLimits
  }

  /** Replaces the rules. */
  useForwards({ forwards }: BridgeSettings, isSessionNew = false): void {
    this.slots.assign(forwards, this.#readSubscriptions(isSessionNew).keys())
  }

  /** Returns the required local changes. `marks` undefined: unchanged. `isSessionNew`: the session is empty. */
  planLocalChanges(settings: BridgeSettings, marks: Marks | undefined, isSessionNew = false): LocalChanges {
    return planLocalChanges({ subscriptions: this.#readSubscriptions(isSessionNew) }, settings, marks, this.slots.mark)
  }

  #readSubscriptions(isSessionNew: boolean): LocalSessionStatus['subscriptions'] {
    return isSessionNew ? new Map() : this.#broker.readSessionStatus().subscriptions
  }

  /** Returns the number of expected acknowledgements. */
  sendLocal(link: PacketLink, changes: LocalChanges): number {
    return sendLocal(link, changes, this.#ids)
  }

  /** For a new connection: requests what the remote broker has not granted yet, and unsubscribes what is not needed. */
  connect(connection: ActiveConnection, isKnown: boolean, nowMs: number): void {
    const { settings } = connection
    this.#connection = connection
    if (this.#isRefusedLocally) this.#localRetryAtMs = nowMs + localRetryMs
    this.#isRefusedLocally = false
    this.#useRules(settings, nowMs)
    if (settings.isTransparent) {
      this.transparent.connect(isKnown ? this.#granted.all : undefined, nowMs)
    } else {
      const requests = createRemoteRequests(settings, isKnown)
      const missing = this.#granted.planChanges(requests)
      this.transparent.connect(undefined, nowMs)
      // From 5.0 on, repeated subscriptions do no harm.
      this.#sendRequests(settings.version === 5 ? { ...missing, requests } : missing)
    }
  }

  /** One of the connections has ended. */
  disconnect(): void {
    this.#connection = undefined
    this.#untilMarked.clear()
    this.#uncertainMarks = 0
    this.#localRetryAtMs = Infinity
    this.transparent.disconnect()
  }

  /** Applies other rules to the current connection. */
  changeRules(before: BridgeSettings, settings: BridgeSettings, nowMs: number): void {
    if (this.#connection === undefined) return
    this.#connection = { ...this.#connection, settings }
    this.sendLocal(this.#connection.local, this.planLocalChanges(settings, undefined))
    this.#useRules(settings, nowMs)
    if (settings.isTransparent) {
      if (!before.isTransparent) this.transparent.connect(this.#granted.all, nowMs)
    } else if (before.isTransparent) this.#sendRequests({ removed: [], requests: createRemoteRequests(settings, true) })
    else this.#sendRequests(planRemoteChanges(before, settings))
  }

  /** Filters of clients have changed. */
  useClientFilters(clientFilters: ClientFilters, nowMs: number): void {
    this.transparent.addChanges(clientFilters, nowMs)
  }

  /** When `tick` must be called; Infinity: never. */
  get dueAtMs(): number {
    return Math.min(this.transparent.dueAtMs, this.#localRetryAtMs)
  }

  /** Returns a warning, if there is one. */
  tick(nowMs: number): string | undefined {
    if (nowMs >= this.#localRetryAtMs) this.#retryLocal()
    this.transparent.tick(nowMs)
    this.#sendTransparent()
    const wasFull = this.#wasFull
    this.#wasFull = this.transparent.isFull
    return this.#wasFull && !wasFull ? tooMany : undefined
  }

  /**
   * Handles SUBACK or UNSUBACK of the remote broker. When all have arrived, the granted subscriptions are stored.
   * Returns a refusal as a sentence; for filters of clients only once, because it could repeat endlessly.
   */
  handleRemoteAck(ack: SubackPacket | UnsubackPacket): string | undefined {
    if (!this.#granted.isPending(ack)) return undefined
    const isNews = this.transparent.handleRemoteAck(ack)
    const isAll = this.#granted.handleAck(ack)
    this.#sendTransparent()
    if (isAll && !this.#granted.isWaiting) this.#storeMarks()
    return isNews ? describeRemoteRefusal(ack) : undefined
  }

  /** Handles SUBACK or UNSUBACK of the own broker. Returns a refusal as a sentence. */
  handleLocalAck(ack: SubackPacket | UnsubackPacket, nowMs: number): string | undefined {
    const packets = this.#untilMarked.get(ack.packetId)
    this.#untilMarked.delete(ack.packetId)
    for (const packet of packets ?? []) this.#connection?.remote.send(packet)
    const refusal = describeLocalRefusal(ack)
    if (refusal !== undefined) this.#localRetryAtMs = nowMs + localRetryMs
    return refusal
  }

  /** Before both are connected. Returns the refusal, if it is one. */
  recordLocalAck(refusal: string | undefined): string | undefined {
    this.#isRefusedLocally ||= refusal !== undefined
    return refusal
  }

  #retryLocal(): void {
    if (this.#connection === undefined) return
    this.#localRetryAtMs = Infinity
    // While granted subscriptions are uncertain, the marks remain; they are stored with the last response.
    if (!this.#granted.isWaiting) return this.#storeMarks()
    this.sendLocal(this.#connection.local, this.planLocalChanges(this.#connection.settings, undefined))
  }

  #storeMarks(): void {
    if (this.#connection === undefined) return
    this.sendLocal(this.#connection.local, this.#planChangesWithMarks(this.#connection))
    this.#uncertainMarks = 0
    this.#sendTransparent()
  }

  #planChangesWithMarks({ server, settings }: ActiveConnection): LocalChanges {
    const marks = { remoteBroker: createConnectedMark(server, settings.clientId), granted: this.#granted.marks }
    return this.planLocalChanges(settings, marks)
  }

  #useRules(settings: BridgeSettings, nowMs: number): void {
    this.transparent.applyRules(settings.isTransparent, createRemoteRequests(settings, false), nowMs)
  }

  #sendTransparent(): void {
    if (this.#connection === undefined) return
    const { local, settings } = this.#connection
    while (this.#uncertainMarks < maxUncertainMarks) {
      const next = this.transparent.takeNextChanges(settings.version)
      if (next === undefined) return
      const packets = this.#createPackets(next, settings)
      for (const { packetId } of packets) this.transparent.recordRequest(packetId, next)
      const mark = RemoteSubscriptions.createUncertainMark(next)
      if (mark === undefined) for (const packet of packets) this.#connection.remote.send(packet)
      else {
        const kept = createMarkPacket(mark, this.#ids)
        this.#untilMarked.set(kept.packetId, packets)
        this.#uncertainMarks++
        local.send(kept)
      }
    }
  }

  #sendRequests(changes: RemoteChanges): void {
    if (this.#connection === undefined) return
    const { remote, settings } = this.#connection
    for (const packet of this.#createPackets(changes, settings)) remote.send(packet)
  }

  #createPackets(changes: RemoteChanges, settings: BridgeSettings): readonly (SubscribePacket | UnsubscribePacket)[] {
    const sentSettings = this.#takesIdentifiers ? settings : { ...settings, subscriptionIdentifier: undefined }
    const packets = createRemotePackets(sentSettings, changes, this.#remoteIds)
    for (const packet of packets) this.#granted.recordRequest(packet)
    return packets
  }

  get #keptMarks(): readonly TopicFilter[] {
    return RemoteSubscriptions.loadMarks(this.#broker.readSessionStatus().subscriptions.keys())
  }
}
