// A client in the form of the API, with both spellings.

import type { ReplyOf } from '../../contract/index.ts'
import type { clientEndpoints } from './endpoints.ts'
import type { ClientView } from '../../core/index.ts'
import { formatLocalTime } from '../../management/index.ts'
import { toClientName } from '../context/client-name.ts'

type ClientRecord = ReplyOf<typeof clientEndpoints.list_clients>['data'][number]

export function toClientRecord(client: ClientView, node: string): ClientRecord {
  const { isConnected, connectedAtMs, disconnectedAtMs } = client
  const name = toClientName(client.clientId)
  return {
    ...name,
    client_id: name.clientid,
    username: client.username ?? '',
    proto_name: client.protocolName,
    proto_ver: client.version,
    conn_state: isConnected ? 'connected' : 'disconnected',
    connected: isConnected,
    ...toGatewayFields(client),
    // That of a device of LwM2M is its lifetime, which may be longer and change.
    keepalive: client.gatewayClient?.lifetimeSeconds ?? client.keepAliveSeconds,
    clean_start: client.cleanStart,
    recv_msg: client.receivedMessages,
    send_msg: client.sentMessages,
    node,
    ip_address: client.address,
    port: client.port,
    ...(connectedAtMs === undefined ? {} : { connected_at: formatLocalTime(connectedAtMs) }),
    ...(disconnectedAtMs === undefined ? {} : { disconnected_at: formatLocalTime(disconnectedAtMs) }),
    created_at: formatLocalTime(client.createdAtMs),
    expiry_interval: client.expirySeconds,
    subscriptions_cnt: client.subscriptions,
    max_subscriptions: client.maxSubscriptions,
    inflight: client.inflight,
    max_inflight: client.maxInflight,
    mqueue_len: client.waiting,
    max_mqueue: client.maxWaiting,
    mqueue_dropped: client.droppedMessages,
    awaiting_rel: client.unreleased,
    max_awaiting_rel: client.maxUnreleased,
    recv_oct: client.receivedBytes,
    recv_pkt: client.receivedPackets,
    send_oct: client.sentBytes,
    send_pkt: client.sentPackets,
  }
}

function toGatewayFields({ gatewayClient }: ClientView): Pick<ClientRecord, 'sleeping' | 'endpoint_name' | 'lifetime'> {
  const { isSleeping, endpointName, lifetimeSeconds } = gatewayClient ?? {}
  return {
    ...(isSleeping === true ? { sleeping: true } : {}),
    ...(endpointName === undefined ? {} : { endpoint_name: endpointName }),
    ...(lifetimeSeconds === undefined ? {} : { lifetime: lifetimeSeconds }),
  }
}
