// The broker: a state machine without a world. Whoever drives it gives it inputs with the time, carries out what it
// puts out, and finds the same broker again from the same inputs.
//
//   handle(input, nowMs)   any number of times, then (`handlePacket` is the same for a packet)
//   takeOutputs()          what may be done at once
//   takeBatch()            what is to be stored, when the disk is free; `committed` is its answer
//   nextDeadlineMs()       when to say `tick` at the latest
//
// There is no socket, disk, timer, clock, promise or random number in here.

import { connackReasonFor, reasonCodes, returnCodeFor, type Packet, type ProtocolError } from '../protocol/index.ts'
import { BrokerState, type BrokerOptions } from './state/broker-state.ts'
import { ClientFilters } from './state/client-filters.ts'
import type { Connection } from './model/connection.ts'
import { endConnection, handleConnectionClosed, refuseConnect } from './connect/close-connection.ts'
import { wakeAfterWill } from './connect/takeover-wait.ts'
import { stateOf } from './state/connection-state.ts'
import { handleAuthorization, handlePermissionsChanged } from './packets/handle-permissions.ts'
import { handleReauthenticationResult } from './packets/handle-auth.ts'
import { handleCommand } from './admin/handle-command.ts'
import { failPendingCommands } from './admin/command-results.ts'
import { handleAuthenticationResult } from './packets/handle-connect.ts'
import { handlePacket, recordPartialPacket, resumeAfterStorage } from './packets/handle-packet.ts'
import { handleCommitted } from './outgoing/handle-commit.ts'
import { handleOldestLoaded } from './queues/drop-oldest.ts'
import { continueWillLoads, handleWillLoaded } from './sessions/publish-will.ts'
import { handleQueueLoaded, drainQueue } from './sessions/drain-queue.ts'
import { startRelief } from './memory/memory-relief.ts'
import { handleRetainedRead } from './retained/retained-reads.ts'
import { syncPeers } from './peers/sync-peers.ts'
import { handleEndedQueueRead } from './shared/expired-session-redelivery.ts'
import { resumeHandoffs } from './shared/shared-handoff.ts'
import { releasePayload, deleteRecord } from './queues/persistent-queue.ts'
import type { Input } from './model/inputs.ts'
import type { Batch, Outputs } from './model/outputs.ts'
import { handlePlainFromPeer, handlePeer } from './peer-handlers/handle-peer.ts'
import type { CoreSettings } from './model/settings.ts'
import { rateLimiterFor } from './model/rate-limiter.ts'
import { runRuleTriggers } from './publish/route-message.ts'
import { handleTick } from './time/handle-tick.ts'
import { restore, restoreQueue } from './time/restore.ts'
import { BrokerView } from './views/broker-view.ts'

export class BrokerCore {
  readonly view: BrokerView
  readonly #state: BrokerState

  constructor(settings: CoreSettings, options: BrokerOptions) {
    this.#state = new BrokerState(settings, options)
    this.view = new BrokerView(this.#state)
  }

  /** `nowMs` never goes back. */
  handle(input: Input, nowMs: number): void {
    if (input.kind === 'packet') return this.handlePacket(input.connection, input.packet, nowMs)
    const state = this.#state
    if (nowMs > state.nowMs) state.nowMs = nowMs
    // The ways of nearly every other input, looked at before the rest.
    if (input.kind === 'peer-passes') handlePlainFromPeer(state, input.peer, input.message)
    else if (input.kind === 'peer-message') handlePeer(state, input)
    else handleRare(state, input)
  }

  /**
   * The same as `handle` of a packet. Every packet of every client comes this way, and an object around it would be made
   * anew each time, or be an old one that refers to something young, which V8 has to write down.
   */
  handlePacket(connection: Connection, packet: Packet, nowMs: number): void {
    const state = this.#state
    if (nowMs > state.nowMs) state.nowMs = nowMs
    handlePacket(state, connection, packet)
  }

  /** Grows with each step that costs as much as many messages: the driver looks at the clock when it has. */
  get costlySteps(): number {
    return this.#state.router.costlySteps
  }

  /** What has gathered since the last time. Valid, and to be emptied by `clear`, before the next `handle`. */
  takeOutputs(): Outputs {
    const { peerTable, ruleTriggers } = this.#state
    if (ruleTriggers.hasWaiting) runRuleTriggers(this.#state)
    if (peerTable !== undefined) syncPeers(this.#state, peerTable)
    return this.#state.outputs
  }

  /** Empties what `takeOutputs` gave. */
  clearOutputs(): void {
    this.#state.clearOutputs()
  }

  /** Undefined where nothing is to be written now. The next batch begins with this call. */
  takeBatch(): Batch | undefined {
    return this.#state.batches.take()
  }

  /** What clients are subscribed to; undefined while nobody has asked for it with `client-filters`. */
  get clientFilters(): Pick<ClientFilters, 'isComplete' | 'unreported' | 'take' | 'all'> | undefined {
    return this.#state.clientFilters
  }

  /** When `tick` is to come at the latest; Infinity: never. */
  nextDeadlineMs(): number {
    // Nothing falls due before the other shards know what is wanted here.
    const deadlineMs = this.view.isReadyForClients ? this.#state.deadlines.nextMs() : Infinity
    return Math.min(deadlineMs, this.#state.batches.dueAtMs)
  }
}

function handleRare(
  state: BrokerState,
  input: Exclude<Input, { kind: 'packet' | 'peer-message' | 'peer-passes' }>,
): void {
  switch (input.kind) {
    case 'connection-opened':
      return openConnection(state, input.connection)
    case 'packet-part':
      return recordPartialPacket(state, input.connection, input.bytes)
    case 'protocol-fault':
      return handleFault(state, input.connection, input.error)
    case 'connection-closed':
      state.deadlines.cancel('idle-timeout', input.connection)
      state.deadlines.cancel('farewell', input.connection)
      state.deadlines.cancel('rate', input.connection)
      return handleConnectionClosed(state, input.connection)
    case 'listener-closed':
      return endConnection(state, input.connection, {
        reason: reasonCodes.serverShuttingDown,
        text: 'the listener is closed',
        publishWill: true,
      })
    case 'unsent-bytes':
      return handleUnsentBytes(state, input.connection, input.bytes)
    case 'connect-verdict':
    case 'queue-loaded':
    case 'message-loaded':
    case 'permission-ready':
      return handleAnswer(state, input)
    case 'committed':
      return handleBatchCommitted(state, input.batch)
    case 'storage-health':
      return changeStorageHealth(state, input.isHealthy)
    case 'restore':
      for (const record of input.records) restore(state, record)
      return
    case 'restore-queue':
      return restoreQueue(state, input)
    case 'bodies-counted':
      return handleBodiesCounted(state, input)
    case 'bodies-released':
      for (const bodyId of input.bodyIds) releasePayload(state, bodyId)
      return
    case 'permissions-changed':
      return handlePermissionsChanged(state)
    case 'peer-joined':
    case 'peer-left':
    case 'peer-congested':
      return handlePeer(state, input)
    case 'tick':
      return handleTick(state)
    case 'command':
      return handleCommand(state, input.question, input.command)
    case 'memory-level':
      return startRelief(state, input)
    case 'settings':
      state.settings = input.settings
      return
    case 'client-filters':
      state.clientFilters = input.areWanted ? (state.clientFilters ?? new ClientFilters()) : undefined
      return
    case 'rules':
    case 'rule-trigger':
      return handleRules(state, input)
    case 'shutdown':
      return shutDown(state)
    default:
      input satisfies never
  }
}

function handleRules(state: BrokerState, input: Extract<Input, { kind: 'rules' | 'rule-trigger' }>): void {
  if (input.kind === 'rules') state.setRules(input.rules, input.triggers)
  else if (state.ruleTriggers.wanted[input.trigger.kind]) state.ruleTriggers.add(input.trigger)
}

function openConnection(state: BrokerState, connection: Connection): void {
  connection.rateLimiter = rateLimiterFor(connection.listener, state.nowMs)
  state.deadlines.set('idle-timeout', connection, state.nowMs + state.settings.idleTimeoutMs)
}

function changeStorageHealth(state: BrokerState, isHealthy: boolean): void {
  state.storageIsHealthy = isHealthy
  if (isHealthy) resumeAfterStorage(state)
  else failPendingCommands(state)
}

function handleAnswer(
  state: BrokerState,
  input: Extract<Input, { kind: 'connect-verdict' | 'queue-loaded' | 'message-loaded' | 'permission-ready' }>,
): void {
  const asked = state.pendingRequests.get(input.question)
  state.pendingRequests.delete(input.question)
  if (asked === undefined) return // Whoever asked has gone meanwhile.
  if (input.kind === 'connect-verdict' && asked.for === 'connect') {
    handleAuthenticationResult(state, asked.connection, input.verdict, handlePacket)
  } else if (input.kind === 'connect-verdict' && asked.for === 'reauthentication') {
    handleReauthenticationResult(state, asked.connection, input.question, input.verdict)
  } else if (input.kind === 'permission-ready' && asked.for === 'permission') {
    handleAuthorization(state, asked.connection, input.question)
  } else if (input.kind === 'queue-loaded' && asked.for === 'queue') {
    handleQueueLoaded(state, asked.session, { ...input, upTo: asked.upTo })
  } else if (input.kind === 'queue-loaded' && asked.for === 'oldest') {
    handleOldestLoaded(state, asked.session, input)
  } else if (input.kind === 'queue-loaded' && asked.for === 'ended') {
    handleEndedQueueRead(state, asked.queue, input)
  } else if (input.kind === 'message-loaded' && asked.for === 'will') {
    handleWillLoaded(state, asked.will, input.message)
    wakeAfterWill(state, asked.will.clientId)
  } else if (input.kind === 'message-loaded' && asked.for === 'retained') {
    handleRetainedRead(state, asked.retained, input.message)
  }
}

function handleBatchCommitted(state: BrokerState, batch: number): void {
  handleCommitted(state, batch)
  continueWillLoads(state, batch)
}

function handleUnsentBytes(state: BrokerState, connection: Connection, bytes: number): void {
  connection.unsentBytes = bytes
  const now = stateOf(connection)
  if (now.state === 'open') drainQueue(state, now.session)
}

/** [MQTT-4.8.0-1] [MQTT5-4.13.1-1] A peer that breaks the protocol is told why, if it can be told, and closed. */
function handleFault(state: BrokerState, connection: Connection, error: ProtocolError): void {
  const now = stateOf(connection)
  if (now.state !== 'awaiting-connect') {
    // [MQTT-3.1.0-2] [MQTT5-3.1.0-2] In a second CONNECT even that: DISCONNECT has no word for it.
    const isOfConnect = error.reason === reasonCodes.unsupportedProtocolVersion
    const reason = isOfConnect ? reasonCodes.protocolError : error.reason
    return endConnection(state, connection, { reason, text: error.message, publishWill: true })
  }
  // [MQTT-3.1.2-2] [MQTT5-3.1.2-2] An unknown protocol level is answered in the oldest way, which every client knows.
  if (error.reason === reasonCodes.unsupportedProtocolVersion) {
    const code = returnCodeFor(error.reason)
    return refuseConnect(state, connection, { code, reason: error.reason, clientId: '', text: error.message })
  }
  // [MQTT5-3.1.4-1] A client of 5.0 that has come as far as its version is told what is wrong; others know no word for it.
  if (connection.version === 5) {
    const code = connackReasonFor(error.reason)
    return refuseConnect(state, connection, { code, reason: error.reason, clientId: '', text: error.message })
  }
  endConnection(state, connection, { reason: error.reason, text: error.message, publishWill: false })
}

function handleBodiesCounted(state: BrokerState, input: Extract<Input, { kind: 'bodies-counted' }>): void {
  for (const [bodyId, references] of input.counts) {
    state.payloadRefcounts.addSwept(bodyId, references)
    state.bodyIdsUsedUpTo(bodyId)
  }
  if (!input.isEnd) return
  for (const id of state.payloadRefcounts.takeUnreferenced()) deleteRecord(state, { kind: 'body', id })
  resumeHandoffs(state)
}

/** [MQTT5-3.14: 0x8B] Sessions that are stored stay as they are. */
function shutDown(state: BrokerState): void {
  state.isShuttingDown = true
  for (const session of state.sessions.values()) {
    if (session.connection === undefined) continue
    endConnection(state, session.connection, {
      reason: reasonCodes.serverShuttingDown,
      text: 'the broker is stopping',
      publishWill: true,
    })
  }
}
