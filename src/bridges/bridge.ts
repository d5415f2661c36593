// One bridge. It is a client of our own broker and a client of the remote one, and stands between the two.
//
//   off <--switch--> preparing --> connecting --> connected --settings--> draining
//                        ^             |              |                      |
//                        |          waiting <---------'                      |
//                        '---------------------------------------------------'
//
// preparing    the session here is subscribed to what is to be forwarded: from now on it gathers, on disk
// connecting   the remote broker is dialed and sent CONNECT; only then our own: what it resends has somewhere to go
// connected    messages go; when either side breaks both are closed, and the core sends again what has no answer
// draining     no message is begun any more, and those under way come to their end

import { spoolProperties } from '../core/index.ts'
import {
  type ConnackPacket,
  type Packet,
  type PacketId,
  type ProtocolError,
  reasonCodes,
  type SubackPacket,
  TopicTable,
  type UnsubackPacket,
} from '../protocol/index.ts'
import type { ByteStream } from '../transports/index.ts'
import { Agreements } from './agreements.ts'
import { connectHere, connectThere, goodbye, isUnknownVersion, limitsOf, wordsOfReason } from './connecting.ts'
import { Crossing, topicsRemembered } from './crossing.ts'
import { KeepAlive } from './keep-alive.ts'
import { PacketLink, type LinkOwner } from './packet-link.ts'
import { Reconnection, steadyAfterMs } from './reconnection.ts'
import { hasTheSameRules, isTheSameConnection, saysBridge, type BridgeSettings } from './settings.ts'
import { newBridgeCounters, type BridgeState, type BridgeStatus } from './status.ts'
import { areNone, type Marks } from './subscriptions.ts'
import type { BridgeWorld, Dialing } from './world.ts'

/** Our own broker answers in this time, or something is wrong. */
const patienceHereMs = 30_000
const drainMs = 5_000
/** What is sent to our own broker before messages go: then what follows it is done. */
interface Preparation {
  answersOwed: number
  readonly done: () => void
}

export class Bridge implements LinkOwner {
  #settings: BridgeSettings
  readonly #world: BridgeWorld
  readonly #counters = newBridgeCounters()
  readonly #refusals = new Map<PacketId, number>()
  #state: BridgeState = 'off'
  #sinceMs: number
  #reconnection: Reconnection
  #dialing: Dialing | undefined
  #probe: Dialing | undefined
  #local: PacketLink | undefined
  #remote: PacketLink | undefined
  #connack: ConnackPacket | undefined
  #crossing: Crossing | undefined
  #preparation: Preparation | undefined
  /** The settings that are to be in force when what is under way is through. */
  #next: BridgeSettings | undefined
  /** When the present state has lasted too long, or is over. */
  #dueAtMs = Infinity
  #keepAlive: KeepAlive | undefined
  #preferredDueAtMs = Infinity
  #saysBridge: boolean
  /** Before 5.0 a clean session ends with its connection: one is made for that alone, and then the one that is kept. */
  #clearing: 'not yet' | 'clears' | 'cleared' = 'not yet'
  #isRetired = false
  readonly #agreements: Agreements
  #lastError: string | undefined
  #lastErrorAtMs: number | undefined

  constructor(settings: BridgeSettings, world: BridgeWorld) {
    this.#settings = settings
    this.#world = world
    this.#agreements = new Agreements(world.broker)
    this.#sinceMs = world.nowMs()
    this.#reconnection = this.#newReconnection()
    this.#saysBridge = saysBridge(settings)
  }

  start(): void {
    this.#prepare(undefined, () => {
      if (this.#settings.isEnabled) this.#dial()
      else this.#moveTo('off', Infinity)
    })
  }

  /** Other settings: rules at once, everything else when what is under way is through. */
  change(settings: BridgeSettings): void {
    if (this.#isRetired) return
    const isOfRulesOnly = isTheSameConnection(this.#settings, settings)
    if (isOfRulesOnly && this.#next === undefined && hasTheSameRules(this.#settings, settings)) return
    this.#next = settings
    if (this.#state === 'connected' && isOfRulesOnly) return this.#changeRules(settings)
    if (this.#state !== 'connected' && this.#state !== 'draining') return this.#beginAnew()
    this.#crossing?.drain()
    if (this.#state !== 'draining') this.#moveTo('draining', this.#world.nowMs() + drainMs)
    this.#endDrainIfQuiet()
  }

  /** Both sides are told, and what is stored stays. */
  stop(): void {
    this.#leave(goodbye(this.#settings.version, {}))
    this.#moveTo('off', Infinity)
  }

  /** The bridge is gone from the configuration: its session ends, here and there, with all that waits in it. */
  retire(): void {
    this.#leave(goodbye(this.#settings.version, { forgets: true }))
    this.#isRetired = true
    this.#moveTo('off', this.#world.nowMs() + patienceHereMs)
    this.#local = this.#linkTo(this.#world.broker.open())
    this.#local.send(connectHere(this.#settings, { receiveMaximum: 1, ends: true }))
  }

  tick(): void {
    const nowMs = this.#world.nowMs()
    if (nowMs >= this.#dueAtMs) this.#endOfPatience()
    if (this.#state === 'connected' || this.#state === 'draining') {
      if (nowMs >= (this.#keepAlive?.dueAtMs ?? Infinity)) this.#askForLife(nowMs)
      if (nowMs >= this.#preferredDueAtMs) this.#tryPreferred()
    }
    this.#plan()
  }

  status(): BridgeStatus {
    const { spooled, oldestAtMs, dropped, drops } = this.#world.broker.standing()
    return {
      name: this.#settings.name,
      state: this.#state,
      sinceMs: this.#sinceMs,
      server: this.#reconnection.server,
      attempts: this.#reconnection.attempts,
      lastError: this.#lastError,
      lastErrorAtMs: this.#lastErrorAtMs,
      inFlight: this.#crossing?.inFlight ?? 0,
      spooled,
      oldestAtMs,
      spoolDropped: dropped,
      spoolDrops: Object.fromEntries(drops),
      counters: this.#counters,
    }
  }

  noteHeard(link: PacketLink): void {
    if (link === this.#remote) this.#keepAlive?.noteHeard(this.#world.nowMs())
  }

  notePacket(link: PacketLink, packet: Packet): void {
    if (link === this.#local) this.#takeFromHere(packet)
    else if (link === this.#remote) this.#takeFromThere(link, packet)
    this.#crossing?.holdWhoeverIsAhead()
    if (this.#state === 'draining') this.#endDrainIfQuiet()
  }

  noteRead(link: PacketLink): void {
    const other = link === this.#local ? this.#remote : this.#local
    if (this.#crossing !== undefined) other?.flush()
  }

  noteFault(link: PacketLink, error: ProtocolError): void {
    if (link === this.#remote) return this.#breach(error.message, error.reason)
    if (link === this.#local) this.#fail(`this broker: ${error.message}`)
  }

  noteClosed(link: PacketLink, error: Error | undefined): void {
    if (link !== this.#local && link !== this.#remote) return
    if (this.#isRetired) return this.#leave(undefined)
    const who = link === this.#local ? 'this broker' : 'the remote broker'
    this.#fail(`${who} closed the connection${error === undefined ? '' : `: ${error.message}`}`)
  }

  noteWritten(): void {
    this.#crossing?.letGoOn()
  }

  // Preparing

  /** The session here is made right, and only then the rest follows. */
  #prepare(marks: Marks | undefined, then: () => void): void {
    const changes = this.#agreements.changesHere(this.#settings, marks)
    // Its limits are said with CONNECT, and are to hold before the remote broker is there.
    const saysLimits = marks === undefined && spoolProperties(this.#settings.spool).length > 0
    if (areNone(changes) && !saysLimits) return then()
    if (marks === undefined) this.#moveTo('preparing', this.#world.nowMs() + patienceHereMs)
    const link = this.#linkTo(this.#world.broker.open())
    this.#local = link
    this.#preparation = {
      answersOwed: 0,
      done: () => {
        this.#preparation = undefined
        this.#local = undefined
        link.end(goodbye(5, {}))
        then()
      },
    }
    // What comes meanwhile is left without an answer, and comes again.
    link.send(connectHere(this.#settings, { receiveMaximum: 1 }))
    this.#preparation.answersOwed = this.#agreements.sayHere(link, changes)
  }

  // Connecting

  #dial(): void {
    const { connectTimeoutMs, link } = this.#settings
    this.#moveTo('connecting', this.#world.nowMs() + connectTimeoutMs)
    this.#dialing = this.#world.connector.dial(this.#reconnection.server, link, {
      onOpen: (stream) => {
        this.#dialing = undefined
        this.#greet(stream)
      },
      onProblem: ({ message }) => {
        this.#dialing = undefined
        this.#fail(message)
      },
    })
  }

  #greet(stream: ByteStream): void {
    const { version, connectTimeoutMs, cleanStart } = this.#settings
    const { broker } = this.#world
    const { limits } = broker
    const isJoined = this.#agreements.isJoinedWith(this.#reconnection.server, this.#settings)
    this.#connack = undefined
    this.#moveTo('connecting', this.#world.nowMs() + connectTimeoutMs)
    const link = this.#linkTo(stream, { version, limits, ownsChunks: true })
    this.#remote = link
    const clears = !isJoined && this.#clearing !== 'cleared'
    this.#clearing = clears && version !== 5 && !cleanStart ? 'clears' : 'not yet'
    const how = { cleanStart: cleanStart || clears, saysBridge: this.#saysBridge }
    link.send(connectThere(this.#settings, this.#world.broker, how))
  }

  #takeConnack(link: PacketLink, connack: ConnackPacket): void {
    const { version } = this.#settings
    const { server } = this.#reconnection
    if (this.#saysBridge && isUnknownVersion(connack, version)) {
      this.#saysBridge = false
      const text =
        'the remote broker cannot be asked not to send back what the bridge sent: rules both ways must not meet'
      this.#world.tell({ event: 'warning', text })
      this.#leave(undefined)
      return this.#dial()
    }
    if (connack.reasonCode !== 0) {
      const words = wordsOfReason(connack.reasonCode, version, connack.properties?.reasonString)
      return this.#fail(`the remote broker refused the bridge: ${words}`)
    }
    if (this.#clearing === 'clears') {
      link.end(goodbye(version, {}))
      this.#leave(undefined)
      this.#clearing = 'cleared'
      return this.#dial()
    }
    if (connack.sessionPresent && !this.#agreements.isJoinedWith(server, this.#settings))
      return this.#breach('a session that was to be forgotten is there', reasonCodes.protocolError)
    this.#connack = connack
    link.hold()
    this.#moveTo('connecting', this.#world.nowMs() + patienceHereMs)
    const marks = this.#agreements.begin(server, this.#settings, connack.sessionPresent)
    this.#prepare(marks, () => this.#join(connack))
  }

  #join(connack: ConnackPacket): void {
    const { receiveMaximum } = limitsOf(connack, this.#settings)
    this.#local = this.#linkTo(this.#world.broker.open())
    this.#local.send(connectHere(this.#settings, { receiveMaximum, isForgotten: !connack.sessionPresent }))
  }

  /** Both sides are there. */
  #begin(local: PacketLink, remote: PacketLink, connack: ConnackPacket): void {
    const settings = this.#settings
    this.#crossing = new Crossing({
      local,
      remote,
      connack,
      settings,
      broker: this.#world.broker,
      counters: this.#counters,
      refusals: this.#refusals,
      startOver: (why) => this.#fail(why),
      breach: (text) => this.#breach(text, reasonCodes.protocolError),
    })
    this.#counters.connects++
    const { sessionPresent } = connack
    const nowMs = this.#world.nowMs()
    this.#keepAlive = new KeepAlive(connack.properties?.serverKeepAliveSeconds ?? settings.keepAliveSeconds, nowMs)
    this.#preferredDueAtMs = nowMs + (this.#reconnection.preferredAfterMs() ?? Infinity)
    this.#agreements.askThere(remote, settings, sessionPresent)
    this.#moveTo('connected', Infinity)
    this.#world.tell({ event: 'connected', server: this.#reconnection.server, sessionPresent })
    this.#crossing.letGoOn()
  }

  // Connected

  #takeFromHere(packet: Packet): void {
    switch (packet.type) {
      case 'connack':
        return this.#takeConnackHere(packet)
      case 'suback':
      case 'unsuback':
        return this.#takeAnswerHere(packet.reasonCodes)
      case 'disconnect':
        return this.#fail(`this broker ended the connection: ${wordsOfReason(packet.reasonCode, 5)}`)
      default:
        return this.#crossing?.takeFromHere(packet)
    }
  }

  #takeConnackHere(packet: ConnackPacket): void {
    const { reasonCode, properties } = packet
    if (reasonCode !== 0)
      return this.#fail(
        `this broker does not let the bridge in: ${wordsOfReason(reasonCode, 5, properties?.reasonString)}`,
      )
    if (this.#isRetired) return this.#leave(undefined)
    if (this.#preparation !== undefined) return this.#preparation.answersOwed > 0 ? undefined : this.#preparation.done()
    const { version } = this.#settings
    if (this.#local === undefined || this.#remote === undefined || this.#connack === undefined) return
    if (!packet.sessionPresent && this.#connack.sessionPresent) {
      return this.#fail(`the session here is gone, and MQTT ${version} of the other side begins anew`)
    }
    this.#begin(this.#local, this.#remote, this.#connack)
  }

  #takeAnswerHere(codes: readonly number[]): void {
    const refused = codes.find((code) => code >= reasonCodes.unspecifiedError)
    if (refused !== undefined)
      this.#warn(`this broker refused a subscription of the bridge: ${wordsOfReason(refused, 5)}`)
    if (this.#preparation !== undefined && --this.#preparation.answersOwed === 0) this.#preparation.done()
  }

  #takeFromThere(link: PacketLink, packet: Packet): void {
    if (this.#connack === undefined) {
      if (packet.type === 'connack') return this.#takeConnack(link, packet)
      return this.#breach(`${packet.type} before connack`, reasonCodes.protocolError)
    }
    if (packet.type === 'disconnect') {
      const words = wordsOfReason(packet.reasonCode, 5, packet.properties?.reasonString)
      return this.#fail(`the remote broker ended the connection: ${words}`)
    }
    if (packet.type === 'suback' || packet.type === 'unsuback') this.#takeAnswerThere(packet)
    this.#crossing?.takeFromThere(packet)
  }

  #takeAnswerThere(packet: SubackPacket | UnsubackPacket): void {
    const refused = packet.reasonCodes.find((code) => code >= reasonCodes.unspecifiedError)
    if (refused !== undefined) this.#warn(`the remote broker refused a subscription: ${wordsOfReason(refused, 5)}`)
    const { server } = this.#reconnection
    if (this.#local !== undefined)
      this.#agreements.takeAnswer(packet, { local: this.#local, server, settings: this.#settings })
  }

  #askForLife(nowMs: number): void {
    // Whoever is not read cannot be heard.
    if (this.#remote?.isHeld === true) this.#keepAlive?.noteHeard(nowMs)
    if (this.#keepAlive?.look(nowMs) === 'give-up') {
      return this.#fail('the remote broker is silent for longer than the keep alive')
    }
    this.#remote?.send({ type: 'pingreq' })
    this.#crossing?.forgiveUnasked()
  }

  /** The preferred server is looked for beside the present one, which goes on until the other answers. */
  #tryPreferred(): void {
    this.#preferredDueAtMs = Infinity
    this.#probe = this.#world.connector.dial(this.#reconnection.preferred, this.#settings.link, {
      onOpen: (stream) => {
        this.#probe = undefined
        this.#leave(goodbye(this.#settings.version, {}))
        this.#reconnection.takePreferred()
        this.#greet(stream)
      },
      onProblem: () => {
        this.#probe = undefined
        this.#preferredDueAtMs = this.#world.nowMs() + (this.#reconnection.preferredAfterMs() ?? Infinity)
        this.#plan()
      },
    })
  }

  // Other settings

  #changeRules(settings: BridgeSettings): void {
    const before = this.#settings
    const { remote, local } = { remote: this.#remote, local: this.#local }
    this.#settings = settings
    this.#next = undefined
    if (remote === undefined || local === undefined) return this.#beginAnew()
    this.#crossing?.use(settings)
    this.#agreements.changeRules({ local, remote }, before, settings)
  }

  #endDrainIfQuiet(): void {
    if (this.#crossing?.isQuiet !== false) this.#beginAnew()
  }

  #beginAnew(): void {
    this.#leave(goodbye(this.#settings.version, {}))
    if (this.#next !== undefined) this.#settings = this.#next
    this.#next = undefined
    this.#reconnection = this.#newReconnection()
    this.#saysBridge = saysBridge(this.#settings)
    this.start()
  }

  #newReconnection(): Reconnection {
    const { servers, backoffMaxMs } = this.#settings
    return new Reconnection(servers, backoffMaxMs, () => this.#world.random())
  }

  // The end of things

  #endOfPatience(): void {
    const wasWaiting = this.#state === 'waiting'
    this.#dueAtMs = Infinity
    if (this.#isRetired) this.#leave(undefined)
    else if (wasWaiting) this.start()
    else if (this.#state === 'draining') this.#beginAnew()
    else if (this.#connack === undefined && this.#preparation === undefined)
      this.#fail('the remote broker does not answer')
    else this.#fail('this broker does not answer the bridge')
  }

  #breach(text: string, reason: ProtocolError['reason']): void {
    const { version } = this.#settings
    if (version === 5 && this.#connack !== undefined) this.#remote?.end(goodbye(5, { reason }))
    this.#fail(`the remote broker broke the protocol: ${text}`)
  }

  #fail(why: string): void {
    if (this.#state === 'off' || this.#state === 'waiting') return
    const nowMs = this.#world.nowMs()
    if (this.#state === 'connected' && nowMs - this.#sinceMs >= steadyAfterMs) this.#reconnection.noteSteady()
    const { server } = this.#reconnection
    this.#leave(undefined)
    this.#clearing = 'not yet'
    this.#counters.failures++
    const isNew = why !== this.#lastError
    this.#warnOf(why)
    this.#world.tell({ event: 'disconnected', server, why, isNew })
    if (this.#next !== undefined) return this.#beginAnew()
    this.#moveTo('waiting', nowMs + this.#reconnection.fail())
  }

  #warn(text: string): void {
    this.#warnOf(text)
    this.#world.tell({ event: 'warning', text })
  }

  #warnOf(text: string): void {
    this.#lastError = text
    this.#lastErrorAtMs = this.#world.nowMs()
  }

  /** Nothing is open any more. The remote broker is told so, where there is something to say. */
  #leave(farewell: ReturnType<typeof goodbye> | undefined): void {
    this.#dialing?.abandon()
    this.#probe?.abandon()
    if (farewell === undefined) this.#remote?.cut()
    else this.#remote?.end(this.#connack === undefined ? undefined : farewell)
    this.#local?.cut()
    this.#dialing = undefined
    this.#probe = undefined
    this.#remote = undefined
    this.#local = undefined
    this.#connack = undefined
    this.#crossing = undefined
    this.#preparation = undefined
    this.#keepAlive = undefined
    this.#preferredDueAtMs = Infinity
  }

  #moveTo(state: BridgeState, dueAtMs: number): void {
    if (state !== this.#state) this.#sinceMs = this.#world.nowMs()
    this.#state = state
    this.#dueAtMs = dueAtMs
    this.#plan()
  }

  #plan(): void {
    this.#world.wakeAt(Math.min(this.#dueAtMs, this.#keepAlive?.dueAtMs ?? Infinity, this.#preferredDueAtMs))
  }

  #linkTo(
    stream: ByteStream,
    how?: Pick<ConstructorParameters<typeof PacketLink>[2], 'version' | 'limits' | 'ownsChunks'>,
  ): PacketLink {
    const topics = new TopicTable(topicsRemembered)
    const { limits } = this.#world.broker
    const later = (work: () => void): void => this.#world.later(work)
    return new PacketLink(this, stream, { version: 5, limits, ownsChunks: false, ...how, topics, later })
  }
}
