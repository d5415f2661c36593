// The second half of CONNECT, after the client was accepted. The broker closes an older connection of the same client
// ID, resumes or creates the session, sends CONNACK, and sends the queued messages.

import {
  measurePacket,
  copyBytes,
  parseTopicName,
  reasonCodes,
  toReturnCode,
  type ConnackPacket,
  type ConnackProperties,
  type ConnectPacket,
} from '../../protocol/index.ts'
import { loopMarkerName, hasRemoteSessionLost, parseSpoolLimits } from '../messages/internal-client-options.ts'
import type { Identity } from '../messages/identity.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { CoreSettings } from '../model/core-settings.ts'
import type { Parts, RefusalParts, WillRecordParts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import { updatePresence } from '../peers/update-interest.ts'
import { requeueForRemote } from '../bridge/bridge-replay.ts'
import { resumeDelivery } from '../sessions/drain-queue.ts'
import { dropDelayedWill, dropWill, publishDelayedWill, publishWill } from '../sessions/publish-will.ts'
import { endSession, hasExpired, startStoring } from '../sessions/end-session.ts'
import { createWill } from '../publish/stored-wills.ts'
import { sendPacket } from '../outgoing/send-to-client.ts'
import { selectMaxStored, markFull } from '../queues/persistent-queue.ts'
import { setIdentity } from '../sessions/set-identity.ts'
import { announceSpace } from '../peers/full-session-notice.ts'
import { Message, never, recordPublisherRights, copyProperties } from '../messages/message.ts'
import { resolveStoredWillTopic } from '../publish/resolve-publication.ts'
import { splitNamespacedName } from '../namespaces/namespaced-names.ts'
import type { HookQueue } from '../state/hooks/hook-queue.ts'
import type { HookState } from '../state/hooks/hook-state.ts'
import { AckLatency } from '../state/sessions/ack-latency.ts'
import { createInternalSession, neverExpires, Session } from '../state/sessions/session.ts'
import { isSameOwner } from './client-id-owner.ts'
import { endConnection, refuseConnect } from './close-connection.ts'
import { waitForWill } from './takeover-wait.ts'
import { moveTo, type AwaitingAuthentication, type GrantedAccess } from '../state/connection-state.ts'
import { announceBrokerName } from '../bridge/announce-broker-name.ts'

const largestReceiveMaximum = 65_535

export function openConnection(
  state: BrokerState,
  connection: Connection,
  awaiting: AwaitingAuthentication,
  granted: GrantedAccess,
): void {
  const { connect, clientId } = awaiting
  const connack = createConnack(state, connection, awaiting, granted)
  if (!isWithinClientLimit(connack, connect)) return refusePacketTooLarge(state, connection, clientId)
  if (hasNoMemory(state, connection, clientId))
    return refuseQuota(state, connection, clientId, 'the memory of the broker is short')
  const changesBefore = state.batches.openBatch.changes.length
  const takeover = { clientId, connect, identity: granted.identity }
  if (hasWillOnDisk(state, clientId)) {
    takeOverConnection(state, takeover)
    findResumableSession(state, clientId, connect)
    if (waitForWill(state, connection, awaiting, granted)) return
  }
  if (!reserveNamespaceSlot(state, connection, clientId))
    return refuseQuota(state, connection, clientId, 'its namespace has as many clients as it may')
  takeOverConnection(state, takeover)
  const resumed = findResumableSession(state, clientId, connect)
  const session = resumed ?? new Session(clientId, state.nowMs, granted.identity)
  const isKnown = resumed !== undefined && resumed.restored?.isRecovered !== true
  if (session.restored !== undefined) session.restored.isRecovered = false
  const wasStored = session.stored !== undefined
  attach(state, connection, session, connect)
  setIdentity(state, connection, session, granted.identity)
  // If a stored session will end with this connection, its record with expiry 0 is stored now. Otherwise the session would exist again
  // after a crash.
  if (session.expirySeconds > 0 || wasStored) startStoring(state.batches, session)
  storeWill(state, connection, session, connect)
  moveTo(connection, {
    state: 'open',
    session,
    incomingAliases: undefined,
    parked: undefined,
    waiting: undefined,
    hooking: adoptHooks(state.hooks, connection, session),
    filterParts: undefined,
    authenticationMethod: connect.properties?.authenticationMethod,
    reauthentication: undefined,
    hasSessionExpiry: (connect.properties?.sessionExpiryIntervalSeconds ?? 0) > 0,
  })
  state.sessions.connected++
  // CONNACK confirms stored state, which a crash must not undo. If CONNECT waited, this state may be in an earlier
  // batch.
  const waits = wasStored || awaiting.mustConfirm === true || state.batches.openBatch.changes.length > changesBefore
  // MQTT 3.1 has no session-present flag: its byte is reserved.
  const sessionPresent = isKnown && connect.version !== 3
  sendPacket(state, connection, { ...connack, sessionPresent }, waits)
  announceBrokerName(state, connection)
  state.outputs.events.push({ event: 'client-connected', connection, clientId, sessionPresent: isKnown })
  recordConnected(state, connection, session, connect)
  resumeDelivery(state, session, connection)
}

/** Records the connection for rules, except for internal clients. */
function recordConnected(
  state: Parts<'nowMs' | 'rules'>,
  connection: Connection,
  session: Session,
  connect: ConnectPacket,
): void {
  const { wanted } = state.rules.triggers
  if (!(wanted['client-connected'] || wanted['client-connack']) || connection.listener.isInternal === true) return
  const { clientId, identity, expirySeconds } = session
  const { keepAliveSeconds } = session.lastConnect
  const reason = reasonCodes.success
  const how = { connection, clientId, username: identity.username, connect, reason, atMs: state.nowMs }
  for (const kind of ['client-connack', 'client-connected'] as const)
    if (wanted[kind]) state.rules.triggers.add({ kind, ...how, keepAliveSeconds, expirySeconds })
}

function isWithinClientLimit(connack: ConnackPacket, connect: ConnectPacket): boolean {
  const maximumPacketBytes = connect.properties?.maximumPacketSizeBytes
  return maximumPacketBytes === undefined || measurePacket(connack, connect.version) <= maximumPacketBytes
}

/** Reserves a connection if the namespace has limits. Returns false if the namespace has none left. It is released when the client disconnects. */
function reserveNamespaceSlot(
  { sessions, namespaces }: Parts<'namespaces' | 'sessions'>,
  { namespace }: Connection,
  clientId: string,
): boolean {
  const { quotas } = namespaces
  if (quotas === undefined || namespace === undefined) return true
  return quotas.takeClient(namespace, sessions.get(clientId)?.connection !== undefined)
}

/** Returns whether a new session is refused because memory is short. Existing sessions are resumed, because sending their queued messages frees memory. */
function hasNoMemory(
  { memory, sessions }: Parts<'memory' | 'sessions'>,
  { listener }: Connection,
  clientId: string,
): boolean {
  return memory.level === 'hard' && listener.isInternal !== true && !sessions.has(clientId)
}

function refuseQuota(state: RefusalParts, connection: Connection, clientId: string, text: string): void {
  const reason = reasonCodes.quotaExceeded
  const code = connection.version === 5 ? reason : toReturnCode(reasonCodes.serverUnavailable)
  refuseConnect(state, connection, { code, reason, clientId, text })
}

/** [MQTT5-3.1.2-24] Refuses a client whose Maximum Packet Size is smaller than the CONNACK that it must receive. */
function refusePacketTooLarge(state: RefusalParts, connection: Connection, clientId: string): void {
  const reason = reasonCodes.packetTooLarge
  const text = 'the maximum packet size of the client is too small for CONNACK'
  refuseConnect(state, connection, { code: reason, reason, clientId, text })
}

/**
 * Returns whether the will of this session, or of an earlier session of the client, must be read from disk before it is published.
 */
function hasWillOnDisk({ sessions, wills }: Parts<'sessions' | 'wills'>, clientId: string): boolean {
  const will = sessions.get(clientId)?.will ?? wills.delayedWills.get(clientId)
  return (will !== undefined && will.message === undefined) || wills.loads.has(clientId)
}

/** [MQTT-3.1.4-2] [MQTT5-3.1.4-3] A client ID has one connection: the older connection is closed. */
function takeOverConnection(
  state: BrokerState,
  { clientId, connect, identity }: { clientId: string; connect: ConnectPacket; identity: Identity },
): void {
  const session = state.sessions.get(clientId)
  const older = session?.connection
  if (session === undefined || older === undefined) return
  state.outputs.events.push({ event: 'session-taken-over', clientId })
  older.wasDisplaced = !isSameOwner(session, identity)
  // With Clean Start the session ends with its old connection.
  if (connect.cleanStart) session.expirySeconds = 0
  endConnection(state, older, {
    reason: reasonCodes.sessionTakenOver,
    text: 'another client has connected with the same client id',
    publishWill: true,
    cause: connect.cleanStart ? 'discarded' : undefined,
  })
}

/** [MQTT-3.1.2-4 to -6] [MQTT5-3.1.2-4 to -6] Returns the stored session, unless the client requested Clean Start. */
function findResumableSession(state: BrokerState, clientId: string, connect: ConnectPacket): Session | undefined {
  settleDelayedWill(state, clientId)
  const session = state.sessions.get(clientId)
  if (session !== undefined && (connect.cleanStart || hasExpired(state.nowMs, session))) {
    endSession(state, session, 'replaced')
    return undefined
  }
  if (session !== undefined) cancelOrPublishWill(state, session)
  return session
}

/** [MQTT5-3.1.3-9] Drops the will if the client reconnected within the will delay. A will whose delay has passed is published. */
function cancelOrPublishWill(state: BrokerState, session: Session): void {
  const { will } = session
  if (will === undefined || will.dueAtMs === Infinity) return
  if (will.dueAtMs <= state.nowMs) publishWill(state, session)
  else dropWill(state, session)
}

/** Does the same for the will of an earlier session of the client. */
function settleDelayedWill(state: BrokerState, clientId: string): void {
  const delayed = state.wills.delayedWills.get(clientId)
  if (delayed === undefined) return
  if (delayed.dueAtMs <= state.nowMs) return publishDelayedWill(state, clientId, delayed)
  dropDelayedWill(state, clientId, delayed)
}

function attach(
  state: Parts<'batches' | 'deadlines' | 'nowMs' | 'peers' | 'rules' | 'sessions' | 'settings'>,
  connection: Connection,
  session: Session,
  connect: ConnectPacket,
): void {
  const { settings } = state
  state.sessions.add(session)
  session.connection = connection
  session.absence = undefined
  updatePresence(state.peers, session, 1)
  connection.lastPacketAtMs = state.nowMs
  session.lastConnect.atMs = state.nowMs
  session.lastConnect.version = connect.version
  session.lastConnect.cleanStart = connect.cleanStart
  session.expirySeconds = resolveSessionExpiry(state.settings, connection, connect)
  const receiveMaximum = connect.properties?.receiveMaximum ?? largestReceiveMaximum
  session.outgoing.windowLimit = Math.min(receiveMaximum, settings.maxInflightMessages)
  session.outgoing.openWindow = session.outgoing.windowLimit
  session.lastConnect.keepAliveSeconds = resolveKeepAlive(state.settings, connection, connect)
  connection.keepAliveMs = session.lastConnect.keepAliveSeconds * 1_000 * settings.keepAliveMultiplier
  connection.outgoingAliasMaximum = Math.min(connect.properties?.topicAliasMaximum ?? 0, settings.maxTopicAlias)
  connection.hasPlainPublishes = connection.mountpoint === '' && connection.rateLimiter === undefined
  connection.canRefuseMessages = connect.version === 5 && connection.listener.isInternal !== true
  connection.hasNoLocal = connect.isBridge && connect.version !== 5
  if (connection.listener.isInternal === true) applySpoolLimits(state, session, connect)
  connection.isPlain =
    connection.outgoingAliasMaximum === 0 &&
    connection.mountpoint === '' &&
    connection.sendLimits?.deliveries === undefined
  state.deadlines.cancel('idle-timeout', connection)
  state.deadlines.cancel('session-expiry', session.clientId)
  if (connection.keepAliveMs > 0) state.deadlines.set('keep-alive', connection, state.nowMs + connection.keepAliveMs)
}

function applySpoolLimits(
  state: Parts<'batches' | 'peers' | 'rules' | 'sessions' | 'settings'>,
  session: Session,
  { properties }: ConnectPacket,
): void {
  session.internal ??= createInternalSession()
  session.internal.spool = parseSpoolLimits(properties?.userProperties)
  session.internal.ackLatency ??= new AckLatency()
  if (state.sessions.full.delete(session)) state.rules.hasActionCapacity = true
  const { stored } = session
  if (stored?.isFullAnnounced === true)
    announceSpace(state.peers, session, stored, selectMaxStored(state.settings, session))
  if (stored !== undefined && stored.count >= selectMaxStored(state.settings, session)) markFull(state, session)
  if (hasRemoteSessionLost(properties?.userProperties)) requeueForRemote(state.batches, session)
}

function resolveSessionExpiry(settings: CoreSettings, connection: Connection, connect: ConnectPacket): number {
  const { sessionExpirySeconds, maxSessionExpirySeconds } = settings
  if (connect.version !== 5) return connect.cleanStart ? 0 : sessionExpirySeconds
  const requested = connect.properties?.sessionExpiryIntervalSeconds ?? 0
  // The session of an internal client does not expire, for example while the remote broker of a bridge is unavailable.
  if (connection.listener.isInternal === true) return requested
  return Math.min(requested, maxSessionExpirySeconds ?? neverExpires)
}

/** [MQTT5-3.1.2-21] Returns the keep alive of the broker's settings, or that of the client. Only CONNACK of 5.0 can contain the broker's. */
function resolveKeepAlive(settings: CoreSettings, connection: Connection, connect: ConnectPacket): number {
  const { serverKeepAliveSeconds } = settings
  return connect.version === 5 && serverKeepAliveSeconds !== undefined && connection.listener.isInternal !== true
    ? serverKeepAliveSeconds
    : connect.keepAliveSeconds
}

function storeWill(
  state: WillRecordParts & Parts<'matchRegex' | 'settings' | 'topics'>,
  connection: Connection,
  session: Session,
  connect: ConnectPacket,
): void {
  const { will } = connect
  session.will = undefined
  if (will === undefined) return
  const { willDelayIntervalSeconds, ...properties } = copyProperties(will.properties) ?? {}
  const topic = state.topics.internName(will.topic)
  const stored = resolveStoredWillTopic(state, topic, connection.mountpoint)
  // Not with a topic that was checked before the client was accepted.
  if (stored === undefined) return
  const message = new Message(stored, {
    qos: will.qos,
    retain: will.retain,
    properties: Object.keys(properties).length === 0 ? undefined : properties,
    publisher: session.clientId,
    publishedAtMs: state.nowMs,
    expiresAtMs: never,
    chunk: copyBytes(will.payload),
    payloadStart: 0,
    payloadEnd: will.payload.length,
  })
  recordPublisherRights(message, session.identity, connection.mountpoint)
  message.isOwned = true
  session.will = createWill(state, session.clientId, { message, delaySeconds: willDelayIntervalSeconds ?? 0 })
}

/** Builds the CONNACK without the session-present flag, which does not change its size. */
function createConnack(
  state: Parts<'bridges' | 'settings'>,
  connection: Connection,
  awaiting: AwaitingAuthentication,
  granted: GrantedAccess,
): ConnackPacket {
  const properties =
    awaiting.connect.version === 5 ? createConnackProperties(state, connection, awaiting, granted) : undefined
  return { type: 'connack', sessionPresent: false, reasonCode: reasonCodes.success, properties }
}

/** Returns the properties that differ from the request of the client or from the defaults of the standard. */
function createConnackProperties(
  state: Parts<'bridges' | 'settings'>,
  connection: Connection,
  awaiting: AwaitingAuthentication,
  granted: GrantedAccess,
): ConnackProperties {
  const { settings } = state
  const { connect, clientId } = awaiting
  const requested = connect.properties
  const expirySeconds = resolveSessionExpiry(state.settings, connection, connect)
  const properties: ConnackProperties = {
    receiveMaximum: settings.receiveMaximum,
    maximumPacketSizeBytes: settings.maxPacketBytes,
    topicAliasMaximum: settings.maxTopicAlias,
  }
  if (expirySeconds !== (requested?.sessionExpiryIntervalSeconds ?? 0)) {
    properties.sessionExpiryIntervalSeconds = expirySeconds
  }
  if (settings.maximumQoS < 2) properties.maximumQoS = settings.maximumQoS === 0 ? 0 : 1
  if (!settings.retainAvailable) properties.retainAvailable = false
  if (!settings.wildcardSubscriptionAvailable) properties.wildcardSubscriptionAvailable = false
  if (!settings.sharedSubscriptionAvailable) properties.sharedSubscriptionAvailable = false
  const { name } = splitNamespacedName(clientId)
  if (connect.clientId === '') properties.assignedClientIdentifier = name
  if (settings.serverKeepAliveSeconds !== undefined) properties.serverKeepAliveSeconds = settings.serverKeepAliveSeconds
  if (requested?.authenticationMethod !== undefined) {
    // [MQTT5-4.12.0-5]
    properties.authenticationMethod = requested.authenticationMethod
    if (granted.authenticationData !== undefined) properties.authenticationData = granted.authenticationData
  }
  const isNameRequested = requested?.userProperties?.some(([word]) => word === loopMarkerName) === true
  if (isNameRequested && state.bridges.brokerName !== undefined)
    properties.userProperties = [[loopMarkerName, state.bridges.brokerName]]
  // [MQTT5-3.1.2-28] Only for clients that requested it.
  if (requested?.requestResponseInformation === true) properties.responseInformation = createResponseTopic(name)
  return properties
}

/**
 * Returns the topic for responses to this client; undefined if the client ID has characters that a topic name cannot
 * have.
 */
function createResponseTopic(clientId: string): string | undefined {
  return parseTopicName(`response/${clientId}`)
}

/** Publications of the earlier connection of the session come before those of this one. */
function adoptHooks({ detached }: HookState, connection: Connection, session: Session): HookQueue | undefined {
  const queue = detached.get(session)
  if (queue === undefined) return undefined
  detached.delete(session)
  queue.connection = connection
  return queue
}
