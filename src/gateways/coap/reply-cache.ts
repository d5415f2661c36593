// Replies to requests that may be repeated [RFC 7252 4.5], in a ring: they are removed in the order of their requests.
//
//   oldest -> ... -> newest          each: peer, message ID, time at which it is forgotten, reply
//   peer, message ID -> position     a number, as peers are numbered
//
// There are as many as a busy gateway handles in a second, so none is an object: one object each, found by a text, took half of the
// processor time of a publication, most of it in the collection of garbage.

/** Maximum stored replies; the oldest are dropped first. */
const maxReplies = 65_536
const maxTotalBytes = 16_777_216
const messageIdBits = 16

/** Whole, or only its code: such a reply has no options and no payload. Undefined: there is none yet. */
export type RememberedReply = Buffer | number | undefined

/** The octets of a reply as a text: a buffer is an object of 104 octets, and may be a part of a pool, which it would keep in memory. */
type StoredReply = string | number | undefined

interface KnownPeer {
  readonly key: string
  readonly number: number
  /** Number of remembered replies to its requests. */
  replies: number
}

export class RememberedReplies {
  readonly #places = new Map<number, number>()
  readonly #keys = new Int32Array(maxReplies)
  readonly #forgetAtMs = new Float64Array(maxReplies)
  readonly #peerAt: (KnownPeer | undefined)[] = []
  readonly #replyAt: StoredReply[] = []
  readonly #peers = new Map<string, KnownPeer>()
  readonly #freeNumbers: number[] = []
  #oldest = 0
  #count = 0
  #bytes = 0

  /** Returns the reply to a repeated request. `'new'`: it is remembered from now on. */
  begin(
    peer: string,
    messageId: number,
    { nowMs, lifetimeMs }: { nowMs: number; lifetimeMs: number },
  ): RememberedReply | 'new' {
    const known = this.#peers.get(peer)
    const place = known === undefined ? undefined : this.#places.get(keyOf(known, messageId))
    if (place !== undefined && (this.#forgetAtMs[place] ?? 0) > nowMs) return replyOf(this.#replyAt[place])
    this.#forgetOld(nowMs)
    this.#add(this.#peerOf(peer), messageId, nowMs + lifetimeMs)
    return 'new'
  }

  setReply(peer: string, messageId: number, reply: Buffer | number): void {
    const known = this.#peers.get(peer)
    const place = known === undefined ? undefined : this.#places.get(keyOf(known, messageId))
    if (place === undefined) return
    const stored = typeof reply === 'number' ? reply : reply.toString('latin1')
    this.#bytes += bytesOf(stored) - bytesOf(this.#replyAt[place])
    this.#replyAt[place] = stored
  }

  #add(peer: KnownPeer, messageId: number, forgetAtMs: number): void {
    const place = (this.#oldest + this.#count++) % maxReplies
    const key = keyOf(peer, messageId)
    peer.replies++
    this.#places.set(key, place)
    this.#keys[place] = key
    this.#forgetAtMs[place] = forgetAtMs
    this.#peerAt[place] = peer
    this.#replyAt[place] = undefined
  }

  #forgetOld(nowMs: number): void {
    while (this.#count > 0) {
      const isTooMuch = this.#count === maxReplies || this.#bytes > maxTotalBytes
      if ((this.#forgetAtMs[this.#oldest] ?? 0) > nowMs && !isTooMuch) return
      this.#forgetOldest()
    }
  }

  #forgetOldest(): void {
    const place = this.#oldest
    const key = this.#keys[place] ?? 0
    // Otherwise the message ID was used again since.
    if (this.#places.get(key) === place) this.#places.delete(key)
    this.#bytes -= bytesOf(this.#replyAt[place])
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

  /** Returns the entry of a peer. There are never more peers than replies. */
  #peerOf(key: string): KnownPeer {
    const known = this.#peers.get(key)
    if (known !== undefined) return known
    const peer = { key, number: this.#freeNumbers.pop() ?? this.#peers.size, replies: 0 }
    this.#peers.set(key, peer)
    return peer
  }
}

/** 32 bits. */
function keyOf({ number }: KnownPeer, messageId: number): number {
  return (number << messageIdBits) | messageId
}

function replyOf(stored: StoredReply): RememberedReply {
  return typeof stored === 'string' ? Buffer.from(stored, 'latin1') : stored
}

function bytesOf(reply: StoredReply): number {
  return typeof reply === 'string' ? reply.length : 0
}
