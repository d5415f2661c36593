// What the shards of one node say to each other. A link carries these in order, loses nothing while both ends live, and
// is made anew, empty, when either end has died: `peer-joined` and `peer-left` say so.
//
// Sessions never move: the shard of a client id is `shardOf(clientId)`, and a connection that the kernel dealt to another
// shard is relayed to it byte by byte (room `links`). So the core needs no register of client ids and no hand-over.
//
//   P (publisher's shard)                    B (a subscriber's shard)              O (owner of a retained topic)
//        |<------------- interest v ---------------|
//        |-------------- interest-seen v --------->|   SUBACK waits for this from every peer
//        |-------------- publish n ---------------->|
//        |-------------- publish m (retain) --------------------------------------------->|
//        |<------------- committed n --------------|   PUBACK waits for these
//        |<------------- committed m ------------------------------------------------------|
//                                                  |-- retained-wanted after {P: m} ------->|
//                                                  |<- retained-found ----------------------|
//
// Both ends of a link count the numbered messages (publish, release) that went each way since the link was made, from 1:
// the number itself does not travel. `committed upTo n`: what the first n of them brought is on disk, or needs no disk.

import type { PacketId, QoS, ReasonCode, TopicFilter } from '../../protocol/index.ts'
import type { Message } from './message.ts'
import { clientIdIn } from '../namespaces/internal-session-names.ts'

/** Shards of one node by number, from 0. */
export type PeerNumber = number

/** What the sessions of a shard want of one filter, all together. Replaces what was said of the filter before. */
export interface Interest {
  /** `$share/group/filter` is a filter of its own. */
  readonly filter: TopicFilter
  /** Of a shared filter: members whose client is there. Nobody is left where this and `storedMembers` are 0. */
  readonly members: number
  /** Members that are stored sessions: what they are to have at QoS 1 or 2 is acknowledged when it is on disk there. */
  readonly storedMembers: number
  /** The highest QoS that a stored member was granted. */
  readonly storedQoS: QoS
  /** The highest QoS of all. */
  readonly qos: QoS
  /** One of the stored sessions holds as many messages as it may: QoS 1 and 2 for it are to be refused. Not of shared filters. */
  readonly isFull: boolean
}

export interface PeerPublish {
  readonly kind: 'publish'
  readonly message: Message
  /** To the plain subscribers of the shard. */
  readonly hasSubscribers: boolean
  /** Into the memory of its topic, whose owner the receiver is; an empty payload empties it. */
  readonly isRetained: boolean
  /** Shared filters (`$share/...`) of which the receiver is to give it to one member each. */
  readonly groups: readonly TopicFilter[] | undefined
  /** Shards that found no member for it any more and passed it on, in that order: it does not come back to them. */
  readonly tried?: readonly PeerNumber[] | undefined
  /** The sender waits for `committed`. */
  readonly isAwaited: boolean
  /** It was sent on a link that broke: the receiver may have passed it on before it died. */
  readonly isRepeat?: boolean | undefined
  /**
   * QoS 2 that must not come twice whatever dies: the publisher and its packet id, or a name for this message alone. The receiver stores the pair with what the
   * message brings, and passes over a message whose pair it has, until `release`.
   */
  readonly exactlyOnce: { readonly publisher: string; readonly packetId: PacketId } | undefined
}

/** PUBREL has come, or nobody sends it again: the pair of an `exactlyOnce` is forgotten. Numbered and awaited: the id is free when it is gone. */
export interface PeerRelease {
  readonly kind: 'release'
  readonly publisher: string
  readonly packetId: PacketId
}

export interface PeerInterest {
  readonly kind: 'interest'
  /** Grows by one. */
  readonly version: number
  /** Everything that was said before is forgotten first: the first of a link. */
  readonly isFirst: boolean
  /** All that there was when the link was made has been said with this. */
  readonly isComplete: boolean
  readonly changes: readonly Interest[]
}

export interface PeerInterestSeen {
  readonly kind: 'interest-seen'
  readonly version: number
  /** How many numbered messages the sender had sent to each shard when it took the interest in, by shard number. */
  readonly sent: readonly number[]
}

export interface PeerCommitted {
  readonly kind: 'committed'
  readonly upTo: number
  /** Among those that this answers, what was not taken, and why (0x97: a stored session is full). */
  readonly refused: readonly { readonly number: number; readonly reason: ReasonCode }[] | undefined
  /** Not safe yet though they are not above `upTo`, all of them: they were passed on, and wait for another shard. Undefined: none. */
  readonly uncommitted: readonly number[] | undefined
}

/** A session has subscribed: the receiver's retained topics that match, a slice at a time. */
export interface PeerRetainedRequest {
  readonly kind: 'retained-wanted'
  /** Chosen by the asker, not used twice in the life of a link. */
  readonly question: number
  /** Undefined: the next slice of a question that was asked before. */
  readonly filter: TopicFilter | undefined
  /** Answer only when so many numbered messages of each shard have been taken in, by shard number. */
  readonly after: readonly number[]
  readonly limit: number
}

export interface PeerRetainedResponse {
  readonly kind: 'retained-found'
  readonly question: number
  readonly messages: readonly Message[]
  readonly isEnd: boolean
}

/** Nobody waits for the rest of it any more. */
export interface PeerRetainedCancelled {
  readonly kind: 'retained-cancelled'
  readonly question: number
}

/** `$exclusive/topic` is held by one session of the node at a time; the owner of the topic keeps the book. */
export interface PeerExclusive {
  readonly kind: 'exclusive-wanted' | 'exclusive-given-back'
  readonly question: number
  readonly filter: TopicFilter
  readonly clientId: string
}

export interface PeerExclusiveResponse {
  readonly kind: 'exclusive-verdict'
  readonly question: number
  readonly isGranted: boolean
}

/**
 * Has the session that published this, to be found by `shardOf` its client ID, released the packet identifier? If so, or if
 * it is gone, `release` is sent. Otherwise nothing is: the identifier stays known here as long as the session has it.
 */
export interface PeerReleaseRequest {
  readonly kind: 'release-wanted'
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
  | PeerExclusive
  | PeerExclusiveResponse

/** As little as can be wanted of a message: it goes to the plain subscribers there, and nobody waits for it. */
export function plainPublish(message: Message): PeerPublish {
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

/** To be handed to the link in this order, within the turn: messages in it may lie in chunks that are used again. */
export interface PeerSend {
  readonly to: PeerNumber
  readonly message: PeerMessage
}

/** Which shards there are and which of them this core is. */
export interface ShardPlace {
  readonly own: PeerNumber
  /** 1: there are no peers. */
  readonly count: number
}

/**
 * The shard of a client id: where its session is, wherever its connection came in. What is stored under a name that was reserved
 * for a client belongs there as well, also after `node.shards` has changed.
 */
export function shardOf(clientId: string, shards: number): PeerNumber {
  return shards === 1 ? 0 : hashOf(clientIdIn(clientId)) % shards
}

/** The shard that keeps the retained message of a topic. */
export function ownerOf(topic: string, shards: number): PeerNumber {
  return shards === 1 ? 0 : hashOf(topic) % shards
}

/** FNV-1a over UTF-16 code units: spreads ids that differ in their last digit, and is the same in every life. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  // The lowest bits of FNV are its worst: they are mixed with the highest before anybody divides.
  return (hash ^ (hash >>> 15)) >>> 0
}
