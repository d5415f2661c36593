// Messages between shards. A link delivers them in order and without loss while both ends run. If a stored shard fails, its links are opened
// again, empty: `peer-left` and `peer-joined` report it, and what was not confirmed is sent again. A local shard that has left never returns.
//
// Sessions never move: the shard of a client ID is `shardOf(clientId)`. A connection that the kernel gave to another shard is
// relayed to it byte by byte (module `links`). So the core needs no registry of client IDs and no handover.
//
//   P (publisher's shard)                    B (a subscriber's shard)              O (owner of a retained topic)
//        |<------------- interest v ---------------|
//        |-------------- interest-seen v --------->|   SUBACK waits for this from every peer
//        |-------------- publish n ---------------->|
//        |-------------- publish m (retain) --------------------------------------------->|
//        |<------------- committed n --------------|   PUBACK waits for these
//        |<------------- committed m ------------------------------------------------------|
//                                                  |-- retained-request after {P: m} ------>|
//                                                  |<- retained-response -------------------|
//
// Both ends of a link count the numbered messages (publish, release) in each direction since the link was opened, from 1;
// the number itself is not sent. `committed upTo n`: the changes of the first n of them are durable, or need no write.
//
// A `PeerNumber` has a meaning only in one core. On a link, each of them is a name (`peer-names.ts`).

import type { PacketId, QoS, ReasonCode, TopicFilter } from '../../protocol/index.ts'
import type { RemainingReceivers } from '../../records/index.ts'
import type { Message } from '../messages/message.ts'
import { toClientId } from '../namespaces/internal-session-names.ts'
import type { PeerNames, PeerNumber } from './peer-names.ts'

/** A shard, and a number of messages. */
export interface PeerCount {
  readonly peer: PeerNumber
  readonly count: number
}

/** The interest of a shard in one filter, for all its sessions. Replaces the earlier interest in the filter. */
export interface Interest {
  /** `$share/group/filter` is a filter of its own. */
  readonly filter: TopicFilter
  /** For a shared filter: number of members with a connected client. If this and `storedMembers` are 0, there is no member. */
  readonly members: number
  /**
   * Members that are persistent sessions. Their messages with QoS 1 or 2 are acknowledged when they are durable there.
   */
  readonly storedMembers: number
  /** Highest QoS granted to a persistent member. */
  readonly storedQoS: QoS
  /** Highest QoS of all members. */
  readonly qos: QoS
  /**
   * The queue of a persistent session is full: QoS 1 and 2 messages for it must be refused. For a shared filter: the queues of all members
   * are full.
   */
  readonly isFull: boolean
}

export interface PeerPublish {
  readonly kind: 'publish'
  readonly message: Message
  /** For the non-shared subscribers of the shard. */
  readonly hasSubscribers: boolean
  /** The receiver owns the topic and stores the retained message; an empty payload deletes it. */
  readonly isRetained: boolean
  /** Shared filters (`$share/...`) for each of which the receiver chooses one member. */
  readonly groups: readonly TopicFilter[] | undefined
  /** Shards that had no member for it any more and passed it on, in order. It is not sent to them again. */
  readonly tried?: readonly PeerNumber[] | undefined
  /** The sender waits for `committed`. */
  readonly isAwaited: boolean
  /** The message was sent on a link that failed. The receiver may have processed it before the failure. */
  readonly isRepeat?: boolean | undefined
  /**
   * A QoS 2 message that must not be delivered twice after any failure: the publisher with its packet identifier, or a
   * unique name of the message. The receiver stores the pair with the message, and ignores messages with a known pair
   * until `release`.
   */
  readonly exactlyOnce: { readonly publisher: string; readonly packetId: PacketId } | undefined
  /** Only these subscribers need the message; undefined: all. */
  readonly remaining?: RemainingReceivers | undefined
}

/**
 * PUBREL arrived, or the message will not be sent again: the pair of `exactlyOnce` is deleted. Numbered and awaited,
 * because the packet identifier is free only after that.
 */
export interface PeerRelease {
  readonly kind: 'release'
  readonly publisher: string
  readonly packetId: PacketId
}

export interface PeerInterest {
  readonly kind: 'interest'
  /** Grows by one. */
  readonly version: number
  /** The first message of a link: all earlier interest is deleted. */
  readonly isFirst: boolean
  /** All interest that existed when the link was opened has been sent with this message. */
  readonly isComplete: boolean
  readonly changes: readonly Interest[]
}

export interface PeerInterestSeen {
  readonly kind: 'interest-seen'
  readonly version: number
  /**
   * Numbered messages that the sender had sent to each stored shard when it applied the interest. Only stored shards have retained messages.
   * A shard without an entry: none.
   */
  readonly sent: readonly PeerCount[]
}

export interface PeerCommitted {
  readonly kind: 'committed'
  readonly upTo: number
  /** Messages in this range that were refused, and why (0x97: a persistent session is full). */
  readonly refused: readonly { readonly number: number; readonly reason: ReasonCode }[] | undefined
  /**
   * Messages up to `upTo` that are not durable yet: they were passed on and wait for another shard. Undefined if there
   * are none.
   */
  readonly uncommitted: readonly number[] | undefined
}

/** A session subscribed: requests the matching retained messages of the receiver, one slice at a time. */
export interface PeerRetainedRequest {
  readonly kind: 'retained-request'
  /** Chosen by the requesting shard; unique for the link. */
  readonly requestId: number
  /** Undefined: requests the next slice of an earlier request. */
  readonly filter: TopicFilter | undefined
  /** The receiver responds only after it handled this number of messages of each shard. A shard without an entry: none. */
  readonly after: readonly PeerCount[]
  readonly limit: number
}

export interface PeerRetainedResponse {
  readonly kind: 'retained-response'
  readonly requestId: number
  readonly messages: readonly Message[]
  readonly isEnd: boolean
}

/**
 * Numbers that the sender has reported for the stored shard `of` are void, because its link to that shard has ended: see `PeerInterestSeen`. Later
 * reports are valid for the next link.
 */
export interface PeerNumbersVoid {
  readonly kind: 'numbers-void'
  readonly of: PeerNumber
}

/** The rest of the request is no longer needed. */
export interface PeerRetainedCancelled {
  readonly kind: 'retained-cancelled'
  readonly requestId: number
}

/** `$exclusive/topic` is held by one session of the node at a time. The owner shard of the topic has the registry. */
export interface PeerExclusive {
  readonly kind: 'exclusive-request' | 'exclusive-released'
  readonly requestId: number
  readonly filter: TopicFilter
  readonly clientId: string
}

export interface PeerExclusiveResponse {
  readonly kind: 'exclusive-response'
  readonly requestId: number
  readonly isGranted: boolean
}

/**
 * Queries the shard of the publishing session (`shardOf` its client ID) whether it released the packet identifier. If so,
 * or if the session ended, it sends `release`. Otherwise it sends nothing: the identifier stays known here as long as
 * the session uses it.
 */
export interface PeerReleaseRequest {
  readonly kind: 'release-request'
  readonly publisher: string
  readonly packetId: PacketId
}

export type PeerMessage =
  | PeerPublish
  | PeerReleaseRequest
  | PeerRelease
  | PeerInterest
  | PeerInterestSeen
  | PeerCommitted
  | PeerRetainedRequest
  | PeerRetainedResponse
  | PeerRetainedCancelled
  | PeerNumbersVoid
  | PeerExclusive
  | PeerExclusiveResponse

/** Returns the simplest form of a message: for non-shared subscribers, without a confirmation. */
export function createPlainPublish(message: Message): PeerPublish {
  return {
    kind: 'publish',
    message,
    hasSubscribers: true,
    isRetained: false,
    groups: undefined,
    tried: undefined,
    isAwaited: false,
    exactlyOnce: undefined,
    isRepeat: undefined,
  }
}

/** Passed to the link in this order, within the turn: the bytes may be in chunks that are used again. */
export interface PeerSend {
  readonly to: PeerNumber
  readonly message: PeerMessage
}

/** The place of a core among the shards. */
export interface ShardPlace {
  /**
   * Number of this core's shard. That of a local shard is from 256 on (`names`): it owns no topic, no client ID and no exclusive filter, serves
   * sessions that are not stored, and writes nothing.
   */
  readonly own: PeerNumber
  /** Number of stored shards, which own everything that is distributed by a hash. */
  readonly count: number
  /** Names of local shards, which join and leave: in a cluster. Undefined: there are none; with a `count` of 1, there are no peers. */
  readonly names?: PeerNames | undefined
  /**
   * Local shards that run when this core starts. It is ready only when they have joined or left: they may hold exclusive filters and have
   * subscribers.
   */
  readonly running?: readonly PeerNumber[] | undefined
}

/**
 * Returns the shard of a client ID: the place of its session, whichever shard accepts the connection. Records under
 * reserved names follow the same rule, also after `node.shards` has changed.
 */
export function computeOwnerShard(clientId: string, shards: number): PeerNumber {
  return shards === 1 ? 0 : hashForShard(toClientId(clientId)) % shards
}

/** Returns the shard that stores the retained message of a topic. */
export function computeTopicShard(topic: string, shards: number): PeerNumber {
  return shards === 1 ? 0 : hashForShard(topic) % shards
}

/** FNV-1a over UTF-16 code units: distributes IDs that differ in the last digit, and never changes. */
function hashForShard(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  // The lowest bits of FNV are the weakest, so they are mixed with the highest before the division.
  return (hash ^ (hash >>> 15)) >>> 0
}
