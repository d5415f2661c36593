// One listener of a gateway on this shard: its protocol with sockets, clock and connections to the broker.

import { randomInt } from 'node:crypto'
import type { GatewayClient } from '../../core/index.ts'
import {
  AddressLimits,
  type DatagramGateway,
  type GatewayCounters,
  type GatewayDependencies,
  type MqttConnection,
  type MqttConnectionCallbacks,
  createGatewayCounters,
  type ShardPlace,
  type StreamGateway,
} from '../../gateways/index.ts'
import { createStreamPair, type LinkOptions } from '../../mqtt-client/index.ts'
import type { PeerAddress } from '../../transports/index.ts'
import type { GatewayAssignment, GatewayPlan, GatewayReport } from '../messages/gateway-plan.ts'
import { DeadlineTimer } from '../runtime/deadline-timer.ts'
import { createProtocol } from './create-protocol.ts'
import { type DatagramLimits, createDatagramLimits } from './datagram-limits.ts'
import type { DatagramLinks } from './datagram-links.ts'
import { dropCheckMs, DropLog } from './gateway-drop-log.ts'
import { GatewayConnection } from './gateway-connection.ts'
import type { GatewayManagerDependencies } from './gateway-manager-dependencies.ts'
import { GatewaySockets } from './gateway-sockets.ts'
import { toNamePrefix, readValues } from './stored-names.ts'

/** What all gateways of a shard share. */
export interface GatewayServices {
  readonly dependencies: GatewayManagerDependencies
  readonly links: DatagramLinks
  readonly linkOptions: LinkOptions
  /** Runs calls of a protocol, and handles internal errors. */
  readonly guarded: (work: () => void) => void
}

export class RunningGateway {
  readonly assignment: GatewayAssignment
  readonly protocol: DatagramGateway | StreamGateway
  readonly #services: GatewayServices
  readonly #limits: DatagramLimits
  readonly #place: ShardPlace
  readonly #counters: GatewayCounters = createGatewayCounters()
  readonly #timer: DeadlineTimer
  readonly #sockets: GatewaySockets
  readonly #dropChecker: NodeJS.Timeout
  #isClosed = false

  constructor(assignment: GatewayAssignment, services: GatewayServices) {
    this.assignment = assignment
    this.#services = services
    const { dependencies } = services
    const { own, shards, connections } = dependencies
    this.#limits = createDatagramLimits(assignment.listener, { own, connections, nowMs: () => dependencies.nowMs() })
    // All datagrams of a DTLS socket are received and sent by one shard.
    this.#place = assignment.dtls === undefined ? { own, shards } : { own: 0, shards: 1 }
    this.#timer = new DeadlineTimer(() => services.guarded(() => this.#tick()))
    this.#sockets = new GatewaySockets(assignment, services)
    this.protocol = createProtocol(assignment, this.#createProtocolDependencies())
    this.#dropChecker = this.#startDropChecker()
  }

  /** Restores stored values of `plan`, all listeners of gateways, and opens the sockets. */
  async open(plan: GatewayPlan): Promise<void> {
    if (this.protocol.restore !== undefined) await this.#restore(plan)
    await this.#sockets.open(this.protocol)
  }

  report(): GatewayReport {
    const { type, listener } = this.assignment
    return {
      type,
      kind: listener.kind,
      name: listener.name,
      isOpen: this.#sockets.isOpen,
      clients: this.protocol.clients,
      counters: this.#counters,
    }
  }

  /** Handles a datagram that another shard has received. */
  handleForwarded(bytes: Buffer, peer: PeerAddress): void {
    const { protocol } = this
    if ('handleDatagram' in protocol) this.#services.guarded(() => protocol.handleDatagram(bytes, peer, true))
  }

  /** Reads changed files of certificates and keys now. */
  reload(): Promise<void> {
    return this.#sockets.reload()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#dropChecker)
    this.#timer.stop()
    this.protocol.close()
    this.#services.links.close(this.assignment.datagramNumber)
    await this.#sockets.close()
  }

  #createProtocolDependencies(): GatewayDependencies {
    const { assignment } = this
    const { dependencies, links, guarded } = this.#services
    const counters = this.#counters
    return {
      nowMs: () => dependencies.nowMs(),
      random: Math.random,
      randomBelow: randomInt,
      send: (bytes, peer) => this.#sockets.send(bytes, peer),
      hasSpace: () => this.#limits.hasSpace(),
      place: this.#place,
      forward: (shard, bytes, peer) => {
        if (!links.send(shard, assignment.datagramNumber, bytes, peer)) counters.dropped['queue-full']++
      },
      openMqtt: (peer, callbacks, client) => this.#openMqtt(peer, callbacks, client),
      wakeAt: (timeMs) => this.#timer.schedule(timeMs, () => dependencies.nowMs()),
      isBanned: (address) => dependencies.isBanned(address),
      addresses: new AddressLimits(assignment.addresses, dependencies.own),
      storeValue: (name, value) => dependencies.storeValues([{ name: `${toNamePrefix(assignment)}${name}`, value }]),
      runWhenDurable: (done) => dependencies.runWhenDurable(() => guarded(done)),
      counters,
    }
  }

  async #restore(plan: GatewayPlan): Promise<void> {
    const { dependencies, guarded } = this.#services
    const { own, moves } = await readValues(this.assignment, {
      place: this.#place,
      plan,
      read: (prefix) => dependencies.readStoredValues(prefix),
    })
    if (moves.length > 0) dependencies.storeValues(moves)
    if (own.size > 0) guarded(() => this.protocol.restore?.(own))
  }

  #tick(): void {
    // Connections that ended with the protocol may have set the timer again.
    if (this.#isClosed) return
    this.#timer.begin()
    this.protocol.tick()
  }

  #startDropChecker(): NodeJS.Timeout {
    const { dependencies } = this.#services
    const { type, listener } = this.assignment
    const drops = new DropLog(dependencies.log, { gateway: type, kind: listener.kind, listener: listener.name })
    return setInterval(() => drops.check(this.#counters, dependencies.nowMs()), dropCheckMs).unref()
  }

  #openMqtt(peer: PeerAddress, callbacks: MqttConnectionCallbacks, client: GatewayClient | undefined): MqttConnection {
    const { listener } = this.assignment
    const { dependencies, linkOptions } = this.#services
    const { address, port, secure } = peer
    const traits = { address, port, gatewayClient: client, credentials: secure?.credentials }
    const streams = createStreamPair(linkOptions.later, traits)
    // A connection of a stream listener was counted when it was accepted.
    const isDatagram = listener.kind === 'udp' || listener.kind === 'dtls'
    const { connections } = this.#limits
    const limit = isDatagram && connections.acquire() === undefined ? connections : undefined
    const connection = new GatewayConnection(streams, callbacks, { limit, link: linkOptions })
    dependencies.accept(streams[1], listener)
    return connection
  }
}
