// What the main thread and a shard say to each other of gateways.

import type { GatewaysConfig } from '../../config/index.ts'
import type { GatewayCounters, ObjectDefinition } from '../../gateways/index.ts'
import type { DtlsSettings } from '../../transports/index.ts'
import type { ShardListener } from './shard-listener.ts'

export type GatewayType = 'mqttsn' | 'coap' | 'lwm2m' | 'stomp'

/** One socket of a gateway. Every shard has one on its port. */
export interface GatewayAssignment {
  readonly type: GatewayType
  /** Its clients come by this. */
  readonly listener: ShardListener
  readonly maxClients: number
  /** What shards call the stream of datagrams that they pass on to each other. */
  readonly datagramNumber: number
  readonly receiveBufferBytes?: number | undefined
  readonly sendBufferBytes?: number | undefined
  /** Made by `createAddressTable`: what addresses may do is counted by all shards together. Not for streams. */
  readonly addresses?: SharedArrayBuffer
  /** Of a socket that speaks DTLS. */
  readonly dtls?: DtlsSettings
  readonly mqttsn?: GatewaysConfig['mqttsn']
  readonly coap?: GatewaysConfig['coap']
  readonly lwm2m?: GatewaysConfig['lwm2m']
  /** Of `lwm2m.xml_dir`. */
  readonly objects?: readonly ObjectDefinition[]
  readonly stomp?: GatewaysConfig['stomp']
}

export type GatewayPlan = readonly GatewayAssignment[]

/** One socket, as a shard sees it. */
export interface GatewayReport {
  readonly type: GatewayType
  /** As in the configuration: `default`. */
  readonly name: string
  readonly isOpen: boolean
  readonly clients: number
  readonly counters: GatewayCounters
}
