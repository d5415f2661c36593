// One client and its session, for lists.

import type { Connection, GatewayClient } from '../model/connection.ts'
import type { Session } from '../state/sessions/session.ts'
import type { CoreSettings } from '../model/core-settings.ts'

export interface ClientView {
  readonly clientId: string
  readonly username: string | undefined
  /** `MQTT`, or the protocol of its gateway: `MQTT-SN`. */
  readonly protocolName: string
  readonly version: number
  readonly isConnected: boolean
  /** State of the client in its gateway; undefined: it uses no gateway. */
  readonly gatewayClient: GatewayClient | undefined
  readonly cleanStart: boolean
  readonly expirySeconds: number
  readonly createdAtMs: number
  /** Time of the last CONNECT; undefined: none since the broker started. */
  readonly connectedAtMs: number | undefined
  /** Undefined: the client is connected. */
  readonly disconnectedAtMs: number | undefined
  readonly keepAliveSeconds: number
  /** Address of the last connection; '' if unknown. */
  readonly address: string
  /** 0: the client is not connected. */
  readonly port: number
  readonly subscriptions: number
  readonly maxSubscriptions: number
  readonly inflight: number
  readonly maxInflight: number
  /** Queued messages, in memory and on disk. */
  readonly waiting: number
  readonly maxWaiting: number
  readonly droppedMessages: number
  /** QoS 2 messages from the client that it did not release with PUBREL. */
  readonly unreleased: number
  readonly maxUnreleased: number
  /** Messages on all connections of the session since the broker started. */
  readonly receivedMessages: number
  readonly sentMessages: number
  /** Bytes and packets on the current connection; 0 without a connection. */
  readonly receivedBytes: number
  readonly receivedPackets: number
  readonly sentBytes: number
  readonly sentPackets: number
}

export function toClientView(session: Session, settings: CoreSettings): ClientView {
  const { clientId, identity, expirySeconds, connection } = session
  const { cleanStart } = session.lastConnect
  const { name: protocolName, version } = findProtocol(session)
  const isConnected = connection !== undefined
  return {
    clientId,
    username: identity.username,
    protocolName,
    version,
    isConnected,
    gatewayClient: copyGatewayClient(connection),
    cleanStart,
    expirySeconds,
    createdAtMs: session.createdAtMs,
    connectedAtMs: session.lastConnect.atMs,
    disconnectedAtMs: isConnected ? undefined : session.disconnectedAtMs,
    keepAliveSeconds: session.lastConnect.keepAliveSeconds,
    address: connection?.peerAddress ?? identity.peerAddress,
    port: connection?.peerPort ?? 0,
    subscriptions: session.subscriptions?.size ?? 0,
    maxSubscriptions: settings.maxSubscriptions,
    inflight: session.outgoing.inflightCount,
    maxInflight: session.outgoing.windowLimit,
    waiting: countWaiting(session),
    maxWaiting: settings.maxQueuedMessages,
    droppedMessages: session.counts.dropped,
    unreleased: session.incoming.packetIds?.size ?? 0,
    maxUnreleased: settings.maxAwaitingRelease,
    receivedMessages: session.counts.received,
    sentMessages: session.counts.sent,
    receivedBytes: connection?.receivedBytes ?? 0,
    receivedPackets: connection?.receivedPackets ?? 0,
    sentBytes: connection?.sentBytes ?? 0,
    sentPackets: connection?.sentPackets ?? 0,
  }
}

/** Returns a copy, because the gateway changes the fields of its object. */
function copyGatewayClient(connection: Connection | undefined): GatewayClient | undefined {
  if (connection?.gatewayClient === undefined) return undefined
  const { isSleeping, protocolVersion, endpointName, lifetimeSeconds } = connection.gatewayClient
  return { isSleeping, protocolVersion, endpointName, lifetimeSeconds }
}

export function countWaiting(session: Session): number {
  return session.outgoing.pendingCount + session.onDiskCount
}

/** For a disconnected client only the state of its session is known. */
export function findProtocol({ connection, lastConnect: { version } }: Pick<Session, 'connection' | 'lastConnect'>): {
  readonly name: string
  readonly version: number
} {
  const gateway = connection?.listener.gateway
  if (gateway === undefined) return { name: 'MQTT', version }
  return { name: gateway.name, version: connection?.gatewayClient?.protocolVersion ?? gateway.version }
}
