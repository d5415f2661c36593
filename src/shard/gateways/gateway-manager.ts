// The gateways of a shard. Every shard has a socket on each port, and passes a datagram of a client of another shard to that shard
// (`datagram-links.ts`). A gateway client has an MQTT 5.0 connection within the process, which is handled like any other: it goes to
// the shard that owns the session.
//
//   device <──datagrams, bytes──> GatewayProtocol <──PacketLink──> stream pair <──> a client of this or another shard

import type { GatewayRequest, GatewayResponse } from '../../gateways/index.ts'
import { TopicTable } from '../../protocol/index.ts'
import type { ByteStream } from '../../transports/index.ts'
import type { GatewayAssignment, GatewayPlan, GatewayReport, GatewayType } from '../messages/gateway-plan.ts'
import type { ShardListener } from '../messages/messages.ts'
import { DatagramLinks, receiveDatagrams } from './datagram-links.ts'
import { createGatewayLinkOptions } from './gateway-connection.ts'
import type { GatewayManagerDependencies } from './gateway-manager-dependencies.ts'
import { type GatewayServices, RunningGateway } from './running-gateway.ts'

const maxCachedTopics = 1_024

export class GatewayManager {
  readonly #dependencies: GatewayManagerDependencies
  readonly #services: GatewayServices
  /** By number of their listener. */
  readonly #running = new Map<number, RunningGateway>()
  #plan: GatewayPlan = []

  constructor(dependencies: GatewayManagerDependencies) {
    this.#dependencies = dependencies
    const runGuarded = (work: () => void): void => this.#runGuarded(work)
    this.#services = {
      dependencies,
      links: new DatagramLinks((...parameters) => dependencies.openRelay(...parameters)),
      linkOptions: createGatewayLinkOptions(new TopicTable(maxCachedTopics), (work) =>
        process.nextTick(runGuarded, work),
      ),
      guarded: runGuarded,
    }
  }

  /** Returns the listener of clients on other shards. */
  findListener(number: number): ShardListener | undefined {
    return this.#plan.find(({ listener, datagramNumber }) => listener.number === number || datagramNumber === number)
      ?.listener
  }

  /** Returns true if the stream carries datagrams of another shard. */
  acceptDatagrams(stream: ByteStream, number: number): boolean {
    const assignment = this.#plan.find(({ datagramNumber }) => datagramNumber === number)
    if (assignment === undefined) return false
    receiveDatagrams(stream, (bytes, peer) =>
      this.#running.get(assignment.listener.number)?.handleForwarded(bytes, peer),
    )
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

  /** Reads changed files of certificates and keys now. */
  async reload(): Promise<void> {
    await Promise.all([...this.#running.values()].map((gateway) => gateway.reload()))
  }

  listReports(): readonly GatewayReport[] {
    return [...this.#running.values()].map((gateway) => gateway.report())
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
    const gateway = new RunningGateway(assignment, this.#services)
    this.#running.set(assignment.listener.number, gateway)
    await gateway.open(this.#plan)
  }

  async #close(gateway: RunningGateway): Promise<void> {
    this.#running.delete(gateway.assignment.listener.number)
    await gateway.close()
  }

  #runGuarded(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#dependencies.fail(error)
    }
  }
}
