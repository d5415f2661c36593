// Bodies that are received and sent in blocks [RFC 7959]. A received body is handled when it is complete; incomplete
// ones are limited per peer and in total.

import type { PeerAddress } from '../../../transports/index.ts'
import { toAssociationKey } from '../../peer-identity.ts'
import { readBlock, type Block, type CoapMessage, options } from './coap-message.ts'

/** Maximum incomplete bodies of one peer. */
const maxBodiesPerPeer = 4
const maxBodies = 4_096
/** Maximum bytes of all peers together, in each direction: the oldest are dropped first. */
const maxTotalBytes = 33_554_432
const lifetimeMs = 247_000

interface Body {
  readonly peer: string
  readonly blocks: Buffer[]
  bytes: number
  readonly forgetAtMs: number
}

/** A body that is complete. `block`: the last block, if it came in several. */
export interface ReceivedBody {
  readonly outcome: 'whole'
  readonly payload: Buffer
  readonly block: Block | undefined
}

/** A part of a body to send. `block`: undefined if it is the whole body. */
export interface BodyPart {
  readonly payload: Buffer
  readonly block: Block | undefined
}

export type BlockOutcome =
  | ReceivedBody
  | { readonly outcome: 'continue'; readonly block: Block }
  | { readonly outcome: 'incomplete' }
  | { readonly outcome: 'too-large' }
  | { readonly outcome: 'bad' }

export class BlockTransfers {
  readonly #maxBodyBytes: number
  readonly #maxBlockBytes: number
  readonly #coming = new Bodies()
  readonly #going = new Bodies()

  constructor(maxBodyBytes: number, maxBlockBytes: number) {
    this.#maxBodyBytes = maxBodyBytes
    this.#maxBlockBytes = maxBlockBytes
  }

  /** `targetOf`: called for a request with a block. */
  receive(
    { request, peer: from }: { readonly request: CoapMessage; readonly peer: PeerAddress },
    nowMs: number,
    targetOf: (request: CoapMessage) => string,
  ): BlockOutcome {
    const block = readBlock(request, options.block1)
    if (block === 'bad') return { outcome: 'bad' }
    if (block === undefined) {
      const isTooLarge = request.payload.length > this.#maxBodyBytes
      return isTooLarge ? { outcome: 'too-large' } : { outcome: 'whole', payload: request.payload, block: undefined }
    }
    const peer = toAssociationKey(from)
    const key = `${peer} ${request.code} ${targetOf(request)}`
    if (block.number === 0 && !this.#coming.begin(key, peer, nowMs)) return { outcome: 'incomplete' }
    const body = this.#coming.get(key)
    const isNext = body !== undefined && body.bytes === block.number * block.bytes
    const isWhole = !block.hasMore || request.payload.length === block.bytes
    if (!isNext || !isWhole) {
      this.#coming.delete(key)
      return { outcome: 'incomplete' }
    }
    if (body.bytes + request.payload.length > this.#maxBodyBytes) {
      this.#coming.delete(key)
      return { outcome: 'too-large' }
    }
    this.#coming.append(key, Buffer.from(request.payload))
    const bytes = block.number === 0 ? Math.min(block.bytes, this.#maxBlockBytes) : block.bytes
    if (block.hasMore) return { outcome: 'continue', block: { ...block, bytes } }
    this.#coming.delete(key)
    return { outcome: 'whole', payload: Buffer.concat(body.blocks), block }
  }

  /** Returns the first block of a body; the rest is stored for later requests. */
  begin(
    payload: Buffer,
    { peer, target, maxBytes, nowMs }: { peer: string; target: string; maxBytes: number; nowMs: number },
  ): BodyPart {
    const bytes = selectBlockSize(Math.min(maxBytes, this.#maxBlockBytes))
    if (payload.length <= bytes) return { payload, block: undefined }
    const key = `${peer} ${target}`
    if (this.#going.begin(key, peer, nowMs)) this.#going.append(key, payload)
    return { payload: payload.subarray(0, bytes), block: { number: 0, hasMore: true, bytes } }
  }

  /** Returns a later block, smaller than requested if that is too large; undefined: there is none. */
  next(
    requested: Block,
    { peer, target, maxBytes }: { peer: string; target: string; maxBytes: number },
  ): { readonly payload: Buffer; readonly block: Block } | undefined {
    const [payload] = this.#going.get(`${peer} ${target}`)?.blocks ?? []
    const start = requested.number * requested.bytes
    if (payload === undefined || start >= payload.length) return undefined
    const bytes = Math.min(requested.bytes, selectBlockSize(maxBytes))
    const end = start + bytes
    return {
      payload: payload.subarray(start, end),
      block: { number: start / bytes, hasMore: end < payload.length, bytes },
    }
  }
}

/** Incomplete bodies, oldest first. */
class Bodies {
  readonly #bodies = new Map<string, Body>()
  #bytes = 0

  get(key: string): Body | undefined {
    return this.#bodies.get(key)
  }

  delete(key: string): void {
    this.#bytes -= this.#bodies.get(key)?.bytes ?? 0
    this.#bodies.delete(key)
  }

  /** Returns false if this peer has the maximum of incomplete bodies. */
  begin(key: string, peer: string, nowMs: number): boolean {
    this.delete(key)
    let ofPeer = 0
    for (const [other, body] of this.#bodies) {
      if (body.forgetAtMs <= nowMs || this.#bodies.size >= maxBodies) this.delete(other)
      else if (body.peer === peer) ofPeer++
    }
    if (ofPeer >= maxBodiesPerPeer) return false
    this.#bodies.set(key, { peer, blocks: [], bytes: 0, forgetAtMs: nowMs + lifetimeMs })
    return true
  }

  /** If the total exceeds the limit, other bodies are dropped. */
  append(key: string, block: Buffer): void {
    const body = this.#bodies.get(key)
    if (body === undefined) return
    body.blocks.push(block)
    body.bytes += block.length
    this.#bytes += block.length
    for (const other of this.#bodies.keys()) {
      if (this.#bytes <= maxTotalBytes) return
      if (other !== key) this.delete(other)
    }
  }
}

function selectBlockSize(bytes: number): number {
  let size = 16
  while (size * 2 <= bytes && size < 1_024) size *= 2
  return size
}
