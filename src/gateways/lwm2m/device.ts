// One registered device: its connection to the broker, its waiting commands, and its observations.

import {
  type ConnackPacket,
  type Packet,
  type PacketId,
  fillTopicTemplate,
  parseTopicFilter,
  parseTopicName,
  type PublishPacket,
  reasonCodes,
  type TopicTable,
} from '../../protocol/index.ts'
import type { GatewayClient } from '../../core/index.ts'
import type { AddressProofs } from '../address-proofs.ts'
import { fillTemplate } from '../client-info.ts'
import { type CoapMessage, options, uintOf } from '../coap/message.ts'
import {
  type GatewayDependencies,
  maxUnsentBytes,
  type MqttConnection,
  type MqttConnectionCallbacks,
  publishFieldsOf,
} from '../gateway.ts'
import { storedPeer, type PeerAddress } from '../peer-address.ts'
import { CommandQueue, commandLifetimeMs, type StoredCommand, type WaitingCommand } from './command-queue.ts'
import { jsonOfResponse, type Command, jsonOfNotice, parseCommand, pathOptionsOf } from './commands.ts'
import type { DeviceRequests } from '../coap/device-requests.ts'
import { takeNotification } from './notifications.ts'
import { Observations } from './observations.ts'
import type { StoredDevice, Registration } from './registration.ts'
import type { Lwm2mSettings, Translator } from './settings.ts'

const msPerSecond = 1_000
const maxKeepAliveSeconds = 65_535
/** Maximum unacknowledged messages of the broker to a device. Further ones wait in its queue. */
const receiveMaximum = 64
/** Maximum stored responses for the API. */
const maxResponses = 64

export interface DeviceDependencies {
  readonly settings: Lwm2mSettings
  readonly dependencies: GatewayDependencies
  readonly requests: DeviceRequests
  readonly proofs: AddressProofs
  /** Topics of all devices. */
  readonly topics: TopicTable
  /** Called when `dueAtMs` of the device has changed. */
  schedule(device: Device): void
  noteEnded(device: Device): void
  openMqtt(device: Device, isRestored: boolean): MqttConnection
}

export class Device implements MqttConnectionCallbacks, GatewayClient {
  readonly #gateway: DeviceDependencies
  /** Location of the registration: `/rd/<location>`. */
  readonly location: string
  peer: PeerAddress
  /** First address of the device, under which it is counted. */
  readonly firstAddress: string
  /** Address and association to which the location was sent. */
  readonly firstPeer: PeerAddress
  #registration: Registration
  #state: 'connecting' | 'open' | 'ended' = 'connecting'
  readonly #mqtt: MqttConnection
  #whenConnected: ((reasonCode: number) => void) | undefined
  /** True if the device was registered before the restart. Its registration is then not published again. */
  readonly #isRestored: boolean
  readonly #commands: CommandQueue
  /** Whether the stored state says that the address of the device has proven itself. */
  #isStoredProven = false
  /** Whether the stored state of the device has commands. */
  #hasStoredCommands = false
  #cancelCurrent: () => void = () => {}
  readonly #observations: Observations
  #lostAtMs: number
  #receivedAtMs: number
  #pingIntervalMs: number
  #nextPingMs: number
  #nextPacketId = 0
  /** True if stored state remains after the end of this object, because the registration continues after a restart. */
  #leavesStoredState = false
  /** `data` of the last response to each command, by path and type. */
  readonly #responses = new Map<string, Readonly<Record<string, unknown>>>()

  constructor(
    gateway: DeviceDependencies,
    registration: Registration,
    place: { readonly peer: PeerAddress; readonly location: string; readonly restored?: StoredDevice | undefined },
    connected: (reasonCode: number) => void,
  ) {
    this.#gateway = gateway
    this.#registration = registration
    this.peer = place.peer
    this.firstAddress = place.peer.address
    this.firstPeer = place.peer
    this.location = place.location
    this.#whenConnected = connected
    this.#isRestored = place.restored !== undefined
    this.#commands = new CommandQueue(receiveMaximum, () => gateway.dependencies.counters.dropped['queue-full']++)
    this.#observations = new Observations(place.restored?.observations ?? [], gateway.dependencies.place)
    this.#pushStored(place.restored?.commands ?? [])
    this.#hasStoredCommands = this.#commands.hasCommandsToStore
    this.#receivedAtMs = gateway.dependencies.nowMs()
    this.#lostAtMs = place.restored?.lostAtMs ?? this.#receivedAtMs + registration.lifetimeSeconds * msPerSecond
    this.#pingIntervalMs = (this.#keepAliveSeconds * msPerSecond) / 2
    this.#nextPingMs = this.#receivedAtMs + this.#pingIntervalMs
    // The device has not sent a packet since the broker started, so it may sleep.
    if (this.#isRestored && registration.isQueueMode) this.#receivedAtMs = -Infinity
    this.#mqtt = gateway.openMqtt(this, this.#isRestored)
    this.#connect()
  }

  get endpointName(): string {
    return this.#registration.endpointName
  }

  get lifetimeSeconds(): number {
    return this.#registration.lifetimeSeconds
  }

  get registration(): Registration {
    return this.#registration
  }

  /** Client ID for the broker. */
  get clientId(): string {
    const { clientId } = this.#gateway.settings.override
    return clientId === undefined ? this.#registration.clientId : fillTemplate(clientId, this.#registration.clientId)
  }

  get isEnded(): boolean {
    return this.#state === 'ended'
  }

  /** Time at which `tick` must be called. */
  get dueAtMs(): number {
    if (this.#state === 'ended') return Infinity
    return Math.min(this.#lostAtMs, this.#nextPingMs, this.#commands.expiresAtMs)
  }

  get address(): string {
    return this.peer.address
  }

  get port(): number {
    return this.peer.port
  }

  noteReceived(peer: PeerAddress): void {
    this.#receivedAtMs = this.#gateway.dependencies.nowMs()
    const { peer: before } = this
    this.peer = peer
    if (this.#state === 'ended' || (before.address === peer.address && before.port === peer.port)) return
    this.#mqtt.noteClientChanged()
    // With the next packet, the broker checks whether the client may be connected from this address.
    if (before.address !== peer.address && this.#state === 'open') this.#mqtt.send({ type: 'pingreq' })
  }

  /** Whether an observation has this token. */
  observes(token: Buffer): boolean {
    return this.#observations.commandOf(token) !== undefined
  }

  /** Handles a registration update [LwM2M 1.1 Core 6.2.2]. */
  update(changed: Partial<Registration>, peer: PeerAddress, hasObjects: boolean): void {
    this.#registration = { ...this.#registration, ...changed }
    this.noteReceived(peer)
    this.#mqtt.noteClientChanged()
    this.#lostAtMs = this.#receivedAtMs + this.#registration.lifetimeSeconds * msPerSecond
    const { settings } = this.#gateway
    this.#store()
    if (hasObjects || settings.publishesAllUpdates) this.#publish(settings.translators.update, this.#document('update'))
    this.#gateway.schedule(this)
  }

  /** Sends waiting commands. Called when the response to a packet of the device was sent. */
  sendWaiting(): void {
    this.#sendNext()
    if (!this.isEnded) this.#gateway.schedule(this)
  }

  /** Handles a notification. Returns false if there is no such observation. */
  handleNotification(response: CoapMessage): boolean {
    const observations = this.#observations
    const command = observations.commandOf(response.token)
    if (command === undefined) return false
    const { requests, settings, dependencies } = this.#gateway
    if (!observations.isFresh(response, dependencies.nowMs())) return true
    takeNotification(command, response, {
      peer: this.peer,
      path: pathOptionsOf(command, this.#registration.alternatePath),
      requests,
      observations,
      objects: settings.objects,
      publish: (document) => this.#publish(settings.translators.notify, document),
      noteIncomplete: () => dependencies.counters.dropped.malformed++,
    })
    if (uintOf(response, options.observe) === undefined) {
      observations.delete(response.token)
      this.#store()
    }
    return true
  }

  tick(): void {
    const nowMs = this.#gateway.dependencies.nowMs()
    if (nowMs >= this.#lostAtMs) return this.end('lost')
    if (nowMs >= this.#nextPingMs) {
      this.#nextPingMs = nowMs + this.#pingIntervalMs
      this.#mqtt.send({ type: 'pingreq' })
    }
    this.#commands.dropExpired(nowMs)
  }

  /** Commands that are in no queue of the broker, for the registration that replaces this one. */
  get commandsToStore(): readonly StoredCommand[] {
    return this.#commands.toStore()
  }

  /** Queues commands of the previous registration. */
  addCommands(stored: readonly StoredCommand[]): void {
    this.#pushStored(stored)
    this.#storeCommands()
  }

  #pushStored(stored: readonly StoredCommand[]): void {
    for (const { fields, expiresAtMs } of stored) {
      const command = parseCommand(Buffer.from(JSON.stringify(fields)))
      if (typeof command !== 'string') this.#commands.push({ command, expiresAtMs, done: undefined })
    }
  }

  /**
   * `gone`: the device has deregistered. `lost`: its lifetime has ended. `replaced`: it has registered again. `closed`: the
   * gateway ends.
   */
  end(why: 'gone' | 'lost' | 'replaced' | 'closed'): void {
    if (this.#state === 'ended') return
    this.#leavesStoredState = why === 'closed'
    const properties = why === 'gone' ? { sessionExpiryIntervalSeconds: 0 } : undefined
    const reasonCode = why === 'lost' ? reasonCodes.disconnectWithWill : reasonCodes.normalDisconnection
    this.#mqtt.end({ type: 'disconnect', reasonCode, properties })
    this.#end(reasonCodes.unspecifiedError)
  }

  /** Stores the state of the device across restarts. */
  #store(): void {
    if (this.#state === 'ended') return
    const commands = this.#commands.toStore()
    this.#hasStoredCommands = commands.length > 0
    this.#isStoredProven = this.#gateway.proofs.isProven(this.peer)
    const stored = {
      registration: this.#registration,
      lostAtMs: this.#lostAtMs,
      peer: storedPeer(this.peer),
      isProven: this.#isStoredProven,
      observations: this.#observations.stored,
      commands,
    }
    this.#gateway.dependencies.storeValue(this.location, JSON.stringify(stored satisfies StoredDevice))
  }

  // Connection to the broker

  get #keepAliveSeconds(): number {
    return Math.min(this.#registration.lifetimeSeconds, maxKeepAliveSeconds)
  }

  #connect(): void {
    const { clientId, username, password, lifetimeSeconds } = this.#registration
    const { override } = this.#gateway.settings
    const fill = (template: string | undefined): string | undefined =>
      template === undefined ? undefined : fillTemplate(template, clientId)
    const secret = fill(override.password) ?? password
    this.#mqtt.send({
      type: 'connect',
      version: 5,
      clientId: this.clientId,
      // The session has the commands that arrived while the device was not registered.
      cleanStart: false,
      keepAliveSeconds: this.#keepAliveSeconds,
      username: fill(override.username) ?? username,
      password: secret === undefined ? undefined : Buffer.from(secret),
      will: undefined,
      properties: {
        sessionExpiryIntervalSeconds: Math.max(lifetimeSeconds, commandLifetimeMs / msPerSecond),
        receiveMaximum,
      },
      isBridge: false,
    })
  }

  handleClosed(): void {
    this.#end(reasonCodes.unspecifiedError)
  }

  handlePacket(packet: Packet): void {
    switch (packet.type) {
      case 'connack':
        return this.#handleConnack(packet)
      case 'publish':
        return this.#handleCommand(packet)
      case 'pubrec':
        if (packet.reasonCode < reasonCodes.unspecifiedError) this.#mqtt.acknowledge('pubrel', packet.packetId)
        return undefined
      case 'pubrel':
        return this.#mqtt.acknowledge('pubcomp', packet.packetId)
      case 'disconnect':
        return this.#end(packet.reasonCode)
      default:
        return undefined
    }
  }

  #handleConnack({ reasonCode, properties }: ConnackPacket): void {
    const seconds = properties?.serverKeepAliveSeconds
    if (seconds !== undefined) this.#pingIntervalMs = seconds === 0 ? Infinity : (seconds * msPerSecond) / 2
    const onConnected = this.#whenConnected
    this.#whenConnected = undefined
    if (reasonCode !== reasonCodes.success) {
      onConnected?.(reasonCode)
      return this.#end(reasonCode)
    }
    this.#state = 'open'
    const { translators, observesAll } = this.#gateway.settings
    const filter = parseTopicFilter(this.#mounted(translators.command.topic))
    // Commands with QoS 1 wait in the session, also while the broker starts or the device is not registered.
    const commandQoS = translators.command.qos === 0 ? 1 : translators.command.qos
    if (filter !== undefined)
      this.#mqtt.send({
        type: 'subscribe',
        packetId: this.#takePacketId(),
        subscriptions: [{ filter, qos: commandQoS, noLocal: false, retainAsPublished: false, retainHandling: 0 }],
        properties: undefined,
      })
    this.#store()
    onConnected?.(reasonCode)
    if (this.#isRestored) return this.sendWaiting()
    this.#publish(translators.register, this.#document('register'))
    if (observesAll) for (const path of this.#registration.objects) this.#observe(path)
    this.#gateway.schedule(this)
  }

  /** Returns '', which is no topic, if the endpoint name would lead to other topics than those of this device. */
  #mounted(topic: string): string {
    const prefix = fillTopicTemplate(this.#gateway.settings.mountpoint, { endpoint_name: this.endpointName })
    return prefix === undefined ? '' : `${prefix}${topic}`
  }

  #document(msgType: string): Readonly<Record<string, unknown>> {
    const { endpointName: ep, lifetimeSeconds: lt, version, binding: b, alternatePath, objects } = this.#registration
    const data = { ep, lt, lwm2m: version, ...(b === undefined ? {} : { b }), alternatePath, objectList: objects }
    return { msgType, data }
  }

  #publish({ topic: name, qos }: Translator, document: Readonly<Record<string, unknown>>): void {
    const topic = parseTopicName(this.#mounted(name))
    if (this.#state === 'ended' || topic === undefined || this.#mqtt.unsentBytes > maxUnsentBytes) {
      this.#gateway.dependencies.counters.dropped['queue-full']++
      return
    }
    const payload = Buffer.from(JSON.stringify(document))
    const packetId = qos === 0 ? 0 : this.#takePacketId()
    this.#mqtt.publish(
      publishFieldsOf({ topic: this.#gateway.topics.named(topic), payload, qos, retain: false, packetId }),
    )
  }

  #takePacketId(): PacketId {
    this.#nextPacketId = this.#nextPacketId >= 0xffff ? 1 : this.#nextPacketId + 1
    return this.#nextPacketId
  }

  // Commands

  /** Runs a command of the API. Returns a sentence if it is invalid. */
  command(document: Readonly<Record<string, unknown>>): string | undefined {
    const command = parseCommand(Buffer.from(JSON.stringify(document)))
    if (typeof command === 'string') return command
    this.#enqueue(command, undefined, undefined)
    return undefined
  }

  /** Returns the last response to a command of this type for the path. */
  responseFor(path: string, type: string): Readonly<Record<string, unknown>> | undefined {
    return this.#responses.get(`${type} ${path}`)
  }

  #rememberResponse({ type, pathText }: Command, data: Readonly<Record<string, unknown>>): void {
    const key = `${type} ${pathText}`
    this.#responses.delete(key)
    const [oldest] = this.#responses.keys()
    if (this.#responses.size >= maxResponses && oldest !== undefined) this.#responses.delete(oldest)
    this.#responses.set(key, data)
  }

  #handleCommand(packet: PublishPacket): void {
    const payload = Buffer.from(packet.chunk.subarray(packet.payloadStart, packet.frameEnd))
    const acknowledge = (): void => {
      if (this.#state === 'ended') return
      this.#mqtt.acknowledge(packet.qos === 1 ? 'puback' : 'pubrec', packet.packetId)
    }
    const done = packet.qos === 0 ? undefined : acknowledge
    const command = parseCommand(payload)
    if (typeof command === 'string') {
      this.#gateway.dependencies.counters.dropped.malformed++
      return done?.()
    }
    this.#enqueue(command, packet.properties?.messageExpiryIntervalSeconds, done)
  }

  #enqueue(command: Command, expirySeconds: number | undefined, done: (() => void) | undefined): void {
    const lifetimeMs = expirySeconds === undefined ? commandLifetimeMs : expirySeconds * msPerSecond
    this.#commands.push({ command, expiresAtMs: this.#gateway.dependencies.nowMs() + lifetimeMs, done })
    this.#sendNext()
    this.#storeCommands()
    this.#gateway.schedule(this)
  }

  /** Stores waiting commands. A device that is awake gets its commands at once: then nothing is written. */
  #storeCommands(): void {
    if (this.#commands.hasCommandsToStore || this.#hasStoredCommands) this.#store()
  }

  #observe(path: string): void {
    const command = parseCommand(Buffer.from(JSON.stringify({ reqID: 0, msgType: 'observe', data: { path } })))
    if (typeof command !== 'string') this.#enqueue(command, undefined, undefined)
  }

  get #isReachable(): boolean {
    const { isQueueMode } = this.#registration
    const { queueModeWindowMs } = this.#gateway.settings
    return !isQueueMode || this.#gateway.dependencies.nowMs() - this.#receivedAtMs < queueModeWindowMs
  }

  /** Sends the next command, one at a time. A device in queue mode gets commands only while it is awake. */
  #sendNext(): void {
    this.#commands.dropExpired(this.#gateway.dependencies.nowMs())
    const isBusy = this.#commands.current !== undefined || this.#state === 'ended' || !this.#isReachable
    const next = isBusy ? undefined : (this.#commands.begin() ?? this.#renewObservation())
    if (next === undefined) return
    const { command } = next
    if (command.observes !== undefined) this.#observations.noteSent(command)
    const { response: translator } = this.#gateway.settings.translators
    const observed = this.#observations.tokenFor(command)
    this.#cancelCurrent = this.#gateway.requests.request({
      peer: this.peer,
      token: observed,
      message: {
        code: command.request.method,
        options: [...pathOptionsOf(command, this.#registration.alternatePath), ...command.request.options],
        payload: command.request.payload,
      },
      acknowledged: () => this.#publish(translator, jsonOfNotice(command, 'ack')),
      settled: (result) => {
        if (result.outcome === 'response') {
          this.noteReceived(this.peer)
          this.#observations.noteResponse(command, result.response, { known: observed, nowMs: this.#receivedAtMs })
          if (command.observes !== undefined || !this.#isStoredProven) this.#store()
          const document = jsonOfResponse(command, result, this.#gateway.settings.objects)
          this.#rememberResponse(command, document['data'] as Readonly<Record<string, unknown>>)
          this.#publish(translator, document)
          next.done?.()
        } else if (result.outcome === 'timeout' && this.#registration.isQueueMode) {
          // The device sleeps: the command waits at the front of the queue until the next packet of the device.
          this.#receivedAtMs = -Infinity
          this.#commands.putBack()
        } else {
          this.#publish(translator, jsonOfNotice(command, `coap_${result.outcome}`))
          next.done?.()
        }
        this.#commands.current = undefined
        this.#sendNext()
        this.#storeCommands()
        if (!this.isEnded) this.#gateway.schedule(this)
      },
    })
  }

  #renewObservation(): WaitingCommand | undefined {
    const command = this.#observations.nextToBegin
    if (command === undefined) return undefined
    const expiresAtMs = this.#gateway.dependencies.nowMs() + commandLifetimeMs
    this.#commands.push({ command, expiresAtMs, done: undefined })
    return this.#commands.begin()
  }

  #end(reasonCode: number): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#whenConnected?.(reasonCode)
    this.#whenConnected = undefined
    // After the next registration of the device, the command is sent again.
    this.#cancelCurrent()
    if (!this.#leavesStoredState) this.#gateway.dependencies.storeValue(this.location, undefined)
    this.#observations.clear()
    this.#gateway.noteEnded(this)
  }
}
