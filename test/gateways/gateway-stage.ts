// A gateway without a socket: what it sends is kept, its clients speak to nobody, and time stands still.

import {
  type GatewayDependencies,
  type MqttConnection,
  type MqttConnectionCallbacks,
  newGatewayCounters,
  type PeerAddress,
} from '../../src/gateways/index.ts'
import type { ControlPacket } from '../../src/protocol/index.ts'

export class GatewayStage {
  nowMs = 1_000_000
  readonly sent: { readonly bytes: Buffer; readonly peer: PeerAddress }[] = []
  readonly connections: { readonly packets: ControlPacket[]; readonly callbacks: MqttConnectionCallbacks }[] = []
  readonly dependencies: GatewayDependencies = {
    nowMs: () => this.nowMs,
    send: (bytes, peer) => void this.sent.push({ bytes, peer }),
    openMqtt: (_, callbacks) => this.#open(callbacks),
    wakeAt: () => {},
    counters: newGatewayCounters(),
  }

  #open(callbacks: MqttConnectionCallbacks): MqttConnection {
    const packets: ControlPacket[] = []
    this.connections.push({ packets, callbacks })
    return {
      send: (packet) => void packets.push(packet),
      acknowledge: () => {},
      publish: () => {},
      unsentBytes: 0,
      end: () => {},
    }
  }
}
