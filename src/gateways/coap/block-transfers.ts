// Bodies that come and go in blocks [RFC 7959]. A body counts when its last block is there; what is begun is bounded for each
// peer and in all.

import { blockOf, type Block, type CoapMessage, options } from './message.ts'

/** Bodies that one peer may have under way. */
const maxBodiesPerPeer = 4
const maxBodies = 4_096
const lifetimeMs = 247_000

interface Body {
  readonly peer: string
  readonly blocks: Buffer[]
  bytes: number
  readonly forgetAtMs: number
}

export type BlockOutcome =
  | { readonly outcome: 'whole'; readonly payload: Buffer; readonly block: Block | undefined }
  | { readonly outcome: 'continue'; readonly block: Block }
  | { readonly outcome: 'incomplete' }
  | { readonly outcome: 'too-large' }
  | { readonly outcome: 'bad' }

export class BlockTransfers {
  readonly #maxBodyBytes: number
  readonly #maxBlockBytes: number
  readonly #coming = new Map<string, Body>()
  readonly #going = new Map<string, Body>()

  constructor(maxBodyBytes: number, maxBlockBytes: number) {
    this.#maxBodyBytes = maxBodyBytes
    this.#maxBlockBytes = maxBlockBytes
  }

  /** `target`: what the request is about. */
  receive(request: CoapMessage, peer: string, target: string, nowMs: number): BlockOutcome {
    const block = blockOf(request, options.block1)
    if (block === 'bad') return { outcome: 'bad' }
    if (block === undefined) {
      const isTooLarge = request.payload.length > this.#maxBodyBytes
      return isTooLarge ? { outcome: 'too-large' } : { outcome: 'whole', payload: request.payload, block: undefined }
    }
    const key = `${peer} ${request.code} ${target}`
    if (block.number === 0) {
      this.#coming.delete(key)
      if (!makeRoom(this.#coming, peer, nowMs)) return { outcome: 'incomplete' }
      this.#coming.set(key, { peer, blocks: [], bytes: 0, forgetAtMs: nowMs + lifetimeMs })
    }
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
    body.blocks.push(Buffer.from(request.payload))
    body.bytes += request.payload.length
    const bytes = block.number === 0 ? Math.min(block.bytes, this.#maxBlockBytes) : block.bytes
    if (block.hasMore) return { outcome: 'continue', block: { ...block, bytes } }
    this.#coming.delete(key)
    return { outcome: 'whole', payload: Buffer.concat(body.blocks), block }
  }

  /** The first block of a body that is too long for one; the rest is kept for requests that follow. */
  begin(
    payload: Buffer,
    { peer, target, maxBytes, nowMs }: { peer: string; target: string; maxBytes: number; nowMs: number },
  ): { readonly payload: Buffer; readonly block: Block | undefined } {
    const bytes = blockSizeWithin(Math.min(maxBytes, this.#maxBlockBytes))
    if (payload.length <= bytes) return { payload, block: undefined }
    const key = `${peer} ${target}`
    this.#going.delete(key)
    if (makeRoom(this.#going, peer, nowMs))
      this.#going.set(key, { peer, blocks: [payload], bytes: payload.length, forgetAtMs: nowMs + lifetimeMs })
    return { payload: payload.subarray(0, bytes), block: { number: 0, hasMore: true, bytes } }
  }

  /** A later block of a body that has begun; undefined: there is none. */
  next(peer: string, target: string, asked: Block): { readonly payload: Buffer; readonly block: Block } | undefined {
    const [payload] = this.#going.get(`${peer} ${target}`)?.blocks ?? []
    const start = asked.number * asked.bytes
    if (payload === undefined || start >= payload.length) return undefined
    const end = start + asked.bytes
    return { payload: payload.subarray(start, end), block: { ...asked, hasMore: end < payload.length } }
  }
}

/** False: this peer has as many bodies under way as it may. */
function makeRoom(bodies: Map<string, Body>, peer: string, nowMs: number): boolean {
  let ofPeer = 0
  for (const [key, body] of bodies) {
    if (body.forgetAtMs <= nowMs || bodies.size >= maxBodies) bodies.delete(key)
    else if (body.peer === peer) ofPeer++
  }
  return ofPeer < maxBodiesPerPeer
}

function blockSizeWithin(bytes: number): number {
  let size = 16
  while (size * 2 <= bytes && size < 1_024) size *= 2
  return size
}
