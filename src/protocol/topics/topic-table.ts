// Interns topics: the same bytes yield the same object, so that no string is created for a message.
//
//   bytes --hash--> slot, slot + 1, slot + 1 + 2, ... --compare bytes--> Topic { name, bytes, route }
//                   \_ at most `maxProbes` of them _/
//
//   young [half of the capacity]  <- new topics, and old topics that are looked up again
//   old   [half of the capacity]  <- the former young one; forgotten when the young one is full
//
// The table is bounded, in topics and in the bytes of their names. A forgotten topic that is still referred to stays valid; the next message to it
// makes a new object. Probes are bounded too: topics with equal hashes, including those that an attacker
// chose, replace each other and cost as much as unknown topics.

import { ProtocolError } from '../reasons/protocol-error.ts'
import { copyBytes } from '../bytes/copy-bytes.ts'
import { decodeText } from '../bytes/text.ts'
import { countLevels, delayedTopicPrefix, parseTopicName, type TopicName } from './topic-names.ts'

/** Data of a router about a topic, stored with the topic so that no look-up is needed. This module does not use it. */
export interface TopicRoute {
  readonly isTopicRoute: true
}

export class Topic {
  readonly name: TopicName
  /** The name in UTF-8, without its length. A copy, so that the received chunk can be freed. */
  readonly bytes: Buffer
  readonly levels: number
  /** The name begins with `$delayed/`. Stored, so that it is not computed for each message. */
  readonly isDelayed: boolean
  /** The router's slot, see `TopicRoute`. */
  route: TopicRoute | undefined

  constructor(name: TopicName, bytes: Buffer) {
    this.name = name
    this.bytes = bytes
    this.levels = countLevels(name)
    this.isDelayed = name.startsWith(delayedTopicPrefix)
    this.route = undefined
  }
}

const maxProbes = 32
const minSlots = 64

/** Bytes of names per topic of the capacity: with long names a table is full before it has that many topics. */
const nameBytesPerTopic = 256

export class TopicTable {
  private readonly generationCapacity: number
  private young: TopicSlots
  private old: TopicSlots
  /** The last topic that `named` returned. Results of rules have few topics. */
  private lastNamed: Topic | undefined = undefined

  /** `capacity`: maximum number of topics. Their names have at most 256 times as many bytes. */
  constructor(capacity: number) {
    this.generationCapacity = Math.max(1, capacity >> 1)
    this.young = new TopicSlots()
    this.old = new TopicSlots()
  }

  /**
   * Returns the topic whose name is `bytes[start, end)`. Throws `malformedPacket` if it is not a topic name: empty, invalid
   * UTF-8, U+0000, wildcards. Names in the table are not checked again.
   */
  intern(bytes: Buffer, start: number, end: number): Topic {
    const hash = hashBytes(bytes, start, end)
    return this.young.find(hash, bytes, start, end) ?? this.remember(hash, bytes, start, end)
  }

  /** Returns the topic of a valid name. */
  internName(name: TopicName): Topic {
    if (this.lastNamed !== undefined && this.lastNamed.name === name) return this.lastNamed
    const bytes = Buffer.from(name)
    const hash = hashBytes(bytes, 0, bytes.length)
    const known = this.young.find(hash, bytes, 0, bytes.length) ?? this.old.find(hash, bytes, 0, bytes.length)
    this.lastNamed = this.addTopic(hash, known ?? new Topic(name, copyBytes(bytes, 0, bytes.length)))
    return this.lastNamed
  }

  /** Number of topics in the table, and of bytes of their names. */
  get size(): { readonly topics: number; readonly nameBytes: number } {
    const { young, old } = this
    return { topics: young.count + old.count, nameBytes: young.nameBytes + old.nameBytes }
  }

  /** Forgets all topics: each is created again when it is needed. */
  forget(): void {
    this.lastNamed = undefined
    this.young = new TopicSlots()
    this.old = new TopicSlots()
  }

  private remember(hash: number, bytes: Buffer, start: number, end: number): Topic {
    const known = this.old.find(hash, bytes, start, end)
    return this.addTopic(hash, known ?? readTopic(bytes, start, end))
  }

  private addTopic(hash: number, topic: Topic): Topic {
    const { count, nameBytes } = this.young
    if (count >= this.generationCapacity || nameBytes >= this.generationCapacity * nameBytesPerTopic) {
      this.old = this.young
      this.young = new TopicSlots()
    }
    this.young.put(hash, topic)
    return topic
  }
}

/** One generation: open addressing, at most half full, with a bounded probe. */
class TopicSlots {
  count = 0
  nameBytes = 0
  private hashes = new Int32Array(minSlots)
  private topics: (Topic | undefined)[] = createEmptySlots(minSlots)

  find(hash: number, bytes: Buffer, start: number, end: number): Topic | undefined {
    const mask = this.hashes.length - 1
    let slot = hash & mask
    for (let probe = 1; probe <= maxProbes; probe++) {
      const topic = this.topics[slot]
      if (topic === undefined) return undefined
      if (this.hashes[slot] === hash && equalsBytes(topic.bytes, bytes, start, end)) return topic
      slot = (slot + probe) & mask
    }
    return undefined
  }

  /** Stores the topic in the first free slot of the probe, or replaces the same topic, or the topic in the first slot. */
  put(hash: number, topic: Topic): void {
    if (this.count * 2 >= this.hashes.length) this.grow()
    const place = this.findSlot(hash, topic)
    const replaced = this.topics[place]
    if (replaced === undefined) this.count++
    this.nameBytes += topic.bytes.length - (replaced?.bytes.length ?? 0)
    this.hashes[place] = hash
    this.topics[place] = topic
  }

  private findSlot(hash: number, topic: Topic): number {
    const mask = this.hashes.length - 1
    let slot = hash & mask
    for (let probe = 1; probe <= maxProbes; probe++) {
      const present = this.topics[slot]
      if (present === undefined || present === topic) return slot
      slot = (slot + probe) & mask
    }
    return hash & mask
  }

  private grow(): void {
    const { hashes, topics } = this
    this.count = 0
    this.nameBytes = 0
    this.hashes = new Int32Array(hashes.length * 2)
    this.topics = createEmptySlots(topics.length * 2)
    for (const [slot, topic] of topics.entries()) {
      if (topic !== undefined) this.put(hashes[slot], topic)
    }
  }
}

function createEmptySlots(length: number): (Topic | undefined)[] {
  return Array.from<Topic | undefined>({ length }).fill(undefined)
}

/** FNV-1a with a final mix, so that the low bits depend on all bits. */
function hashBytes(bytes: Buffer, start: number, end: number): number {
  let hash = 0x811c9dc5 | 0
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at], 0x01000193)
  return hash ^ (hash >>> 15)
}

/** Returns whether `bytes[start, end)` is the name of `known`. */
export function equalsBytes(known: Buffer, bytes: Buffer, start: number, end: number): boolean {
  const length = end - start
  if (known.length !== length) return false
  for (let index = 0; index < length; index++) {
    if (known[index] !== bytes[start + index]) return false
  }
  return true
}

/** Creates a topic without adding it to the table. Throws the errors of `TopicTable.intern`. */
export function readTopic(bytes: Buffer, start: number, end: number): Topic {
  const name = checkTopicName(decodeText(bytes, start, end, 'topic name'))
  return new Topic(name, copyBytes(bytes, start, end))
}

/** [MQTT-3.3.2-2] [MQTT5-3.3.2-2] [MQTT-4.7.3-1] Throws `malformedPacket` if the bytes are not a topic name. */
export function checkTopicName(text: string): TopicName {
  const name = parseTopicName(text)
  if (name !== undefined) return name
  throw new ProtocolError('malformedPacket', `the topic name ${text === '' ? 'is empty' : 'has wildcards'}`)
}

/** Throws `topicNameInvalid` for a valid name that has more bytes than the limit. */
export function checkTopicBytes(bytes: number, maxTopicBytes: number): void {
  if (bytes <= maxTopicBytes) return
  throw new ProtocolError('topicNameInvalid', `the topic name has more than ${maxTopicBytes} bytes`)
}

/** Throws `topicNameInvalid` for a valid name that has more levels than the limit. */
export function checkTopicLevels(levels: number, maxTopicLevels: number): void {
  if (levels <= maxTopicLevels) return
  throw new ProtocolError('topicNameInvalid', `the topic name has more than ${maxTopicLevels} levels`)
}
