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

import { type ConnackPacket, type Packet, type ProtocolError, reasonCodes } from '../protocol/index.ts'
import type { ByteStream } from '../transports/index.ts'
import { Agreements } from './subscription-state.ts'
import { connectHere, endHere, goodbye, limitsOf, refusalHere, wordsOfReason } from './connect-remote.ts'
import { ConnectionWatch } from './connection-monitor.ts'
import { Crossing, type CrossingParts } from './message-transfer.ts'
import { Dialects } from './version-negotiation.ts'
import { Greeting, listeningMs, type Step } from './connect-handshake.ts'
import { shorterKeepAlive } from './keep-alive.ts'
import { linkHere, linkThere } from './connect-local.ts'
import type { LinkOwner, PacketLink } from './packet-link.ts'
import type { ClientWishes } from './transparent-subscriptions.ts'
import { PreferredServer } from './preferred-server.ts'
import { Preparation } from './local-setup.ts'
import { Reconnection, steadyAfterMs } from './reconnect-backoff.ts'
import { Refusals } from './rejected-messages.ts'
import { Retirement } from './remove-bridge.ts'
import { hasTheSameRules, isTheSameConnection, type BridgeSettings } from './settings.ts'
import { newBridgeCounters, type BridgeState, type BridgeStatus } from './status.ts'
import { areNone, isKnownAs, type Marks } from './subscriptions.ts'
import { spoolOf, type BridgeWorld, type Dialing } from './world.ts'

/** Our own broker answers in this time, or something is wrong. */
const patienceHereMs = 30_000
const drainMs = 5_000

export class Bridge implements LinkOwner {
  #settings: BridgeSettings
  /** As they are for the present connection: another version than was asked for may be spoken. */
  #spoken: BridgeSettings
  readonly #world: BridgeWorld
  readonly #counters = newBridgeCounters()
  readonly #refusals = new Refusals()
  #state: BridgeState = 'off'
  #sinceMs: number
  #reconnection: Reconnection
  #dialing: Dialing | undefined
  #preferred: PreferredServer | undefined
  #local: PacketLink | undefined
  #remote: PacketLink | undefined
  #dialects = new Dialects()
  #greeting: Greeting | undefined
  /** The remote broker has been made to forget the bridge, and the next connection is the one that is kept. */
  #isCleared = false
  #connack: ConnackPacket | undefined
  /** What the remote broker had said by then behind CONNACK. */
  #early: Packet | undefined
  #crossing: Crossing | undefined
  #preparation: Preparation | undefined
  /** The settings that are to be in force when what is under way is through. */
  #next: BridgeSettings | undefined
  /** When the present state has lasted too long, or is over. */
  #dueAtMs = Infinity
  readonly #watch = new ConnectionWatch()
  #retirement: Retirement | undefined
  #isAnew = false
  readonly #agreements: Agreements
  #lastError: string | undefined
  #lastErrorAtMs: number | undefined

  constructor(settings: BridgeSettings, world: BridgeWorld) {
    this.#settings = settings
    this.#spoken = settings
    this.#world = world
    this.#agreements = new Agreements(world.broker)
    this.#sinceMs = world.nowMs()
    this.#reconnection = this.#newReconnection()
  }

  /** `isAnew`: whatever the session here has is of another bridge of this name, and goes. */
  start(isAnew = false): void {
    this.#isAnew ||= isAnew
    this.#prepare(undefined, () => {
      if (this.#settings.isEnabled) this.#dial()
      else this.#moveTo('off', Infinity)
    })
  }

  /** Other settings: rules at once, everything else when what is under way is through. */
  change(settings: BridgeSettings): void {
    if (this.#retirement !== undefined) return
    const isOfRulesOnly = isTheSameConnection(this.#settings, settings)
    if (isOfRulesOnly && this.#next === undefined && hasTheSameRules(this.#settings, settings)) return
    this.#next = settings
    if (this.#state === 'connected' && isOfRulesOnly) return this.#changeRules(settings)
    if (this.#state !== 'connected' && this.#state !== 'draining') return this.#beginAnew()
    this.#crossing?.drain()
    // Another connection would be one by the settings that go.
    this.#preferred?.leave()
    this.#preferred = undefined
    if (this.#state !== 'draining') this.#moveTo('draining', this.#world.nowMs() + drainMs)
    this.#endDrainIfQuiet()
  }

  /** Both sides are told, and what is stored stays. */
  stop(): void {
    this.#leave(goodbye(this.#spoken.version, {}))
    this.#moveTo('off', Infinity)
  }

  /** The bridge is gone from the configuration: its session ends, here and there, with all that waits in it. */
  retire(): void {
    this.#leave(goodbye(this.#spoken.version, { forgets: true }))
    this.#retirement = new Retirement(this.#settings, this.#world)
    this.#retirement.begin()
    this.#moveTo('off', Infinity)
  }

  /** What clients of this broker are subscribed to: of a bridge that passes that on. */
  passOn(wishes: ClientWishes): void {
    this.#agreements.takeWishes(wishes, this.#world.nowMs())
    this.#plan()
  }

  tick(): void {
    const nowMs = this.#world.nowMs()
    if (nowMs >= this.#agreements.dueAtMs) this.#warnIf(this.#agreements.tick(nowMs))
    if (nowMs >= this.#dueAtMs) this.#endOfPatience()
    this.#retirement?.tick(nowMs)
    if (this.#state === 'connected' || this.#state === 'draining') {
      if (nowMs >= this.#watch.dueAtMs) this.#lookAfterConnection(nowMs)
      this.#preferred?.lookIfDue(nowMs)
    }
    this.#plan()
  }

  status(): BridgeStatus {
    const { server, attempts } = this.#reconnection
    return {
      name: this.#settings.name,
      state: this.#state,
      sinceMs: this.#sinceMs,
      server,
      version: this.#dialects.with(server, this.#settings).version,
      attempts,
      lastError: this.#lastError,
      lastErrorAtMs: this.#lastErrorAtMs,
      inFlight: this.#crossing?.inFlight ?? 0,
      ...spoolOf(this.#world.broker.standing()),
      ...this.#agreements.passedOn.counts,
      counters: this.#counters,
    }
  }

  noteHeard(link: PacketLink): void {
    if (link === this.#remote) this.#watch.noteHeard(this.#world.nowMs())
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
    const step = link === this.#remote ? this.#greeting?.close() : undefined
    if (step !== undefined) return this.#take(step, link)
    const who = link === this.#local ? 'this broker' : 'the remote broker'
    this.#fail(`${who} closed the connection${error === undefined ? '' : `: ${error.message}`}`)
  }

  noteWritten(): void {
    this.#crossing?.letGoOn()
  }

  // Preparing

  /** The session here is made right, and only then the rest follows. */
  #prepare(marks: Marks | undefined, then: () => void): void {
    this.#agreements.takeForwards(this.#settings, this.#isAnew)
    const changes = this.#agreements.changesHere(this.#settings, marks, this.#isAnew)
    // Its limits are said with CONNECT, and are to hold before the remote broker is there.
    const saysLimits = marks === undefined && this.#agreements.hasLimitsToSay(this.#settings)
    if (areNone(changes) && !saysLimits && !this.#isAnew) return then()
    if (marks === undefined) this.#moveTo('preparing', this.#world.nowMs() + patienceHereMs)
    this.#preparation = new Preparation({
      linkTo: (owner) => linkHere(owner, this.#world),
      done: () => {
        this.#preparation = undefined
        this.#isAnew = false
        then()
      },
      fail: (why) => this.#fail(why),
      warnIf: (text) => this.#warnIf(this.#agreements.noteAnswerHere(text)),
    })
    this.#preparation.begin(this.#settings, { isAnew: this.#isAnew }, (link) => this.#agreements.sayHere(link, changes))
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
    const { server } = this.#reconnection
    const dialect = this.#dialects.with(server, this.#settings)
    const settings = { ...this.#settings, version: dialect.version }
    this.#moveTo('connecting', this.#world.nowMs() + settings.connectTimeoutMs)
    const link = linkThere(this, stream, settings.version, this.#world)
    this.#remote = link
    this.#spoken = settings
    this.#greeting = new Greeting({
      link,
      server,
      settings,
      dialect,
      dialects: this.#dialects,
      broker: this.#world.broker,
      isJoined: this.#agreements.isJoinedWith(server, settings),
      isCleared: this.#isCleared,
      tell: (event) => this.#world.tell(event),
    })
    this.#isCleared = false
    this.#greeting.begin()
  }

  #take(step: Step, link: PacketLink): void {
    switch (step.step) {
      case 'wait':
        return this.#moveTo('connecting', Math.min(this.#dueAtMs, this.#world.nowMs() + listeningMs))
      case 'again':
        link.end(step.farewell)
        this.#leave(undefined)
        this.#isCleared = step.isCleared
        return step.pauseMs === 0 ? this.#dial() : this.#moveTo('waiting', this.#world.nowMs() + step.pauseMs)
      case 'join':
        return this.#prepareToJoin(link, step.connack, step.early)
      case 'fail':
        return this.#fail(step.why)
      case 'breach':
        return this.#breach(step.text, reasonCodes.protocolError)
      default:
        step satisfies never
    }
  }

  /** The remote broker has let the bridge in. */
  #prepareToJoin(link: PacketLink, connack: ConnackPacket, early: Packet | undefined): void {
    this.#greeting = undefined
    this.#connack = connack
    this.#early = early
    link.hold()
    this.#moveTo('connecting', this.#world.nowMs() + patienceHereMs)
    const marks = this.#agreements.begin(this.#reconnection.server, this.#spoken, connack)
    this.#prepare(marks, () => this.#join(connack))
  }

  #join(connack: ConnackPacket): void {
    const { receiveMaximum } = limitsOf(connack, this.#spoken)
    this.#local = linkHere(this, this.#world)
    this.#local.send(connectHere(this.#spoken, { receiveMaximum, isForgotten: !connack.sessionPresent }))
  }

  /** Both sides are there. */
  #begin(sides: Pick<CrossingParts, 'local' | 'remote' | 'connack' | 'connackHere'>): void {
    const { local, remote, connack } = sides
    const settings = this.#spoken
    this.#crossing = new Crossing({
      ...sides,
      settings,
      broker: this.#world.broker,
      counters: this.#counters,
      refusals: this.#refusals,
      open: this.#agreements.passedOn.tree,
      places: this.#agreements.places,
      startOver: (why) => this.#fail(why),
      breach: (text) => this.#breach(text, reasonCodes.protocolError),
    })
    this.#counters.connects++
    const { sessionPresent, properties: { serverKeepAliveSeconds: said } = {} } = connack
    const nowMs = this.#world.nowMs()
    this.#watch.begin(settings, shorterKeepAlive(settings.keepAliveSeconds, said), nowMs)
    this.#preferred = this.#preferredServer()
    this.#agreements.meet({ local, remote, server: this.#reconnection.server, settings }, sessionPresent, nowMs)
    this.#moveTo('connected', Infinity)
    this.#world.tell({
      event: 'connected',
      server: this.#reconnection.server,
      sessionPresent,
      version: settings.version,
    })
    const early = this.#early
    this.#early = undefined
    if (early !== undefined) this.#takeFromThere(remote, early)
    this.#crossing?.letGoOn()
  }

  // Connected

  #takeFromHere(packet: Packet): void {
    switch (packet.type) {
      case 'connack':
        return this.#takeConnackHere(packet)
      case 'suback':
      case 'unsuback':
        this.#warnIf(this.#agreements.takeAnswerHere(packet, this.#world.nowMs()))
        return this.#plan()
      case 'disconnect':
        return this.#fail(endHere(packet))
      default:
        return this.#crossing?.takeFromHere(packet)
    }
  }

  #takeConnackHere(packet: ConnackPacket): void {
    const refusal = refusalHere(packet)
    if (refusal !== undefined) return this.#fail(refusal)
    if (this.#local === undefined || this.#remote === undefined || this.#connack === undefined) return
    if (!packet.sessionPresent && this.#connack.sessionPresent)
      return this.#fail('the session here is gone, and that of the other side begins anew')
    this.#begin({ local: this.#local, remote: this.#remote, connack: this.#connack, connackHere: packet })
  }

  #takeFromThere(link: PacketLink, packet: Packet): void {
    if (this.#greeting !== undefined) return this.#take(this.#greeting.take(packet), link)
    if (packet.type === 'disconnect') {
      this.#crossing?.noteEnd(packet.reasonCode)
      const words = wordsOfReason(packet.reasonCode, 5, packet.properties?.reasonString)
      return this.#fail(`the remote broker ended the connection: ${words}`)
    }
    if (packet.type === 'suback' || packet.type === 'unsuback') this.#warnIf(this.#agreements.takeAnswer(packet))
    this.#crossing?.takeFromThere(packet)
  }

  #lookAfterConnection(nowMs: number): void {
    const found = this.#crossing === undefined ? undefined : this.#watch.look(this.#crossing.progress, nowMs)
    if (found?.ask === false) return this.#fail(found.why)
    if (found?.ask === true) this.#crossing?.askForLife()
  }

  #preferredServer(): PreferredServer {
    return new PreferredServer(this.#world, {
      reconnection: this.#reconnection,
      link: this.#settings.link,
      change: (stream) => {
        this.#leave(goodbye(this.#spoken.version, {}))
        this.#reconnection.takePreferred()
        this.#greet(stream)
      },
      plan: () => this.#plan(),
    })
  }

  // Other settings

  #changeRules(settings: BridgeSettings): void {
    const before = this.#spoken
    const { remote, local } = { remote: this.#remote, local: this.#local }
    this.#settings = settings
    this.#next = undefined
    if (remote === undefined || local === undefined) return this.#beginAnew()
    this.#spoken = { ...settings, version: remote.version }
    this.#agreements.takeForwards(settings)
    this.#crossing?.use(settings)
    this.#agreements.changeRules(before, this.#spoken, this.#world.nowMs())
    this.#plan()
  }

  #endDrainIfQuiet(): void {
    if (this.#crossing?.isQuiet !== false) this.#beginAnew()
  }

  #beginAnew(): void {
    const forgets = this.#next !== undefined && !isKnownAs(this.#next, this.#reconnection.server, this.#spoken)
    this.#leave(goodbye(this.#spoken.version, { forgets }))
    if (this.#next !== undefined) this.#settings = this.#next
    this.#next = undefined
    this.#reconnection = this.#newReconnection()
    this.#dialects = new Dialects()
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
    const silence = this.#greeting?.endListening()
    if (silence !== undefined && this.#remote !== undefined) return this.#take(silence, this.#remote)
    if (wasWaiting) this.start()
    else if (this.#state === 'draining') this.#beginAnew()
    else if (this.#connack === undefined && this.#preparation === undefined)
      this.#fail('the remote broker does not answer')
    else this.#fail('this broker does not answer the bridge')
  }

  #breach(text: string, reason: ProtocolError['reason']): void {
    if (this.#spoken.version === 5 && this.#connack !== undefined) this.#remote?.end(goodbye(5, { reason }))
    this.#fail(`the remote broker broke the protocol: ${text}`)
  }

  #fail(why: string): void {
    if (this.#state === 'off' || this.#state === 'waiting') return
    const nowMs = this.#world.nowMs()
    const { server } = this.#reconnection
    this.#dialects.noteFailure(server, this.#greeting !== undefined)
    if (this.#state === 'connected' && nowMs - this.#sinceMs >= steadyAfterMs) {
      this.#reconnection.noteSteady()
      this.#dialects.noteSteady(server)
    }
    this.#leave(undefined)
    this.#counters.failures++
    const isNew = why !== this.#lastError
    this.#warnOf(why)
    this.#world.tell({ event: 'disconnected', server, why, isNew })
    if (this.#next !== undefined) return this.#beginAnew()
    this.#moveTo('waiting', nowMs + this.#reconnection.fail())
  }

  #warnIf(text: string | undefined): void {
    if (text === undefined) return
    if (text !== this.#lastError) this.#world.tell({ event: 'warning', text })
    this.#warnOf(text)
  }

  #warnOf(text: string): void {
    this.#lastError = text
    this.#lastErrorAtMs = this.#world.nowMs()
  }

  /** Nothing is open any more. The remote broker is told so, where there is something to say. */
  #leave(farewell: ReturnType<typeof goodbye> | undefined): void {
    this.#dialing?.abandon()
    this.#preferred?.leave()
    if (farewell === undefined) this.#remote?.cut()
    else this.#remote?.end((this.#connack ?? this.#greeting?.connack) === undefined ? undefined : farewell)
    // What the remote broker has acknowledged is through, or it would come again.
    if (this.#crossing === undefined) this.#local?.cut()
    else this.#local?.end(undefined)
    this.#preparation?.leave()
    this.#retirement?.leave()
    this.#dialing = undefined
    this.#preferred = undefined
    this.#remote = undefined
    this.#local = undefined
    this.#greeting = undefined
    this.#connack = undefined
    this.#early = undefined
    this.#isCleared = false
    this.#crossing = undefined
    this.#preparation = undefined
    this.#watch.end()
    this.#agreements.part()
  }

  #moveTo(state: BridgeState, dueAtMs: number): void {
    if (state !== this.#state) this.#sinceMs = this.#world.nowMs()
    this.#state = state
    this.#dueAtMs = dueAtMs
    this.#plan()
  }

  #plan(): void {
    const others = [this.#watch, this.#agreements, this.#preferred, this.#retirement].map(
      (part) => part?.dueAtMs ?? Infinity,
    )
    this.#world.wakeAt(Math.min(this.#dueAtMs, ...others))
  }
}
