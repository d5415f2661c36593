// The sockets of one gateway: UDP, DTLS, or a listener of streams; for MQTT-SN also the multicast group, and ADVERTISE. A socket that cannot be
// opened, or fails, raises an alarm and is opened again at intervals.

import { type DatagramGateway, isSearch, type StreamGateway, writeAdvertise } from '../../gateways/index.ts'
import type { AlarmName } from '../../telemetry/index.ts'
import {
  type DtlsProblem,
  type DtlsSocket,
  openDtls,
  openUdp,
  type PeerAddress,
  type UdpSocket,
} from '../../transports/index.ts'
import type { OpenListener } from '../listeners/listener-factory.ts'
import type { GatewayAssignment } from '../messages/gateway-plan.ts'
import { DeadlineTimer } from '../runtime/deadline-timer.ts'
import type { GatewayManagerDependencies } from './gateway-manager-dependencies.ts'
import { connectGatewayStream } from './gateway-stream.ts'

/** Interval of retries for a socket that could not be opened. */
const retryMs = 5_000
const msPerSecond = 1_000

type SocketDependencies = Pick<
  GatewayManagerDependencies,
  'own' | 'log' | 'nowMs' | 'openListener' | 'storedKey' | 'raiseAlarm' | 'endAlarm'
>

export class GatewaySockets {
  readonly #assignment: GatewayAssignment
  readonly #dependencies: SocketDependencies
  readonly #guarded: (work: () => void) => void
  readonly #advertiser: NodeJS.Timeout | undefined
  /** Undefined: the socket is not open. */
  #socket: UdpSocket | DtlsSocket | OpenListener | undefined
  /** Socket of the multicast group on which SEARCHGW arrives. */
  #multicast: UdpSocket | undefined
  #retry: NodeJS.Timeout | undefined
  #isClosed = false

  /** `guarded` runs callbacks of sockets, and handles their internal errors. */
  constructor(
    assignment: GatewayAssignment,
    { dependencies, guarded }: { dependencies: SocketDependencies; guarded: (work: () => void) => void },
  ) {
    this.#assignment = assignment
    this.#dependencies = dependencies
    this.#guarded = guarded
    this.#advertiser = this.#startAdvertiser()
  }

  get isOpen(): boolean {
    return this.#socket !== undefined
  }

  /** Opens the sockets, now or later: returns after the first attempt. */
  async open(protocol: DatagramGateway | StreamGateway): Promise<void> {
    const { type, listener } = this.#assignment
    const name: AlarmName = `gateway:${type}:${listener.kind}:${listener.name}`
    const where = `${listener.kind} ${listener.host}:${listener.port}`
    const retryLater = (error: Error): void => {
      this.#socket = undefined
      if (this.#isClosed) return
      this.#dependencies.raiseAlarm(name, `the gateway does not receive on ${where}: ${error.message}`)
      this.#retry = setTimeout(() => void this.open(protocol), retryMs).unref()
    }
    try {
      const socket = await this.#openSocket(protocol, retryLater)
      if (this.#isClosed) return await socket.close()
      this.#socket = socket
      await this.#openMulticast(protocol)
      this.#dependencies.endAlarm(name, `the gateway receives on ${where}`)
      this.#dependencies.log.info('gateway opened', { gateway: type, listener: listener.name, where })
    } catch (error) {
      retryLater(error as Error)
    }
  }

  /** Sends a datagram, which is lost if the socket is not open. */
  send(bytes: Buffer, peer: PeerAddress): void {
    const socket = this.#socket
    if (socket === undefined) return
    if ('sendTo' in socket) socket.sendTo(bytes, peer)
    else if ('send' in socket) socket.send(bytes, peer.address, peer.port)
  }

  /** Reads changed files of certificates and keys now. */
  async reload(): Promise<void> {
    const socket = this.#socket
    if (socket !== undefined && 'reload' in socket) await socket.reload()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#retry)
    clearInterval(this.#advertiser)
    const socket = this.#socket
    this.#socket = undefined
    await socket?.close()
    await this.#multicast?.close()
  }

  #openSocket(protocol: DatagramGateway | StreamGateway, onFault: (error: Error) => void) {
    const { listener, dtls, maxClients, receiveBufferBytes, sendBufferBytes } = this.#assignment
    const { log } = this.#dependencies
    const guarded = this.#guarded
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
        maxClients,
        log,
        nowMs: () => this.#dependencies.nowMs(),
        createTimer: (onDue) => new DeadlineTimer(onDue),
        guarded,
        findStoredKey: (identity) => this.#dependencies.storedKey(identity, listener),
        onProblem: (problem) => this.#reportCertificates(problem),
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

  #reportCertificates(problem: DtlsProblem | undefined): void {
    const { type, listener } = this.#assignment
    const name: AlarmName = `certificates:${type}:${listener.name}`
    if (problem === undefined)
      this.#dependencies.endAlarm(name, 'the changed files of the gateway are valid and in use')
    else {
      const text = `${problem.setting}: ${problem.message}`
      const invalid = `changed files of the gateway are invalid: ${text}; the previous files stay in use`
      this.#dependencies.raiseAlarm(name, problem.isInUse ? `the files of the gateway: ${text}` : invalid)
    }
  }

  // MQTT-SN: one shard responds to SEARCHGW of the multicast group, and sends ADVERTISE, for all shards.

  async #openMulticast(protocol: DatagramGateway | StreamGateway): Promise<void> {
    const { mqttsn, listener, type } = this.#assignment
    const isOwn = type === 'mqttsn' && mqttsn?.multicast !== undefined && this.#dependencies.own === 0
    if (!isOwn || !('handleDatagram' in protocol) || this.#multicast !== undefined) return
    this.#multicast = await openUdp({
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
    if (this.#isClosed) await this.#multicast.close()
  }

  #startAdvertiser(): NodeJS.Timeout | undefined {
    const { type, mqttsn } = this.#assignment
    if (type !== 'mqttsn' || mqttsn?.broadcast !== true || this.#dependencies.own !== 0) return undefined
    const bytes = writeAdvertise(mqttsn.gateway_id, Math.ceil(mqttsn.advertise_interval / msPerSecond))
    const advertise = (): void => {
      const socket = this.#socket
      if (socket !== undefined && 'broadcast' in socket) socket.broadcast(bytes)
    }
    return setInterval(advertise, mqttsn.advertise_interval).unref()
  }
}
