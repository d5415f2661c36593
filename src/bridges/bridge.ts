// One bridge: a client of the own broker and a client of the remote broker, which forwards messages between them.
//
//   off <--enabled--> preparing --> connecting --> connected --settings--> draining
//                        ^             |              |                      |
//                        |          waiting <---------'                      |
//                        '---------------------------------------------------'
//
// preparing    the local session is subscribed to what is forwarded: from now on messages are queued, on disk
// connecting   the remote broker is dialed and sent CONNECT; then the own broker, whose redelivered messages can be forwarded
// connected    messages are forwarded; if either side fails both are closed, and the core sends unacknowledged messages again
// draining     no new message is started, and those in flight are completed

import { ConnectionMonitor } from '../mqtt-client/index.ts'
import type { ByteStream } from '../transports/index.ts'
import { BridgeConnection } from './bridge-connection.ts'
import type { ConnectionOwner, SharedParts } from './connection-owner.ts'
import { SubscriptionState } from './subscriptions/bridge-subscription-state.ts'
import { VersionNegotiation } from './connection/version-negotiation.ts'
import type { ClientFilters } from './subscriptions/transparent-subscriptions.ts'
import { ReconnectBackoff, stableAfterMs } from './connection/reconnect-backoff.ts'
import { RejectedMessages } from './transfer/rejected-messages.ts'
import { BridgeRemoval } from './remove-bridge.ts'
import { hasSameRules, isSameConnection, type BridgeSettings } from './model/bridge-settings.ts'
import { createBridgeCounters, type BridgeState, type BridgeStatus } from './model/status.ts'
import { isSameSession } from './subscriptions/plan-subscriptions.ts'
import { toSpoolStatus, type BridgeDependencies } from './model/bridge-dependencies.ts'

const drainMs = 5_000

export class Bridge {
  #settings: BridgeSettings
  readonly #dependencies: BridgeDependencies
  readonly #counters = createBridgeCounters()
  readonly #rejectedMessages = new RejectedMessages()
  readonly #subscriptionState: SubscriptionState
  #state: BridgeState = 'off'
  #sinceMs: number
  /** Timeout or end of the current state. */
  #dueAtMs = Infinity
  readonly #monitor = new ConnectionMonitor()
  #backoff: ReconnectBackoff
  #versions = new VersionNegotiation()
  #connection: BridgeConnection | undefined
  /** The remote broker has deleted the bridge's session; the next connection is the permanent one. */
  #isCleared = false
  /** Settings that apply after in-flight messages are completed. */
  #pendingSettings: BridgeSettings | undefined
  #removal: BridgeRemoval | undefined
  #isSessionNew = false
  #lastError: { readonly text: string; readonly atMs: number } | undefined

  constructor(settings: BridgeSettings, dependencies: BridgeDependencies) {
    this.#settings = settings
    this.#dependencies = dependencies
    this.#subscriptionState = new SubscriptionState(dependencies.broker)
    this.#sinceMs = dependencies.nowMs()
    this.#backoff = this.#createBackoff()
  }

  /** `isSessionNew`: the local session belongs to an earlier bridge of this name, and is deleted. */
  start(isSessionNew = false): void {
    this.#isSessionNew ||= isSessionNew
    const connection = this.#createConnection()
    connection.prepare(this.#isSessionNew, () => {
      this.#isSessionNew = false
      if (this.#settings.isEnabled) connection.dial()
      else this.#moveTo('off', Infinity)
    })
  }

  /** Applies other settings: rules at once, all others after in-flight messages are completed. */
  change(settings: BridgeSettings): void {
    if (this.#removal !== undefined) return
    const isOfRulesOnly = isSameConnection(this.#settings, settings)
    if (isOfRulesOnly && this.#pendingSettings === undefined && hasSameRules(this.#settings, settings)) return
    this.#pendingSettings = settings
    if (this.#state === 'connected' && isOfRulesOnly) return this.#changeRules(settings)
    if (this.#state !== 'connected' && this.#state !== 'draining') return this.#restart()
    this.#connection?.drain()
    if (this.#state !== 'draining') this.#moveTo('draining', this.#dependencies.nowMs() + drainMs)
    this.#endDrainIfIdle()
  }

  /** Disconnects from both sides; stored state remains. */
  stop(): void {
    this.#closeConnection({})
    this.#moveTo('off', Infinity)
  }

  /** The bridge was removed from the configuration: its session ends on both sides, with its queue. */
  remove(): void {
    this.#closeConnection({ deletesSession: true })
    this.#removal = new BridgeRemoval(this.#settings, this.#dependencies)
    this.#removal.begin()
    this.#moveTo('off', Infinity)
  }

  /** Passes filters of clients to a transparent bridge. */
  updateClientFilters(clientFilters: ClientFilters): void {
    this.#subscriptionState.useClientFilters(clientFilters, this.#dependencies.nowMs())
    this.#scheduleTick()
  }

  tick(): void {
    const nowMs = this.#dependencies.nowMs()
    if (nowMs >= this.#subscriptionState.dueAtMs) this.#warnIf(this.#subscriptionState.tick(nowMs))
    if (nowMs >= this.#dueAtMs) this.#handleTimeout()
    this.#removal?.tick(nowMs)
    if (this.#state === 'connected' || this.#state === 'draining') this.#connection?.tick(nowMs)
    this.#scheduleTick()
  }

  readStatus(): BridgeStatus {
    const { server, failures } = this.#backoff
    return {
      name: this.#settings.name,
      state: this.#state,
      sinceMs: this.#sinceMs,
      server,
      version: this.#versions.negotiate(server, this.#settings).version,
      attempts: failures,
      lastError: this.#lastError?.text,
      lastErrorAtMs: this.#lastError?.atMs,
      inFlight: this.#connection?.inFlight ?? 0,
      ...toSpoolStatus(this.#dependencies.broker.readSessionStatus()),
      ...this.#subscriptionState.transparent.counts,
      counters: this.#counters,
    }
  }

  // Connections

  #createConnection(): BridgeConnection {
    const parts: SharedParts = {
      dependencies: this.#dependencies,
      counters: this.#counters,
      rejectedMessages: this.#rejectedMessages,
      subscriptionState: this.#subscriptionState,
      backoff: this.#backoff,
      versions: this.#versions,
      monitor: this.#monitor,
    }
    const settings = this.#settings
    const connection = new BridgeConnection(this.#createConnectionOwner(), parts, {
      settings,
      isCleared: this.#isCleared,
    })
    this.#isCleared = false
    this.#connection = connection
    return connection
  }

  #createConnectionOwner(): ConnectionOwner {
    return {
      moveTo: (state, dueAtMs) => this.#moveTo(state, dueAtMs),
      waitAtMost: (dueAtMs) => this.#moveTo(this.#state, Math.min(this.#dueAtMs, dueAtMs)),
      fail: (why) => this.#fail(why),
      reconnect: ({ isCleared, pauseMs }) => this.#reconnect(isCleared, pauseMs),
      changeToPreferred: (stream) => this.#changeToPreferred(stream),
      warnIf: (text) => this.#warnIf(text),
      onPacketHandled: () => {
        if (this.#state === 'draining') this.#endDrainIfIdle()
      },
      scheduleTick: () => this.#scheduleTick(),
    }
  }

  /** Dials the same server again. The failure is not one of the remote broker. */
  #reconnect(isCleared: boolean, pauseMs: number): void {
    this.#closeConnection(undefined)
    this.#isCleared = isCleared
    if (pauseMs === 0) this.#createConnection().dial()
    else this.#moveTo('waiting', this.#dependencies.nowMs() + pauseMs)
  }

  #changeToPreferred(stream: ByteStream): void {
    this.#closeConnection({})
    this.#backoff.switchToPreferred()
    this.#createConnection().connect(stream)
  }

  /** `disconnect`: see `BridgeConnection.close`. */
  #closeConnection(disconnect: { readonly deletesSession?: boolean } | undefined): void {
    this.#connection?.close(disconnect)
    this.#connection = undefined
    this.#removal?.closeLinks()
    this.#isCleared = false
    this.#subscriptionState.disconnect()
  }

  #handleTimeout(): void {
    this.#dueAtMs = Infinity
    if (this.#state === 'waiting') this.start()
    else if (this.#state === 'draining') this.#restart()
    else this.#connection?.handleTimeout()
  }

  #fail(why: string): void {
    if (this.#state === 'off' || this.#state === 'waiting') return
    const nowMs = this.#dependencies.nowMs()
    const { server } = this.#backoff
    this.#versions.recordFailure(server, this.#connection?.isInHandshake === true)
    if (this.#state === 'connected' && nowMs - this.#sinceMs >= stableAfterMs) {
      this.#backoff.recordStable()
      this.#versions.recordStable(server)
    }
    this.#closeConnection(undefined)
    this.#counters.failures++
    const isNew = why !== this.#lastError?.text
    this.#recordError(why)
    this.#dependencies.emit({ event: 'disconnected', server, why, isNew })
    if (this.#pendingSettings !== undefined) return this.#restart()
    this.#moveTo('waiting', nowMs + this.#backoff.recordFailure())
  }

  // Other settings

  #changeRules(settings: BridgeSettings): void {
    this.#settings = settings
    this.#pendingSettings = undefined
    this.#connection?.changeRules(settings)
    this.#scheduleTick()
  }

  #endDrainIfIdle(): void {
    if (this.#connection?.isIdle !== false) this.#restart()
  }

  #restart(): void {
    const next = this.#pendingSettings
    const before = this.#connection?.settings ?? this.#settings
    const deletesSession = next !== undefined && !isSameSession(next, this.#backoff.server, before)
    this.#closeConnection({ deletesSession })
    if (next !== undefined) this.#settings = next
    this.#pendingSettings = undefined
    this.#backoff = this.#createBackoff()
    this.#versions = new VersionNegotiation()
    this.start()
  }

  #createBackoff(): ReconnectBackoff {
    const { servers, backoffMaxMs } = this.#settings
    return new ReconnectBackoff(servers, backoffMaxMs, () => this.#dependencies.random())
  }

  // State

  #warnIf(text: string | undefined): void {
    if (text === undefined) return
    if (text !== this.#lastError?.text) this.#dependencies.emit({ event: 'warning', text })
    this.#recordError(text)
  }

  #recordError(text: string): void {
    this.#lastError = { text, atMs: this.#dependencies.nowMs() }
  }

  #moveTo(state: BridgeState, dueAtMs: number): void {
    if (state !== this.#state) this.#sinceMs = this.#dependencies.nowMs()
    this.#state = state
    this.#dueAtMs = dueAtMs
    this.#scheduleTick()
  }

  #scheduleTick(): void {
    const parts = [this.#connection, this.#subscriptionState, this.#removal]
    this.#dependencies.wakeAt(Math.min(this.#dueAtMs, ...parts.map((part) => part?.dueAtMs ?? Infinity)))
  }
}
