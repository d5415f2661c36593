// One MQTT-SN client: converts its packets into MQTT 5.0 on its connection to the broker, and vice versa.
//
//   CONNECT ─> [will topic ─> will message] ─> connecting ──CONNACK──> active <──CONNECT── asleep
//                                                                        │                  ▲ │ PINGREQ
//                                                                        └─DISCONNECT(s)────┘ ▼
//                                                                                            awake ─> PINGRESP ─> asleep

import { type ConnackPacket, type Packet, type PublishPacket, reasonCodes } from '../../../protocol/index.ts'
import { type MqttConnection, type MqttConnectionCallbacks, toPublishFields } from '../../gateway.ts'
import { ClientClock } from './client-clock.ts'
import { toOutcome } from './client-requests.ts'
import { returnCodes, type SnRequest } from '../codec/sn-packets.ts'
import type { SnOutcome } from '../codec/sn-codec.ts'
import { writeBare, writeResponse } from '../codec/write-sn-packet.ts'
import { toConnectPacket, goodbye, interruption, isRepeated, findConnectRefusal } from './connect-packet.ts'
import type {
  ConnectRequest,
  RestoredSleep,
  SnClientDependencies,
  SnClientState,
} from '../model/sn-client-dependencies.ts'
import { SnMessages } from './sn-messages.ts'
import { SnSleep } from './sn-sleep.ts'
import { SnWill, type WillUpdate } from './sn-will.ts'
import { toStoredWill } from './sn2-connect.ts'

export class SnClient implements MqttConnectionCallbacks {
  readonly #dependencies: SnClientDependencies
  /** Changed by this object and by the sleep of the client. */
  state: SnClientState = 'connecting'
  readonly clock: ClientClock
  readonly messages: SnMessages
  #connect: ConnectRequest
  #mqtt: MqttConnection | undefined
  #will: SnWill | undefined
  /** Reason for which the current connection to the broker replaces an earlier one; until CONNACK. For updates, the response to the client. */
  #replacing: 'willtopicresp' | 'willmsgresp' | 'restored' | undefined
  /** True if the client has sent another packet since its CONNECT was accepted. */
  #hasSentPacket = false
  #isSessionPresent = false
  /** Undefined: the client has not slept. */
  #sleep: SnSleep | undefined
  /** True if stored state remains after the end of this object, because the client sleeps on after a restart. */
  #leavesStoredState = false

  constructor(connect: ConnectRequest, dependencies: SnClientDependencies) {
    this.#dependencies = dependencies
    this.clock = new ClientClock(dependencies.codec.version)
    this.#connect = connect
    this.messages = new SnMessages(dependencies, this)
  }

  /** `asleep`: stored state of a client that was asleep before the restart, and still is. */
  begin(asleep: RestoredSleep | undefined): void {
    if (asleep === undefined) this.#begin()
    else this.#restoreSleep(asleep)
  }

  get clientId(): string {
    return this.#connect.clientId
  }

  get isCleanSession(): boolean {
    return this.#connect.flags.cleanSession
  }

  /** True if the client uses MQTT-SN 2.0 and its CONNECT has the Clean Start flag. The session may persist. */
  get startsClean(): boolean {
    return this.#connect.options?.startsClean === true
  }

  get connect(): ConnectRequest {
    return this.#connect
  }

  get mqtt(): MqttConnection | undefined {
    return this.#mqtt
  }

  get will(): SnWill | undefined {
    return this.#will
  }

  get isAsleep(): boolean {
    return this.state === 'asleep'
  }

  // For lists of clients

  get isSleeping(): boolean {
    return this.state === 'asleep' || this.state === 'awake'
  }

  /** Time at which `tick` must be called. */
  get dueAtMs(): number {
    if (this.state === 'ended') return Infinity
    return Math.min(this.clock.dueAtMs, this.messages.dueAtMs)
  }

  handle(request: SnRequest): void {
    if (this.state === 'active') this.#expectWithin(this.#connect.durationSeconds)
    if (request.type !== 'connect' && this.state === 'active') this.#hasSentPacket = true
    switch (request.type) {
      case 'connect':
        return this.#handleConnect(request)
      case 'willtopic':
        return this.#handleWillTopic(request)
      case 'willmsg':
        return this.#handleWillMessage(request.message)
      case 'disconnect':
        return this.#handleDisconnect(request)
      case 'pingreq':
        return this.#handlePing(request.clientId)
      default:
        if (this.state === 'active' || this.state === 'awake') this.#handleWhileConnected(request)
        else if (this.state === 'asleep') this.#openSleep().handleUnexpected(request)
    }
  }

  #send(bytes: Buffer | undefined): void {
    if (bytes !== undefined) this.#dependencies.send(bytes)
  }

  tick(): void {
    const nowMs = this.#dependencies.nowMs()
    const isResponding = this.messages.tick()
    if (nowMs >= this.clock.lostAtMs || (!isResponding && this.state !== 'awake')) return this.lose()
    if (!isResponding) this.#openSleep().continue()
    if (nowMs >= this.clock.nextPingAtMs) {
      this.#mqtt?.send({ type: 'pingreq' })
      this.clock.planPing(nowMs)
    }
    this.#dependencies.schedule()
  }

  /** Ends a lost client and publishes its will. For a persistent session, the gateway publishes the will, because the broker would delay it. */
  lose(): void {
    const properties = { sessionExpiryIntervalSeconds: 0 }
    if (this.isCleanSession) return this.#end({ ...goodbye, reasonCode: reasonCodes.disconnectWithWill, properties })
    const isConnected = this.state === 'active' || this.isSleeping
    const will = isConnected ? this.#will?.toPublication() : undefined
    if (will !== undefined) this.#mqtt?.publish(toPublishFields(will))
    this.#end(goodbye)
  }

  /** The broker or the gateway stops. A sleeping client stays asleep. */
  close(): void {
    this.#leavesStoredState = !this.isCleanSession && this.isSleeping
    if (this.#leavesStoredState) return this.#end(goodbye)
    if (this.state !== 'ended') this.#send(this.#dependencies.codec.disconnect(reasonCodes.serverShuttingDown))
    this.lose()
  }

  #restoreSleep({ topicIds, will, lostAtMs, messages }: RestoredSleep): void {
    if (will !== undefined) (this.#will = new SnWill()).restore(will)
    this.clock.lostAtMs = lostAtMs ?? Infinity
    this.#sleep = new SnSleep(this.#dependencies, this, true)
    this.state = 'asleep'
    this.messages.restore(topicIds, messages)
    this.#replacing = 'restored'
    this.#openMqtt()
  }

  #begin(): void {
    const { flags, options } = this.#connect
    const { predefined } = this.#dependencies.settings
    const refused = findConnectRefusal(this.#connect, predefined)
    if (refused !== undefined) return this.#refuse(refused)
    if (options !== undefined) (this.#will ??= new SnWill()).restore(toStoredWill(options, predefined))
    this.clock.lostAtMs = this.#dependencies.nowMs() + this.#dependencies.settings.idleTimeoutMs
    if (!flags.will || options !== undefined) return this.#openMqtt()
    this.state = 'will-topic'
    this.#dependencies.send(writeBare('willtopicreq'))
    this.#dependencies.schedule()
  }

  #handleConnect(request: ConnectRequest): void {
    switch (this.state) {
      case 'will-topic':
        return this.#dependencies.send(writeBare('willtopicreq'))
      case 'will-message':
        return this.#dependencies.send(writeBare('willmsgreq'))
      case 'asleep':
      case 'awake':
        return this.#wakeUp(request)
      case 'active':
        return !this.#hasSentPacket && isRepeated(request, this.#connect)
          ? this.#send(this.#dependencies.codec.connack({ returnCode: 0 }, this.#isSessionPresent))
          : this.#restart(request)
      case 'connecting':
      case 'ended':
        return undefined
      default:
        return this.state satisfies never
    }
  }

  #restart(request: ConnectRequest): void {
    this.#mqtt?.end(goodbye)
    this.#mqtt = undefined
    this.#replacing = undefined
    this.#sleep?.cancelQueueEnd()
    this.#deleteStored()
    this.#connect = request
    this.#will = undefined
    if (request.flags.cleanSession || this.startsClean) this.messages.deleteTopicIds()
    this.messages.restart()
    this.state = 'connecting'
    this.#begin()
  }

  #wakeUp(request: ConnectRequest): void {
    const isSame = request.flags.will === this.#connect.flags.will && !request.flags.cleanSession
    // [2.0: 4.14-5] In 2.0, each CONNECT creates a new connection.
    if (request.options !== undefined || !isSame) return this.#restart(request)
    this.#connect = request
    this.state = 'active'
    this.#mqtt?.reportClientChange()
    this.#sleep?.deleteStored()
    this.#expectWithin(request.durationSeconds)
    this.#send(this.#dependencies.codec.connack({ returnCode: 0 }, true))
    this.messages.resume()
    this.#dependencies.schedule()
  }

  #handleWillTopic({ topic, flags }: SnRequest & { type: 'willtopic' }): void {
    if (this.state !== 'will-topic') return
    if (topic === undefined) return this.#openMqtt()
    this.#will = new SnWill({ name: topic, flags })
    this.state = 'will-message'
    this.#dependencies.send(writeBare('willmsgreq'))
  }

  #handleWillMessage(message: Buffer): void {
    if (this.state !== 'will-message') return
    this.#will?.setMessage(message)
    this.#openMqtt()
  }

  #openMqtt(): void {
    if (this.#replacing === undefined) this.state = 'connecting'
    const mqtt = this.#dependencies.openMqtt(this, this.#replacing === 'restored')
    this.#mqtt = mqtt
    this.clock.keepAliveSeconds = this.#connect.durationSeconds
    const { override } = this.#dependencies.settings
    const continuesSession = this.#replacing !== undefined
    mqtt.send(toConnectPacket(this.#connect, { override, will: this.#will?.toMqtt(), continuesSession }))
    this.#dependencies.schedule()
  }

  #refuse(outcome: SnOutcome): void {
    this.#send(this.#dependencies.codec.connack(outcome, false))
    this.#end(undefined)
  }

  #end(goodbye: Parameters<MqttConnection['end']>[0]): void {
    if (this.state === 'ended') return
    this.state = 'ended'
    const mqtt = this.#mqtt
    this.#mqtt = undefined
    mqtt?.end(goodbye)
    this.clock.stop()
    if (!this.#leavesStoredState) this.#deleteStored()
    this.#dependencies.onEnded()
  }

  // Packets of the broker

  handlePacket(packet: Packet): void {
    if (this.#mqtt === undefined) return // The broker has refused the connection.
    switch (packet.type) {
      case 'connack':
        return this.#handleConnack(packet)
      case 'publish':
        return this.#handleDelivery(packet)
      case 'puback':
      case 'pubrec':
      case 'pubcomp':
        return this.messages.handleAck(packet) ? this.#requestQueueEndAndSchedule() : undefined
      case 'pubrel':
        this.messages.handlePubrel(packet.packetId)
        return this.#dependencies.schedule()
      case 'suback':
        return this.messages.handleSuback(packet)
      case 'unsuback':
        return this.#send(this.#dependencies.codec.ack('unsuback', packet.packetId))
      case 'pingresp':
        return this.#sleep?.handleQueueEnd()
      case 'disconnect':
        return this.#endClosed(packet.reasonCode)
      default:
        return undefined
    }
  }

  #handleConnack({ reasonCode, properties, sessionPresent }: ConnackPacket): void {
    if (reasonCode !== reasonCodes.success) {
      if (this.#replacing !== undefined) return this.#endClosed()
      this.#mqtt = undefined
      return this.#refuse(toOutcome(reasonCode))
    }
    this.clock.keepAliveSeconds = properties?.serverKeepAliveSeconds ?? this.clock.keepAliveSeconds
    this.clock.planPing(this.#dependencies.nowMs())
    if (this.#replacing !== undefined) {
      if (this.#replacing !== 'restored') this.#dependencies.send(writeResponse(this.#replacing, returnCodes.accepted))
      this.#replacing = undefined
      return this.#requestQueueEndAndSchedule()
    }
    this.state = 'active'
    this.#hasSentPacket = false
    this.#expectWithin(this.#connect.durationSeconds)
    this.#dependencies.onConnected()
    this.#isSessionPresent = sessionPresent
    this.#send(this.#dependencies.codec.connack({ returnCode: 0 }, sessionPresent))
    if (this.#dependencies.settings.resumesTopics) this.messages.registerTopics()
    this.#dependencies.schedule()
  }

  handleClosed(): void {
    if (this.#mqtt !== undefined) this.#endClosed()
  }

  /** Called when another client has taken over the client ID, or an administrator has disconnected the client. */
  #endClosed(reasonCode?: number): void {
    this.#mqtt = undefined
    if (this.state === 'connecting') return this.#refuse({ returnCode: returnCodes.notSupported })
    this.#send(this.#dependencies.codec.disconnect(reasonCode))
    this.#end(undefined)
  }

  #handleDelivery(packet: PublishPacket): void {
    if (packet.topic === undefined) return
    this.#sleep?.cancelQueueEnd()
    this.messages.deliver(packet, packet.topic.name)
    this.#requestQueueEndAndSchedule()
  }

  // Packets of the client

  #handleWhileConnected(request: SnRequest): void {
    if (request.type === 'willtopicupd' || request.type === 'willmsgupd') return this.#changeWill(request)
    if (this.messages.handle(request)) this.#requestQueueEndAndSchedule()
  }

  #requestQueueEndAndSchedule(): void {
    this.#sleep?.requestQueueEnd()
    this.#dependencies.schedule()
  }

  /** [6.4] A changed will needs a new connection to the broker, which continues the session. */
  #changeWill(request: WillUpdate): void {
    const response = request.type === 'willtopicupd' ? 'willtopicresp' : 'willmsgresp'
    if (!(this.#will ??= new SnWill()).change(request))
      return this.#dependencies.send(writeResponse(response, returnCodes.notSupported))
    this.#mqtt?.end(this.isCleanSession ? interruption : goodbye)
    this.#replacing = response
    this.#sleep?.cancelQueueEnd()
    this.messages.restart()
    this.#openMqtt()
  }

  // Sleeping and ending

  #handleDisconnect(request: SnRequest & { type: 'disconnect' }): void {
    const { durationSeconds = 0, forgetsTopicIds = false, hasFailed = false, sessionExpirySeconds } = request
    const canSleep = this.state === 'active' || this.isSleeping
    if (forgetsTopicIds && canSleep) this.messages.forgetTopicIds()
    if (durationSeconds > 0 && canSleep) return this.#fallAsleep(durationSeconds)
    this.#send(this.#dependencies.codec.disconnectResponse())
    if (hasFailed) return this.lose()
    const expirySeconds = this.isCleanSession ? 0 : sessionExpirySeconds
    const properties = expirySeconds === undefined ? undefined : { sessionExpiryIntervalSeconds: expirySeconds }
    this.#end({ ...goodbye, properties })
  }

  #fallAsleep(durationSeconds: number): void {
    this.#connect = { ...this.#connect, durationSeconds }
    this.#openSleep().fallAsleep()
  }

  #handlePing(clientId: string | undefined): void {
    if (this.state === 'active' || (this.isSleeping && clientId === undefined))
      return this.#send(this.#dependencies.codec.pingresp())
    if (this.isSleeping) this.#openSleep().wakeForMessages()
  }

  #deleteStored(): void {
    this.#sleep?.deleteStored()
    this.#dependencies.deleteMessages()
  }

  #expectWithin(durationSeconds: number): void {
    this.clock.expectPacketWithin(durationSeconds, this.#dependencies.nowMs())
  }

  #openSleep(): SnSleep {
    return (this.#sleep ??= new SnSleep(this.#dependencies, this, false))
  }
}
