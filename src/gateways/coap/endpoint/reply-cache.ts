// Cache of replies to requests, which devices may repeat [RFC 7252 4.5]. It is a ring: entries are removed in the order of their requests.
//
//   oldest -> ... -> newest          each: peer, message ID, expiry time, reply
//   peer, message ID -> position     the key is a number, because each peer has a number
//
// A busy gateway adds thousands of entries per second, so entries are not objects. One object per entry, with a text as its key, took
// half of the CPU time of a publication, mostly for garbage collection.

/** Maximum stored replies; the oldest are dropped first. */
const maxReplies = 65_536
const maxTotalBytes = 16_777_216
const messageIdBits = 16

/** The bytes of the reply, or only its code if it has no options and no payload. Undefined: the request has no reply yet. */
export type CachedReply = Buffer | number | undefined

/** The bytes of a reply are stored as a text. A buffer is an object of 104 bytes, and may keep the pool of which it is a part in memory. */
type StoredReply = string | number | undefined

interface KnownPeer {
  readonly key: string
  readonly number: number
  /** Number of entries for requests of the peer. */
  replies: number
}

export class ReplyCache {
  readonly #places = new Map<number, number>()
  readonly #keys = new Int32Array(maxReplies)
  readonly #expiresAtMs = new Float64Array(maxReplies)
  readonly #peerAt: (KnownPeer | undefined)[] = []
  readonly #replyAt: StoredReply[] = []
  readonly #peers = new Map<string, KnownPeer>()
  readonly #freeNumbers: number[] = []
  #oldest = 0
  #count = 0
  #bytes = 0

  /** Returns the reply to a repeated request. `'new'`: the request is not a repetition; it now has an entry. */
  begin(
    peer: string,
    messageId: number,
    { nowMs, lifetimeMs }: { nowMs: number; lifetimeMs: number },
  ): CachedReply | 'new' {
    const known = this.#peers.get(peer)
    const place = known === undefined ? undefined : this.#places.get(toReplyKey(known, messageId))
    if (place !== undefined && (this.#expiresAtMs[place] ?? 0) > nowMs) return toCachedReply(this.#replyAt[place])
    this.#removeExpired(nowMs)
    this.#add(this.#ensurePeer(peer), messageId, nowMs + lifetimeMs)
    return 'new'
  }

  setReply(peer: string, messageId: number, reply: Buffer | number): void {
    const known = this.#peers.get(peer)
    const place = known === undefined ? undefined : this.#places.get(toReplyKey(known, messageId))
    if (place === undefined) return
    const stored = typeof reply === 'number' ? reply : reply.toString('latin1')
    this.#bytes += countBytes(stored) - countBytes(this.#replyAt[place])
    this.#replyAt[place] = stored
  }

  #add(peer: KnownPeer, messageId: number, expiresAtMs: number): void {
    const place = (this.#oldest + this.#count++) % maxReplies
    const key = toReplyKey(peer, messageId)
    peer.replies++
    this.#places.set(key, place)
    this.#keys[place] = key
    this.#expiresAtMs[place] = expiresAtMs
    this.#peerAt[place] = peer
    this.#replyAt[place] = undefined
  }

  #removeExpired(nowMs: number): void {
    while (this.#count > 0) {
      const isFull = this.#count === maxReplies || this.#bytes > maxTotalBytes
      if ((this.#expiresAtMs[this.#oldest] ?? 0) > nowMs && !isFull) return
      this.#removeOldest()
    }
  }

  #removeOldest(): void {
    const place = this.#oldest
    const key = this.#keys[place] ?? 0
    // If the message ID was used again, the map has the position of the later request.
    if (this.#places.get(key) === place) this.#places.delete(key)
    this.#bytes -= countBytes(this.#replyAt[place])
    this.#replyAt[place] = undefined
    const peer = this.#peerAt[place]
    this.#peerAt[place] = undefined
    if (peer !== undefined && --peer.replies === 0) {
      this.#peers.delete(peer.key)
      this.#freeNumbers.push(peer.number)
    }
    this.#oldest = (place + 1) % maxReplies
    this.#count--
  }

  /** Returns the peer, which it adds if needed. Each peer has an entry, so there are at most `maxReplies` peers. */
  #ensurePeer(key: string): KnownPeer {
    const known = this.#peers.get(key)
    if (known !== undefined) return known
    const peer = { key, number: this.#freeNumbers.pop() ?? this.#peers.size, replies: 0 }
    this.#peers.set(key, peer)
    return peer
  }
}

/** Returns a key of 32 bits. */
function toReplyKey({ number }: KnownPeer, messageId: number): number {
  return (number << messageIdBits) | messageId
}

function toCachedReply(stored: StoredReply): CachedReply {
  return typeof stored === 'string' ? Buffer.from(stored, 'latin1') : stored
}

function countBytes(reply: StoredReply): number {
  return typeof reply === 'string' ? reply.length : 0
}
