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

import {
  ConnectionMonitor,
  disconnectPacket,
  limitsOf,
  type LinkCallbacks,
  type PacketLink,
  shorterKeepAlive,
} from '../mqtt-client/index.ts'
import { type ConnackPacket, type Packet, type ProtocolError, reasonCodes, reasonText } from '../protocol/index.ts'
import type { ByteStream } from '../transports/index.ts'
import { SubscriptionState } from './subscriptions/subscription-state.ts'
import { connectLocal } from './connection/connect-packets.ts'
import { localDisconnectReason, localRefusal } from './connection/refusal-text.ts'
import { MessageTransfer, type TransferDependencies } from './transfer/message-transfer.ts'
import { VersionNegotiation } from './connection/version-negotiation.ts'
import { ConnectHandshake, nameWaitMs, type Step } from './connection/connect-handshake.ts'
import { linkLocal, linkRemote } from './bridge-links.ts'
import type { ClientFilters } from './subscriptions/transparent-subscriptions.ts'
import { PreferredServer } from './connection/preferred-server.ts'
import { LocalSetup } from './connection/local-setup.ts'
import { ReconnectBackoff, stableAfterMs } from './connection/reconnect-backoff.ts'
import { RejectedMessages } from './transfer/rejected-messages.ts'
import { BridgeRemoval } from './remove-bridge.ts'
import { hasSameRules, isSameConnection, type BridgeSettings } from './model/settings.ts'
import { newBridgeCounters, type BridgeState, type BridgeStatus } from './model/status.ts'
import { hasNoChanges, isSameSession, type Marks } from './subscriptions/subscriptions.ts'
import { spoolOf, type BridgeDependencies, type Dialing } from './model/bridge-dependencies.ts'

/** Maximum time for a response of the own broker. */
const localTimeoutMs = 30_000
const drainMs = 5_000

export class Bridge implements LinkCallbacks {
  #settings: BridgeSettings
  /** Settings of the current connection, whose MQTT version may differ from the configured one. */
  #connectionSettings: BridgeSettings
  readonly #dependencies: BridgeDependencies
  readonly #counters = newBridgeCounters()
  readonly #rejectedMessages = new RejectedMessages()
  #state: BridgeState = 'off'
  #sinceMs: number
  #backoff: ReconnectBackoff
  #dialing: Dialing | undefined
  #preferred: PreferredServer | undefined
  #local: PacketLink | undefined
  #remote: PacketLink | undefined
  #versions = new VersionNegotiation()
  #handshake: ConnectHandshake | undefined
  /** The remote broker has deleted the bridge's session; the next connection is the permanent one. */
  #isCleared = false
  #connack: ConnackPacket | undefined
  /** A packet that the remote broker sent directly after CONNACK. */
  #earlyPacket: Packet | undefined
  #transfer: MessageTransfer | undefined
  #localSetup: LocalSetup | undefined
  /** Settings that apply after in-flight messages are completed. */
  #pendingSettings: BridgeSettings | undefined
  /** Timeout or end of the current state. */
  #dueAtMs = Infinity
  readonly #monitor = new ConnectionMonitor()
  #removal: BridgeRemoval | undefined
  #isSessionNew = false
  readonly #subscriptionState: SubscriptionState
  #lastError: { readonly text: string; readonly atMs: number } | undefined

  constructor(settings: BridgeSettings, dependencies: BridgeDependencies) {
    this.#settings = settings
    this.#connectionSettings = settings
    this.#dependencies = dependencies
    this.#subscriptionState = new SubscriptionState(dependencies.broker)
    this.#sinceMs = dependencies.nowMs()
    this.#backoff = this.#createBackoff()
  }

  /** `isSessionNew`: the local session belongs to an earlier bridge of this name, and is deleted. */
  start(isSessionNew = false): void {
    this.#isSessionNew ||= isSessionNew
    this.#setUpLocal(undefined, () => {
      if (this.#settings.isEnabled) this.#dial()
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
    this.#transfer?.drain()
    // It uses the old settings.
    this.#preferred?.closeLinks()
    this.#preferred = undefined
    if (this.#state !== 'draining') this.#moveTo('draining', this.#dependencies.nowMs() + drainMs)
    this.#endDrainIfIdle()
  }

  /** Disconnects from both sides; stored state remains. */
  stop(): void {
    this.#closeLinks(disconnectPacket(this.#connectionSettings.version, {}))
    this.#moveTo('off', Infinity)
  }

  /** The bridge was removed from the configuration: its session ends on both sides, with its queue. */
  remove(): void {
    this.#closeLinks(disconnectPacket(this.#connectionSettings.version, { deletesSession: true }))
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
    if (this.#state === 'connected' || this.#state === 'draining') {
      if (nowMs >= this.#monitor.dueAtMs) this.#checkConnection(nowMs)
      this.#preferred?.checkIfDue(nowMs)
    }
    this.#scheduleTick()
  }

  status(): BridgeStatus {
    const { server, failures } = this.#backoff
    return {
      name: this.#settings.name,
      state: this.#state,
      sinceMs: this.#sinceMs,
      server,
      version: this.#versions.with(server, this.#settings).version,
      attempts: failures,
      lastError: this.#lastError?.text,
      lastErrorAtMs: this.#lastError?.atMs,
      inFlight: this.#transfer?.inFlight ?? 0,
      ...spoolOf(this.#dependencies.broker.sessionStatus()),
      ...this.#subscriptionState.transparent.counts,
      counters: this.#counters,
    }
  }

  handleBytes(link: PacketLink): void {
    if (link === this.#remote) this.#monitor.noteReceived(this.#dependencies.nowMs())
  }

  handlePacket(link: PacketLink, packet: Packet): void {
    if (link === this.#local) this.#handleLocalPacket(packet)
    else if (link === this.#remote) this.#handleRemotePacket(link, packet)
    this.#transfer?.pauseFasterSide()
    if (this.#state === 'draining') this.#endDrainIfIdle()
  }

  handleRead(link: PacketLink): void {
    const other = link === this.#local ? this.#remote : this.#local
    if (this.#transfer !== undefined) other?.flush()
  }

  handleMalformed(link: PacketLink, error: ProtocolError): void {
    if (link === this.#remote) return this.#handleProtocolError(error.message, error.reason)
    if (link === this.#local) this.#fail(`this broker: ${error.message}`)
  }

  handleClosed(link: PacketLink, error: Error | undefined): void {
    if (link !== this.#local && link !== this.#remote) return
    const step = link === this.#remote ? this.#handshake?.close() : undefined
    if (step !== undefined) return this.#handleStep(step, link)
    const who = link === this.#local ? 'this broker' : 'the remote broker'
    this.#fail(`${who} closed the connection${error === undefined ? '' : `: ${error.message}`}`)
  }

  handleWritten(): void {
    this.#transfer?.resumeReading()
  }

  // Preparing

  /** Sets up the local session before anything else. */
  #setUpLocal(marks: Marks | undefined, then: () => void): void {
    this.#subscriptionState.useForwards(this.#settings, this.#isSessionNew)
    const changes = this.#subscriptionState.localChanges(this.#settings, marks, this.#isSessionNew)
    // CONNECT contains the limits, which must apply before the remote broker is connected.
    const sendsLimits = marks === undefined && this.#subscriptionState.hasUnsentLimits(this.#settings)
    if (hasNoChanges(changes) && !sendsLimits && !this.#isSessionNew) return then()
    if (marks === undefined) this.#moveTo('preparing', this.#dependencies.nowMs() + localTimeoutMs)
    this.#localSetup = new LocalSetup({
      linkTo: (owner) => linkLocal(owner, this.#dependencies),
      done: () => {
        this.#localSetup = undefined
        this.#isSessionNew = false
        then()
      },
      fail: (why) => this.#fail(why),
      warnIf: (text) => this.#warnIf(this.#subscriptionState.recordLocalAck(text)),
    })
    const sendLocal = (link: PacketLink): number => this.#subscriptionState.sendLocal(link, changes)
    this.#localSetup.begin(this.#settings, { isSessionNew: this.#isSessionNew }, sendLocal)
  }

  // Connecting

  #dial(): void {
    const { connectTimeoutMs, link } = this.#settings
    this.#moveTo('connecting', this.#dependencies.nowMs() + connectTimeoutMs)
    this.#dialing = this.#dependencies.connector.dial(this.#backoff.server, link, {
      onOpen: (stream) => {
        this.#dialing = undefined
        this.#startHandshake(stream)
      },
      onProblem: ({ message }) => {
        this.#dialing = undefined
        this.#fail(message)
      },
    })
  }

  #startHandshake(stream: ByteStream): void {
    const { server } = this.#backoff
    const negotiated = this.#versions.with(server, this.#settings)
    const settings = { ...this.#settings, version: negotiated.version }
    this.#moveTo('connecting', this.#dependencies.nowMs() + settings.connectTimeoutMs)
    const link = linkRemote(this, stream, settings.version, this.#dependencies)
    this.#remote = link
    this.#connectionSettings = settings
    this.#handshake = new ConnectHandshake({
      link,
      server,
      settings,
      negotiated,
      versions: this.#versions,
      broker: this.#dependencies.broker,
      isJoined: this.#subscriptionState.isJoinedWith(server, settings),
      isCleared: this.#isCleared,
      emit: (event) => this.#dependencies.emit(event),
    })
    this.#isCleared = false
    this.#handshake.begin()
  }

  #handleStep(step: Step, link: PacketLink): void {
    switch (step.step) {
      case 'wait':
        return this.#moveTo('connecting', Math.min(this.#dueAtMs, this.#dependencies.nowMs() + nameWaitMs))
      case 'reconnect':
        link.end(step.disconnect)
        this.#closeLinks(undefined)
        this.#isCleared = step.isCleared
        return step.pauseMs === 0 ? this.#dial() : this.#moveTo('waiting', this.#dependencies.nowMs() + step.pauseMs)
      case 'join':
        return this.#prepareTransfer(link, step.connack, step.earlyPacket)
      case 'fail':
        return this.#fail(step.why)
      case 'protocol-error':
        return this.#handleProtocolError(step.text, reasonCodes.protocolError)
      default:
        step satisfies never
    }
  }

  /** The remote broker has accepted the bridge. */
  #prepareTransfer(link: PacketLink, connack: ConnackPacket, earlyPacket: Packet | undefined): void {
    this.#handshake = undefined
    this.#connack = connack
    this.#earlyPacket = earlyPacket
    link.pauseReading()
    this.#moveTo('connecting', this.#dependencies.nowMs() + localTimeoutMs)
    const marks = this.#subscriptionState.begin(this.#backoff.server, this.#connectionSettings, connack)
    this.#setUpLocal(marks, () => this.#startTransfer(connack))
  }

  #startTransfer(connack: ConnackPacket): void {
    const { receiveMaximum } = limitsOf(connack, this.#connectionSettings)
    this.#local = linkLocal(this, this.#dependencies)
    this.#local.send(connectLocal(this.#connectionSettings, { receiveMaximum, isSessionLost: !connack.sessionPresent }))
  }

  /** Both sides are connected. */
  #begin(sides: Pick<TransferDependencies, 'local' | 'remote' | 'connack' | 'localConnack'>): void {
    const { local, remote, connack } = sides
    const settings = this.#connectionSettings
    this.#transfer = new MessageTransfer({
      ...sides,
      settings,
      broker: this.#dependencies.broker,
      counters: this.#counters,
      rejectedMessages: this.#rejectedMessages,
      open: this.#subscriptionState.transparent.tree,
      slots: this.#subscriptionState.slots,
      reconnect: (why) => this.#fail(why),
      handleProtocolError: (text) => this.#handleProtocolError(text, reasonCodes.protocolError),
    })
    this.#counters.connects++
    const { sessionPresent, properties: { serverKeepAliveSeconds } = {} } = connack
    const nowMs = this.#dependencies.nowMs()
    this.#monitor.begin(settings, shorterKeepAlive(settings.keepAliveSeconds, serverKeepAliveSeconds), nowMs)
    this.#preferred = this.#preferredServer()
    this.#subscriptionState.connect({ local, remote, server: this.#backoff.server, settings }, sessionPresent, nowMs)
    this.#moveTo('connected', Infinity)
    this.#dependencies.emit({
      event: 'connected',
      server: this.#backoff.server,
      sessionPresent,
      version: settings.version,
    })
    const earlyPacket = this.#earlyPacket
    this.#earlyPacket = undefined
    if (earlyPacket !== undefined) this.#handleRemotePacket(remote, earlyPacket)
    this.#transfer?.resumeReading()
  }

  // Connected

  #handleLocalPacket(packet: Packet): void {
    switch (packet.type) {
      case 'connack':
        return this.#handleLocalConnack(packet)
      case 'suback':
      case 'unsuback':
        this.#warnIf(this.#subscriptionState.handleLocalAck(packet, this.#dependencies.nowMs()))
        return this.#scheduleTick()
      case 'disconnect':
        return this.#fail(localDisconnectReason(packet))
      default:
        return this.#transfer?.handleLocalPacket(packet)
    }
  }

  #handleLocalConnack(packet: ConnackPacket): void {
    const refusal = localRefusal(packet)
    if (refusal !== undefined) return this.#fail(refusal)
    if (this.#local === undefined || this.#remote === undefined || this.#connack === undefined) return
    if (!packet.sessionPresent && this.#connack.sessionPresent)
      return this.#fail('the local session is lost, so the session at the remote broker is restarted')
    this.#begin({ local: this.#local, remote: this.#remote, connack: this.#connack, localConnack: packet })
  }

  #handleRemotePacket(link: PacketLink, packet: Packet): void {
    if (this.#handshake !== undefined) return this.#handleStep(this.#handshake.handleStep(packet), link)
    if (packet.type === 'disconnect') {
      this.#transfer?.handleDisconnect(packet.reasonCode)
      const words = reasonText(packet.reasonCode, 5, packet.properties?.reasonString)
      return this.#fail(`the remote broker ended the connection: ${words}`)
    }
    const isAck = packet.type === 'suback' || packet.type === 'unsuback'
    if (isAck) this.#warnIf(this.#subscriptionState.handleRemoteAck(packet))
    this.#transfer?.handleRemotePacket(packet)
  }

  #checkConnection(nowMs: number): void {
    const found = this.#transfer === undefined ? undefined : this.#monitor.check(this.#transfer.progress, nowMs)
    if (found?.sendsPing === false) return this.#fail(found.why)
    if (found?.sendsPing === true) this.#transfer?.ping()
  }

  #preferredServer(): PreferredServer {
    return new PreferredServer(this.#dependencies, {
      backoff: this.#backoff,
      link: this.#settings.link,
      change: (stream) => {
        this.#closeLinks(disconnectPacket(this.#connectionSettings.version, {}))
        this.#backoff.switchToPreferred()
        this.#startHandshake(stream)
      },
      scheduleTick: () => this.#scheduleTick(),
    })
  }

  // Other settings

  #changeRules(settings: BridgeSettings): void {
    const before = this.#connectionSettings
    const { remote, local } = { remote: this.#remote, local: this.#local }
    this.#settings = settings
    this.#pendingSettings = undefined
    if (remote === undefined || local === undefined) return this.#restart()
    this.#connectionSettings = { ...settings, version: remote.version }
    this.#subscriptionState.useForwards(settings)
    this.#transfer?.changeRules(settings)
    this.#subscriptionState.changeRules(before, this.#connectionSettings, this.#dependencies.nowMs())
    this.#scheduleTick()
  }

  #endDrainIfIdle(): void {
    if (this.#transfer?.isIdle !== false) this.#restart()
  }

  #restart(): void {
    const next = this.#pendingSettings
    const deletesSession = next !== undefined && !isSameSession(next, this.#backoff.server, this.#connectionSettings)
    this.#closeLinks(disconnectPacket(this.#connectionSettings.version, { deletesSession }))
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

  #handleTimeout(): void {
    const wasWaiting = this.#state === 'waiting'
    this.#dueAtMs = Infinity
    const silence = this.#handshake?.endNameWait()
    if (silence !== undefined && this.#remote !== undefined) return this.#handleStep(silence, this.#remote)
    if (wasWaiting) this.start()
    else if (this.#state === 'draining') this.#restart()
    else if (this.#connack !== undefined || this.#localSetup !== undefined)
      this.#fail('this broker does not respond to the bridge')
    else this.#fail('the remote broker does not respond')
  }

  #handleProtocolError(text: string, reason: ProtocolError['reason']): void {
    if (this.#connectionSettings.version === 5 && this.#connack !== undefined)
      this.#remote?.end(disconnectPacket(5, { reason }))
    this.#fail(`the remote broker broke the protocol: ${text}`)
  }

  #fail(why: string): void {
    if (this.#state === 'off' || this.#state === 'waiting') return
    const nowMs = this.#dependencies.nowMs()
    const { server } = this.#backoff
    this.#versions.recordFailure(server, this.#handshake !== undefined)
    if (this.#state === 'connected' && nowMs - this.#sinceMs >= stableAfterMs) {
      this.#backoff.recordStable()
      this.#versions.recordStable(server)
    }
    this.#closeLinks(undefined)
    this.#counters.failures++
    const isNew = why !== this.#lastError?.text
    this.#warnOf(why)
    this.#dependencies.emit({ event: 'disconnected', server, why, isNew })
    if (this.#pendingSettings !== undefined) return this.#restart()
    this.#moveTo('waiting', nowMs + this.#backoff.recordFailure())
  }

  #warnIf(text: string | undefined): void {
    if (text === undefined) return
    if (text !== this.#lastError?.text) this.#dependencies.emit({ event: 'warning', text })
    this.#warnOf(text)
  }

  #warnOf(text: string): void {
    this.#lastError = { text, atMs: this.#dependencies.nowMs() }
  }

  /** Closes both connections, with a DISCONNECT to the remote broker if there is one to send. */
  #closeLinks(disconnect: ReturnType<typeof disconnectPacket> | undefined): void {
    this.#dialing?.abandon()
    this.#preferred?.closeLinks()
    if (disconnect === undefined) this.#remote?.destroy()
    else this.#remote?.end((this.#connack ?? this.#handshake?.connack) === undefined ? undefined : disconnect)
    // Acknowledgements of the remote broker are passed on first, otherwise their messages would be sent again.
    if (this.#transfer === undefined) this.#local?.destroy()
    else this.#local?.end(undefined)
    this.#localSetup?.closeLinks()
    this.#removal?.closeLinks()
    this.#dialing = undefined
    this.#preferred = undefined
    this.#remote = undefined
    this.#local = undefined
    this.#handshake = undefined
    this.#connack = undefined
    this.#earlyPacket = undefined
    this.#isCleared = false
    this.#transfer = undefined
    this.#localSetup = undefined
    this.#monitor.end()
    this.#subscriptionState.disconnect()
  }

  #moveTo(state: BridgeState, dueAtMs: number): void {
    if (state !== this.#state) this.#sinceMs = this.#dependencies.nowMs()
    this.#state = state
    this.#dueAtMs = dueAtMs
    this.#scheduleTick()
  }

  #scheduleTick(): void {
    const others = [this.#monitor, this.#subscriptionState, this.#preferred, this.#removal]
    this.#dependencies.wakeAt(Math.min(this.#dueAtMs, ...others.map((part) => part?.dueAtMs ?? Infinity)))
  }
}
