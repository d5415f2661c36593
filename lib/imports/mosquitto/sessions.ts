// Persistent sessions of mosquitto as records of this broker, with their subscriptions and queues.
//
//   for the client   not sent                    queued
//                    sent, QoS 1                 queued, below `sentBelow`: sent again with DUP
//                    sent, QoS 2                 queued, with the packet identifier that the client knows
//                    PUBREC received             only the packet identifier: PUBREL must be sent
//   from the client  PUBREC sent, no PUBREL yet  the packet identifier, so that a repeat is not published again; mosquitto publishes
//                                                at PUBREL, so the message goes to the sessions of the file that match
//                    any other                   nothing: the client sends it again

import {
  removeFilterPrefix,
  matchesFilter,
  parseTopicFilter,
  type QoS,
  splitExclusiveFilter,
  splitSharedFilter,
} from '../../../src/protocol/index.ts'
import { isInternalClient } from '../../../src/core/index.ts'
import type {
  IncomingRecord,
  OutgoingRecord,
  QueuedRecord,
  SessionRecord,
  StoredMessage,
  SubscriptionRecord,
} from '../../../src/records/index.ts'
import { InvalidArchive } from '../../../src/archives/index.ts'
import {
  type ClientChunk,
  messageStates,
  neverExpires,
  type QueuedChunk,
  type SubscriptionChunk,
} from './database-chunks.ts'
import type { SkippedItems } from './skipped-items.ts'

/** A session with everything that belongs to it. */
export interface ImportedSession {
  readonly session: SessionRecord
  readonly subscriptions: readonly SubscriptionRecord[]
  readonly queued: readonly QueuedRecord[]
  readonly outgoing: readonly OutgoingRecord[]
  readonly incoming: readonly IncomingRecord[]
}

/** The part of the configuration that concerns sessions. */
export interface SessionSource {
  /** By port of the listener. */
  readonly mountpoints: ReadonlyMap<number, string>
  /** A user name was proved by a password, a certificate or a key: only this user may have the session. */
  readonly verifiesUsernames: boolean
  /** Whether the client ID is one of a bridge of mosquitto, which does not connect to this broker. */
  readonly isBridge: (clientId: string) => boolean
}

/** Maximum bytes of all queues together. A message that is in several queues is written for each. */
const maxQueuedBytes = 4_294_967_296
/** Maximum number of comparisons of unpublished messages with subscriptions. */
const maxComparisons = 50_000_000
/** [MQTT5-3.8.2.1.2] */
const maxIdentifier = 268_435_455
const maxReceiveMaximum = 65_535

interface Draft {
  readonly session: SessionRecord
  readonly subscriptions: Map<string, SubscriptionRecord>
  readonly queued: QueuedRecord[]
  readonly outgoing: Map<number, OutgoingRecord>
  readonly incoming: Map<number, IncomingRecord>
  nextSequence: number
}

/** Collects sessions. Clients are added first, then subscriptions, then messages in their order. */
export class SessionDrafts {
  readonly #source: SessionSource
  readonly #nowMs: number
  readonly #skippedItems: SkippedItems
  readonly #drafts = new Map<string, Draft>()
  readonly #unreleased: StoredMessage[] = []
  #queuedBytes = 0

  constructor(
    source: SessionSource,
    { nowMs, skippedItems }: { readonly nowMs: number; readonly skippedItems: SkippedItems },
  ) {
    this.#source = source
    this.#nowMs = nowMs
    this.#skippedItems = skippedItems
  }

  addClient(chunk: ClientChunk): void {
    const problem = this.#findProblem(chunk)
    if (problem !== undefined) return this.#skippedItems.add(problem, chunk.clientId)
    this.#drafts.set(chunk.clientId, {
      session: this.#toSession(chunk),
      subscriptions: new Map(),
      queued: [],
      outgoing: new Map(),
      incoming: new Map(),
      nextSequence: 1,
    })
  }

  addSubscription(chunk: SubscriptionChunk): void {
    const { clientId, filter, qos, noLocal, retainAsPublished, identifier } = chunk
    const draft = this.#drafts.get(clientId)
    if (draft === undefined) return
    const parsed = parseTopicFilter(filter)
    // mosquitto has no exclusive subscriptions: `$exclusive/...` is a plain topic there.
    if (parsed === undefined || splitExclusiveFilter(parsed) !== undefined)
      return this.#skippedItems.add('subscriptions have no valid filter', filter)
    draft.subscriptions.set(parsed, {
      kind: 'subscription',
      clientId,
      filter: parsed,
      qos: qos as QoS,
      noLocal,
      retainAsPublished,
      retainHandling: 0,
      identifier: isIdentifier(identifier) ? identifier : undefined,
    })
  }

  addMessage(chunk: QueuedChunk, message: StoredMessage): void {
    const draft = this.#drafts.get(chunk.clientId)
    if (draft === undefined) return
    if (!chunk.isForClient) return this.#addIncoming(draft, chunk, message)
    if (chunk.qos === 0)
      return this.#skippedItems.add(
        'queued messages have QoS 0, which this broker does not store for disconnected clients',
        chunk.clientId,
      )
    const { state, packetId } = chunk
    const isKnownId = packetId > 0 && !draft.outgoing.has(packetId)
    if (isKnownId && (state === messageStates.waitsForPubcomp || state === messageStates.resendsPubrel)) {
      const sequence = draft.nextSequence++
      draft.outgoing.set(packetId, toOutgoingRecord(draft, { packetId, sequence, stage: 'received' }))
      return
    }
    const { sequence } = this.#enqueue(draft, message, {
      qos: chunk.qos as 1 | 2,
      retain: chunk.retain,
      subscriptionIdentifiers: chunk.subscriptionIdentifiers,
      sharedFilter: undefined,
    })
    if (isKnownId && state === messageStates.waitsForPubrec)
      draft.outgoing.set(packetId, toOutgoingRecord(draft, { packetId, sequence, stage: 'sent' }))
    if (state === messageStates.waitsForPuback || chunk.wasSent) draft.session.sentBelow = sequence + 1
  }

  /**
   * Queues the QoS 2 messages that mosquitto had accepted but not published for the matching sessions, and returns these
   * messages. Called once, after everything was added.
   */
  deliverUnreleased(): readonly StoredMessage[] {
    let subscriptions = 0
    for (const draft of this.#drafts.values()) subscriptions += draft.subscriptions.size
    if (this.#unreleased.length * subscriptions > maxComparisons)
      throw new InvalidArchive(
        `it has ${this.#unreleased.length} messages of QoS 2 that were not published yet: let their publishers connect first`,
      )
    const taken = new Set<string>()
    for (const message of this.#unreleased) {
      taken.clear()
      for (const draft of this.#drafts.values()) this.#deliver(draft, message, taken)
    }
    return this.#unreleased
  }

  listSessions(): ImportedSession[] {
    return [...this.#drafts.values()].map(({ session, subscriptions, queued, outgoing: sent, incoming }) => ({
      session,
      subscriptions: [...subscriptions.values()],
      queued,
      outgoing: [...sent.values()],
      incoming: [...incoming.values()],
    }))
  }

  #findProblem({ clientId, expirySeconds, expiresAtSeconds }: ClientChunk): string | undefined {
    if (clientId === '' || clientId.includes('\0') || isInternalClient(clientId))
      return 'sessions have client IDs that no client can have here'
    if (this.#source.isBridge(clientId)) return 'sessions are of bridges of mosquitto'
    if (expirySeconds === 0) return 'sessions ended with their connection'
    const hasExpired = expiresAtSeconds !== undefined && expiresAtSeconds * 1_000 <= this.#nowMs
    return hasExpired ? 'sessions have expired' : undefined
  }

  #toSession(chunk: ClientChunk): SessionRecord {
    const { clientId, username, port, expirySeconds, expiresAtSeconds, disconnectedAtSeconds } = chunk
    const since =
      disconnectedAtSeconds ?? (expiresAtSeconds === undefined ? undefined : expiresAtSeconds - expirySeconds)
    const isBound = username !== '' && this.#source.verifiesUsernames
    return {
      kind: 'session',
      clientId,
      version: expirySeconds === neverExpires ? 4 : 5,
      username: username === '' ? undefined : username,
      isSuperuser: false,
      principal: isBound ? `user:${username}` : undefined,
      mountpoint: this.#source.mountpoints.get(port) ?? '',
      createdAtMs: this.#nowMs,
      expirySeconds,
      disconnectedAtMs: since === undefined || since <= 0 ? this.#nowMs : Math.min(this.#nowMs, since * 1_000),
      queueHead: 1,
      sentBelow: 1,
      receiveMaximum: maxReceiveMaximum,
    }
  }

  #addIncoming(draft: Draft, { packetId, qos, state, clientId }: QueuedChunk, message: StoredMessage): void {
    if (qos !== 2 || state !== messageStates.waitsForPubrel || packetId === 0 || draft.incoming.has(packetId)) return
    draft.incoming.set(packetId, { kind: 'incoming', clientId, packetId: packetId, assignments: undefined })
    this.#unreleased.push({ ...message, publisher: clientId })
  }

  /** `taken`: shared subscriptions of which a member already has the message. */
  #deliver(draft: Draft, message: StoredMessage, taken: Set<string>): void {
    const plain: SubscriptionRecord[] = []
    for (const subscription of draft.subscriptions.values()) {
      const filter = parseTopicFilter(subscription.filter)
      if (filter === undefined || !matchesFilter(removeFilterPrefix(filter), message.topic)) continue
      const isShared = splitSharedFilter(filter) !== undefined
      if (!isShared && !(subscription.noLocal && message.publisher === draft.session.clientId)) plain.push(subscription)
      if (!isShared || taken.has(filter)) continue
      taken.add(filter)
      this.#enqueueFor(draft, message, [subscription], filter)
    }
    if (plain.length > 0) this.#enqueueFor(draft, message, plain, undefined)
  }

  #enqueueFor(
    draft: Draft,
    message: StoredMessage,
    subscriptions: readonly SubscriptionRecord[],
    sharedFilter: string | undefined,
  ): void {
    const qos = Math.min(message.qos, Math.max(...subscriptions.map((subscription) => subscription.qos)))
    if (qos === 0) return
    const identifiers = subscriptions.flatMap(({ identifier }) => identifier ?? [])
    const retain = message.retain && subscriptions.some(({ retainAsPublished }) => retainAsPublished)
    this.#enqueue(draft, message, { qos: qos as 1 | 2, retain, subscriptionIdentifiers: identifiers, sharedFilter })
  }

  #enqueue(
    draft: Draft,
    message: StoredMessage,
    options: Pick<QueuedRecord, 'qos' | 'retain' | 'sharedFilter'> & {
      readonly subscriptionIdentifiers: readonly number[]
    },
  ): QueuedRecord {
    const identifiers = options.subscriptionIdentifiers.filter(isIdentifier)
    this.#queuedBytes += message.payload.length + message.topic.length
    if (this.#queuedBytes > maxQueuedBytes)
      throw new InvalidArchive(
        `its queues have more than ${maxQueuedBytes} bytes: let clients take what waits for them first`,
      )
    const record: QueuedRecord = {
      kind: 'queued',
      clientId: draft.session.clientId,
      sequence: draft.nextSequence++,
      qos: options.qos,
      retain: options.retain,
      subscriptionIdentifiers: identifiers.length === 0 ? undefined : identifiers,
      sharedFilter: options.sharedFilter,
      message,
    }
    draft.queued.push(record)
    return record
  }
}

const isIdentifier = (number: number): boolean => number > 0 && number <= maxIdentifier

function toOutgoingRecord(
  { session: { clientId } }: Draft,
  {
    packetId,
    sequence,
    stage,
  }: { readonly packetId: number; readonly sequence: number; readonly stage: 'sent' | 'received' },
): OutgoingRecord {
  return { kind: 'outgoing', clientId, packetId: packetId, sequence, stage }
}
