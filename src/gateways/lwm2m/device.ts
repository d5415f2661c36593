// One registered device: its registration, its connection to the broker, and its notifications. Its commands are in `device-commands.ts`.

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
import { createConnectPacket } from '../../mqtt-client/index.ts'
import type { GatewayClient } from '../../core/index.ts'
import type { AddressProofs } from '../address-proofs.ts'
import { overrideClientId, overrideClientInfo } from '../client-info.ts'
import { type CoapMessage, options, readUint } from '../coap/endpoint/coap-message.ts'
import { maxUnsentBytes, type MqttConnection, type MqttConnectionCallbacks, toPublishFields } from '../gateway.ts'
import { toStoredPeer } from '../peer-identity.ts'
import type { PeerAddress } from '../../transports/index.ts'
import { commandLifetimeMs } from './command-queue.ts'
import { toPathOptions } from './commands.ts'
import { type CommandServices, DeviceCommands, maxWaitingCommands } from './device-commands.ts'
import { takeNotification } from './notifications.ts'
import { Lwm2mObservations } from './lwm2m-observations.ts'
import type { StoredDevice, Registration } from './registration.ts'
import type { Translator } from './lwm2m-settings.ts'
import { toPingIntervalMs } from '../ping-interval.ts'

const msPerSecond = 1_000
const maxKeepAliveSeconds = 65_535

export interface DeviceDependencies extends CommandServices {
  readonly proofs: AddressProofs
  /** Topics of all devices. */
  readonly topics: TopicTable
  /** Called when `dueAtMs` of the device has changed. */
  schedule(device: Device): void
  onEnded(device: Device): void
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
  /** Whether the stored state says that the address of the device has proven itself. */
  isStoredProven = false
  readonly commands: DeviceCommands
  readonly #observations: Lwm2mObservations
  #lostAtMs: number
  #receivedAtMs: number
  #pingIntervalMs: number
  #nextPingMs: number
  #nextPacketId = 0
  /** True if stored state remains after the end of this object, because the registration continues after a restart. */
  #leavesStoredState = false

  constructor(
    gateway: DeviceDependencies,
    registration: Registration,
    origin: { readonly peer: PeerAddress; readonly location: string; readonly restored?: StoredDevice | undefined },
    connected: (reasonCode: number) => void,
  ) {
    this.#gateway = gateway
    this.#registration = registration
    this.peer = origin.peer
    this.firstAddress = origin.peer.address
    this.firstPeer = origin.peer
    this.location = origin.location
    this.#whenConnected = connected
    this.#isRestored = origin.restored !== undefined
    this.#observations = new Lwm2mObservations(origin.restored?.observations ?? [], gateway.dependencies.place)
    this.commands = new DeviceCommands(this, this.#observations, gateway, origin.restored?.commands ?? [])
    this.#receivedAtMs = gateway.dependencies.nowMs()
    this.#lostAtMs = origin.restored?.lostAtMs ?? this.#receivedAtMs + registration.lifetimeSeconds * msPerSecond
    this.#pingIntervalMs = toPingIntervalMs(this.#keepAliveSeconds)
    this.#nextPingMs = this.#receivedAtMs + this.#pingIntervalMs
    // The device has not sent a packet since the broker started, so it may sleep.
    if (this.#isRestored && registration.isQueueMode) this.markAsleep()
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
    return overrideClientId(this.#gateway.settings.override, this.#registration.clientId)
  }

  get isEnded(): boolean {
    return this.#state === 'ended'
  }

  /** Time at which `tick` must be called. */
  get dueAtMs(): number {
    if (this.#state === 'ended') return Infinity
    return Math.min(this.#lostAtMs, this.#nextPingMs, this.commands.expiresAtMs)
  }

  get address(): string {
    return this.peer.address
  }

  get port(): number {
    return this.peer.port
  }

  recordReceived(peer: PeerAddress): void {
    this.#receivedAtMs = this.#gateway.dependencies.nowMs()
    const { peer: before } = this
    this.peer = peer
    if (this.#state === 'ended' || (before.address === peer.address && before.port === peer.port)) return
    this.#mqtt.reportClientChange()
    // With the next packet, the broker checks whether the client may be connected from this address.
    if (before.address !== peer.address && this.#state === 'open') this.#mqtt.send({ type: 'pingreq' })
  }

  /** Whether an observation has this token. */
  observes(token: Buffer): boolean {
    return this.#observations.findCommand(token) !== undefined
  }

  /** Handles a registration update [LwM2M 1.1 Core 6.2.2]. */
  update(changed: Partial<Registration>, peer: PeerAddress, hasObjects: boolean): void {
    this.#registration = { ...this.#registration, ...changed }
    this.recordReceived(peer)
    this.#mqtt.reportClientChange()
    this.#lostAtMs = this.#receivedAtMs + this.#registration.lifetimeSeconds * msPerSecond
    const { settings } = this.#gateway
    this.store()
    if (hasObjects || settings.publishesAllUpdates)
      this.publish(settings.translators.update, this.#createDocument('update'))
    this.schedule()
  }

  /** Sends waiting commands. Called when the response to a packet of the device was sent. */
  sendWaiting(): void {
    this.commands.sendNext()
    if (!this.isEnded) this.schedule()
  }

  schedule(): void {
    this.#gateway.schedule(this)
  }

  /** A device in queue mode gets commands only while it is awake. */
  get isReachable(): boolean {
    const { settings, dependencies } = this.#gateway
    const sinceReceivedMs = dependencies.nowMs() - this.#receivedAtMs
    return !this.#registration.isQueueMode || sinceReceivedMs < settings.queueModeWindowMs
  }

  /** A device in queue mode has not responded: it sleeps until its next packet. */
  markAsleep(): void {
    this.#receivedAtMs = -Infinity
  }

  /** Handles a notification. Returns false if there is no such observation. */
  handleNotification(response: CoapMessage): boolean {
    const observations = this.#observations
    const command = observations.findCommand(response.token)
    if (command === undefined) return false
    const { requests, settings, dependencies } = this.#gateway
    if (!observations.isFresh(response, dependencies.nowMs())) return true
    takeNotification(command, response, {
      peer: this.peer,
      path: toPathOptions(command, this.#registration.alternatePath),
      requests,
      observations,
      objects: settings.objects,
      publish: (document) => this.publish(settings.translators.notify, document),
      onIncomplete: () => dependencies.counters.dropped.malformed++,
    })
    if (readUint(response, options.observe) === undefined) {
      observations.delete(response.token)
      this.store()
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
    this.commands.dropExpired(nowMs)
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
  store(): void {
    if (this.#state === 'ended') return
    this.isStoredProven = this.#gateway.proofs.isProven(this.peer)
    const stored = {
      registration: this.#registration,
      lostAtMs: this.#lostAtMs,
      peer: toStoredPeer(this.peer),
      isProven: this.isStoredProven,
      observations: this.#observations.stored,
      commands: this.commands.recordStored(),
    }
    this.#gateway.dependencies.storeValue(this.location, JSON.stringify(stored satisfies StoredDevice))
  }

  // Connection to the broker

  get #keepAliveSeconds(): number {
    return Math.min(this.#registration.lifetimeSeconds, maxKeepAliveSeconds)
  }

  #connect(): void {
    const { lifetimeSeconds } = this.#registration
    const { clientId, username, password } = overrideClientInfo(this.#gateway.settings.override, this.#registration)
    this.#mqtt.send(
      createConnectPacket({
        version: 5,
        clientId,
        // The session has the commands that arrived while the device was not registered.
        cleanStart: false,
        keepAliveSeconds: this.#keepAliveSeconds,
        username,
        password: password === undefined ? undefined : Buffer.from(password),
        properties: {
          sessionExpiryIntervalSeconds: Math.max(lifetimeSeconds, commandLifetimeMs / msPerSecond),
          receiveMaximum: maxWaitingCommands,
        },
      }),
    )
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
    if (seconds !== undefined) this.#pingIntervalMs = toPingIntervalMs(seconds)
    const onConnected = this.#whenConnected
    this.#whenConnected = undefined
    if (reasonCode !== reasonCodes.success) {
      onConnected?.(reasonCode)
      return this.#end(reasonCode)
    }
    this.#state = 'open'
    const { translators, observesAll } = this.#gateway.settings
    const filter = parseTopicFilter(this.#mountTopic(translators.command.topic))
    // Commands with QoS 1 wait in the session, also while the broker starts or the device is not registered.
    const commandQoS = translators.command.qos === 0 ? 1 : translators.command.qos
    if (filter !== undefined)
      this.#mqtt.send({
        type: 'subscribe',
        packetId: this.#takePacketId(),
        subscriptions: [{ filter, qos: commandQoS, noLocal: false, retainAsPublished: false, retainHandling: 0 }],
        properties: undefined,
      })
    this.store()
    onConnected?.(reasonCode)
    if (this.#isRestored) return this.sendWaiting()
    this.publish(translators.register, this.#createDocument('register'))
    if (observesAll) for (const path of this.#registration.objects) this.commands.observe(path)
    this.schedule()
  }

  /** Returns '', which is no topic, if the endpoint name would lead to other topics than those of this device. */
  #mountTopic(topic: string): string {
    const prefix = fillTopicTemplate(this.#gateway.settings.mountpoint, { endpoint_name: this.endpointName })
    return prefix === undefined ? '' : `${prefix}${topic}`
  }

  #createDocument(msgType: string): Readonly<Record<string, unknown>> {
    const { endpointName: ep, lifetimeSeconds: lt, version, binding: b, alternatePath, objects } = this.#registration
    const data = { ep, lt, lwm2m: version, ...(b === undefined ? {} : { b }), alternatePath, objectList: objects }
    return { msgType, data }
  }

  publish({ topic: name, qos }: Translator, document: Readonly<Record<string, unknown>>): void {
    const topic = parseTopicName(this.#mountTopic(name))
    if (this.#state === 'ended' || topic === undefined || this.#mqtt.unsentBytes > maxUnsentBytes) {
      this.#gateway.dependencies.counters.dropped['queue-full']++
      return
    }
    const payload = Buffer.from(JSON.stringify(document))
    const packetId = qos === 0 ? 0 : this.#takePacketId()
    this.#mqtt.publish(
      toPublishFields({ topic: this.#gateway.topics.internName(topic), payload, qos, retain: false, packetId }),
    )
  }

  #takePacketId(): PacketId {
    this.#nextPacketId = this.#nextPacketId >= 0xffff ? 1 : this.#nextPacketId + 1
    return this.#nextPacketId
  }

  #handleCommand(packet: PublishPacket): void {
    const acknowledge = (): void => {
      if (this.#state === 'ended') return
      this.#mqtt.acknowledge(packet.qos === 1 ? 'puback' : 'pubrec', packet.packetId)
    }
    this.commands.handlePublish(packet, packet.qos === 0 ? undefined : acknowledge)
  }

  #end(reasonCode: number): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#whenConnected?.(reasonCode)
    this.#whenConnected = undefined
    this.commands.cancelCurrent()
    if (!this.#leavesStoredState) this.#gateway.dependencies.storeValue(this.location, undefined)
    this.#observations.clear()
    this.#gateway.onEnded(this)
  }
}
