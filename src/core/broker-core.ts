// The broker as a state machine without I/O. A driver (a shard, or the simulator) gives it inputs with the time and
// carries out its outputs. The same inputs lead to the same state.
//
//   handle(input, nowMs)   any number of times, then (`handlePacket` is the same for a packet)
//   takeOutputs()          what may be done at once
//   takeBatch()            what the store writes next; the input `committed` confirms it
//   findNextDeadlineMs()       the latest time for the input `tick`
//
// The core has no socket, disk, timer, clock, promise or random number.

import { toConnackReason, reasonCodes, toReturnCode, type Packet, type ProtocolError } from '../protocol/index.ts'
import { BrokerState, type BrokerOptions } from './state/broker-state.ts'
import type { AckParts, DrainParts, Parts, RedeliverParts } from './state/parts.ts'
import { ClientFilters } from './state/client-filters.ts'
import type { Connection } from './model/connection.ts'
import { endConnection, handleConnectionClosed, handleInputEnded, refuseConnect } from './connect/close-connection.ts'
import { wakeAfterWill } from './connect/takeover-wait.ts'
import { getState } from './state/connection-state.ts'
import { handleAuthorization, handlePermissionsChanged } from './packets/handle-permissions.ts'
import { handleReauthenticationResult } from './packets/handle-auth.ts'
import { handleCommand } from './admin/handle-command.ts'
import { failPendingCommands } from './admin/command-results.ts'
import { handleAuthenticationResult, handleInputDrained } from './packets/handle-connect.ts'
import {
  handlePacket,
  handlePublishHookResult,
  recordPartialPacket,
  resumeAfterStorage,
} from './packets/handle-packet.ts'
import { handleCommitted } from './outgoing/handle-commit.ts'
import { handleOldestLoaded } from './queues/drop-oldest.ts'
import { continueWillLoads, handleWillLoaded } from './sessions/publish-will.ts'
import { handleQueueLoaded, drainQueue } from './sessions/drain-queue.ts'
import { startRelief } from './memory/memory-relief.ts'
import { handleRetainedRead } from './retained/retained-reads.ts'
import { syncPeers } from './peers/sync-peers.ts'
import { handleEndedSessionQueueRead } from './shared/expired-session-redelivery.ts'
import { resumeHandoffs } from './shared/shared-handoff.ts'
import { recountQueues, releasePayload, deleteRecord } from './queues/persistent-queue.ts'
import type { Input } from './model/inputs.ts'
import type { Batch, Outputs } from './model/outputs.ts'
import { handlePlainFromPeer, handlePeer } from './peer-handlers/handle-peer.ts'
import type { CoreSettings } from './model/core-settings.ts'
import { createRateLimiter, createSendLimits } from './model/rate-limiter.ts'
import type { CountedTopic } from './model/rule-hook.ts'
import { runRuleTriggers } from './publish/route-message.ts'
import { handleTick } from './time/handle-tick.ts'
import { restore, restoreQueue } from './time/restore-state.ts'
import { BrokerView } from './views/broker-view.ts'

export class BrokerCore {
  readonly view: BrokerView
  readonly #state: BrokerState

  constructor(settings: CoreSettings, options: BrokerOptions) {
    this.#state = new BrokerState(settings, options)
    this.view = new BrokerView(this.#state)
  }

  /** Handles one input. `nowMs` never decreases. */
  handle(input: Input, nowMs: number): void {
    if (input.kind === 'packet') return this.handlePacket(input.connection, input.packet, nowMs)
    const state = this.#state
    if (nowMs > state.nowMs) state.nowMs = nowMs
    // The two most frequent kinds of input come first.
    if (input.kind === 'plain-peer-message') handlePlainFromPeer(state, input.peer, input.message)
    else if (input.kind === 'peer-message') handlePeer(state, input)
    else handleRare(state, input)
  }

  /**
   * Does what `handle` does for a packet. Every packet of every client takes this path. An input object for each packet
   * would be a new allocation, or an old object that refers to a young one, which costs a write barrier of V8.
   */
  handlePacket(connection: Connection, packet: Packet, nowMs: number): void {
    const state = this.#state
    if (nowMs > state.nowMs) state.nowMs = nowMs
    handlePacket(state, connection, packet)
  }

  /**
   * Increases with each step that costs as much as many messages. The driver checks the clock when it has increased.
   */
  get costlySteps(): number {
    return this.#state.router.costlySteps + this.#state.rules.costlySteps
  }

  /**
   * Returns the outputs since the last call. The caller must empty them with `clearOutputs` before the next `handle`.
   */
  takeOutputs(): Outputs {
    const { peers, rules } = this.#state
    if (rules.triggers.hasWaiting) runRuleTriggers(this.#state)
    if (peers.hasAny) syncPeers(this.#state)
    return this.#state.outputs
  }

  /** Empties what `takeOutputs` returned. */
  clearOutputs(): void {
    this.#state.attempt = undefined
    this.#state.outputs.clear()
  }

  /** Returns the batch that must be written now, or undefined. Later changes go to the next batch. */
  takeBatch(): Batch | undefined {
    return this.#state.batches.take()
  }

  /** The filters that clients are subscribed to; undefined unless the input `client-filters` requested them. */
  get clientFilters(): Pick<ClientFilters, 'isComplete' | 'unreported' | 'take' | 'all'> | undefined {
    return this.#state.bridges.clientFilters
  }

  /** Returns the latest time for the next `tick`; Infinity if there is none. */
  findNextDeadlineMs(): number {
    // Deadlines wait until the peers have sent their filters.
    const { batches, deadlines, peers } = this.#state
    return Math.min(peers.isReady ? deadlines.findNextMs() : Infinity, batches.dueAtMs)
  }
}

function handleRare(
  state: BrokerState,
  input: Exclude<Input, { kind: 'packet' | 'peer-message' | 'plain-peer-message' }>,
): void {
  switch (input.kind) {
    case 'connection-opened':
      return openConnection(state, input.connection)
    case 'packet-part':
      return recordPartialPacket(state, input.connection, input.bytes)
    case 'protocol-fault':
      return handleFault(state, input.connection, input.error)
    case 'connection-closed':
      for (const kind of connectionDeadlines) state.deadlines.cancel(kind, input.connection)
      return handleConnectionClosed(state, input.connection)
    case 'input-ended':
    case 'input-drained':
    case 'listener-closed':
      return handleEndOfInput(state, input)
    case 'unsent-bytes':
      return handleUnsentBytes(state, input.connection, input.bytes)
    case 'authentication-result':
    case 'publish-hook-result':
    case 'queue-loaded':
    case 'message-loaded':
    case 'permission-ready':
      return handleResponse(state, input)
    case 'committed':
      return handleBatchCommitted(state, input.batch)
    case 'storage-health':
      return changeStorageHealth(state, input.isHealthy)
    case 'restore':
      for (const record of input.records) restore(state, record)
      return
    case 'restore-queue':
      return restoreQueue(state, input)
    case 'payloads-counted':
      return handlePayloadsCounted(state, input)
    case 'payloads-released':
      for (const payloadId of input.payloadIds) releasePayload(state, payloadId)
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
      return handleCommand(state, input.requestId, input.command)
    case 'memory-level':
      return startRelief(state, input)
    case 'settings':
      state.settings = input.settings
      return recountQueues(state)
    case 'client-filters':
      state.bridges.clientFilters = input.areWanted ? (state.bridges.clientFilters ?? new ClientFilters()) : undefined
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

function handleEndOfInput(
  state: BrokerState,
  { kind, connection }: Extract<Input, { kind: 'input-ended' | 'input-drained' | 'listener-closed' }>,
): void {
  if (kind === 'input-ended') return handleInputEnded(state, connection)
  if (kind === 'input-drained') return handleInputDrained(state, connection, handlePacket)
  const text = 'the listener is closed'
  endConnection(state, connection, { reason: reasonCodes.serverShuttingDown, text, publishWill: true })
}

const connectionDeadlines = ['idle-timeout', 'close-drain', 'rate', 'deliveries-rate'] as const
const noCountedTopics: ReadonlyMap<string, CountedTopic> = new Map<string, CountedTopic>()

function handleRules(
  state: Parts<'router' | 'rules'>,
  input: Extract<Input, { kind: 'rules' | 'rule-trigger' }>,
): void {
  if (input.kind === 'rules') {
    state.router.setRules(input.rules)
    state.rules.setWanted(input.triggers, input.countedTopics ?? noCountedTopics)
  } else if (state.rules.triggers.wanted[input.trigger.kind]) state.rules.triggers.add(input.trigger)
}

function openConnection(state: Parts<'deadlines' | 'nowMs' | 'settings'>, connection: Connection): void {
  connection.rateLimiter = createRateLimiter(connection.listener, state.nowMs)
  connection.sendLimits = createSendLimits(connection.listener, state.nowMs)
  state.deadlines.set('idle-timeout', connection, state.nowMs + state.settings.idleTimeoutMs)
}

function changeStorageHealth(state: BrokerState, isHealthy: boolean): void {
  state.storage.isHealthy = isHealthy
  if (isHealthy) resumeAfterStorage(state)
  else failPendingCommands(state)
}

function handleResponse(
  state: BrokerState,
  input: Extract<
    Input,
    { kind: 'authentication-result' | 'publish-hook-result' | 'queue-loaded' | 'message-loaded' | 'permission-ready' }
  >,
): void {
  const pending = state.requests.take(input.requestId)
  if (pending === undefined) return // The connection or command was closed meanwhile.
  if (input.kind === 'publish-hook-result' && pending.for === 'publish-hooks') {
    pending.entry.result = input.result
    handlePublishHookResult(state, pending.queue)
  } else if (input.kind === 'publish-hook-result' && pending.for === 'command-hooks') {
    pending.onResult(input.result)
  } else if (input.kind === 'authentication-result' && pending.for === 'connect') {
    handleAuthenticationResult(state, pending.connection, input.decision, handlePacket)
  } else if (input.kind === 'authentication-result' && pending.for === 'reauthentication') {
    handleReauthenticationResult(state, pending.connection, input.requestId, input.decision)
  } else if (input.kind === 'permission-ready' && pending.for === 'permission') {
    handleAuthorization(state, pending.connection, input.requestId)
  } else if (input.kind === 'queue-loaded' && pending.for === 'queue') {
    handleQueueLoaded(state, pending.session, { ...input, upTo: pending.upTo })
  } else if (input.kind === 'queue-loaded' && pending.for === 'oldest') {
    handleOldestLoaded(state, pending.session, input)
  } else if (input.kind === 'queue-loaded' && pending.for === 'ended-session-queue') {
    handleEndedSessionQueueRead(state, pending.queue, input)
  } else if (input.kind === 'message-loaded' && pending.for === 'will') {
    handleWillLoaded(state, pending.will, input.message)
    wakeAfterWill(state, pending.will.clientId)
  } else if (input.kind === 'message-loaded' && pending.for === 'retained') {
    handleRetainedRead(state.retained, pending.retained, input.message)
  }
}

function handleBatchCommitted(
  state: AckParts & Parts<'memory' | 'peers' | 'requests' | 'retained' | 'wills'>,
  batch: number,
): void {
  handleCommitted(state, batch)
  continueWillLoads(state, batch)
}

function handleUnsentBytes(state: DrainParts, connection: Connection, bytes: number): void {
  connection.unsentBytes = bytes
  const now = getState(connection)
  if (now.state === 'open') drainQueue(state, now.session)
}

/**
 * [MQTT-4.8.0-1] [MQTT5-4.13.1-1] The broker sends a client that violates the protocol the reason, if the version
 * allows it, and closes the connection.
 */
function handleFault(state: BrokerState, connection: Connection, error: ProtocolError): void {
  const now = getState(connection)
  if (now.state !== 'awaiting-connect') {
    // [MQTT-3.1.0-2] [MQTT5-3.1.0-2] A second CONNECT is a protocol error. DISCONNECT has no reason code for an
    // unsupported version.
    const isOfConnect = error.reason === reasonCodes.unsupportedProtocolVersion
    const reason = isOfConnect ? reasonCodes.protocolError : error.reason
    return endConnection(state, connection, { reason, text: error.message, publishWill: true })
  }
  // [MQTT-3.1.2-2] [MQTT5-3.1.2-2] For an unknown protocol version the broker sends CONNACK in the format of 3.1.1, which
  // every client knows.
  if (error.reason === reasonCodes.unsupportedProtocolVersion) {
    const code = toReturnCode(error.reason)
    return refuseConnect(state, connection, { code, reason: error.reason, clientId: '', text: error.message })
  }
  // [MQTT5-3.1.4-1] A 5.0 client gets the reason in CONNACK. Earlier versions have no code for it.
  if (connection.version === 5) {
    const code = toConnackReason(error.reason)
    return refuseConnect(state, connection, { code, reason: error.reason, clientId: '', text: error.message })
  }
  endConnection(state, connection, { reason: error.reason, text: error.message, publishWill: false })
}

function handlePayloadsCounted(
  state: RedeliverParts & Parts<'shard'>,
  input: Extract<Input, { kind: 'payloads-counted' }>,
): void {
  for (const [payloadId, references] of input.counts) {
    state.payloads.refcounts.addSwept(payloadId, references)
    state.payloads.recordIdsUsedUpTo(payloadId)
  }
  if (!input.isEnd) return
  for (const id of state.payloads.refcounts.takeUnreferenced()) deleteRecord(state.batches, { kind: 'payload', id })
  resumeHandoffs(state)
}

/** [MQTT5-3.14: 0x8B] Persistent sessions remain. */
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
