// Every packet of every client is handled here: first by the state of its connection, then by its type.

import { reasonCodes, type Packet } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Parts, RefusalParts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import { pauseReading, readPauseReasons, resumeReading, type ReadPauseReason } from '../outgoing/read-pause-reasons.ts'
import { sendPingresp } from '../outgoing/send-to-client.ts'
import { refuseConnection } from '../connect/accept-connect.ts'
import { endConnection } from '../connect/close-connection.ts'
import type { Session } from '../state/sessions/session.ts'
import { stateOf, type AwaitingAuth, type AwaitingAuthentication, type Open } from '../state/connection-state.ts'
import { handleAck } from './handle-acks.ts'
import { handleAuth, handleAuthBeforeConnack } from './handle-auth.ts'
import { handleConnect } from './handle-connect.ts'
import { handleDisconnect } from './handle-disconnect.ts'
import { handlePublish } from './handle-publish.ts'
import { handleSubscribe, handleUnsubscribe } from './handle-subscribe.ts'

export function handlePacket(state: BrokerState, connection: Connection, packet: Packet): void {
  const now = stateOf(connection)
  switch (now.state) {
    case 'open':
      connection.lastPacketAtMs = state.nowMs
      if (now.parked !== undefined) park(state, connection, now.parked, packet)
      else handleOpen(state, connection, now, packet)
      return
    case 'awaiting-connect':
      if (packet.type === 'connect') handleConnect(state, connection, packet)
      // [MQTT-3.1.0-1] [MQTT5-3.1.0-1]
      else breach(state, connection, `${packet.type} before CONNECT`)
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

/** AUTH of all supported methods is much smaller; so is DISCONNECT, the only other packet allowed at that time. */
const maxAuthBytes = 262_144

/**
 * [MQTT-3.1.2-24] [MQTT5-3.1.2-22] A client that is sending a packet cannot send another, so it is not silent. `bytes`
 * of the packet have arrived. An unauthenticated client gets no memory for a large packet: reading pauses until it is
 * authenticated.
 */
export function recordPartialPacket(state: RefusalParts, connection: Connection, bytes: number): void {
  if (bytes === 0) return
  connection.lastPacketAtMs = state.nowMs
  const now = stateOf(connection)
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
      return handleUnsubscribe(state, connection, open.session, packet)
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
      return breach(state, connection, `${packet.type} is for servers to send`)
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
  if (packet.type === 'connect') return breach(state, connection, 'a second CONNECT')
  park(state, connection, now.parked, packet)
  const isEnough = now.parked.length >= state.settings.maxParkedPackets || isLarge(packet)
  if (isEnough) pauseReading(state.outputs, connection, readPauseReasons.decision)
}

/** Maximum size of a packet that is parked for an unauthenticated client together with many others. */
const largeBytes = 8_192
const largeCount = 64

function isLarge(packet: Packet): boolean {
  if (packet.type === 'publish') return packet.frameEnd - packet.frameStart > largeBytes
  if (packet.type === 'subscribe') return packet.subscriptions.length > largeCount
  return packet.type === 'unsubscribe' && packet.filters.length > largeCount
}

function park(state: BrokerState, connection: Connection, parked: Packet[], packet: Packet): void {
  if (parked.length < state.settings.maxParkedPackets) {
    parked.push(packet)
    return
  }
  const text = `more than ${state.settings.maxParkedPackets} packets while the broker was not ready for them`
  endConnection(state, connection, { reason: reasonCodes.quotaExceeded, text, publishWill: true })
}

function breach(state: BrokerState, connection: Connection, text: string): void {
  endConnection(state, connection, { reason: reasonCodes.protocolError, text, publishWill: true })
}

/** The store works again: parked packets are handled, then reading resumes. */
export function resumeAfterStorage(state: BrokerState): void {
  resume(state, state.waiting.forStorage, readPauseReasons.storage)
}

/** A peer can receive again, or has failed: parked packets are handled again. */
export function resumeWaitingForPeers(state: BrokerState): void {
  if (state.peerTable !== undefined) resume(state, state.peerTable.waitingForPeers, readPauseReasons.peers)
}

/** An action queue has space again. */
export function resumeWaitingForActions(state: BrokerState): void {
  state.rules.hasActionCapacity = false
  resume(state, state.waiting.forActions, readPauseReasons.actions)
}

function resume(state: BrokerState, waiting: Set<Connection>, reason: ReadPauseReason): void {
  // A copy, because connections that must wait again are added to `waiting` during the loop.
  const again = [...waiting]
  for (const connection of again) {
    waiting.delete(connection)
    const now = stateOf(connection)
    if (now.state !== 'open') continue
    resumeReading(state, connection, reason)
    handleParked(state, connection, now)
  }
}

/** Handles the parked packets in order. If one must wait again, the later ones stay parked. */
export function handleParked(state: BrokerState, connection: Connection, open: Open): void {
  const { parked } = open
  open.parked = undefined
  if (parked !== undefined) for (const packet of parked) handlePacket(state, connection, packet)
}
