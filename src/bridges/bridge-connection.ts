// One connection of a bridge: to the remote broker and, when it has accepted the bridge, to the own broker.
//
//   prepare() ──► dial() ──► handshake ──► local setup ──► CONNECT to the own broker ──► messages are forwarded
//                 connect()     │ a step of the handshake may end this connection and dial again
//
// It ends when either side fails. It tells its bridge, which closes it, and starts the next one later.

import {
  createDisconnectPacket,
  toRemoteLimits,
  type LinkCallbacks,
  type PacketLink,
  selectShorterKeepAlive,
} from '../mqtt-client/index.ts'
import { type ConnackPacket, type Packet, type ProtocolError, reasonCodes, describeReason } from '../protocol/index.ts'
import type { ByteStream } from '../transports/index.ts'
import type { ConnectionOwner, SharedParts } from './connection-owner.ts'
import { connectLocal } from './connection/connect-packets.ts'
import { describeLocalDisconnect, describeLocalRefusal } from './connection/describe-refusal.ts'
import { MessageTransfer } from './transfer/message-transfer.ts'
import { ConnectHandshake, nameWaitMs, type Step } from './connection/connect-handshake.ts'
import { openLocalLink, openRemoteLink } from './bridge-links.ts'
import { PreferredServer } from './connection/preferred-server.ts'
import { LocalSetup } from './connection/local-setup.ts'
import type { BridgeSettings } from './model/bridge-settings.ts'
import { hasNoChanges, type Marks } from './subscriptions/plan-subscriptions.ts'
import type { Dialing } from './model/bridge-dependencies.ts'

/** Maximum time for a response of the own broker. */
const localTimeoutMs = 30_000

/** Both sides, when both are connected. */
interface Sides {
  readonly local: PacketLink
  readonly remote: PacketLink
  readonly connack: ConnackPacket
  readonly localConnack: ConnackPacket
}

export class BridgeConnection implements LinkCallbacks {
  readonly #owner: ConnectionOwner
  readonly #parts: SharedParts
  /** As configured. */
  #configured: BridgeSettings
  /** With the MQTT version of this connection, which may differ from the configured one. */
  #settings: BridgeSettings
  /** See `Step`. */
  readonly #isCleared: boolean
  #dialing: Dialing | undefined
  #preferred: PreferredServer | undefined
  #local: PacketLink | undefined
  #remote: PacketLink | undefined
  #handshake: ConnectHandshake | undefined
  /** With which the remote broker accepted the bridge. */
  #connack: ConnackPacket | undefined
  /** A packet that the remote broker sent directly after CONNACK. */
  #earlyPacket: Packet | undefined
  #localSetup: LocalSetup | undefined
  #transfer: MessageTransfer | undefined

  constructor(
    owner: ConnectionOwner,
    parts: SharedParts,
    { settings, isCleared }: { readonly settings: BridgeSettings; readonly isCleared: boolean },
  ) {
    this.#owner = owner
    this.#parts = parts
    this.#configured = settings
    this.#settings = settings
    this.#isCleared = isCleared
  }

  get settings(): BridgeSettings {
    return this.#settings
  }

  /** Messages in flight in both directions. */
  get inFlight(): number {
    return this.#transfer?.inFlight ?? 0
  }

  /** Returns whether no message is in flight. */
  get isIdle(): boolean {
    return this.#transfer?.isIdle !== false
  }

  get isInHandshake(): boolean {
    return this.#handshake !== undefined
  }

  /** When `tick` must be called; Infinity: never. */
  get dueAtMs(): number {
    return Math.min(this.#parts.monitor.dueAtMs, this.#preferred?.dueAtMs ?? Infinity)
  }

  /** Only while messages are forwarded. */
  tick(nowMs: number): void {
    if (nowMs >= this.#parts.monitor.dueAtMs) this.#checkConnection(nowMs)
    this.#preferred?.checkIfDue(nowMs)
  }

  /** The time of the state has passed. */
  handleTimeout(): void {
    const silence = this.#handshake?.endNameWait()
    if (silence !== undefined && this.#remote !== undefined) return this.#takeStep(silence, this.#remote)
    if (this.#connack !== undefined || this.#localSetup !== undefined)
      this.#owner.fail('this broker does not respond to the bridge')
    else this.#owner.fail('the remote broker does not respond')
  }

  /** Starts no new message. */
  drain(): void {
    this.#transfer?.drain()
    // It uses the old settings.
    this.#preferred?.closeLinks()
    this.#preferred = undefined
  }

  /** Applies other rules while messages are forwarded. */
  changeRules(settings: BridgeSettings): void {
    const { subscriptionState, dependencies } = this.#parts
    const before = this.#settings
    this.#configured = settings
    this.#settings = { ...settings, version: before.version }
    subscriptionState.useForwards(settings)
    this.#transfer?.changeRules(settings)
    subscriptionState.changeRules(before, this.#settings, dependencies.nowMs())
  }

  /** Closes both sides. The remote broker gets a DISCONNECT with these properties, if it has accepted the bridge; undefined: none. */
  close(disconnect: { readonly deletesSession?: boolean } | undefined): void {
    this.#dialing?.abandon()
    this.#preferred?.closeLinks()
    const isAccepted = (this.#connack ?? this.#handshake?.connack) !== undefined
    if (disconnect === undefined) this.#remote?.destroy()
    else this.#remote?.end(isAccepted ? createDisconnectPacket(this.#settings.version, disconnect) : undefined)
    // Acknowledgements of the remote broker are passed on first, otherwise their messages would be sent again.
    if (this.#transfer === undefined) this.#local?.destroy()
    else this.#local?.end(undefined)
    this.#localSetup?.closeLinks()
    this.#dialing = undefined
    this.#preferred = undefined
    this.#remote = undefined
    this.#local = undefined
    this.#handshake = undefined
    this.#connack = undefined
    this.#earlyPacket = undefined
    this.#transfer = undefined
    this.#localSetup = undefined
    this.#parts.monitor.end()
  }

  handleProtocolError(text: string, reason: ProtocolError['reason'] = reasonCodes.protocolError): void {
    if (this.#settings.version === 5 && this.#connack !== undefined)
      this.#remote?.end(createDisconnectPacket(5, { reason }))
    this.#owner.fail(`the remote broker broke the protocol: ${text}`)
  }

  // Callbacks of both links

  handleBytes(link: PacketLink): void {
    if (link === this.#remote) this.#parts.monitor.recordReceived(this.#parts.dependencies.nowMs())
  }

  handlePacket(link: PacketLink, packet: Packet): void {
    if (link === this.#local) this.#handleLocalPacket(packet)
    else if (link === this.#remote) this.#handleRemotePacket(link, packet)
    this.#transfer?.pauseFasterSide()
    this.#owner.onPacketHandled()
  }

  handleRead(link: PacketLink): void {
    const other = link === this.#local ? this.#remote : this.#local
    if (this.#transfer !== undefined) other?.flush()
  }

  handleMalformed(link: PacketLink, error: ProtocolError): void {
    if (link === this.#remote) return this.handleProtocolError(error.message, error.reason)
    if (link === this.#local) this.#owner.fail(`this broker: ${error.message}`)
  }

  handleClosed(link: PacketLink, error: Error | undefined): void {
    if (link !== this.#local && link !== this.#remote) return
    const step = link === this.#remote ? this.#handshake?.close() : undefined
    if (step !== undefined) return this.#takeStep(step, link)
    const who = link === this.#local ? 'this broker' : 'the remote broker'
    this.#owner.fail(`${who} closed the connection${error === undefined ? '' : `: ${error.message}`}`)
  }

  handleWritten(): void {
    this.#transfer?.resumeReading()
  }

  // The local session

  /** Sets up the local session before anything else. `isSessionNew`: it belongs to an earlier bridge of this name, and is deleted. */
  prepare(isSessionNew: boolean, then: () => void): void {
    this.#setUpLocal({ marks: undefined, isSessionNew }, then)
  }

  #setUpLocal(
    { marks, isSessionNew }: { readonly marks: Marks | undefined; readonly isSessionNew: boolean },
    then: () => void,
  ): void {
    const { subscriptionState, dependencies } = this.#parts
    const settings = this.#configured
    subscriptionState.useForwards(settings, isSessionNew)
    const changes = subscriptionState.planLocalChanges(settings, marks, isSessionNew)
    // CONNECT contains the limits, which must apply before the remote broker is connected.
    const sendsLimits = marks === undefined && subscriptionState.hasUnsentLimits(settings)
    if (hasNoChanges(changes) && !sendsLimits && !isSessionNew) return then()
    if (marks === undefined) this.#owner.moveTo('preparing', dependencies.nowMs() + localTimeoutMs)
    this.#localSetup = new LocalSetup({
      openLink: (owner) => openLocalLink(owner, dependencies),
      onDone: () => {
        this.#localSetup = undefined
        then()
      },
      fail: (why) => this.#owner.fail(why),
      warnIf: (text) => this.#owner.warnIf(subscriptionState.recordLocalAck(text)),
    })
    const sendLocal = (link: PacketLink): number => subscriptionState.sendLocal(link, changes)
    this.#localSetup.begin(settings, { isSessionNew }, sendLocal)
  }

  // Connecting

  dial(): void {
    const { backoff, dependencies } = this.#parts
    const { connectTimeoutMs, link } = this.#configured
    this.#owner.moveTo('connecting', dependencies.nowMs() + connectTimeoutMs)
    this.#dialing = dependencies.connector.dial(backoff.server, link, {
      onOpen: (stream) => {
        this.#dialing = undefined
        this.connect(stream)
      },
      onProblem: ({ message }) => {
        this.#dialing = undefined
        this.#owner.fail(message)
      },
    })
  }

  /** Starts the handshake over an open stream to the remote broker. */
  connect(stream: ByteStream): void {
    const { backoff, dependencies, versions, subscriptionState } = this.#parts
    const { server } = backoff
    const negotiated = versions.negotiate(server, this.#configured)
    const settings = { ...this.#configured, version: negotiated.version }
    this.#owner.moveTo('connecting', dependencies.nowMs() + settings.connectTimeoutMs)
    const link = openRemoteLink(this, stream, settings.version, dependencies)
    this.#remote = link
    this.#settings = settings
    this.#handshake = new ConnectHandshake({
      link,
      server,
      settings,
      negotiated,
      versions,
      broker: dependencies.broker,
      isJoined: subscriptionState.isJoinedWith(server, settings),
      isCleared: this.#isCleared,
      emit: (event) => dependencies.emit(event),
    })
    this.#handshake.begin()
  }

  #takeStep(step: Step, link: PacketLink): void {
    switch (step.step) {
      case 'wait':
        return this.#owner.waitAtMost(this.#parts.dependencies.nowMs() + nameWaitMs)
      case 'reconnect':
        link.end(step.disconnect)
        return this.#owner.reconnect(step)
      case 'join':
        return this.#prepareTransfer(link, step.connack, step.earlyPacket)
      case 'fail':
        return this.#owner.fail(step.why)
      case 'protocol-error':
        return this.handleProtocolError(step.text)
      default:
        step satisfies never
    }
  }

  /** The remote broker has accepted the bridge. */
  #prepareTransfer(link: PacketLink, connack: ConnackPacket, earlyPacket: Packet | undefined): void {
    const { subscriptionState, backoff, dependencies } = this.#parts
    this.#handshake = undefined
    this.#connack = connack
    this.#earlyPacket = earlyPacket
    link.pauseReading()
    this.#owner.moveTo('connecting', dependencies.nowMs() + localTimeoutMs)
    const marks = subscriptionState.begin(backoff.server, this.#settings, connack)
    this.#setUpLocal({ marks, isSessionNew: false }, () => this.#connectLocal(connack))
  }

  #connectLocal(connack: ConnackPacket): void {
    const { receiveMaximum } = toRemoteLimits(connack, this.#settings)
    this.#local = openLocalLink(this, this.#parts.dependencies)
    this.#local.send(connectLocal(this.#settings, { receiveMaximum, isSessionLost: !connack.sessionPresent }))
  }

  #handleLocalConnack(packet: ConnackPacket): void {
    const refusal = describeLocalRefusal(packet)
    if (refusal !== undefined) return this.#owner.fail(refusal)
    if (this.#local === undefined || this.#remote === undefined || this.#connack === undefined) return
    if (!packet.sessionPresent && this.#connack.sessionPresent)
      return this.#owner.fail('the local session is lost, so the session at the remote broker is restarted')
    this.#begin({ local: this.#local, remote: this.#remote, connack: this.#connack, localConnack: packet })
  }

  // Connected

  /** Both sides are connected. */
  #begin(sides: Sides): void {
    const { dependencies, counters, rejectedMessages, subscriptionState, backoff } = this.#parts
    const { local, remote, connack } = sides
    const { server } = backoff
    const settings = this.#settings
    this.#transfer = new MessageTransfer({
      ...sides,
      settings,
      broker: dependencies.broker,
      counters,
      rejectedMessages,
      open: subscriptionState.transparent.tree,
      slots: subscriptionState.slots,
      reconnect: (why) => this.#owner.fail(why),
      handleProtocolError: (text) => this.handleProtocolError(text),
    })
    counters.connects++
    const { sessionPresent, properties: { serverKeepAliveSeconds } = {} } = connack
    const nowMs = dependencies.nowMs()
    this.#parts.monitor.begin(
      settings,
      selectShorterKeepAlive(settings.keepAliveSeconds, serverKeepAliveSeconds),
      nowMs,
    )
    this.#preferred = this.#createPreferred()
    subscriptionState.connect({ local, remote, server, settings }, sessionPresent, nowMs)
    this.#owner.moveTo('connected', Infinity)
    dependencies.emit({ event: 'connected', server, sessionPresent, version: settings.version })
    const earlyPacket = this.#earlyPacket
    this.#earlyPacket = undefined
    if (earlyPacket !== undefined) this.#handleRemotePacket(remote, earlyPacket)
    this.#transfer?.resumeReading()
  }

  #createPreferred(): PreferredServer {
    return new PreferredServer(this.#parts.dependencies, {
      backoff: this.#parts.backoff,
      link: this.#configured.link,
      change: (stream) => this.#owner.changeToPreferred(stream),
      scheduleTick: () => this.#owner.scheduleTick(),
    })
  }

  #handleLocalPacket(packet: Packet): void {
    const { subscriptionState, dependencies } = this.#parts
    switch (packet.type) {
      case 'connack':
        return this.#handleLocalConnack(packet)
      case 'suback':
      case 'unsuback':
        this.#owner.warnIf(subscriptionState.handleLocalAck(packet, dependencies.nowMs()))
        return this.#owner.scheduleTick()
      case 'disconnect':
        return this.#owner.fail(describeLocalDisconnect(packet))
      default:
        return this.#transfer?.handleLocalPacket(packet)
    }
  }

  #handleRemotePacket(link: PacketLink, packet: Packet): void {
    if (this.#handshake !== undefined) return this.#takeStep(this.#handshake.handleStep(packet), link)
    if (packet.type === 'disconnect') {
      this.#transfer?.handleDisconnect(packet.reasonCode)
      const reason = describeReason(packet.reasonCode, 5, packet.properties?.reasonString)
      return this.#owner.fail(`the remote broker ended the connection: ${reason}`)
    }
    const isAck = packet.type === 'suback' || packet.type === 'unsuback'
    if (isAck) this.#owner.warnIf(this.#parts.subscriptionState.handleRemoteAck(packet))
    this.#transfer?.handleRemotePacket(packet)
  }

  #checkConnection(nowMs: number): void {
    const found = this.#transfer === undefined ? undefined : this.#parts.monitor.check(this.#transfer.progress, nowMs)
    if (found?.sendsPing === false) return this.#owner.fail(found.why)
    if (found?.sendsPing === true) this.#transfer?.ping()
  }
}
