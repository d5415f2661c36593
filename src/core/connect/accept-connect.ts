// The steps between successful authentication and the open connection: set the identity, determine the mount point,
// authorize the will. State that other clients can see changes only after these steps.

import {
  reasonCodes,
  toReturnCode,
  type ConnectPacket,
  type Packet,
  type ReasonCode,
  Topic,
} from '../../protocol/index.ts'
import { type Identity, createIdentity, type Permission } from '../messages/identity.ts'
import { isSourceTopic } from '../messages/source-topics.ts'
import type { BrokerState, NamespaceState } from '../state/broker-state.ts'
import type { Parts, RefusalParts } from '../state/parts.ts'
import type { AccessState } from '../state/access-state.ts'
import type { Connection } from '../model/connection.ts'
import { authorizePublish } from '../publish/authorize-publish.ts'
import { isBrokerTopic } from '../retained/retained-messages.ts'
import { isReservedTopic } from '../publish/reserved-topics.ts'
import { isEventTopic, isReservedInNamespace } from '../messages/reserved-roots.ts'
import { delayProblem } from '../publish/delay-message.ts'
import { resolvePublication, resolveStoredWillTopic } from '../publish/resolve-publication.ts'
import type { AuthenticationResult } from '../model/inputs.ts'
import { resolveMountpoint } from '../namespaces/mountpoint.ts'
import { toNamespacePrefix, splitNamespacedName } from '../namespaces/namespaced-names.ts'
import { findForeignNamespace, resolveNamespace } from '../model/resolve-namespace.ts'
import { refuseConnect } from './close-connection.ts'
import { refuseOtherIdentity } from './client-id-owner.ts'
import { waitForTakeover } from './takeover-wait.ts'
import { moveTo, getState, type AwaitingAuthentication, type GrantedAccess } from '../state/connection-state.ts'
import { openConnection } from './open-connection.ts'

/** Handles one parked packet. It is a parameter, because it calls functions of this file. */
export type HandlePacket = (state: BrokerState, connection: Connection, packet: Packet) => void

export interface Refusal {
  readonly reason: ReasonCode
  readonly text: string
  /** For the log only. */
  readonly cause?: string | undefined
}

/** Accepts a CONNECT that was authenticated. */
export function acceptConnect(
  state: BrokerState,
  connection: Connection,
  awaiting: AwaitingAuthentication,
  decision: Extract<AuthenticationResult, { allowed: true }>,
): boolean {
  const identity = decision.identity ?? createIdentity(awaiting.clientId, awaiting.username, connection.peerAddress)
  const granted = { identity, authenticationData: decision.authenticationData }
  return openAccepted(state, connection, { ...awaiting, granted }, granted)
}

/**
 * Continues a CONNECT that waited for the authorization of its will (`isWillDecided`) or for the older connection of its
 * client. Returns true if the client was accepted.
 */
export function acceptAfterWait(state: BrokerState, connection: Connection, isWillDecided: boolean): boolean {
  const now = getState(connection)
  if (now.state !== 'awaiting-authentication' || now.granted === undefined) return false
  const refusal = refuseWhileNotServing(state, connection) ?? refuseUnwanted(state.access, now.granted)
  if (refusal === undefined) return openAccepted(state, connection, { ...now, isWillDecided }, now.granted)
  refuseConnection(state, connection, now.clientId, refusal)
  return false
}

/**
 * Refuses a client that was banned since it was authenticated. A ban disconnects only clients that have a session, so it is checked again
 * here.
 */
function refuseUnwanted(access: AccessState, { identity }: GrantedAccess): Refusal | undefined {
  if (access.permissions.canStay(identity)) return undefined
  return { reason: reasonCodes.banned, text: 'the client is banned or no longer allowed to be connected' }
}

export function refuseConnection(
  state: RefusalParts,
  connection: Connection,
  clientId: string,
  refusal: Refusal,
): void {
  const code = connection.version === 5 ? refusal.reason : toReturnCode(refusal.reason)
  refuseConnect(state, connection, { code, clientId, ...refusal })
}

export function refuseWhileNotServing(
  state: Parts<'isDraining' | 'isShuttingDown' | 'peers'>,
  connection: Connection,
): Refusal | undefined {
  // In MQTT 5.0 the code 0x8B is allowed in DISCONNECT only [MQTT5-3.2.2.2].
  const reason = reasonCodes.serverUnavailable
  if (state.isShuttingDown) return { reason, text: 'the broker is stopping' }
  if (state.isDraining && connection.listener.isInternal !== true) {
    return { reason: reasonCodes.useAnotherServer, text: 'the broker is drained: connect to another one' }
  }
  // The connection may have come through another shard before this shard is ready. Its messages would not reach all
  // subscribers.
  if (!state.peers.isReady) return { reason, text: 'the broker is starting' }
  return undefined
}

/**
 * Bridges of mosquitto set a will with their status on these topics. If the broker refused the will, they would reconnect again and
 * again. So the broker ignores the will, as it ignores messages to these topics.
 */
const bridgeNotificationTopics = '$SYS/broker/connection/'

function removeBridgeNotification<Awaiting extends AwaitingAuthentication>(awaiting: Awaiting): Awaiting {
  const { connect } = awaiting
  const isNotice = connect.will?.topic.startsWith(bridgeNotificationTopics) === true
  return isNotice ? { ...awaiting, connect: { ...connect, will: undefined } } : awaiting
}

function openAccepted(
  state: BrokerState,
  connection: Connection,
  accepted: AwaitingAuthentication & { readonly isWillDecided?: boolean },
  granted: GrantedAccess,
): boolean {
  const { clientId } = accepted
  const refusal =
    refuseForeignNamespace(state.namespaces, connection, accepted, granted) ??
    mount(connection, accepted, granted) ??
    refuseOtherIdentity(state, connection, { clientId, identity: granted.identity })
  if (refusal !== undefined) {
    refuseConnection(state, connection, clientId, refusal)
    return false
  }
  const awaiting = connection.mountpoint === '' ? removeBridgeNotification(accepted) : accepted
  if (!canHaveWill(state, connection, awaiting, granted)) return false
  if (waitForTakeover(state, connection, awaiting, granted)) return false
  openConnection(state, connection, awaiting, granted)
  return getState(connection).state === 'open'
}

/** Returns false if the client is refused for its will, or if it waits for the authorization of its will. */
function canHaveWill(
  state: RefusalParts & Parts<'access' | 'matchRegex' | 'namespaces' | 'sessions' | 'settings' | 'topics'>,
  connection: Connection,
  awaiting: AwaitingAuthentication & { readonly isWillDecided?: boolean },
  granted: GrantedAccess,
): boolean {
  const { connect, clientId } = awaiting
  const { will } = connect
  if (will === undefined) return true
  const { identity } = granted
  const topic = resolveWill(state, connection, will, identity)
  if (!(topic instanceof Topic)) {
    refuseConnection(state, connection, clientId, topic)
    return false
  }
  const permission = authorizeWill(state.access, connection, connect, { identity, topic })
  if (permission === 'unknown' && awaiting.isWillDecided !== true) {
    requestWillAuthorization(state, connection, awaiting, { granted, topic: topic.name })
    return false
  }
  if (permission === 'allow') return true
  const text = 'its will is not allowed'
  refuseConnection(state, connection, clientId, { reason: reasonCodes.notAuthorized, text })
  return false
}

/**
 * Refuses a client whose authenticated identity names another namespace than the one found at CONNECT, also if the listener selects that: the
 * clients of a namespace cannot enter another one through its listener. A name that an anonymous client sends proves nothing.
 */
export function refuseForeignNamespace(
  { settings }: NamespaceState,
  { listener, origin }: Connection,
  { clientId }: Pick<AwaitingAuthentication, 'clientId'>,
  { identity: { username, authenticatedBy } }: Pick<GrantedAccess, 'identity'>,
): Refusal | undefined {
  if (settings === undefined) return undefined
  const { namespace } = splitNamespacedName(clientId)
  const evidence = { listener, arrival: origin, username }
  if (resolveNamespace(settings, evidence) !== namespace)
    return { reason: reasonCodes.notAuthorized, text: 'its user name belongs to another namespace' }
  const proved = authenticatedBy === 'anonymous' ? undefined : username
  const foreign = findForeignNamespace(settings, { ...evidence, username: proved }, namespace)
  if (foreign === undefined) return undefined
  const text = 'its user name, pre-shared key or certificate belongs to another namespace'
  const cause = `it belongs to ${foreign}, the connection to ${namespace ?? 'no namespace'}: use a listener of ${foreign}`
  return { reason: reasonCodes.notAuthorized, text, cause }
}

/**
 * Sets the mount point of the listener. A client is refused if placeholders in the mount point would let it leave its
 * topics.
 */
function mount(
  connection: Connection,
  { clientId }: AwaitingAuthentication,
  { identity }: GrantedAccess,
): Refusal | undefined {
  const pattern = connection.listener.mountpoint ?? ''
  const { namespace, name } = splitNamespacedName(clientId)
  if (pattern === '' && namespace === undefined) return undefined
  const inside = resolveMountpoint(pattern, { clientId: name, username: identity.username })
  const mountpoint = `${toNamespacePrefix(namespace)}${inside ?? ''}`
  if (inside === undefined) {
    const reason = pattern.includes('username')
      ? reasonCodes.badUserNameOrPassword
      : reasonCodes.clientIdentifierNotValid
    return { reason, text: 'client id or user name can not be part of the mount point' }
  }
  connection.mountpoint = mountpoint
  connection.namespace = namespace
  return undefined
}

/** Returns the topic of the will that access rules see, or why there cannot be such a will. */
function resolveWill(
  state: Parts<'matchRegex' | 'namespaces' | 'nowMs' | 'sessions' | 'settings' | 'topics'>,
  { mountpoint, listener }: Connection,
  will: NonNullable<ConnectPacket['will']>,
  { clientId, isSuperuser, username }: Identity,
): Topic | Refusal {
  const client = { clientId, username, mountpoint, isInternal: listener.isInternal === true }
  const topic = state.topics.internName(will.topic)
  const resolved = resolvePublication(state, topic, client)
  const reason = reasonCodes.topicNameInvalid
  if (resolved === 'too-long' || resolveStoredWillTopic(state, topic, mountpoint) === undefined)
    return { reason, text: 'the topic of the will is too long' }
  if (resolved === 'invalid-delay') return { reason, text: `the will has an ${delayProblem}` }
  const name = resolved === 'reserved' ? undefined : resolved.target.name
  const isBrokers = name === undefined || isBrokerTopic(name) || isSourceTopic(name) || isEventTopic(name)
  if (
    resolved === 'reserved' ||
    isBrokers ||
    isReservedInNamespace(name) ||
    (!isSuperuser && isReservedTopic(state, name, clientId))
  )
    return { reason: reasonCodes.notAuthorized, text: 'its will is not allowed: the topic is reserved' }
  return resolved.clientTopic
}

/** A will needs the permission to publish to its topic. */
function authorizeWill(
  access: AccessState,
  connection: Connection,
  { will }: ConnectPacket,
  { identity, topic }: { readonly identity: Identity; readonly topic: Topic },
): Permission {
  if (will === undefined || access.permissions.allowsEverything) return 'allow'
  return authorizePublish(access, connection, identity, topic, will)
}

function requestWillAuthorization(
  state: Parts<'outputs' | 'requests'>,
  connection: Connection,
  awaiting: AwaitingAuthentication,
  { granted, topic }: { readonly granted: GrantedAccess; readonly topic: string },
): void {
  const { will } = awaiting.connect
  if (will === undefined) return
  const requestId = state.requests.add({ for: 'permission', connection })
  moveTo(connection, { ...awaiting, requestId, granted })
  const { qos, retain } = will
  const { identity } = granted
  state.outputs.requests.push({
    kind: 'authorize',
    requestId,
    connection,
    identity,
    action: 'publish',
    topic,
    qos,
    retain,
  })
}
