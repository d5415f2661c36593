// The options of a connection, and the part of a client that its outbox and inbox use.

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

/** The options of a connection. Options that are not given keep their last values. */
export interface ConnectOptions {
  /** Default: 5. */
  version?: ProtocolVersion
  /** Clean session in 3.1 and 3.1.1. Default: true. */
  cleanStart?: boolean
  /** Default: 0, the connection never times out. */
  keepAliveSeconds?: number
  /** Sends PINGREQ in time. Default: false, because many scenarios test silent clients. */
  pings?: boolean
  username?: string | undefined
  password?: Buffer | undefined
  will?: WillOptions | undefined
  sessionExpirySeconds?: number
  receiveMaximum?: number
  topicAliasMaximum?: number
  maximumPacketBytes?: number
  /** Other properties of CONNECT. */
  properties?: ConnectProperties
  /** Uses as many topic aliases as the broker allows. */
  usesAliases?: boolean
  network?: NetworkTraits
}

/** The part of a client that its outbox and inbox use. */
export interface ClientParts {
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

/** Returns the CONNECT packet, without 5.0 properties for an older version. */
export function connectPacketOf(clientId: string, options: ConnectOptions): ConnectPacket {
  const properties: ConnectProperties = { ...options.properties }
  if (options.sessionExpirySeconds !== undefined) properties.sessionExpiryIntervalSeconds = options.sessionExpirySeconds
  if (options.receiveMaximum !== undefined) properties.receiveMaximum = options.receiveMaximum
  if (options.topicAliasMaximum !== undefined) properties.topicAliasMaximum = options.topicAliasMaximum
  if (options.maximumPacketBytes !== undefined) properties.maximumPacketSizeBytes = options.maximumPacketBytes
  const { will, version = 5 } = options
  return plainConnect(version, clientId, {
    cleanStart: options.cleanStart ?? true,
    keepAliveSeconds: options.keepAliveSeconds ?? 0,
    username: options.username,
    password: options.password,
    will: will === undefined ? undefined : willOf(will),
    properties: version < 5 || Object.keys(properties).length === 0 ? undefined : properties,
  })
}

function willOf({ topic, payload, qos = 0, retain = false, properties }: WillOptions): Will {
  return { topic: topic as TopicName, payload: Buffer.from(payload), qos, retain, properties }
}
