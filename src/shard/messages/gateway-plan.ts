// What the main thread and a shard say to each other of gateways.

import type { GatewaysConfig } from '../../config/index.ts'
import type { GatewayCounters } from '../../gateways/index.ts'
import type { ShardListener } from './shard-listener.ts'

export type GatewayType = 'mqttsn' | 'coap' | 'lwm2m' | 'stomp'

/** One socket of a gateway. One shard has it; all know it, for the clients whose sessions are elsewhere. */
export interface GatewayAssignment {
  readonly type: GatewayType
  /** Its clients come by this; `onlyOnShard` is set. */
  readonly listener: ShardListener
  readonly maxClients: number
  readonly mqttsn?: GatewaysConfig['mqttsn']
  readonly coap?: GatewaysConfig['coap']
  readonly lwm2m?: GatewaysConfig['lwm2m']
  readonly stomp?: GatewaysConfig['stomp']
}

export type GatewayPlan = readonly GatewayAssignment[]

/** One socket, as the shard that has it sees it. */
export interface GatewayReport {
  readonly type: GatewayType
  /** As in the configuration: `default`. */
  readonly name: string
  readonly isOpen: boolean
  readonly clients: number
  readonly counters: GatewayCounters
}
