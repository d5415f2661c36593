// One MQTT-SN client: converts its packets into MQTT 5.0 on its connection to the broker, and vice versa.
//
//   CONNECT ─> [will topic ─> will message] ─> connecting ──CONNACK──> active <──CONNECT── asleep
//                                                                        │                  ▲ │ PINGREQ
//                                                                        └─DISCONNECT(s)────┘ ▼
//                                                                                            awake ─> PINGRESP ─> asleep

import {
  type ConnackPacket,
  type Packet,
  parseTopicName,
  type PublishPacket,
  reasonCodes,
} from '../../protocol/index.ts'
import { type MqttConnection, type MqttConnectionCallbacks, publishFieldsOf } from '../gateway.ts'
import { AsleepNotice } from './asleep-notice.ts'
import { ClientRequests, outcomeOf } from './client-requests.ts'
import { connectPacketOf, isRepeated, lostAfterMs } from './connect-packet.ts'
import { Deliveries } from './deliveries.ts'
import { returnCodes, type SnRequest } from './packets.ts'
import type { ConnectRequest, RestoredSleep, SnClientDependencies, SnClientState } from './sn-client-dependencies.ts'
import { SnWill } from './sn-will.ts'
import { TopicIds } from './topic-ids.ts'
import { ShownClient } from './shown-client.ts'
import type { SnOutcome } from './sn-codec.ts'
import { problemOfSn2Connect, willOfSn2Connect } from './v2/sn2-connect.ts'
import { writeBare, writeResponse } from './write-packet.ts'

const msPerSecond = 1_000

const goodbye = { type: 'disconnect', reasonCode: reasonCodes.normalDisconnection, properties: undefined } as const

export class SnClient {
  readonly #dependencies: SnClientDependencies
  #state: SnClientState = 'connecting'
  #connect: ConnectRequest
  #topicIds: TopicIds
  #deliveries: Deliveries
  #mqtt: MqttConnection | undefined
  readonly #will = new SnWill()
  /** The response after the broker has accepted a connection that replaces an earlier one. */
  #replacing: 'willtopicresp' | 'willmsgresp' | 'restored' | undefined
  /** Time at which it is lost without another packet. */
  #lostAtMs = Infinity
  #nextPingAtMs = Infinity
  /** Of the connection to the broker, independent of the duration of a sleep. */
  #keepAliveSeconds = 0
  /** It has sent a packet since it was accepted. */
  #hasSpoken = false
  readonly #requests: ClientRequests
  #isAwaitingQueueEnd = false
  #isSessionPresent = false
  readonly #asleepNotice = new AsleepNotice()
  /** Its sleep is stored. */
  #sleepIsKept = false
  /** Its end does not end its session: stored state remains. */
  #isKept = false

  readonly #shown: ShownClient

  /** `asleep`: it was asleep before the restart, and still is. */
  constructor(connect: ConnectRequest, dependencies: SnClientDependencies, asleep?: RestoredSleep) {
    this.#dependencies = dependencies
    this.#shown = new ShownClient(dependencies.codec.version, () => this.#state)
    this.#connect = connect
    this.#topicIds = new TopicIds(dependencies.settings.predefined)
    this.#deliveries = this.#newDeliveries()
    this.#requests = new ClientRequests({
      gateway: dependencies,
      topicIds: () => this.#topicIds,
      mqtt: () => this.#mqtt,
    })
    if (asleep === undefined) this.#begin()
    else this.#sleepOn(asleep)
  }

  get clientId(): string {
    return this.#connect.clientId
  }

  get state(): SnClientState {
    return this.#state
  }

  get isCleanSession(): boolean {
    return this.#connect.flags.cleanSession
  }

  /** 2.0: it begins a session that may last. */
  get startsClean(): boolean {
    return this.#connect.options?.startsClean === true
  }

  get topicIds(): TopicIds {
    return this.#topicIds
  }

  /** When `tick` must be called. */
  get dueAtMs(): number {
    if (this.#state === 'ended') return Infinity
    return Math.min(this.#lostAtMs, this.#nextPingAtMs, this.#deliveries.dueAtMs)
  }

  /** Takes over topic IDs of the session, which the client may have lost. */
  adoptTopicIds(topicIds: TopicIds): void {
    this.#topicIds = topicIds
    topicIds.setAllUnknown()
    this.#deliveries = this.#newDeliveries()
  }

  handle(request: SnRequest): void {
    if (this.#state === 'active') this.#expectWithin(this.#connect.durationSeconds)
    if (request.type !== 'connect' && this.#state === 'active') this.#hasSpoken = true
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
        if (this.#state === 'active' || this.#state === 'awake') this.#handleWhileConnected(request)
        else if (this.#state === 'asleep' && this.#asleepNotice.isDueFor(request, this.#dependencies.nowMs()))
          this.#send(this.#dependencies.codec.disconnect())
    }
  }

  #send(bytes: Buffer | undefined): void {
    if (bytes !== undefined) this.#dependencies.send(bytes)
  }

  tick(): void {
    const nowMs = this.#dependencies.nowMs()
    const isAnswered = this.#deliveries.tick()
    if (nowMs >= this.#lostAtMs || (!isAnswered && this.#state !== 'awake')) return this.lose()
    if (!isAnswered) this.#sleepAgain()
    if (nowMs >= this.#nextPingAtMs) {
      this.#mqtt?.send({ type: 'pingreq' })
      this.#planPing()
    }
    this.#dependencies.schedule()
  }

  /** Publishes the will of a lost client. That of a persistent session would be delayed. */
  lose(): void {
    const properties = { sessionExpiryIntervalSeconds: 0 }
    if (this.isCleanSession) return this.#end({ ...goodbye, reasonCode: reasonCodes.disconnectWithWill, properties })
    const isConnected = this.#state === 'active' || this.#state === 'asleep' || this.#state === 'awake'
    const will = isConnected ? this.#will.toPublication() : undefined
    if (will !== undefined) this.#mqtt?.publish(publishFieldsOf(will))
    this.#end(goodbye)
  }

  /** The broker or the gateway stops. A sleeping client stays asleep. */
  close(): void {
    if (!this.isCleanSession && (this.#state === 'asleep' || this.#state === 'awake')) {
      this.#isKept = true
      return this.#end(goodbye)
    }
    if (this.#state !== 'ended') this.#send(this.#dependencies.codec.disconnect(reasonCodes.serverShuttingDown))
    this.lose()
  }

  #sleepOn({ topicIds, will, lostAtMs, messages }: RestoredSleep): void {
    if (topicIds !== undefined) this.#topicIds = topicIds
    this.#deliveries = this.#newDeliveries()
    this.#deliveries.restore(messages)
    this.#deliveries.pause()
    this.#will.restore(will)
    this.#lostAtMs = lostAtMs ?? Infinity
    this.#sleepIsKept = true
    this.#state = 'asleep'
    this.#replacing = 'restored'
    this.#openMqtt()
  }

  #begin(): void {
    const { flags, protocolId, clientId, options } = this.#connect
    const { predefined } = this.#dependencies.settings
    const problem = problemOfSn2Connect(this.#connect, predefined)
    if (problem !== undefined || (options === undefined && (protocolId !== 1 || clientId === '')))
      return this.#refuse({ returnCode: returnCodes.notSupported, reasonCode: problem })
    if (options !== undefined) this.#will.restore(willOfSn2Connect(options, predefined))
    this.#lostAtMs = this.#dependencies.nowMs() + this.#dependencies.settings.idleTimeoutMs
    if (!flags.will || options !== undefined) return this.#openMqtt()
    this.#state = 'will-topic'
    this.#dependencies.send(writeBare('willtopicreq'))
    this.#dependencies.schedule()
  }

  #handleConnect(request: ConnectRequest): void {
    if (request.clientId !== this.clientId) return this.#startOver(request)
    switch (this.#state) {
      case 'will-topic':
        return this.#dependencies.send(writeBare('willtopicreq'))
      case 'will-message':
        return this.#dependencies.send(writeBare('willmsgreq'))
      case 'asleep':
      case 'awake':
        return this.#wakeUp(request)
      case 'active':
        return !this.#hasSpoken && isRepeated(request, this.#connect)
          ? this.#send(this.#dependencies.codec.connack({ returnCode: 0 }, this.#isSessionPresent))
          : this.#startOver(request)
      case 'connecting':
      case 'ended':
        return undefined
      default:
        return this.#state satisfies never
    }
  }

  #startOver(request: ConnectRequest): void {
    this.#mqtt?.end(goodbye)
    this.#mqtt = undefined
    this.#forgetAll()
    this.#connect = request
    this.#will.clear()
    if (request.flags.cleanSession || this.startsClean) {
      this.#dependencies.forgetTopicIds(this.#topicIds)
      this.#topicIds = new TopicIds(this.#dependencies.settings.predefined)
    }
    this.#deliveries = this.#newDeliveries()
    this.#requests.forget()
    this.#state = 'connecting'
    this.#begin()
  }

  #wakeUp(request: ConnectRequest): void {
    const isSame = request.flags.will === this.#connect.flags.will && !request.flags.cleanSession
    // [2.0: 4.14-5] There, each CONNECT makes a new connection.
    if (request.options !== undefined || !isSame) return this.#startOver(request)
    this.#connect = request
    this.#state = 'active'
    this.#forgetSleep()
    this.#expectWithin(request.durationSeconds)
    this.#send(this.#dependencies.codec.connack({ returnCode: 0 }, true))
    this.#deliveries.resume()
    this.#dependencies.schedule()
  }

  #handleWillTopic({ topic, flags }: SnRequest & { type: 'willtopic' }): void {
    if (this.#state !== 'will-topic') return
    if (topic === undefined) return this.#openMqtt()
    this.#will.setTopic(topic, flags)
    this.#state = 'will-message'
    this.#dependencies.send(writeBare('willmsgreq'))
  }

  #handleWillMessage(message: Buffer): void {
    if (this.#state !== 'will-message') return
    this.#will.setMessage(message)
    this.#openMqtt()
  }

  #openMqtt(): void {
    if (this.#replacing === undefined) this.#state = 'connecting'
    const callbacks: MqttConnectionCallbacks = {
      handlePacket: (packet) => {
        if (mqtt === this.#mqtt) this.#handlePacket(packet)
      },
      handleClosed: () => {
        if (mqtt === this.#mqtt) this.#handleClosed()
      },
    }
    const mqtt = this.#dependencies.openMqtt(callbacks, this.#shown)
    this.#mqtt = mqtt
    this.#keepAliveSeconds = this.#connect.durationSeconds
    mqtt.send(
      connectPacketOf(this.#connect, {
        override: this.#dependencies.settings.override,
        will: this.#will.toMqtt(),
        continuesSession: this.#replacing !== undefined,
      }),
    )
    this.#dependencies.schedule()
  }

  #refuse(outcome: SnOutcome): void {
    this.#send(this.#dependencies.codec.connack(outcome, false))
    this.#end(undefined)
  }

  #end(goodbye: Parameters<MqttConnection['end']>[0]): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    const mqtt = this.#mqtt
    this.#mqtt = undefined
    mqtt?.end(goodbye)
    this.#lostAtMs = Infinity
    this.#nextPingAtMs = Infinity
    if (!this.#isKept) this.#forgetAll()
    this.#dependencies.noteEnded()
  }

  // The broker's side

  #handlePacket(packet: Packet): void {
    switch (packet.type) {
      case 'connack':
        return this.#handleConnack(packet)
      case 'publish':
        return this.#handleDelivery(packet)
      case 'puback':
      case 'pubrec':
      case 'pubcomp':
        return this.#requests.handleAnswer(packet)
      case 'pubrel':
        this.#deliveries.handlePubrel(packet.packetId)
        return this.#dependencies.schedule()
      case 'suback':
        return this.#requests.handleSuback(packet.packetId, packet.reasonCodes[0] ?? reasonCodes.unspecifiedError)
      case 'unsuback':
        return this.#send(this.#dependencies.codec.ack('unsuback', packet.packetId))
      case 'pingresp':
        return this.#handleQueueEnd()
      case 'disconnect':
        return this.#handleClosed(packet.reasonCode)
      default:
        return undefined
    }
  }

  #handleConnack({ reasonCode, properties, sessionPresent }: ConnackPacket): void {
    if (reasonCode !== reasonCodes.success) {
      this.#mqtt = undefined
      if (this.#replacing !== undefined) return this.#handleClosed()
      return this.#refuse(outcomeOf(reasonCode))
    }
    this.#keepAliveSeconds = properties?.serverKeepAliveSeconds ?? this.#keepAliveSeconds
    this.#planPing()
    if (this.#replacing !== undefined) {
      if (this.#replacing !== 'restored') this.#dependencies.send(writeResponse(this.#replacing, returnCodes.accepted))
      this.#replacing = undefined
      return this.#afterAnswer()
    }
    this.#state = 'active'
    this.#hasSpoken = false
    this.#expectWithin(this.#connect.durationSeconds)
    this.#dependencies.noteConnected()
    this.#isSessionPresent = sessionPresent
    this.#send(this.#dependencies.codec.connack({ returnCode: 0 }, sessionPresent))
    if (this.#dependencies.settings.resumesTopics) this.#deliveries.registerAll()
    this.#dependencies.schedule()
  }

  /** Another client has taken over the client ID, or an administrator has disconnected it. */
  #handleClosed(reasonCode?: number): void {
    this.#mqtt = undefined
    if (this.#state === 'connecting') return this.#refuse({ returnCode: returnCodes.notSupported })
    this.#send(this.#dependencies.codec.disconnect(reasonCode))
    this.#end(undefined)
  }

  #handleDelivery(packet: PublishPacket): void {
    if (packet.topic === undefined) return
    this.#isAwaitingQueueEnd = false
    this.#deliveries.add(packet, packet.topic.name)
    this.#endWakingIfQuiet()
    this.#dependencies.schedule()
  }

  // The client's side

  #handleWhileConnected(request: SnRequest): void {
    if (request.type === 'willtopicupd') return this.#changeWillTopic(request)
    if (request.type === 'willmsgupd') return this.#changeWillMessage(request.message)
    if (!this.#requests.handle(request) && this.#deliveries.handle(request)) this.#afterAnswer()
  }

  #afterAnswer(): void {
    this.#endWakingIfQuiet()
    this.#dependencies.schedule()
  }

  /** [6.4] The new will needs a new connection; the session stays. */
  #changeWillTopic({ topic, flags }: SnRequest & { type: 'willtopicupd' }): void {
    if (topic !== undefined && parseTopicName(topic) === undefined)
      return this.#dependencies.send(writeResponse('willtopicresp', returnCodes.notSupported))
    this.#will.setTopic(topic, flags)
    this.#replaceMqtt('willtopicresp')
  }

  #changeWillMessage(message: Buffer): void {
    if (!this.#will.hasTopic) return this.#dependencies.send(writeResponse('willmsgresp', returnCodes.notSupported))
    this.#will.setMessage(message)
    this.#replaceMqtt('willmsgresp')
  }

  #replaceMqtt(answer: 'willtopicresp' | 'willmsgresp'): void {
    this.#mqtt?.end(goodbye)
    this.#replacing = answer
    this.#isAwaitingQueueEnd = false
    this.#deliveries = this.#newDeliveries()
    this.#requests.forget()
    this.#openMqtt()
  }

  // Sleeping

  #handleDisconnect(request: SnRequest & { type: 'disconnect' }): void {
    const { durationSeconds = 0, forgetsTopicIds = false, hasFailed = false, sessionExpirySeconds } = request
    const maySleep = this.#state === 'active' || this.#state === 'asleep' || this.#state === 'awake'
    if (forgetsTopicIds && maySleep) this.#topicIds.setAllUnknown()
    if (durationSeconds > 0 && maySleep) return this.#fallAsleep(durationSeconds)
    this.#send(this.#dependencies.codec.disconnectAnswer())
    if (hasFailed) return this.lose()
    const expirySeconds = this.isCleanSession ? 0 : sessionExpirySeconds
    const properties = expirySeconds === undefined ? undefined : { sessionExpiryIntervalSeconds: expirySeconds }
    this.#end({ ...goodbye, properties })
  }

  #fallAsleep(durationSeconds: number): void {
    this.#connect = { ...this.#connect, durationSeconds }
    this.#state = 'asleep'
    this.#deliveries.pause()
    this.#expectWithin(durationSeconds)
    this.#keepSleep()
    const answer = (): void => this.#send(this.#dependencies.codec.sleepAnswer())
    if (this.isCleanSession) answer()
    else this.#dependencies.whenKept(answer)
    this.#dependencies.schedule()
  }

  #handlePing(clientId: string | undefined): void {
    const isAsleep = this.#state === 'asleep' || this.#state === 'awake'
    if (this.#state === 'active' || (isAsleep && clientId === undefined))
      return this.#send(this.#dependencies.codec.pingresp())
    if (!isAsleep) return
    this.#state = 'awake'
    this.#expectWithin(this.#connect.durationSeconds)
    this.#keepSleep() // It may have come from a new port.
    this.#deliveries.resume()
    this.#afterAnswer()
  }

  /** Messages in the session come before the answer to a ping of the gateway. */
  #endWakingIfQuiet(): void {
    if (this.#state !== 'awake' || !this.#deliveries.isEmpty || this.#isAwaitingQueueEnd) return
    this.#isAwaitingQueueEnd = true
    this.#mqtt?.send({ type: 'pingreq' })
  }

  #handleQueueEnd(): void {
    if (!this.#isAwaitingQueueEnd) return
    this.#isAwaitingQueueEnd = false
    if (this.#state !== 'awake' || !this.#deliveries.isEmpty) return
    this.#send(this.#dependencies.codec.pingresp())
    this.#expectWithin(this.#connect.durationSeconds)
    this.#sleepAgain()
  }

  /** Also without an answer: the cause may be a late copy of PINGREQ. Untaken messages wait for the next one. */
  #sleepAgain(): void {
    this.#state = 'asleep'
    this.#isAwaitingQueueEnd = false
    this.#deliveries.pause()
    this.#keepSleep()
    this.#dependencies.schedule()
  }

  #keepSleep(): void {
    if (this.isCleanSession) return
    this.#sleepIsKept = true
    const lostAtMs = this.#lostAtMs === Infinity ? null : this.#lostAtMs
    this.#dependencies.keepSleep({ connect: this.#connect, lostAtMs, will: this.#will.kept })
  }

  #forgetSleep(): void {
    if (this.#sleepIsKept) this.#dependencies.keepSleep(undefined)
    this.#sleepIsKept = false
  }

  #forgetAll(): void {
    this.#forgetSleep()
    this.#dependencies.messages.forgetAll()
  }

  #expectWithin(durationSeconds: number): void {
    this.#lostAtMs = this.#dependencies.nowMs() + lostAfterMs(durationSeconds, this.#dependencies.codec.version)
  }

  /** The broker monitors the keep alive of its side, too. */
  #planPing(): void {
    const seconds = this.#keepAliveSeconds
    this.#nextPingAtMs = seconds === 0 ? Infinity : this.#dependencies.nowMs() + (seconds * msPerSecond) / 2
  }

  #newDeliveries(): Deliveries {
    return new Deliveries(this.#dependencies, {
      topicIds: this.#topicIds,
      acknowledge: (type, packetId) => this.#mqtt?.acknowledge(type, packetId),
      kept: this.isCleanSession ? undefined : this.#dependencies.messages,
    })
  }
}
