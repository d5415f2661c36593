// A gateway without a socket: what it sends is recorded, its clients have no broker, and the clock moves only when the test moves it.

import {
  AddressLimits,
  type GatewayDependencies,
  type MqttConnection,
  type MqttConnectionCallbacks,
  createGatewayCounters,
} from '../../src/gateways/index.ts'
import type { PeerAddress } from '../../src/transports/index.ts'
import type { ControlPacket, PublishFields } from '../../src/protocol/index.ts'
import { Random } from '../protocol/fuzz/random.ts'

export class GatewayStage {
  readonly place: GatewayDependencies['place']
  nowMs = 1_000_000
  /** Bytes of all connections that the broker has not read. */
  unsentBytes = 0
  hasSpace = true
  readonly banned = new Set<string>()
  readonly sent: { readonly bytes: Buffer; readonly peer: PeerAddress }[] = []
  readonly connections: {
    readonly packets: ControlPacket[]
    readonly published: PublishFields[]
    readonly callbacks: MqttConnectionCallbacks
    readonly acknowledged: (readonly [type: string, packetId: number])[]
    isPaused: boolean
    /** How often the gateway reported changed properties of the client. */
    changes: number
    /** The reason with which the gateway has closed it. */
    goodbye: ControlPacket | undefined
  }[] = []
  /** Peers for which the gateway opened connections. */
  readonly opened: PeerAddress[] = []
  readonly forwarded: { readonly shard: number; readonly bytes: Buffer; readonly peer: PeerAddress }[] = []
  /** The state that survives a restart. */
  readonly stored = new Map<string, string>()
  onAcknowledge: MqttConnection['acknowledge'] = () => {}
  readonly dependencies: GatewayDependencies

  constructor(place: GatewayDependencies['place'] = { own: 0, shards: 1 }) {
    this.place = place
    const random = new Random(1)
    this.dependencies = {
      nowMs: () => this.nowMs,
      random: () => random.uint32() / 2 ** 32,
      randomBelow: (limit) => random.uint32() % limit,
      send: (bytes, peer) => void this.sent.push({ bytes, peer }),
      hasSpace: () => this.hasSpace,
      isBanned: (address) => this.banned.has(address),
      openMqtt: (peer, callbacks) => {
        this.opened.push(peer)
        return this.#open(callbacks)
      },
      wakeAt: () => {},
      addresses: new AddressLimits(),
      place: this.place,
      forward: (shard, bytes, peer) => void this.forwarded.push({ shard, bytes, peer }),
      storeValue: (name, value) => {
        if (value === undefined) this.stored.delete(name)
        else this.stored.set(name, value)
      },
      runWhenDurable: (done) => done(),
      counters: createGatewayCounters(),
    }
  }

  /** Accepts the clients that connected since the last call. */
  acceptAll(): void {
    for (const { packets, callbacks } of this.connections) {
      for (const packet of packets.splice(0)) {
        if (packet.type === 'connect')
          callbacks.handlePacket({ type: 'connack', sessionPresent: false, reasonCode: 0, properties: undefined })
        else if (packet.type === 'subscribe')
          callbacks.handlePacket({ type: 'suback', packetId: packet.packetId, reasonCodes: [0], properties: undefined })
      }
    }
  }

  #open(callbacks: MqttConnectionCallbacks): MqttConnection {
    const packets: ControlPacket[] = []
    const published: PublishFields[] = []
    const connection: (typeof this.connections)[number] = {
      packets,
      published,
      callbacks,
      acknowledged: [],
      isPaused: false,
      changes: 0,
      goodbye: undefined,
    }
    this.connections.push(connection)
    const unsentBytes = (): number => this.unsentBytes
    return {
      send: (packet) => void packets.push(packet),
      acknowledge: (type, packetId) => {
        connection.acknowledged.push([type, packetId])
        this.onAcknowledge(type, packetId)
      },
      publish: (fields) => void published.push(fields),
      get unsentBytes() {
        return unsentBytes()
      },
      pause: () => void (connection.isPaused = true),
      resume: () => void (connection.isPaused = false),
      reportClientChange: () => void connection.changes++,
      end: (goodbye) => void (connection.goodbye = goodbye),
    }
  }
}
