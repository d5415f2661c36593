// Enhanced authentication [MQTT5-4.12]: CONNECT names a method, client and broker exchange AUTH packets, and CONNACK ends the exchange. An
// authenticator implements the method; this file checks only the order of packets. A connected client may re-authenticate (0x19);
// its other packets are handled meanwhile.
//
// `authenticate` and `continue-authentication` are requests of the core; their result may need a further step of the client:
//
//   CONNECT ──► authenticate ──► AUTH 0x18 ──► client ──AUTH 0x18──► continue-authentication ──...──► CONNACK
//   AUTH 0x19 ──► continue-authentication ──► AUTH 0x18 ──► client ──AUTH 0x18──► continue-authentication ──...──► AUTH 0x00

import { measurePacket, reasonCodes, type AuthPacket, type ReasonCode } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { OutputLists } from '../state/output-lists.ts'
import type { RefusalParts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import { readPauseReasons, resumeReading } from '../outgoing/read-pause-reasons.ts'
import { sendPacket } from '../outgoing/send-to-client.ts'
import { setIdentity } from '../sessions/set-identity.ts'
import type { AuthenticationResult, RequestId } from '../model/inputs.ts'
import { refuseConnection, refuseForeignNamespace } from '../connect/accept-connect.ts'
import { isSameOwner } from '../connect/client-id-owner.ts'
import { endConnection } from '../connect/close-connection.ts'
import {
  moveTo,
  getState,
  type AwaitingAuth,
  type AwaitingAuthentication,
  type Open,
} from '../state/connection-state.ts'
import { forgetRequestedTopics } from '../connect/authorization-wait.ts'

/** Maximum number of AUTH packets of a client in one authentication. Supported methods need at most two. */
export const maxAuthenticationSteps = 16

/** Sends AUTH: a CONNECT, or a later re-authentication, needs another step of the client. */
export function sendAuth(
  state: RefusalParts,
  connection: Connection,
  { connect, clientId, username, steps }: AwaitingAuthentication,
  authenticationData: Buffer | undefined,
): void {
  const packet = createAuthPacket(
    reasonCodes.continueAuthentication,
    connect.properties?.authenticationMethod,
    authenticationData,
  )
  if (measurePacket(packet, 5) > connection.maximumPacketBytes) {
    const text = 'the maximum packet size of the client is too small for AUTH'
    return refuseConnection(state, connection, clientId, { reason: reasonCodes.packetTooLarge, text })
  }
  sendPacket(state, connection, packet, false)
  moveTo(connection, { state: 'awaiting-auth', connect, clientId, username, steps })
  resumeReading(state, connection, readPauseReasons.decision)
}

/** Handles AUTH before CONNACK. */
export function handleAuthBeforeConnack(
  state: RefusalParts,
  connection: Connection,
  now: AwaitingAuth,
  packet: AuthPacket,
): void {
  const method = now.connect.properties?.authenticationMethod
  const fault =
    findAuthFault(packet, method, reasonCodes.continueAuthentication) ??
    (now.steps >= maxAuthenticationSteps ? 'the authentication takes too many steps' : undefined)
  if (fault !== undefined || method === undefined) {
    const text = fault ?? 'AUTH without an authentication method'
    return refuseConnection(state, connection, now.clientId, { reason: reasonCodes.protocolError, text })
  }
  const { connect, clientId, username } = now
  const requestId = state.requests.add({ for: 'connect', connection })
  moveTo(connection, {
    state: 'awaiting-authentication',
    connect,
    clientId,
    username,
    requestId,
    steps: now.steps + 1,
    granted: undefined,
    waitsUntilMs: undefined,
    parked: [],
  })
  requestAuthentication(state.outputs, packet, { requestId, connection, clientId, method, isReauthentication: false })
}

/** Handles AUTH of a connected client, which starts a re-authentication or continues it. */
export function handleAuth(state: BrokerState, connection: Connection, open: Open, packet: AuthPacket): void {
  const { authenticationMethod: method, reauthentication: current } = open
  const expected = current === undefined ? reasonCodes.reAuthenticate : reasonCodes.continueAuthentication
  const steps = (current?.steps ?? 0) + 1
  const fault =
    findAuthFault(packet, method, expected) ??
    (current?.requestId !== undefined ? 'AUTH before the response to the previous AUTH' : undefined) ??
    (steps > maxAuthenticationSteps ? 'the authentication takes too many steps' : undefined)
  if (fault !== undefined || method === undefined) {
    const text = fault ?? 'AUTH without an authentication method'
    return endConnection(state, connection, { reason: reasonCodes.protocolError, text, publishWill: true })
  }
  const requestId = state.requests.add({ for: 'reauthentication', connection })
  open.reauthentication = { requestId, steps }
  state.deadlines.set('reauthentication', connection, state.nowMs + state.settings.idleTimeoutMs)
  const { clientId } = open.session
  requestAuthentication(state.outputs, packet, { requestId, connection, clientId, method, isReauthentication: true })
}

type AuthenticateRequest = Extract<
  BrokerState['outputs']['requests'][number],
  { readonly kind: 'continue-authentication' }
>

/** Passes the data of AUTH to the authenticator of the method. */
function requestAuthentication(
  outputs: OutputLists,
  { properties }: AuthPacket,
  request: Omit<AuthenticateRequest, 'kind' | 'data'>,
): void {
  outputs.requests.push({ kind: 'continue-authentication', ...request, data: properties?.authenticationData })
}

export function handleReauthenticationResult(
  state: BrokerState,
  connection: Connection,
  requestId: RequestId,
  decision: AuthenticationResult,
): void {
  const now = getState(connection)
  // The client disconnected, or started another re-authentication.
  if (now.state !== 'open' || now.reauthentication?.requestId !== requestId) return
  if (decision.allowed === false) {
    const text = decision.reasonString ?? 'the re-authentication failed'
    const reason = toDisconnectReason(decision.reason)
    return endConnection(state, connection, { reason, text, publishWill: true })
  }
  const identity = decision.allowed === true ? decision.identity : undefined
  if (identity !== undefined && state.settings.bindsClientIds && !isSameOwner(now.session, identity)) {
    const text = 're-authentication proved another identity'
    return endConnection(state, connection, { reason: reasonCodes.notAuthorized, text, publishWill: true })
  }
  const session = { clientId: now.session.clientId }
  const foreign =
    identity === undefined ? undefined : refuseForeignNamespace(state.namespaces, connection, session, { identity })
  if (foreign !== undefined) {
    const { reason, text } = foreign
    return endConnection(state, connection, { reason, text, publishWill: true })
  }
  const isComplete = decision.allowed === true
  const reason = isComplete ? reasonCodes.success : reasonCodes.continueAuthentication
  const packet = createAuthPacket(reason, now.authenticationMethod, decision.authenticationData)
  if (measurePacket(packet, 5) > connection.maximumPacketBytes) {
    const text = 'the maximum packet size of the client is too small for AUTH'
    return endConnection(state, connection, { reason: reasonCodes.packetTooLarge, text, publishWill: true })
  }
  sendPacket(state, connection, packet, false)
  now.reauthentication = isComplete ? undefined : { ...now.reauthentication, requestId: undefined }
  if (!isComplete) return
  state.deadlines.cancel('reauthentication', connection)
  if (decision.identity === undefined) return
  setIdentity(state, connection, now.session, decision.identity)
  forgetRequestedTopics(now)
}

/** Called when a step of a re-authentication took longer than mqtt.idle_timeout, which also applies to CONNECT. */
export function endReauthentication(state: BrokerState, connection: Connection): void {
  const now = getState(connection)
  if (now.state !== 'open' || now.reauthentication === undefined) return
  const text = 'the re-authentication took too long'
  endConnection(state, connection, { reason: reasonCodes.notAuthorized, text, publishWill: true })
}

function findAuthFault(packet: AuthPacket, method: string | undefined, expected: ReasonCode): string | undefined {
  // [MQTT5-4.12.0-7] [MQTT5-4.12.1-1]
  if (method === undefined) return 'AUTH without an authentication method in CONNECT'
  if (packet.properties?.authenticationMethod !== method) return 'AUTH with another method than CONNECT had'
  if (packet.reasonCode !== expected) return `AUTH with reason ${packet.reasonCode} where ${expected} is due`
  return undefined
}

/** Returns 0x87 or 0x8C, which are the CONNACK codes that DISCONNECT has as well [MQTT5-3.14.2.1]. */
function toDisconnectReason(reason: ReasonCode): ReasonCode {
  return reason === reasonCodes.badAuthenticationMethod ? reason : reasonCodes.notAuthorized
}

function createAuthPacket(
  reasonCode: ReasonCode,
  method: string | undefined,
  authenticationData: Buffer | undefined,
): AuthPacket {
  const properties = {
    ...(method === undefined ? {} : { authenticationMethod: method }),
    ...(authenticationData === undefined ? {} : { authenticationData }),
  }
  return { type: 'auth', reasonCode, properties }
}
