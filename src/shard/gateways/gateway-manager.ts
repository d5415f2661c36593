// The gateways of a shard. Every shard has a socket on each port, and passes a datagram of a client of another shard to that shard
// (`datagram-links.ts`). A gateway client has an MQTT 5.0 connection within the process, which is handled like any other: it goes to
// the shard that owns the session.
//
//   device <──datagrams, bytes──> GatewayProtocol <──PacketLink──> stream pair <──> a client of this or another shard

import { randomInt } from 'node:crypto'
import { createStreamPair } from '../../mqtt-client/index.ts'
import type { GatewayClient } from '../../core/index.ts'
import {
  AddressLimits,
  CoapGateway,
  type DatagramGateway,
  type GatewayDependencies,
  type GatewayRequest,
  type GatewayResponse,
  Lwm2mGateway,
  type Lwm2mSettings,
  type MqttConnection,
  type MqttConnectionCallbacks,
  MqttSnGateway,
  newGatewayCounters,
  ObjectDefinitions,
  PredefinedTopics,
  StompGateway,
  type StompSettings,
  type StreamGateway,
  isSearch,
  writeAdvertise,
} from '../../gateways/index.ts'
import { type QoS, TopicTable } from '../../protocol/index.ts'
import type { AlarmName, Log } from '../../telemetry/index.ts'
import {
  type ByteStream,
  type ConnectionLimit,
  type DtlsProblem,
  type DtlsSocket,
  openDtls,
  openUdp,
  type PeerAddress,
  type UdpSocket,
} from '../../transports/index.ts'
import type { GatewayAssignment, GatewayPlan, GatewayReport, GatewayType } from '../messages/gateway-plan.ts'
import type { ShardListener } from '../messages/messages.ts'
import type { OpenListener } from '../listeners/open-listener.ts'
import { DeadlineTimer } from '../runtime/deadline-timer.ts'
import { DatagramLinks, type OpenRelay, receiveDatagrams } from './datagram-links.ts'
import { type DatagramLimits, datagramLimitsOf } from './datagram-limits.ts'
import { dropCheckMs, DropLog } from './drop-log.ts'
import { GatewayConnection, gatewayLinkOptions } from './gateway-connection.ts'
import { connectGatewayStream } from './gateway-stream.ts'
import { prefixOf, readValues, type StoredValue } from './stored-names.ts'

const maxCachedTopics = 1_024
/** Interval of retries for a socket that could not be opened. */
const retryMs = 5_000
const msPerSecond = 1_000

export interface GatewayManagerDependencies {
  readonly own: number
  readonly shards: number
  readonly log: Log
  /** Passes a stream to another shard. Returns false if that shard is not running. */
  readonly openRelay: OpenRelay
  nowMs(): number
  /** Opens a socket that accepts connections. */
  openListener(listener: ShardListener, accept: (stream: ByteStream) => void): Promise<OpenListener>
  /** Returns a pre-shared key that is stored in the broker. */
  storedKey(identity: string, listener: ShardListener): Uint8Array | undefined
  /** Accepts a client of this listener. */
  accept(stream: ByteStream, listener: ShardListener): void
  /** Limit of all connections of the node, which also counts gateway clients. */
  readonly connections: ConnectionLimit
  /** Stores values of gateways, all or none of them. */
  storeValues(values: readonly StoredValue[]): void
  /** Calls `done` when all stored values are durable. Not called if the disk fails. */
  whenDurable(done: () => void): void
  readStoredValues(prefix: string): AsyncIterable<{ readonly name: string; readonly value: string }>
  /** Whether a ban of this address, or of a range that contains it, is in force. */
  isBanned(address: string): boolean
  raiseAlarm(name: AlarmName, message: string): void
  endAlarm(name: AlarmName, message: string): void
  fail(error: unknown): void
}

interface RunningGateway {
  readonly assignment: GatewayAssignment
  readonly protocol: DatagramGateway | StreamGateway
  readonly dependencies: GatewayDependencies
  readonly timer: DeadlineTimer
  readonly advertiser: NodeJS.Timeout | undefined
  readonly dropChecker: NodeJS.Timeout
  /** Undefined: the socket is not open. */
  socket: UdpSocket | DtlsSocket | OpenListener | undefined
  /** Socket of the multicast group on which SEARCHGW arrives. */
  multicast: UdpSocket | undefined
  retry: NodeJS.Timeout | undefined
  isClosed: boolean
}

export class GatewayManager {
  readonly #dependencies: GatewayManagerDependencies
  readonly #running = new Map<number, RunningGateway>()
  readonly #links: DatagramLinks
  #plan: GatewayPlan = []
  readonly #runGuarded = (work: () => void): void => this.#guarded(work)
  readonly #linkOptions = gatewayLinkOptions(new TopicTable(maxCachedTopics), (work) =>
    process.nextTick(this.#runGuarded, work),
  )

  constructor(dependencies: GatewayManagerDependencies) {
    this.#dependencies = dependencies
    this.#links = new DatagramLinks((...parameters) => dependencies.openRelay(...parameters))
  }

  /** Returns the listener of clients on other shards. */
  listenerOf(number: number): ShardListener | undefined {
    return this.#plan.find(({ listener, datagramNumber }) => listener.number === number || datagramNumber === number)
      ?.listener
  }

  /** Returns true if the stream carries datagrams of another shard. */
  takeDatagrams(stream: ByteStream, number: number): boolean {
    const assignment = this.#plan.find(({ datagramNumber }) => datagramNumber === number)
    if (assignment === undefined) return false
    receiveDatagrams(stream, (bytes, peer) => {
      const protocol = this.#running.get(assignment.listener.number)?.protocol
      if (protocol !== undefined && 'handleDatagram' in protocol)
        this.#guarded(() => protocol.handleDatagram(bytes, peer, true))
    })
    return true
  }

  /** Replaces the gateways. A socket with changed settings gets another number. */
  async configure(plan: GatewayPlan): Promise<void> {
    this.#plan = plan
    const numbers = new Set(plan.map(({ listener }) => listener.number))
    const removed = [...this.#running.values()].filter(({ assignment }) => !numbers.has(assignment.listener.number))
    await Promise.all(removed.map((gateway) => this.#close(gateway)))
    const local = plan.filter((assignment) => this.#isLocal(assignment))
    for (const assignment of local) if (!this.#running.has(assignment.listener.number)) await this.#open(assignment)
  }

  reports(): readonly GatewayReport[] {
    return [...this.#running.values()].map(({ assignment, protocol, dependencies, socket }) => ({
      type: assignment.type,
      kind: assignment.listener.kind,
      name: assignment.listener.name,
      isOpen: socket !== undefined,
      clients: protocol.clients,
      counters: dependencies.counters,
    }))
  }

  /** Passes a request of the API to one client; undefined if it is not on this shard. */
  request(type: GatewayType, clientId: string, request: GatewayRequest): Promise<GatewayResponse> | undefined {
    for (const { assignment, protocol } of this.#running.values()) {
      const response = assignment.type === type ? protocol.request?.(clientId, request) : undefined
      if (response !== undefined) return response
    }
    return undefined
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running.values()].map((gateway) => this.#close(gateway)))
  }

  /** Returns whether this shard has a socket of the listener. A DTLS socket belongs to one shard. */
  #isLocal({ listener: { onlyOnShard = this.#dependencies.own } }: GatewayAssignment): boolean {
    return onlyOnShard === this.#dependencies.own
  }

  async #open(assignment: GatewayAssignment): Promise<void> {
    const timer = new DeadlineTimer(() => this.#guarded(() => this.#tick(assignment.listener.number)))
    const { own, shards, connections } = this.#dependencies
    const limits = datagramLimitsOf(assignment.listener, { own, connections, nowMs: () => this.#dependencies.nowMs() })
    const dependencies: GatewayDependencies = {
      nowMs: () => this.#dependencies.nowMs(),
      random: Math.random,
      randomBelow: randomInt,
      send: (bytes, peer) => sendTo(gateway.socket, bytes, peer),
      hasSpace: () => limits.hasSpace(),
      // All datagrams of a DTLS socket are received and sent by one shard.
      place: assignment.dtls === undefined ? { own, shards } : { own: 0, shards: 1 },
      forward: (shard, bytes, peer) => {
        if (!this.#links.send(shard, assignment.datagramNumber, bytes, peer))
          dependencies.counters.dropped['queue-full']++
      },
      openMqtt: (peer, callbacks, client) => this.#openMqtt(assignment, callbacks, { limits, peer, client }),
      wakeAt: (timeMs) => timer.setFor(timeMs, () => this.#dependencies.nowMs()),
      isBanned: (address) => this.#dependencies.isBanned(address),
      addresses: new AddressLimits(assignment.addresses, this.#dependencies.own),
      storeValue: (name, value) => this.#dependencies.storeValues([{ name: `${prefixOf(assignment)}${name}`, value }]),
      whenDurable: (done) => this.#dependencies.whenDurable(() => this.#guarded(done)),
      counters: newGatewayCounters(),
    }
    const gateway: RunningGateway = {
      assignment,
      protocol: protocolOf(assignment, dependencies),
      dependencies,
      timer,
      advertiser: this.#advertiserOf(assignment),
      dropChecker: this.#dropCheckerOf(assignment, dependencies),
      socket: undefined,
      multicast: undefined,
      retry: undefined,
      isClosed: false,
    }
    this.#running.set(assignment.listener.number, gateway)
    if (gateway.protocol.restore !== undefined) await this.#restore(gateway)
    await this.#openSocket(gateway)
  }

  async #restore({ assignment, protocol, dependencies: { place } }: RunningGateway): Promise<void> {
    const read: GatewayManagerDependencies['readStoredValues'] = (prefix) => this.#dependencies.readStoredValues(prefix)
    const { own, moves } = await readValues(assignment, { place, plan: this.#plan, read })
    if (moves.length > 0) this.#dependencies.storeValues(moves)
    if (own.size > 0) this.#guarded(() => protocol.restore?.(own))
  }

  async #openSocket(gateway: RunningGateway): Promise<void> {
    const { listener } = gateway.assignment
    const name: AlarmName = `gateway:${gateway.assignment.type}:${listener.kind}:${listener.name}`
    const where = `${listener.kind} ${listener.host}:${listener.port}`
    const retryLater = (error: Error): void => {
      gateway.socket = undefined
      if (gateway.isClosed) return
      this.#dependencies.raiseAlarm(name, `the gateway does not receive on ${where}: ${error.message}`)
      gateway.retry = setTimeout(() => void this.#openSocket(gateway), retryMs).unref()
    }
    try {
      const socket = await this.#socketOf(gateway, retryLater)
      if (gateway.isClosed) return await socket.close()
      gateway.socket = socket
      await this.#openMulticast(gateway)
      this.#dependencies.endAlarm(name, `the gateway receives on ${where}`)
      this.#dependencies.log.info('gateway opened', {
        gateway: gateway.assignment.type,
        listener: listener.name,
        where,
      })
    } catch (error) {
      retryLater(error as Error)
    }
  }

  #socketOf({ protocol, assignment, dependencies }: RunningGateway, onFault: (error: Error) => void) {
    const { listener, dtls, receiveBufferBytes, sendBufferBytes } = assignment
    const guarded = this.#runGuarded
    if (!('handleDatagram' in protocol)) {
      return this.#dependencies.openListener(listener, (stream) =>
        guarded(() => connectGatewayStream(stream, (opened) => protocol.accept(opened), guarded)),
      )
    }
    const socket = { host: listener.host, port: listener.port, accessRules: listener.accessRules ?? [], onFault }
    if (dtls !== undefined) {
      return openDtls({
        ...socket,
        settings: dtls,
        maxClients: assignment.maxClients,
        log: this.#dependencies.log,
        nowMs: () => dependencies.nowMs(),
        createTimer: (onDue) => new DeadlineTimer(onDue),
        guarded,
        findStoredKey: (identity) => this.#dependencies.storedKey(identity, listener),
        onProblem: (problem) => this.#noteCertificates(assignment, problem),
        onDatagram: (bytes, peer) => protocol.handleDatagram(bytes, peer),
      })
    }
    return openUdp({
      ...socket,
      sharesPort: listener.sharesPort,
      receiveBufferBytes,
      sendBufferBytes,
      onDatagram: (bytes, address, port) => guarded(() => protocol.handleDatagram(bytes, { address, port })),
    })
  }

  /** Opens the multicast socket on one shard, which responds to SEARCHGW for all shards. */
  async #openMulticast(gateway: RunningGateway): Promise<void> {
    const { assignment, protocol } = gateway
    const { mqttsn, listener, type } = assignment
    const isOwn = type === 'mqttsn' && mqttsn?.multicast !== undefined && this.#dependencies.own === 0
    if (!isOwn || !('handleDatagram' in protocol) || gateway.multicast !== undefined) return
    gateway.multicast = await openUdp({
      host: listener.host,
      port: listener.port,
      multicastGroup: mqttsn.multicast,
      accessRules: listener.accessRules ?? [],
      sharesPort: false,
      onDatagram: (bytes, address, port) => {
        if (isSearch(bytes)) this.#guarded(() => protocol.handleDatagram(bytes, { address, port }))
      },
      onFault: (error) =>
        this.#dependencies.log.warn('multicast group left', { group: mqttsn.multicast, error: error.message }),
    })
    if (gateway.isClosed) await gateway.multicast.close()
  }

  #noteCertificates({ type, listener }: GatewayAssignment, problem: DtlsProblem | undefined): void {
    const name: AlarmName = `certificates:${type}:${listener.name}`
    if (problem === undefined)
      this.#dependencies.endAlarm(name, 'the changed files of the gateway are valid and in use')
    else {
      const text = `${problem.setting}: ${problem.message}`
      const invalid = `changed files of the gateway are invalid: ${text}; the previous files stay in use`
      this.#dependencies.raiseAlarm(name, problem.isInUse ? `the files of the gateway: ${text}` : invalid)
    }
  }

  async #close(gateway: RunningGateway): Promise<void> {
    gateway.isClosed = true
    this.#running.delete(gateway.assignment.listener.number)
    clearTimeout(gateway.retry)
    clearInterval(gateway.advertiser)
    clearInterval(gateway.dropChecker)
    gateway.timer.stop()
    gateway.protocol.close()
    this.#links.close(gateway.assignment.datagramNumber)
    const { socket } = gateway
    gateway.socket = undefined
    await socket?.close()
    await gateway.multicast?.close()
  }

  #advertiserOf({ type, mqttsn, listener }: GatewayAssignment): NodeJS.Timeout | undefined {
    // One shard sends ADVERTISE for all shards.
    if (type !== 'mqttsn' || mqttsn?.broadcast !== true || this.#dependencies.own !== 0) return undefined
    const seconds = Math.ceil(mqttsn.advertise_interval / msPerSecond)
    const bytes = writeAdvertise(mqttsn.gateway_id, seconds)
    const advertise = (): void => udpSocketOf(this.#running.get(listener.number))?.broadcast(bytes)
    return setInterval(advertise, mqttsn.advertise_interval).unref()
  }

  #dropCheckerOf({ type, listener }: GatewayAssignment, { counters }: GatewayDependencies): NodeJS.Timeout {
    const { kind, name } = listener
    const drops = new DropLog(this.#dependencies.log, { gateway: type, kind, listener: name })
    return setInterval(() => drops.check(counters, this.#dependencies.nowMs()), dropCheckMs).unref()
  }

  #tick(number: number): void {
    const gateway = this.#running.get(number)
    if (gateway === undefined) return
    gateway.timer.begin()
    gateway.protocol.tick()
  }

  #openMqtt(
    { listener }: GatewayAssignment,
    callbacks: MqttConnectionCallbacks,
    { limits, peer, client }: { limits: DatagramLimits; peer: PeerAddress; client: GatewayClient | undefined },
  ): MqttConnection {
    const { address, port, secure } = peer
    const traits = { address, port, gatewayClient: client, credentials: secure?.credentials }
    const streams = createStreamPair(this.#linkOptions.later, traits)
    // A connection of a stream listener was counted when it was accepted.
    const isDatagram = listener.kind === 'udp' || listener.kind === 'dtls'
    const limit = isDatagram && limits.connections.acquire() === undefined ? limits.connections : undefined
    const connection = new GatewayConnection(streams, callbacks, { limit, link: this.#linkOptions })
    this.#dependencies.accept(streams[1], listener)
    return connection
  }

  #guarded(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#dependencies.fail(error)
    }
  }
}

function sendTo(socket: RunningGateway['socket'], bytes: Buffer, peer: PeerAddress): void {
  if (socket === undefined) return
  if ('sendTo' in socket) socket.sendTo(bytes, peer)
  else if ('send' in socket) socket.send(bytes, peer.address, peer.port)
}

function udpSocketOf(gateway: RunningGateway | undefined): UdpSocket | undefined {
  const socket = gateway?.socket
  return socket !== undefined && 'send' in socket ? socket : undefined
}

function protocolOf(assignment: GatewayAssignment, dependencies: GatewayDependencies): DatagramGateway | StreamGateway {
  const { type, mqttsn, coap, lwm2m, stomp, maxClients } = assignment
  if (type === 'mqttsn' && mqttsn !== undefined) return mqttSnGatewayOf(mqttsn, maxClients, dependencies)
  if (type === 'coap' && coap !== undefined) return coapGatewayOf(coap, maxClients, dependencies)
  if (type === 'lwm2m' && lwm2m !== undefined) return new Lwm2mGateway(lwm2mSettingsOf(lwm2m, assignment), dependencies)
  if (type === 'stomp' && stomp !== undefined) return new StompGateway(stompSettingsOf(stomp), dependencies)
  throw new TypeError(`the gateway ${type} has no settings`)
}

function mqttSnGatewayOf(
  mqttsn: NonNullable<GatewayAssignment['mqttsn']>,
  maxClients: number,
  dependencies: GatewayDependencies,
): MqttSnGateway {
  const predefined = mqttsn.predefined.map((fields) => ({
    id: Number(fields.get('id')),
    topic: String(fields.get('topic')),
  }))
  const settings = {
    gatewayId: mqttsn.gateway_id,
    allowsQosMinusOne: mqttsn.enable_qos3,
    speaksVersion2: mqttsn.protocol_2,
    resumesTopics: mqttsn.subs_resume,
    predefined: new PredefinedTopics(predefined),
    retryIntervalMs: mqttsn.retry_interval,
    maxRetries: mqttsn.max_retries,
    idleTimeoutMs: mqttsn.idle_timeout,
    maxClients,
    override: overrideOf(mqttsn.clientinfo_override),
  }
  return new MqttSnGateway(settings, dependencies)
}

const qosOfNames = { coap: undefined, qos0: 0, qos1: 1, qos2: 2 } as const

function coapGatewayOf(
  coap: NonNullable<GatewayAssignment['coap']>,
  maxClients: number,
  dependencies: GatewayDependencies,
): CoapGateway {
  const settings = {
    heartbeatMs: coap.heartbeat,
    requiresConnection: coap.connection_required,
    notifyType: coap.notify_type,
    subscribeQoS: qosOfNames[coap.subscribe_qos],
    publishQoS: qosOfNames[coap.publish_qos],
    maxBlockBytes: Number(coap.max_block_size),
    maxBodyBytes: coap.max_body,
    idleTimeoutMs: coap.idle_timeout,
    maxClients,
    override: overrideOf(coap.clientinfo_override),
  }
  return new CoapGateway(settings, dependencies)
}

function lwm2mSettingsOf(
  lwm2m: NonNullable<GatewayAssignment['lwm2m']>,
  { maxClients, objects }: GatewayAssignment,
): Lwm2mSettings {
  const translatorOf = ({ topic, qos }: (typeof lwm2m.translators)['command']) => ({ topic, qos: qos as QoS })
  const { command, response, notify, register, update } = lwm2m.translators
  return {
    lifetimeMinSeconds: Math.ceil(lwm2m.lifetime_min / msPerSecond),
    lifetimeMaxSeconds: Math.floor(lwm2m.lifetime_max / msPerSecond),
    queueModeWindowMs: lwm2m.qmode_time_window,
    observesAll: lwm2m.auto_observe,
    publishesAllUpdates: lwm2m.update_msg_publish_condition === 'always',
    mountpoint: lwm2m.mountpoint,
    translators: {
      command: translatorOf(command),
      response: translatorOf(response),
      notify: translatorOf(notify),
      register: translatorOf(register),
      update: translatorOf(update),
    },
    objects: new ObjectDefinitions(objects),
    maxClients,
    override: overrideOf(lwm2m.clientinfo_override),
  }
}

function stompSettingsOf(stomp: NonNullable<GatewayAssignment['stomp']>): StompSettings {
  const { max_headers: maxHeaders, max_headers_length: maxHeaderBytes, max_body_length: maxBodyBytes } = stomp.frame
  const override = overrideOf(stomp.clientinfo_override)
  return { maxHeaders, maxHeaderBytes, maxBodyBytes, idleTimeoutMs: stomp.idle_timeout, override }
}

function overrideOf({ username, password, clientid }: NonNullable<GatewayAssignment['mqttsn']>['clientinfo_override']) {
  return { username, password, clientId: clientid }
}
