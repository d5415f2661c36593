// A packet whose permission is not known yet. The core requests the permission; the packet and all later packets of the
// client wait in order. When the responses have arrived, the packet is handled again from the start.
//
//   handle ──request──► parked, reading paused ──responses──► handle again ──► allow or deny
//                                                                         └──► `unknown` again: denied, which prevents an endless loop

import type { Packet, QoS } from '../../protocol/index.ts'
import type { Permission } from '../messages/identity.ts'
import type { PendingRequests } from '../state/pending-requests.ts'
import type { Parts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import { pauseReading, readPauseReasons, resumeReading } from '../outgoing/read-pause-reasons.ts'
import type { Open } from '../state/connection-state.ts'

/** Maximum number of requests at once for one packet. A SUBSCRIBE may have a million filters. */
export const maxRequestsAtOnce = 64

export interface AuthorizationQuery {
  readonly action: 'publish' | 'subscribe'
  readonly topic: string
  readonly qos: QoS
  readonly retain: boolean
}

/** Returns `deny` for a second `unknown`: the response is no longer in the cache, or there was none. */
export function resolvePermission(open: Open, packet: Packet, topic: string, permission: Permission): Permission {
  if (permission !== 'unknown' || open.waiting?.packet !== packet || !open.waiting.requestedTopics.has(topic))
    return permission
  return 'deny'
}

/** Parks the packet and sends at most `maxRequestsAtOnce` requests. The others follow when these have responses. */
export function waitForAuthorization(
  state: Parts<'outputs' | 'requests'>,
  connection: Connection,
  open: Open,
  { packet, wanted }: { readonly packet: Packet; readonly wanted: readonly AuthorizationQuery[] },
): void {
  if (open.waiting?.packet !== packet) open.waiting = { packet, requestIds: new Set(), requestedTopics: new Set() }
  const { requestIds, requestedTopics } = open.waiting
  for (const { action, topic, qos, retain } of wanted.slice(0, maxRequestsAtOnce)) {
    const requestId = state.requests.add({ for: 'permission', connection })
    requestIds.add(requestId)
    requestedTopics.add(topic)
    const { identity } = open.session
    state.outputs.requests.push({
      kind: 'authorize',
      requestId,
      connection,
      identity,
      action,
      topic,
      qos,
      retain,
    })
  }
  open.parked ??= []
  open.parked.push(packet)
  pauseReading(state.outputs, connection, readPauseReasons.permission)
}

/** Records one response. Returns true if it was the last one, so that the parked packets may be handled. */
export function recordAuthorization(
  state: Parts<'nowMs' | 'outputs'>,
  connection: Connection,
  open: Open,
  requestId: number,
): boolean {
  const { waiting } = open
  if (waiting === undefined || !waiting.requestIds.delete(requestId) || waiting.requestIds.size > 0) return false
  resumeReading(state, connection, readPauseReasons.permission)
  return true
}

/** After a re-authentication, all topics are requested again: the pending responses are for the earlier identity. */
export function forgetRequestedTopics({ waiting }: Open): void {
  waiting?.requestedTopics.clear()
}

/** Cancels all requests of a closed connection. */
export function cancelAuthorizationWait(requests: PendingRequests, open: Open): void {
  for (const requestId of open.waiting?.requestIds ?? []) requests.cancel(requestId)
  open.waiting = undefined
}
