// A channel: the link buffers between one shard of this life and one shard of another life, in both directions and in order. It exists while
// both shards run: when one of them restarts, it gets a new number, and so a new channel.

import { LinkFailure } from './link-failure.ts'
import type { PeerName } from '../peer-name.ts'

/** A running shard, as its node announces it to the others. */
export interface AnnouncedShard {
  /** Of one run of the link thread; never used again. */
  readonly id: number
  readonly name: PeerName
  /** Of a stored shard: grows with each new home. 0 for others. */
  readonly epoch: number
  /** Grows with each start of the thread of this shard within the life. */
  readonly incarnation: number
}

/** Receives what the other shard sends, and the state of the channel. */
export interface ChannelReceiver {
  handleBuffer(buffer: ArrayBuffer): void
  /** Too much is kept for the other life, or not any more: the link is congested meanwhile. */
  handleFullChange(isFull: boolean): void
  /** The other shard has ended, or its life. The last call. */
  handleEnd(): void
}

/** The link of two lives, as a channel uses it. */
export interface ChannelLink {
  sendData(channel: LinkChannel, buffer: ArrayBuffer): void
  sendChannelEnd(channel: LinkChannel): void
}

/** Maximum size of a link buffer: the largest packet of MQTT and its details. */
export const maxLinkBufferBytes = 320 * 1_048_576

export class LinkChannel {
  readonly local: AnnouncedShard
  readonly remote: AnnouncedShard
  readonly #link: ChannelLink
  #receiver: ChannelReceiver | undefined
  /** The link buffer that is being received in parts. */
  #partial: Uint8Array<ArrayBuffer> | undefined
  #partialBytes = 0
  #state: 'open' | 'ended-here' | 'ended' = 'open'

  constructor(link: ChannelLink, local: AnnouncedShard, remote: AnnouncedShard) {
    this.#link = link
    this.local = local
    this.remote = remote
  }

  receiveWith(receiver: ChannelReceiver): void {
    this.#receiver = receiver
  }

  /** The memory belongs to the channel from now on. */
  send(buffer: ArrayBuffer): void {
    if (this.#state === 'open') this.#link.sendData(this, buffer)
  }

  /** The local shard has closed its end. What was sent before still arrives. */
  end(): void {
    if (this.#state !== 'open') return
    this.#state = 'ended-here'
    this.#partial = undefined
    this.#link.sendChannelEnd(this)
  }

  // By the link.

  /** Receives a part of a link buffer. `remainingBytes`: of the buffer, in later parts. */
  receivePart(bytes: Uint8Array, remainingBytes: number): void {
    if (this.#state !== 'open') return
    this.#partial ??= createPartial(bytes.length + remainingBytes)
    const partial = this.#partial
    if (this.#partialBytes + bytes.length + remainingBytes !== partial.length) {
      throw new LinkFailure(
        'bad-frame',
        `a part of ${bytes.length} bytes does not fit a buffer of ${partial.length} bytes`,
      )
    }
    partial.set(bytes, this.#partialBytes)
    this.#partialBytes += bytes.length
    if (remainingBytes > 0) return
    this.#partial = undefined
    this.#partialBytes = 0
    this.#receiver?.handleBuffer(partial.buffer)
  }

  setFull(isFull: boolean): void {
    if (this.#state === 'open') this.#receiver?.handleFullChange(isFull)
  }

  /** The other shard has ended. */
  finish(): void {
    if (this.#state === 'ended') return
    this.#state = 'ended'
    this.#partial = undefined
    this.#receiver?.handleEnd()
  }
}

function createPartial(bytes: number): Uint8Array<ArrayBuffer> {
  if (bytes > maxLinkBufferBytes) {
    throw new LinkFailure('frame-too-long', `a link buffer has ${bytes} bytes; maximum ${maxLinkBufferBytes}`)
  }
  return new Uint8Array(new ArrayBuffer(bytes))
}
