// Every packet of every client comes through here: by the state of its connection, then by its type.

import { reasonCodes, type Packet } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Connection } from '../model/connection.ts'
import { pauseReading, readPauseReasons, resumeReading, type ReadPauseReason } from '../outgoing/read-pause-reasons.ts'
import { sendsOf } from '../outgoing/send-to-client.ts'
import { refuseConnection } from '../connect/accept-connect.ts'
import { endConnection } from '../connect/close-connection.ts'
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
      if (now.parked.length > 0) park(state, connection, now.parked, packet)
      else handleOpen(state, connection, now, packet)
      return
    case 'awaiting-connect':
      if (packet.type === 'connect') handleConnect(state, connection, packet)
      // [MQTT-3.1.0-1] [MQTT5-3.1.0-1]
      else breach(state, connection, `${packet.type} before CONNECT`)
      return
    case 'awaiting-auth':
      return handleBeforeConnack(state, connection, now, packet)
    case 'awaiting-verdict':
      if (now.connect.properties?.authenticationMethod !== undefined)
        return handleBeforeConnack(state, connection, now, packet)
      parkBeforeVerdict(state, connection, now, packet)
      return
    case 'closing':
    case 'closed':
      return // It has been told good-bye; what it still says is not heard [MQTT-3.1.4-5].
    default:
      now satisfies never
  }
}

/** AUTH of any method in use is far smaller; DISCONNECT, the only other packet that may come then, is too. */
const mostBytesOfAuth = 262_144

/**
 * [MQTT-3.1.2-24] [MQTT5-3.1.2-22] In the midst of a packet nothing else can be said: who goes on with it is not silent. `bytes`
 * of it are here. A stranger is not given the room for a large one: the rest is read when it is decided who that is.
 */
export function recordPartialPacket(state: BrokerState, connection: Connection, bytes: number): void {
  if (bytes === 0) return
  connection.lastPacketAtMs = state.nowMs
  const now = stateOf(connection)
  if (now.state === 'awaiting-verdict') pauseReading(state, connection, readPauseReasons.verdict)
  if (now.state !== 'awaiting-auth' || bytes <= mostBytesOfAuth) return
  const text = 'a packet while CONNECT is not answered that is too large for AUTH'
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
      return sendPingresp(state, connection)
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

/** [MQTT5-3.1.2-30] Whoever names an authentication method says nothing but AUTH and DISCONNECT until CONNACK comes. */
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
  const text = `${packet.type} while CONNECT is not answered`
  refuseConnection(state, connection, now.clientId, { reason: reasonCodes.protocolError, text })
}

function sendPingresp(state: BrokerState, connection: Connection): void {
  sendsOf(state, connection).packet(connection, { type: 'pingresp' })
}

/**
 * [MQTT-3.1.4-5] Packets behind CONNECT wait for its authentication. Unauthenticated clients must not use memory without bound, so
 * reading from a client that sends more pauses until then.
 */
function parkBeforeVerdict(
  state: BrokerState,
  connection: Connection,
  now: AwaitingAuthentication,
  packet: Packet,
): void {
  if (packet.type === 'connect') return breach(state, connection, 'a second CONNECT')
  park(state, connection, now.parked, packet)
  const isEnough = now.parked.length >= state.settings.maxParkedPackets || isLarge(packet)
  if (isEnough) pauseReading(state, connection, readPauseReasons.verdict)
}

/** For one of many that are parked for a stranger. */
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

/** The disk serves again: what was parked is handled, then the client is read from again. */
export function resumeAfterStorage(state: BrokerState): void {
  resume(state, state.waitingForStorage, readPauseReasons.storage)
}

/** A peer takes more again, or is gone: whoever waited tries again. */
export function resumeWaitingForPeers(state: BrokerState): void {
  if (state.peerTable !== undefined) resume(state, state.peerTable.waitingForPeers, readPauseReasons.peers)
}

/** A session that stores for the actions of rules has room again. */
export function resumeWaitingForActions(state: BrokerState): void {
  state.hasActionRoom = false
  resume(state, state.waitingForActions, readPauseReasons.actions)
}

function resume(state: BrokerState, waiting: Set<Connection>, reason: ReadPauseReason): void {
  // Some of them may have to wait again, and are not asked twice.
  const again = [...waiting]
  for (const connection of again) {
    waiting.delete(connection)
    const now = stateOf(connection)
    if (now.state !== 'open') continue
    resumeReading(state, connection, reason)
    handleParked(state, connection, now)
  }
}

/** What waited behind its first packet, and that packet. One that has to wait again has the others wait with it. */
export function handleParked(state: BrokerState, connection: Connection, open: Open): void {
  for (const packet of open.parked.splice(0)) handlePacket(state, connection, packet)
}
