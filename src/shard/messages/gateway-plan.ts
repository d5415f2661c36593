// Messages between the main thread and a shard about gateways.

import type { GatewaysConfig } from '../../config/index.ts'
import type { GatewayCounters, ObjectDefinition } from '../../gateways/index.ts'
import type { DtlsSettings } from '../../transports/index.ts'
import type { ShardListener } from './shard-listener.ts'

export type GatewayType = 'mqttsn' | 'coap' | 'lwm2m' | 'stomp'

/** One socket of a gateway. Every shard has one on its port. */
export interface GatewayAssignment {
  readonly type: GatewayType
  /** The listener of its clients. */
  readonly listener: ShardListener
  readonly maxClients: number
  /** Number of the stream with which shards pass the datagrams of this socket to each other. */
  readonly datagramNumber: number
  readonly receiveBufferBytes?: number | undefined
  readonly sendBufferBytes?: number | undefined
  /** Created by `createAddressTable`: all shards count clients per address together. Not for streams. */
  readonly addresses?: SharedArrayBuffer
  /** Set if the socket uses DTLS. */
  readonly dtls?: DtlsSettings
  readonly mqttsn?: GatewaysConfig['mqttsn']
  readonly coap?: GatewaysConfig['coap']
  readonly lwm2m?: GatewaysConfig['lwm2m']
  /** Object definitions of `lwm2m.xml_dir`. */
  readonly objects?: readonly ObjectDefinition[]
  readonly stomp?: GatewaysConfig['stomp']
}

export type GatewayPlan = readonly GatewayAssignment[]

/** State of one socket on a shard. */
export interface GatewayReport {
  readonly type: GatewayType
  readonly kind: ShardListener['kind']
  /** Name in the configuration, such as `default`. */
  readonly name: string
  readonly isOpen: boolean
  readonly clients: number
  readonly counters: GatewayCounters
}
