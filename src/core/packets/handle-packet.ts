// Every packet of every client is handled here: first by the state of its connection, then by its type.

import { reasonCodes, type Packet } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Parts, RefusalParts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import { pauseReading, readPauseReasons, resumeReading, type ReadPauseReason } from '../outgoing/read-pause-reasons.ts'
import { sendPingresp } from '../outgoing/send-to-client.ts'
import { refuseConnection } from '../connect/accept-connect.ts'
import { endAfterInput, endConnection } from '../connect/close-connection.ts'
import { continueDetached } from '../publish/accept-detached.ts'
import type { HookQueue } from '../state/hooks/hook-queue.ts'
import { followAddress } from '../connect/follow-address.ts'
import type { Session } from '../state/sessions/session.ts'
import { getState, type AwaitingAuth, type AwaitingAuthentication, type Open } from '../state/connection-state.ts'
import { handleAck } from './handle-acks.ts'
import { handleAuth, handleAuthBeforeConnack } from './handle-auth.ts'
import { handleConnect } from './handle-connect.ts'
import { handleDisconnect } from './handle-disconnect.ts'
import { applyHookResults } from './apply-hook-results.ts'
import { handlePublish } from './handle-publish.ts'
import { handleSubscribe, handleUnsubscribe } from './handle-subscribe.ts'

export function handlePacket(state: BrokerState, connection: Connection, packet: Packet): void {
  if (connection.gatewayClient !== undefined && !followAddress(state, connection, connection.gatewayClient)) return
  const now = getState(connection)
  switch (now.state) {
    case 'open':
      connection.lastPacketAtMs = state.nowMs
      if (now.hooking !== undefined && packet.type !== 'publish') holdBehindHooks(state, connection, now, packet)
      else if (now.parked !== undefined) parkPacket(state, connection, now.parked, packet)
      else handleOpen(state, connection, now, packet)
      return
    case 'awaiting-connect':
      if (packet.type === 'connect') handleConnect(state, connection, packet)
      // [MQTT-3.1.0-1] [MQTT5-3.1.0-1]
      else endForProtocolError(state, connection, `${packet.type} before CONNECT`)
      return
    case 'awaiting-auth':
      return handleBeforeConnack(state, connection, now, packet)
    case 'awaiting-authentication':
      if (now.connect.properties?.authenticationMethod !== undefined)
        return handleBeforeConnack(state, connection, now, packet)
      deferBeforeDecision(state, connection, now, packet)
      return
    case 'closing':
    case 'closed':
      return // After DISCONNECT of the broker further packets are ignored [MQTT-3.1.4-5].
    default:
      now satisfies never
  }
}

/** Maximum size of an AUTH packet before CONNACK. AUTH of all supported methods is much smaller, as is DISCONNECT, the only other allowed packet. */
const maxAuthBytes = 262_144

/**
 * [MQTT-3.1.2-24] [MQTT5-3.1.2-22] Records that `bytes` of an incomplete packet have arrived: its client is not silent, because it cannot
 * send another packet meanwhile. An unauthenticated client gets no memory for a large packet: reading pauses until it is
 * authenticated.
 */
export function recordPartialPacket(state: RefusalParts, connection: Connection, bytes: number): void {
  if (bytes === 0) return
  connection.lastPacketAtMs = state.nowMs
  const now = getState(connection)
  if (now.state === 'awaiting-authentication') pauseReading(state.outputs, connection, readPauseReasons.decision)
  if (now.state !== 'awaiting-auth' || bytes <= maxAuthBytes) return
  const text = 'a packet before CONNACK that is too large for AUTH'
  refuseConnection(state, connection, now.clientId, { reason: reasonCodes.packetTooLarge, text })
}

function handleOpen(state: BrokerState, connection: Connection, open: Open, packet: Packet): void {
  switch (packet.type) {
    case 'publish':
      return handlePublish(state, connection, open, packet)
    case 'puback':
    case 'pubrec':
    case 'pubrel':
    case 'pubcomp':
      return handleAck(state, connection, open.session, packet)
    case 'subscribe':
      return handleSubscribe(state, connection, open, packet)
    case 'unsubscribe':
      return handleUnsubscribe(state, connection, open, packet)
    case 'pingreq':
      return handlePingreq(state, connection, open.session)
    case 'disconnect':
      return handleDisconnect(state, connection, open, packet)
    case 'connect':
      return handleConnect(state, connection, packet)
    case 'auth':
      return handleAuth(state, connection, open, packet)
    case 'connack':
    case 'suback':
    case 'unsuback':
    case 'pingresp':
      return endForProtocolError(state, connection, `${packet.type} is for servers to send`)
    default:
      packet satisfies never
  }
}

/**
 * [MQTT5-3.1.2-30] With an authentication method in CONNECT, the client sends only AUTH and DISCONNECT until CONNACK.
 */
function handleBeforeConnack(
  state: BrokerState,
  connection: Connection,
  now: AwaitingAuthentication | AwaitingAuth,
  packet: Packet,
): void {
  if (packet.type === 'disconnect') {
    return endConnection(state, connection, { reason: packet.reasonCode, text: 'gave up', publishWill: false })
  }
  if (packet.type === 'auth' && now.state === 'awaiting-auth') {
    return handleAuthBeforeConnack(state, connection, now, packet)
  }
  const text = `${packet.type} before CONNACK`
  refuseConnection(state, connection, now.clientId, { reason: reasonCodes.protocolError, text })
}

/** A gateway learns from PINGRESP that its client has the retained messages of its earlier subscriptions. */
function handlePingreq(state: Parts<'batches' | 'outputs'>, connection: Connection, session: Session): void {
  const { retainedReplays } = session
  if (connection.listener.gateway !== undefined && retainedReplays !== undefined) retainedReplays.pingsAtEnd++
  else sendPingresp(state, connection)
}

/**
 * [MQTT-3.1.4-5] Packets after CONNECT wait for its authentication. Unauthenticated clients must not use memory without
 * limit, so reading from a client that sends more pauses until then.
 */
function deferBeforeDecision(
  state: BrokerState,
  connection: Connection,
  now: AwaitingAuthentication,
  packet: Packet,
): void {
  if (packet.type === 'connect') return endForProtocolError(state, connection, 'a second CONNECT')
  parkPacket(state, connection, now.parked, packet)
  const isEnough = now.parked.length >= state.settings.maxParkedPackets || isLarge(packet)
  if (isEnough) pauseReading(state.outputs, connection, readPauseReasons.decision)
}

/** Beyond these sizes, a parked packet of an unauthenticated client pauses reading at once. */
const largeBytes = 8_192
const largeCount = 64

function isLarge(packet: Packet): boolean {
  if (packet.type === 'publish') return packet.frameEnd - packet.frameStart > largeBytes
  if (packet.type === 'subscribe') return packet.subscriptions.length > largeCount
  return packet.type === 'unsubscribe' && packet.filters.length > largeCount
}

function parkPacket(state: BrokerState, connection: Connection, parked: Packet[], packet: Packet): void {
  if (parked.length < state.settings.maxParkedPackets) {
    parked.push(packet)
    return
  }
  const text = `more than ${state.settings.maxParkedPackets} packets while the broker was not ready for them`
  endConnection(state, connection, { reason: reasonCodes.quotaExceeded, text, publishWill: true })
}

function endForProtocolError(state: BrokerState, connection: Connection, text: string): void {
  endConnection(state, connection, { reason: reasonCodes.protocolError, text, publishWill: true })
}

/** Called when the store works again. Handles the packets that wait for it, then resumes reading. */
export function resumeAfterStorage(state: BrokerState): void {
  resume(state, state.waiting.forStorage, readPauseReasons.storage)
}

/** Called when a peer can receive again or has failed. Handles the packets that wait for it. */
export function resumeWaitingForPeers(state: BrokerState): void {
  resume(state, state.waiting.forPeers, readPauseReasons.peers)
}

/** Called when a queue of an action or session has space again. Handles the packets that wait for it. */
export function resumeWaitingForActions(state: BrokerState): void {
  state.rules.hasActionCapacity = false
  resume(state, state.waiting.forQueues, readPauseReasons.queues)
  resume(state, state.waiting.forActions, readPauseReasons.actions)
}

/** Handles the next part of one packet with many filters; the packets of other connections follow in later turns. */
export function resumeNextPart(state: BrokerState): void {
  const [connection] = state.waiting.forTurn
  state.waiting.forTurn.delete(connection)
  const now = getState(connection)
  if (now.state !== 'open') return
  resumeReading(state, connection, readPauseReasons.turn)
  handleParked(state, connection, now)
}

function resume(state: BrokerState, waiting: Set<Connection>, reason: ReadPauseReason): void {
  // A copy, because connections that must wait again are added to `waiting` during the loop.
  const connections = [...waiting]
  for (const connection of connections) {
    waiting.delete(connection)
    const now = getState(connection)
    if (now.state !== 'open') continue
    resumeReading(state, connection, reason)
    handleParked(state, connection, now)
  }
}

/** PINGREQ is handled at once; the others wait until the publications before them have taken effect. */
function holdBehindHooks(state: BrokerState, connection: Connection, open: Open, packet: Packet): void {
  if (packet.type === 'pingreq') return handlePingreq(state, connection, open.session)
  open.parked ??= []
  parkPacket(state, connection, open.parked, packet)
  pauseReading(state.outputs, connection, readPauseReasons.hooks)
}

/**
 * Publications that wait for hooks take effect in order. Returns true when none is left; otherwise the packets behind them stay
 * parked.
 */
function continueHooks(state: BrokerState, connection: Connection, open: Open): boolean {
  if (!applyHookResults(state, connection, open)) {
    if (open.parked !== undefined) pauseReading(state.outputs, connection, readPauseReasons.hooks)
    return false
  }
  resumeReading(state, connection, readPauseReasons.hooks)
  return open.waiting === undefined || open.waiting.requestIds.size === 0
}

/** Handles the response to `publish-hooks`. */
export function handlePublishHookResult(state: BrokerState, queue: HookQueue): void {
  const { connection } = queue
  if (connection === undefined) return continueDetached(state, queue)
  const now = getState(connection)
  if (now.state !== 'open' || now.hooking !== queue) return
  // The message before is held for another reason, which resumes the queue when it ends.
  if (!state.waiting.isHeld(connection)) handleParked(state, connection, now)
}

/** Handles the parked packets in order. If a packet must wait again, the later packets stay parked. */
export function handleParked(state: BrokerState, connection: Connection, open: Open): void {
  if (open.hooking !== undefined && !continueHooks(state, connection, open)) return
  const { parked } = open
  open.parked = undefined
  if (parked !== undefined) for (const packet of parked) handlePacket(state, connection, packet)
  if (connection.hasInputEnded) endAfterInput(state, connection)
}
