// How a client connects, and what its two halves (outbox and inbox) see of it.

import type {
  ConnackPacket,
  ConnectPacket,
  ConnectProperties,
  PacketId,
  ProtocolVersion,
  QoS,
  TopicName,
  Will,
  WillProperties,
} from '../../src/protocol/index.ts'
import type { ClientSession } from './client-session.ts'
import type { NetworkTraits } from './network.ts'
import type { Stage } from './stage.ts'
import type { Wire } from './wire.ts'
import { plainConnect } from './plain-connect.ts'

export interface WillOptions {
  topic: string
  payload: string | Buffer
  qos?: QoS
  retain?: boolean
  properties?: WillProperties
}

/** How a client connects. What is not said stays as it was at its last connect. */
export interface ConnectOptions {
  /** 5 if never said. */
  version?: ProtocolVersion
  /** Clean session in 3.1 and 3.1.1. True if never said. */
  cleanStart?: boolean
  /** 0 if never said: the connection never times out. */
  keepAliveSeconds?: number
  /** Sends PINGREQ in time. False if never said: a silent client is often the point of a scenario. */
  pings?: boolean
  username?: string | undefined
  password?: Buffer | undefined
  will?: WillOptions | undefined
  sessionExpirySeconds?: number
  receiveMaximum?: number
  topicAliasMaximum?: number
  maximumPacketBytes?: number
  /** Any other property of CONNECT. */
  properties?: ConnectProperties
  /** Use topic aliases, as many as the broker allows. */
  usesAliases?: boolean
  network?: NetworkTraits
}

/** A client as its outbox and inbox see it. */
export interface Correspondent {
  readonly stage: Stage
  readonly id: string
  readonly version: ProtocolVersion
  readonly options: ConnectOptions
  readonly wire: Wire | undefined
  readonly connack: ConnackPacket | undefined
  readonly isConnected: boolean
  readonly session: ClientSession | undefined
  readonly sessions: readonly ClientSession[]
  readonly connections: number
  takePacketId(): PacketId
}

/** What is said in CONNECT: nothing of 5.0 by an older version. */
export function connectPacketOf(clientId: string, options: ConnectOptions): ConnectPacket {
  const asked: ConnectProperties = { ...options.properties }
  if (options.sessionExpirySeconds !== undefined) asked.sessionExpiryIntervalSeconds = options.sessionExpirySeconds
  if (options.receiveMaximum !== undefined) asked.receiveMaximum = options.receiveMaximum
  if (options.topicAliasMaximum !== undefined) asked.topicAliasMaximum = options.topicAliasMaximum
  if (options.maximumPacketBytes !== undefined) asked.maximumPacketSizeBytes = options.maximumPacketBytes
  const { will, version = 5 } = options
  return plainConnect(version, clientId, {
    cleanStart: options.cleanStart ?? true,
    keepAliveSeconds: options.keepAliveSeconds ?? 0,
    username: options.username,
    password: options.password,
    will: will === undefined ? undefined : willOf(will),
    properties: version < 5 || Object.keys(asked).length === 0 ? undefined : asked,
  })
}

function willOf({ topic, payload, qos = 0, retain = false, properties }: WillOptions): Will {
  return { topic: topic as TopicName, payload: Buffer.from(payload), qos, retain, properties }
}
