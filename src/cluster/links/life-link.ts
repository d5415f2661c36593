// The link between this life and one other life, over any number of connections, one after the other. Everything numbered arrives once and in
// order, until one of the two lives ends: a connection that breaks is replaced, and both sides go on after the last frame that the other has.
//
//   shards of this life <--> channels <--> numbered frames <--> connection <~~> the same at the other life
//
// Each side announces its running shards (`shardUp`, `shardDown`). Two shards of which both sides know have a channel.

import { KeptFrames } from './kept-frames.ts'
import { type AnnouncedShard, type ChannelLink, type ChannelReceiver, LinkChannel } from './link-channel.ts'
import type { LinkConnection, LinkFrameReceiver } from './link-connection.ts'
import { LinkFailure } from './link-failure.ts'
import { LinkBodyReader, type LinkFrame } from './link-frame-reader.ts'
import { firstNumberedKind, frameHeaderBytes, linkFrameKinds, LinkFrameWriter } from './link-frames.ts'
import type { LinkIdentity } from './link-hello.ts'
import { encodeShardDown, encodeShardUp, readShardUp } from './shard-frames.ts'

export interface LifeLinkOptions {
  readonly own: Pick<LinkIdentity, 'life' | 'run'>
  readonly other: LinkIdentity
  readonly limits: LifeLinkLimits
  /** Called for each new channel. Returns the receiver of its link buffers. */
  openChannel(channel: LinkChannel, other: LinkIdentity): ChannelReceiver
}

export interface LifeLinkLimits {
  /**
   * Bytes that are kept because the other life has not confirmed them. Above this limit the channels are full: the shards take their links for
   * congested and pause their clients. Nothing is dropped.
   */
  readonly maxKeptBytes: number
}

/** Received bytes after which the other side is told that it need not keep them. */
const minConfirmedBytes = 262_144
/** Maximum bytes of a link buffer in one frame. */
const maxPartBytes = 262_144
/** Kind, number, both shards, and the bytes that follow in later parts. */
const dataHeadBytes = 18
const channelEndBytes = 14
const resumeBytes = 18
const maxRemoteShards = 4_096

interface RemoteShard {
  readonly shard: AnnouncedShard
  /** By the ID of the local shard. */
  readonly channels: Map<number, LinkChannel>
}

export class LifeLink implements LinkFrameReceiver, ChannelLink {
  readonly other: LinkIdentity
  readonly #options: LifeLinkOptions
  readonly #kept = new KeptFrames()
  #connection: LinkConnection | undefined
  /** The mark of the other side has arrived on this connection. */
  #isResumed = false
  /** The number of the last frame that was received. */
  #received = 0
  #unconfirmedBytes = 0
  readonly #localShards = new Map<number, AnnouncedShard>()
  readonly #remoteShards = new Map<number, RemoteShard>()
  #isFull = false
  #hasEnded = false

  constructor(options: LifeLinkOptions) {
    this.#options = options
    this.other = options.other
  }

  get connection(): LinkConnection | undefined {
    return this.#connection
  }

  /** Both sides go on: frames are sent and received. */
  get isResumed(): boolean {
    return this.#isResumed
  }

  get keptBytes(): number {
    return this.#kept.bytes
  }

  /** Uses a connection from now on, in place of the one before it. */
  attach(connection: LinkConnection): void {
    const old = this.#connection
    this.#connection = connection
    this.#isResumed = false
    old?.end('replaced', 'a newer connection of the same nodes took over')
    const { life, run } = this.other
    const frame = new LinkFrameWriter(linkFrameKinds.resume, resumeBytes).bytes(Buffer.from(life, 'hex')).uint32(run)
    connection.sendFrame(frame.uint48(this.#received).end())
    this.#unconfirmedBytes = 0
  }

  /** Sends a sign of life. Call it every half second. */
  tick(): void {
    if (this.#isResumed) this.#sendConfirmation()
  }

  /** Announces a shard of this life. */
  addShard(shard: AnnouncedShard): void {
    this.#localShards.set(shard.id, shard)
    this.#send(encodeShardUp(this.#nextNumber, shard))
    for (const remote of this.#remoteShards.values()) this.#openChannel(shard, remote)
  }

  /** A shard of this life has ended. */
  removeShard(id: number): void {
    if (!this.#localShards.delete(id)) return
    for (const { channels } of this.#remoteShards.values()) {
      channels.get(id)?.finish()
      channels.delete(id)
    }
    this.#send(encodeShardDown(this.#nextNumber, id))
  }

  sendData({ local, remote }: LinkChannel, buffer: ArrayBuffer): void {
    if (this.#hasEnded || buffer.byteLength === 0) return
    for (let at = 0; at < buffer.byteLength; at += maxPartBytes) {
      const body = new Uint8Array(buffer, at, Math.min(maxPartBytes, buffer.byteLength - at))
      const head = new LinkFrameWriter(linkFrameKinds.channelData, dataHeadBytes).uint48(this.#nextNumber)
      head
        .uint32(local.id)
        .uint32(remote.id)
        .uint32(buffer.byteLength - at - body.length)
      this.#kept.add({ head: head.end(body.length), body })
    }
    this.#handleAdded()
  }

  sendChannelEnd({ local, remote }: LinkChannel): void {
    if (this.#hasEnded) return
    const frame = new LinkFrameWriter(linkFrameKinds.channelEnd, channelEndBytes).uint48(this.#nextNumber)
    this.#send(frame.uint32(local.id).uint32(remote.id).end())
  }

  handleFrame({ kind, body }: LinkFrame): void {
    const reader = new LinkBodyReader(body)
    if (kind === linkFrameKinds.resume && !this.#isResumed) return this.#handleResume(reader)
    if (!this.#isResumed) throw new LinkFailure('bad-frame', `a frame of kind ${kind} arrived before the mark`)
    if (kind === linkFrameKinds.confirm) return this.#handleConfirmation(reader)
    if (kind < firstNumberedKind) throw new LinkFailure('bad-frame', `a frame of kind ${kind} on a data connection`)
    const number = reader.uint48()
    if (number !== this.#received + 1) {
      const reason = number > this.#received ? 'number-skipped' : 'number-repeated'
      throw new LinkFailure(reason, `frame ${number} arrived after frame ${this.#received}`)
    }
    this.#handleNumbered(kind, reader)
    this.#received = number
    this.#unconfirmedBytes += frameHeaderBytes + body.length
    if (this.#unconfirmedBytes >= minConfirmedBytes) this.#sendConfirmation()
  }

  takeOutput(maxBytes: number): Buffer | undefined {
    if (!this.#isResumed || !this.#kept.hasNext) return undefined
    const parts: Uint8Array[] = []
    for (let bytes = 0; bytes < maxBytes;) {
      const frame = this.#kept.takeNext()
      if (frame === undefined) break
      parts.push(frame.head)
      if (frame.body !== undefined) parts.push(frame.body)
      bytes += frame.head.length + (frame.body?.length ?? 0)
    }
    return Buffer.concat(parts)
  }

  /** The connection has ended; the link waits for the next one. */
  handleEnd(): void {
    // The old connection ends after the new one was attached.
    if (this.#connection?.hasEnded !== true) return
    this.#connection = undefined
    this.#isResumed = false
  }

  /** The other life, or its run, has ended: all its channels end. */
  finish(): void {
    this.#hasEnded = true
    const ended = [...this.#remoteShards.values()]
    this.#remoteShards.clear()
    for (const { channels } of ended) for (const channel of channels.values()) channel.finish()
    this.#connection?.end('life-ended', `the life ${this.other.life} has ended`)
  }

  get #nextNumber(): number {
    return this.#kept.lastNumber + 1
  }

  #send(head: Buffer): void {
    this.#kept.add({ head, body: undefined })
    this.#handleAdded()
  }

  #handleAdded(): void {
    this.#updateFull()
    if (this.#isResumed) this.#connection?.announceOutput()
  }

  #sendConfirmation(): void {
    this.#unconfirmedBytes = 0
    this.#connection?.sendFrame(new LinkFrameWriter(linkFrameKinds.confirm, 6).uint48(this.#received).end())
  }

  #handleResume(reader: LinkBodyReader): void {
    const life = reader.bytes(8).toString('hex')
    const run = reader.uint32()
    const { own } = this.#options
    if (life !== own.life || run !== own.run) {
      throw new LinkFailure('bad-mark', `the mark of the other node belongs to run ${run} of life ${life}`)
    }
    this.#kept.resumeAfter(reader.uint48())
    this.#isResumed = true
    this.#updateFull()
    this.#connection?.announceOutput()
  }

  #handleConfirmation(reader: LinkBodyReader): void {
    this.#kept.confirm(reader.uint48())
    this.#updateFull()
  }

  #handleNumbered(kind: number, reader: LinkBodyReader): void {
    switch (kind) {
      case linkFrameKinds.shardUp:
        return this.#handleShardUp(readShardUp(reader, this.other.life))
      case linkFrameKinds.shardDown:
        return this.#handleShardDown(reader.uint32())
      case linkFrameKinds.channelData: {
        const channel = this.#findChannel(reader.uint32(), reader.uint32())
        const remainingBytes = reader.uint32()
        return channel?.receivePart(reader.rest(), remainingBytes)
      }
      case linkFrameKinds.channelEnd: {
        const remoteId = reader.uint32()
        const localId = reader.uint32()
        this.#findChannel(remoteId, localId)?.finish()
        return void this.#remoteShards.get(remoteId)?.channels.delete(localId)
      }
      default:
        throw new LinkFailure('bad-frame', `a frame has the unknown kind ${kind}`)
    }
  }

  #handleShardUp(shard: AnnouncedShard): void {
    if (this.#remoteShards.has(shard.id)) throw new LinkFailure('bad-frame', `shard ${shard.id} is announced twice`)
    if (this.#remoteShards.size >= maxRemoteShards) throw new LinkFailure('bad-frame', 'too many shards are announced')
    const remote: RemoteShard = { shard, channels: new Map() }
    this.#remoteShards.set(shard.id, remote)
    for (const local of this.#localShards.values()) this.#openChannel(local, remote)
  }

  #handleShardDown(id: number): void {
    const remote = this.#remoteShards.get(id)
    if (remote === undefined) throw new LinkFailure('unknown-channel', `shard ${id} ends, but was not announced`)
    this.#remoteShards.delete(id)
    for (const channel of remote.channels.values()) channel.finish()
  }

  #openChannel(local: AnnouncedShard, { shard, channels }: RemoteShard): void {
    const channel = new LinkChannel(this, local, shard)
    channels.set(local.id, channel)
    channel.receiveWith(this.#options.openChannel(channel, this.other))
    if (this.#isFull) channel.setFull(true)
  }

  /** Returns undefined for a local shard that has ended meanwhile. */
  #findChannel(remoteId: number, localId: number): LinkChannel | undefined {
    const remote = this.#remoteShards.get(remoteId)
    if (remote === undefined) throw new LinkFailure('unknown-channel', `shard ${remoteId} sends, but was not announced`)
    return remote.channels.get(localId)
  }

  #updateFull(): void {
    const { maxKeptBytes } = this.#options.limits
    const isFull = this.#kept.bytes > (this.#isFull ? maxKeptBytes / 2 : maxKeptBytes)
    if (isFull === this.#isFull) return
    this.#isFull = isFull
    for (const { channels } of this.#remoteShards.values()) {
      for (const channel of channels.values()) channel.setFull(isFull)
    }
  }
}
