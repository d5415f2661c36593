// A packet that nobody can say yet whether it is allowed: it is asked about, waits, and what the client sends behind it
// waits with it, in order. When the answers are there it is handled as if it came now.
//
//   handle ──ask──► parked, reader held ──answers──► handled again: allow, deny
//                                                        \_ ask once more: denied, so that nothing turns in a circle

import type { Packet, QoS } from '../../protocol/index.ts'
import type { Permission } from '../model/identity.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Connection } from '../model/connection.ts'
import { pauseReading, readPauseReasons, resumeReading } from '../outgoing/read-pause-reasons.ts'
import type { Open } from '../state/connection-state.ts'

/** Of one packet (a SUBSCRIBE may have a million filters) so many things are asked at one time. */
export const maxRequestsAtOnce = 64

export interface AuthorizationQuery {
  readonly action: 'publish' | 'subscribe'
  readonly topic: string
  readonly qos: QoS
  readonly retain: boolean
}

/** `ask` once more about what was answered is a no: whoever answers has forgotten it already, or never knew. */
export function resolvedPermission(open: Open, packet: Packet, topic: string, permission: Permission): Permission {
  if (permission !== 'ask' || open.waiting?.packet !== packet || !open.waiting.requested.has(topic)) return permission
  return 'deny'
}

/** Parks the packet and asks; at most `maxAskedAtOnce`: the rest when these are answered. */
export function waitForAuthorization(
  state: BrokerState,
  connection: Connection,
  open: Open,
  packet: Packet,
  wanted: readonly AuthorizationQuery[],
): void {
  if (open.waiting?.packet !== packet) open.waiting = { packet, questions: new Set(), requested: new Set() }
  const { questions, requested } = open.waiting
  for (const { action, topic, qos, retain } of wanted.slice(0, maxRequestsAtOnce)) {
    const question = state.request({ for: 'permission', connection })
    questions.add(question)
    requested.add(topic)
    const { identity } = open.session
    state.requests.push({ kind: 'may-do', question, connection, identity, action, topic, qos, retain })
  }
  open.parked.push(packet)
  pauseReading(state, connection, readPauseReasons.permission)
}

/** True when this was the last answer that was missing: what is parked may be handled. */
export function recordAuthorization(state: BrokerState, connection: Connection, open: Open, question: number): boolean {
  const { waiting } = open
  if (waiting === undefined || !waiting.questions.delete(question) || waiting.questions.size > 0) return false
  resumeReading(state, connection, readPauseReasons.permission)
  return true
}

/** The client is somebody else now: what is on its way was asked of the one it was, and says nothing of who it is. */
export function dropAuthorizationResponses({ waiting }: Open): void {
  waiting?.requested.clear()
}

/** The client is gone: nobody is interested any more. */
export function cancelAuthorizationWait(state: BrokerState, open: Open): void {
  for (const question of open.waiting?.questions ?? []) state.pendingRequests.delete(question)
  open.waiting = undefined
}
