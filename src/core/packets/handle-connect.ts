// The steps of CONNECT. The core requests the authentication and does not block. Until the response, the connection is in the state
// `awaiting-authentication`, and further packets of the client are parked in order.

import { isUtf8, reasonCodes, type ConnectPacket } from '../../protocol/index.ts'
import { isInternalClient } from '../messages/internal-clients.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { StorageState } from '../state/storage-state.ts'
import type { CoreSettings } from '../model/core-settings.ts'
import type { Parts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import type { AuthenticationResult } from '../model/inputs.ts'
import { toNamespacedName } from '../namespaces/namespaced-names.ts'
import { resolveNamespace } from '../model/resolve-namespace.ts'
import { readPauseReasons, resumeReading } from '../outgoing/read-pause-reasons.ts'
import { moveTo, getState, type AwaitingAuthentication } from '../state/connection-state.ts'
import {
  acceptConnect,
  acceptAfterWait,
  refuseConnection,
  refuseWhileNotServing,
  type HandlePacket,
  type Refusal,
} from '../connect/accept-connect.ts'
import { endAfterInput, endConnection } from '../connect/close-connection.ts'
import { continueTakeoverWait, recordDrained } from '../connect/takeover-wait.ts'
import { sendAuth } from './handle-auth.ts'

/** MQTT 3.1 allows client IDs of 1 to 23 characters. */
const maxClientIdCharacters31 = 23

export function handleConnect(state: BrokerState, connection: Connection, connect: ConnectPacket): void {
  if (getState(connection).state !== 'awaiting-connect') {
    // [MQTT-3.1.0-2] [MQTT5-3.1.0-2]
    endConnection(state, connection, { reason: reasonCodes.protocolError, text: 'a second CONNECT', publishWill: true })
    return
  }
  connection.version = connect.version
  connection.wantsProblemInformation = connect.properties?.requestProblemInformation !== false
  connection.maximumPacketBytes = connect.properties?.maximumPacketSizeBytes ?? Infinity
  const refusal = findConnectRefusal(state, connection, connect)
  if (refusal !== undefined) return refuseConnection(state, connection, connect.clientId, refusal)
  const { settings: namespaces } = state.namespaces
  const username = connection.origin?.username ?? connect.username
  const { listener, origin } = connection
  const namespace =
    namespaces === undefined ? undefined : resolveNamespace(namespaces, { listener, arrival: origin, username })
  if (namespaces?.isRequired === true && namespace === undefined && listener.isInternal !== true) {
    const reason = reasonCodes.notAuthorized
    return refuseConnection(state, connection, connect.clientId, { reason, text: 'the client belongs to no namespace' })
  }
  const own = selectClientId(connection, connect)
  const clientId = own === '' ? state.ids.nextClientId(namespace, state.sessions) : toNamespacedName(namespace, own)
  if (namespaces !== undefined && !state.ids.isOwn(clientId)) {
    // The shard that relayed the client found another namespace, because listeners are being changed at this moment.
    const reason = reasonCodes.serverUnavailable
    return refuseConnection(state, connection, connect.clientId, { reason, text: 'try again' })
  }
  const requestId = state.requests.add({ for: 'connect', connection })
  moveTo(connection, {
    state: 'awaiting-authentication',
    connect,
    clientId,
    username,
    requestId,
    steps: 0,
    granted: undefined,
    waitsUntilMs: undefined,
    parked: [],
  })
  state.outputs.requests.push({
    kind: 'authenticate',
    requestId,
    connection,
    clientId,
    username,
    password: connect.password,
    version: connect.version,
    authenticationMethod: connect.properties?.authenticationMethod,
    authenticationData: connect.properties?.authenticationData,
  })
}

export function handleAuthenticationResult(
  state: BrokerState,
  connection: Connection,
  decision: AuthenticationResult,
  handlePacket: HandlePacket,
): void {
  const now = getState(connection)
  if (now.state !== 'awaiting-authentication') return // The client disconnected before the response: nothing to undo.
  // The broker may have started to stop meanwhile.
  const stopping = refuseWhileNotServing(state, connection)
  if (stopping !== undefined) return refuseConnection(state, connection, now.clientId, stopping)
  if (decision.allowed === 'not-yet') return sendAuth(state, connection, now, decision.authenticationData)
  if (state.rules.triggers.wanted.authentication) recordAuthentication(state, connection, now, decision)
  if (decision.allowed) {
    if (acceptConnect(state, connection, now, decision)) handleParked(state, connection, now, handlePacket)
    return
  }
  refuseConnection(state, connection, now.clientId, {
    reason: decision.reason,
    text: decision.reasonString ?? 'not allowed to connect',
    cause: decision.cause,
  })
}

/** Records the authentication for rules. */
function recordAuthentication(
  state: Parts<'nowMs' | 'rules'>,
  connection: Connection,
  { clientId, username }: AwaitingAuthentication,
  decision: Exclude<AuthenticationResult, { allowed: 'not-yet' }>,
): void {
  if (connection.listener.isInternal === true) return
  const reason = decision.allowed ? reasonCodes.success : decision.reason
  const identity = decision.allowed ? decision.identity : undefined
  const who = { connection, clientId, username: identity?.username ?? username, identity }
  state.rules.triggers.add({ kind: 'authentication', ...who, reason, atMs: state.nowMs })
}

/** Continues after the response to the authorization of the will. */
export function handleWillAuthorization(state: BrokerState, connection: Connection, handlePacket: HandlePacket): void {
  const now = getState(connection)
  if (now.state !== 'awaiting-authentication' || !acceptAfterWait(state, connection, true)) return
  handleParked(state, connection, now, handlePacket)
}

/** Continues after the older connection of the client was read to its end, or after the maximum wait. */
export function handleTakeoverWait(state: BrokerState, connection: Connection, handlePacket: HandlePacket): void {
  const now = getState(connection)
  if (now.state !== 'awaiting-authentication' || continueTakeoverWait(state, connection)) return
  if (state.wills.loads.has(now.clientId)) {
    // The read takes too long. If the client were accepted now, its earlier will would follow its new messages.
    const text = 'the will of an earlier connection cannot be read from disk; try again'
    return refuseConnection(state, connection, now.clientId, { reason: reasonCodes.serverUnavailable, text })
  }
  if (acceptAfterWait(state, connection, false)) handleParked(state, connection, now, handlePacket)
}

/** Everything that had arrived on this connection is handled, so that another one may take over its session. */
export function handleInputDrained(state: BrokerState, older: Connection, handlePacket: HandlePacket): void {
  const first = recordDrained(state, older)
  if (first !== undefined) handleTakeoverWait(state, first, handlePacket)
}

function handleParked(
  state: BrokerState,
  connection: Connection,
  now: AwaitingAuthentication,
  handlePacket: HandlePacket,
): void {
  for (const packet of now.parked) handlePacket(state, connection, packet)
  if (connection.hasInputEnded) endAfterInput(state, connection)
  resumeReading(state, connection, readPauseReasons.decision)
}

/** Returns the client ID of the certificate, if the transport found one; it replaces the client ID of CONNECT. */
function selectClientId(connection: Connection, connect: ConnectPacket): string {
  return connection.origin?.clientId ?? connect.clientId
}

/** Returns the first reason to refuse the client. */
function findConnectRefusal(
  state: Parts<'isDraining' | 'isShuttingDown' | 'peers' | 'settings' | 'storage'>,
  connection: Connection,
  connect: ConnectPacket,
): Refusal | undefined {
  return (
    refuseWhileNotServing(state, connection) ??
    refuseClientId(state.settings, connection, connect) ??
    refuseWill(state.settings, connect) ??
    refuseWithoutStorage(state.storage, connect)
  )
}

function refuseClientId(settings: CoreSettings, connection: Connection, connect: ConnectPacket): Refusal | undefined {
  const { version } = connect
  const clientId = selectClientId(connection, connect)
  const reason = reasonCodes.clientIdentifierNotValid
  if (clientId === '') {
    // [MQTT-3.1.3-8] A session with an assigned client ID cannot be resumed; 3.1 has no empty client IDs.
    const canBeAssigned = version === 5 || (version === 4 && connect.cleanStart)
    return canBeAssigned ? undefined : { reason, text: 'an empty client id needs a clean session' }
  }
  const isTooLongFor31 = version === 3 && connect.clientId.length > maxClientIdCharacters31
  if (isTooLongFor31 && settings.limitsClientIdsOf31)
    return { reason, text: `client ids of MQTT 3.1 have at most ${maxClientIdCharacters31} characters` }
  // The broker chose the client ID of an internal client.
  if (connection.listener.isInternal === true) return undefined
  // MQTT strings have no U+0000, but fields of certificates may: it separates the namespace from the name.
  if (clientId.includes('\0') || connection.origin?.username?.includes('\0') === true)
    return { reason, text: 'the client id or user name of the certificate contains U+0000' }
  // A client with such a client ID would receive everything that waits for the internal client.
  if (isInternalClient(clientId))
    return { reason, text: 'client ids that begin like this one are for clients of the broker itself' }
  const { maxClientIdBytes } = settings
  if (clientId.length > maxClientIdBytes || Buffer.byteLength(clientId) > maxClientIdBytes) {
    return { reason, text: `the client id is longer than ${maxClientIdBytes} bytes` }
  }
  return undefined
}

/** [MQTT5-3.2.2-12, -13] The restrictions of a message also apply to a will. */
function refuseWill(settings: CoreSettings, connect: ConnectPacket): Refusal | undefined {
  const { will } = connect
  if (will === undefined) return undefined
  if (will.qos > settings.maximumQoS)
    return { reason: reasonCodes.qosNotSupported, text: 'the QoS of the will is not supported' }
  const { payload, properties } = will
  const isText = properties?.payloadFormatIndicator === 1
  if (settings.validatesPayloadFormat && isText && !isUtf8(payload, 0, payload.length))
    return { reason: reasonCodes.payloadFormatInvalid, text: 'the payload of the will is not UTF-8' }
  if (will.retain && !settings.retainAvailable) {
    return { reason: reasonCodes.retainNotSupported, text: 'retained messages are not supported' }
  }
  return undefined
}

/** While the store fails, clients with persistent sessions are refused, because their sessions cannot be stored. */
function refuseWithoutStorage(storage: StorageState, connect: ConnectPacket): Refusal | undefined {
  if (storage.isHealthy) return undefined
  const isPersistent =
    connect.version === 5 ? (connect.properties?.sessionExpiryIntervalSeconds ?? 0) > 0 : !connect.cleanStart
  return isPersistent
    ? { reason: reasonCodes.serverUnavailable, text: 'the disk fails: no persistent session can be stored' }
    : undefined
}
