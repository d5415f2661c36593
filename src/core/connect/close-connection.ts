// Ends connections: for errors, after DISCONNECT, when CONNECT is refused, and when the stream has ended.

import {
  measurePacket,
  reasonCodes,
  type ConnackPacket,
  type DisconnectPacket,
  type DisconnectProperties,
  type ReasonCode,
} from '../../protocol/index.ts'
import type { DisconnectTrigger } from '../model/rule-trigger.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { OutputLists } from '../state/output-lists.ts'
import type { Parts, RefusalParts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import type { Session } from '../state/sessions/session.ts'
import { detachSession } from '../sessions/end-session.ts'
import { closeStream, dropDeferredAcks, findAwaitedBatch } from '../outgoing/deferred-acks.ts'
import { sendPacket } from '../outgoing/send-to-client.ts'
import { forgetAliases } from '../outgoing/topic-aliases.ts'
import { detachHooks } from '../publish/accept-detached.ts'
import { endTakeoverWait, wakeFirstWaiting } from './takeover-wait.ts'
import { cancelAuthorizationWait } from './authorization-wait.ts'
import { endExclusiveWait } from '../peers/exclusive-wait.ts'
import { moveTo, getState } from '../state/connection-state.ts'

export interface Ending {
  readonly reason: ReasonCode
  /** For the log and, in 5.0, for the reason string. */
  readonly text: string
  readonly publishWill: boolean
  /** For rules. */
  readonly cause?: DisconnectTrigger['cause']
  /** Properties of the client's DISCONNECT. */
  readonly properties?: DisconnectProperties | undefined
}

/**
 * Disconnects the client. After CONNACK, a 5.0 client gets a DISCONNECT with the reason [MQTT5-4.13.1-1]. Before CONNACK, no packet can
 * contain the reason.
 */
export function endConnection(state: BrokerState, connection: Connection, ending: Ending): void {
  const now = getState(connection)
  if (now.state === 'closing' || now.state === 'closed') return
  if (now.state === 'open') {
    dropDeferredAcks(connection)
    if (connection.version === 5) {
      // Acknowledgements that wait for a commit are sent before DISCONNECT, because nothing may follow it.
      const packet = { type: 'disconnect', reasonCode: ending.reason, properties: undefined } as const
      sendPacket(state, connection, addReasonString(connection, packet, ending.text), false)
    }
    detachConnection(state, connection, ending)
  } else {
    cancelRequest(state, connection)
  }
  moveTo(connection, { state: 'closing', reason: ending.reason })
  closeStream(state, connection)
}

/** Maximum time after the client's DISCONNECT in which its earlier packets are still acknowledged. */
export const closeDrainMs = 5_000

/**
 * [MQTT-3.3.4-1] [MQTT5-3.3.4-1] Closes the connection after a DISCONNECT of the client. Packets that it sent before are still
 * acknowledged: nothing may follow a DISCONNECT of the broker, but acknowledgements may follow a DISCONNECT of the client. The stream
 * ends after the last acknowledgement.
 */
export function closeAfterAcks(
  state: Parts<'batches' | 'deadlines' | 'nowMs' | 'outputs'>,
  connection: Connection,
  reason: ReasonCode,
): void {
  moveTo(connection, { state: 'closing', reason })
  const isAcknowledged = connection.deferredAcks === undefined
  if (isAcknowledged) closeStream(state, connection)
  if (!isAcknowledged || findAwaitedBatch(state.batches, connection) > 0)
    state.deadlines.set('close-drain', connection, state.nowMs + closeDrainMs)
}

/**
 * The client has ended its direction of the stream. Everything that it sent before is answered, then the stream ends. As after every
 * end without DISCONNECT, the will is published. Packets that wait for a decision come first: `endAfterInput` is called again
 * after them.
 */
export function handleInputEnded(state: BrokerState, connection: Connection): void {
  const now = getState(connection)
  connection.hasInputEnded = true
  if (now.state === 'open') return endAfterInput(state, connection)
  if (now.state === 'awaiting-connect' || now.state === 'awaiting-auth') {
    moveTo(connection, { state: 'closing', reason: reasonCodes.unspecifiedError })
    closeStream(state, connection)
  }
}

/** Ends a connection whose client sends nothing more, if all of its packets were handled. */
export function endAfterInput(state: BrokerState, connection: Connection): void {
  const now = getState(connection)
  if (!connection.hasInputEnded || now.state !== 'open' || now.parked !== undefined || now.hooking !== undefined) return
  detachConnection(state, connection, connectionLost)
  closeAfterAcks(state, connection, connectionLost.reason)
}

const connectionLost: Ending = {
  reason: reasonCodes.unspecifiedError,
  text: 'the connection was lost',
  publishWill: true,
  cause: 'lost',
}

/**
 * Closes the connection although a commit takes too long to acknowledge all packets. The client sends them again when it reconnects.
 */
export function endCloseDrain(outputs: OutputLists, connection: Connection): void {
  if (getState(connection).state !== 'closing') return
  dropDeferredAcks(connection)
  outputs.closes.push({ connection, afterBatch: 0 })
}

/** Refuses a CONNECT: sends CONNACK with the reason and closes the connection. */
export function refuseConnect(
  state: RefusalParts,
  connection: Connection,
  refusal: { code: number; reason: ReasonCode; clientId: string; text: string; cause?: string | undefined },
): void {
  recordRefused(state, connection, refusal)
  const now = getState(connection)
  const username = now.state === 'awaiting-authentication' ? now.username : undefined
  cancelRequest(state, connection)
  const connack = { type: 'connack', sessionPresent: false, reasonCode: refusal.code, properties: undefined } as const
  // [MQTT5-3.1.2-24] If even five bytes exceed the client's Maximum Packet Size, the connection is closed without
  // CONNACK.
  if (measurePacket(connack, connection.version) <= connection.maximumPacketBytes)
    sendPacket(state, connection, addReasonString(connection, connack, refusal.text), false)
  moveTo(connection, { state: 'closing', reason: refusal.reason })
  state.outputs.closes.push({ connection, afterBatch: 0 })
  state.outputs.events.push({
    event: 'client-refused',
    connection,
    clientId: refusal.clientId,
    username,
    reason: refusal.reason,
    text: refusal.text,
    cause: refusal.cause,
  })
}

/** Records the refused CONNECT for rules. */
function recordRefused(
  state: Parts<'nowMs' | 'rules'>,
  connection: Connection,
  { clientId, reason }: { readonly clientId: string; readonly reason: ReasonCode },
): void {
  if (!state.rules.triggers.wanted['client-connack'] || connection.listener.isInternal === true) return
  const now = getState(connection)
  const connect = 'connect' in now ? now.connect : undefined
  const username = 'connect' in now ? now.username : undefined
  const about = { keepAliveSeconds: connect?.keepAliveSeconds, expirySeconds: undefined, atMs: state.nowMs }
  state.rules.triggers.add({ kind: 'client-connack', connection, clientId, username, reason, connect, ...about })
}

/**
 * Adds a reason string for a 5.0 client if the packet stays within its Maximum Packet Size [MQTT5-3.2.2-19]
 * [MQTT5-3.14.2-3].
 */
function addReasonString<P extends ConnackPacket | DisconnectPacket>(
  connection: Connection,
  packet: P,
  text: string,
): P {
  if (connection.version !== 5) return packet
  const extended: P = { ...packet, properties: { reasonString: text } }
  return measurePacket(extended, 5) <= connection.maximumPacketBytes ? extended : packet
}

/** Handles the end of the stream. Without DISCONNECT the will is published. */
export function handleConnectionClosed(state: BrokerState, connection: Connection): void {
  const now = getState(connection)
  dropDeferredAcks(connection)
  if (now.state === 'open') {
    detachConnection(state, connection, connectionLost)
  } else {
    cancelRequest(state, connection)
  }
  moveTo(connection, { state: 'closed' })
}

/** Detaches the session from its connection. The caller decides what happens to the connection. */
export function detachConnection(state: BrokerState, connection: Connection, ending: Ending): void {
  const now = getState(connection)
  if (now.state !== 'open') return
  state.waiting.forget(connection)
  endExclusiveWait(state, connection)
  const { session } = now
  state.deadlines.cancel('keep-alive', connection)
  forgetAliases(state.memory, connection)
  state.deadlines.cancel('identity-expiry', connection)
  state.deadlines.cancel('reauthentication', connection)
  cancelAuthorizationWait(state.requests, now)
  if (now.reauthentication?.requestId !== undefined) state.requests.cancel(now.reauthentication.requestId)
  if (connection.namespace !== undefined) state.namespaces.quotas?.releaseClient(connection.namespace)
  // The event comes before the events about the session.
  state.outputs.events.push({
    event: 'client-disconnected',
    connection,
    clientId: session.clientId,
    reason: ending.reason,
    text: ending.text,
  })
  if (state.rules.triggers.wanted['client-disconnected']) recordDisconnected(state, connection, session, ending)
  if (now.hooking !== undefined) detachHooks(state, now.hooking)
  detachSession(state, session, ending)
  wakeFirstWaiting(state, session.clientId)
}

/** Records the disconnection for rules. */
function recordDisconnected(
  state: Parts<'nowMs' | 'rules'>,
  connection: Connection,
  { clientId, identity: { username }, lastConnect: { atMs: connectedAtMs } }: Session,
  { reason, cause, properties }: Ending,
): void {
  if (connection.listener.isInternal === true) return
  const what = { reason, cause, properties, connectedAtMs, atMs: state.nowMs }
  state.rules.triggers.add({ kind: 'client-disconnected', connection, clientId, username, ...what })
}

function cancelRequest(state: Parts<'deadlines' | 'nowMs' | 'requests' | 'waiting'>, connection: Connection): void {
  const now = getState(connection)
  if (now.state !== 'awaiting-authentication') return
  state.requests.cancel(now.requestId)
  endTakeoverWait(state, connection)
}
