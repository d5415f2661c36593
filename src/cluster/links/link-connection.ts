// One connection between two nodes, from its first byte to its end, without the socket:
//
//   challenge --> proof --> hello --> established --> ended
//
// Before the hello of the other side, a connection costs little: frames are short, and time is limited. The frames of an established
// connection go to its receiver. A failure ends the connection with a reason and nothing else.

import type { Life } from '../peer-name.ts'
import { findLinkFailureReason, LinkFailure, linkFailureCodes, type LinkFailureReason } from './link-failure.ts'
import { type LinkFrame, LinkBodyReader, LinkFrameReader } from './link-frame-reader.ts'
import { linkFrameKinds, LinkFrameWriter } from './link-frames.ts'
import {
  chooseLinkLevel,
  decodeLinkHello,
  encodeLinkHello,
  type LinkHello,
  type LinkIdentity,
  type LinkPurpose,
  maxHelloBytes,
} from './link-hello.ts'
import { challengeBytes, checkProof, createProof, type LinkRole, type LinkSecret, proofBytes } from './link-secret.ts'

/** Receives what happens on an established connection. */
export interface LinkFrameReceiver {
  /** Throws `LinkFailure` if the frame is not allowed. */
  handleFrame(frame: LinkFrame): void
  /** Returns further bytes to send, about `maxBytes`; undefined: none. */
  takeOutput(maxBytes: number): Buffer | undefined
  /** Called once, last. */
  handleEnd(end: LinkEnd): void
}

export interface LinkEnd {
  readonly reason: LinkFailureReason
  readonly message: string
  /** The other side has ended the connection for this reason. */
  readonly isRemote: boolean
}

export interface LinkConnectionOptions {
  readonly role: LinkRole
  /** The acceptor refuses connections for another purpose. */
  readonly purpose: LinkPurpose
  readonly identity: LinkIdentity
  /** Dialer: the life that must answer. */
  readonly expectedLife?: Life | undefined
  readonly secret: LinkSecret | undefined
  /** `challengeBytes` random bytes. */
  readonly challenge: Uint8Array
  readonly nowMs: number
  /**
   * Called with the hello of the other side, after the checks that need nothing else. Returns the receiver of its frames, or throws
   * `LinkFailure`.
   */
  establish(connection: LinkConnection, hello: LinkHello): LinkFrameReceiver
  /** Called when `takeOutput` has something new. Take it after the call of the connection that led to this has returned. */
  onOutput(connection: LinkConnection): void
  /** Called once, when the connection has ended. Bytes that `takeOutput` returns afterwards are the last ones. */
  onEnd(connection: LinkConnection, end: LinkEnd): void
}

/** Time for authentication and hello, in ms. */
export const handshakeTimeoutMs = 5_000
/** A side that has sent nothing for this time is taken for unreachable, in ms. */
export const silenceTimeoutMs = 3_000
/** A connection that another one may replace must give a sign of life within this time, in ms. */
const signOfLifeTimeoutMs = 1_000
const maxHandshakeFrameBytes = 1 + challengeBytes
/** Of kind and body: a part of a link buffer and its header. */
export const maxFrameBytes = 262_144 + 256

type State =
  | { readonly name: 'awaiting-challenge' }
  | { readonly name: 'awaiting-proof'; readonly challenge: Uint8Array }
  | { readonly name: 'awaiting-hello' }
  | { readonly name: 'established'; readonly receiver: LinkFrameReceiver }
  | { readonly name: 'ended' }

export class LinkConnection {
  readonly role: LinkRole
  readonly #options: LinkConnectionOptions
  readonly #reader = new LinkFrameReader(maxHandshakeFrameBytes)
  #state: State = { name: 'awaiting-challenge' }
  #output: Buffer[] = []
  readonly #openedAtMs: number
  #receivedAtMs: number
  /** Undefined: the usual limit of silence. */
  #mustSpeakByMs: number | undefined

  constructor(options: LinkConnectionOptions) {
    this.#options = options
    this.role = options.role
    this.#openedAtMs = options.nowMs
    this.#receivedAtMs = options.nowMs
    if (options.role === 'dialer') this.#sendChallenge()
  }

  get isEstablished(): boolean {
    return this.#state.name === 'established'
  }

  get hasEnded(): boolean {
    return this.#state.name === 'ended'
  }

  /** Handles received bytes, which may be reused afterwards. */
  handleBytes(chunk: Buffer, nowMs: number): void {
    if (this.hasEnded) return
    this.#receivedAtMs = nowMs
    this.#mustSpeakByMs = undefined
    try {
      this.#reader.push(chunk)
      for (let frame = this.#reader.next(); frame !== undefined; frame = this.#reader.next()) {
        this.#handleFrame(frame)
        if (this.hasEnded) return
      }
    } catch (error) {
      if (!(error instanceof LinkFailure)) throw error
      this.end(error.reason, error.message)
    }
  }

  /** Checks the limits of time. Call it every half second. */
  tick(nowMs: number): void {
    if (this.hasEnded) return
    if (!this.isEstablished && nowMs - this.#openedAtMs >= handshakeTimeoutMs) {
      return this.end(
        'too-slow',
        `the other node did not complete the handshake within ${handshakeTimeoutMs / 1_000} s`,
      )
    }
    const deadlineMs = Math.min(this.#mustSpeakByMs ?? Number.POSITIVE_INFINITY, this.#receivedAtMs + silenceTimeoutMs)
    if (this.isEstablished && nowMs >= deadlineMs) this.end('silent', 'the other node has sent nothing for too long')
  }

  /** The other node may have lost this connection: ends it if nothing arrives soon. */
  requireSignOfLife(nowMs: number): void {
    this.#mustSpeakByMs ??= nowMs + signOfLifeTimeoutMs
  }

  /** Adds a frame to the output of an established connection, before the frames of its receiver. */
  sendFrame(frame: Buffer): void {
    if (this.hasEnded) return
    this.#output.push(frame)
    this.#options.onOutput(this)
  }

  /** The receiver has output. */
  announceOutput(): void {
    if (!this.hasEnded) this.#options.onOutput(this)
  }

  /** Returns the next bytes to send, about `maxBytes`; undefined: none for now. */
  takeOutput(maxBytes: number): Buffer | undefined {
    if (this.#output.length > 0) {
      const frames = this.#output
      this.#output = []
      return frames.length === 1 ? frames[0] : Buffer.concat(frames)
    }
    return this.#state.name === 'established' ? this.#state.receiver.takeOutput(maxBytes) : undefined
  }

  /** Ends the connection. An authenticated other side is told the reason. */
  end(reason: LinkFailureReason, message: string): void {
    if (this.hasEnded) return
    if (this.#state.name === 'awaiting-hello' || this.#state.name === 'established') {
      this.#output.push(new LinkFrameWriter(linkFrameKinds.end, 1).uint8(linkFailureCodes[reason]).end())
      this.#options.onOutput(this)
    }
    this.#finish({ reason, message, isRemote: false })
  }

  /** The transport has closed. */
  handleClosed(message: string): void {
    const isDuringProof = this.role === 'dialer' && this.#state.name === 'awaiting-proof'
    if (!isDuringProof) return this.#finish({ reason: 'network', message, isRemote: false })
    const refusal = 'the other node closed the connection during authentication; compare cluster.secret of both nodes'
    this.#finish({ reason: 'authentication', message: refusal, isRemote: true })
  }

  #finish(end: LinkEnd): void {
    const state = this.#state
    if (state.name === 'ended') return
    this.#state = { name: 'ended' }
    if (state.name === 'established') state.receiver.handleEnd(end)
    this.#options.onEnd(this, end)
  }

  #handleFrame(frame: LinkFrame): void {
    const state = this.#state
    if (frame.kind === linkFrameKinds.end && (state.name === 'awaiting-hello' || state.name === 'established')) {
      return this.#handleRemoteEnd(frame.body)
    }
    switch (state.name) {
      case 'awaiting-challenge':
        return this.#handleChallenge(this.#expectBody(frame, linkFrameKinds.challenge))
      case 'awaiting-proof':
        return this.#handleProof(state.challenge, this.#expectBody(frame, linkFrameKinds.proof))
      case 'awaiting-hello':
        return this.#handleHello(decodeLinkHello(this.#expectBody(frame, linkFrameKinds.hello)))
      case 'established':
        return state.receiver.handleFrame(frame)
      case 'ended':
        return
      default:
        state satisfies never
    }
  }

  #expectBody({ kind, body }: LinkFrame, expected: number): Buffer {
    if (kind !== expected) throw new LinkFailure('bad-frame', `a frame of kind ${kind} arrived instead of ${expected}`)
    return body
  }

  #handleRemoteEnd(body: Buffer): void {
    const code = new LinkBodyReader(body).uint8()
    const reason = findLinkFailureReason(code)
    this.#finish({
      reason: reason ?? 'network',
      message:
        reason === undefined ? `the other node ended the connection (${code})` : 'the other node ended the connection',
      isRemote: true,
    })
  }

  #sendChallenge(): void {
    this.#output.push(
      new LinkFrameWriter(linkFrameKinds.challenge, challengeBytes).bytes(this.#options.challenge).end(),
    )
  }

  #handleChallenge(body: Buffer): void {
    if (body.length !== challengeBytes) throw new LinkFailure('bad-frame', `a challenge has ${body.length} bytes`)
    const challenge = Buffer.from(body)
    this.#state = { name: 'awaiting-proof', challenge }
    if (this.role === 'acceptor') this.#sendChallenge()
    else this.#sendProof(challenge)
    this.#options.onOutput(this)
  }

  #handleProof(challenge: Uint8Array, proof: Buffer): void {
    const { secret } = this.#options
    checkProof(secret, this.role === 'dialer' ? 'acceptor' : 'dialer', this.#orderChallenges(challenge), proof)
    this.#state = { name: 'awaiting-hello' }
    this.#reader.maxFrameBytes = maxHelloBytes
    if (this.role === 'acceptor') this.#sendProof(challenge)
    else this.#sendHello()
    this.#options.onOutput(this)
  }

  #handleHello(hello: LinkHello): void {
    const { identity, purpose, expectedLife } = this.#options
    chooseLinkLevel(identity.levels, hello.levels)
    if (hello.clusterId !== identity.clusterId) {
      throw new LinkFailure('wrong-cluster', `node ${hello.nodeName} belongs to another cluster`)
    }
    if (hello.purpose !== purpose)
      throw new LinkFailure('bad-frame', `a connection for ${hello.purpose} at the wrong port`)
    const isMeant = hello.expectedLife === undefined || hello.expectedLife === identity.life
    if (!isMeant || (expectedLife !== undefined && hello.life !== expectedLife)) {
      throw new LinkFailure('other-life', `node ${hello.nodeName} has the life ${hello.life}`)
    }
    if (hello.life === identity.life) throw new LinkFailure('other-life', 'the node has dialed itself')
    checkStores(identity.storeIdentifiers, hello)
    const receiver = this.#options.establish(this, hello)
    this.#state = { name: 'established', receiver }
    this.#reader.maxFrameBytes = maxFrameBytes
    // Before everything that the receiver has to send.
    if (this.role === 'acceptor') this.#output.unshift(this.#encodeHello())
    this.#options.onOutput(this)
  }

  #sendHello(): void {
    this.#output.push(this.#encodeHello())
  }

  #encodeHello(): Buffer {
    const { identity, purpose, expectedLife } = this.#options
    return encodeLinkHello({ ...identity, purpose, expectedLife })
  }

  #sendProof(challenge: Uint8Array): void {
    const proof = createProof(this.#options.secret, this.role, this.#orderChallenges(challenge))
    this.#output.push(new LinkFrameWriter(linkFrameKinds.proof, proofBytes).bytes(proof).end())
  }

  #orderChallenges(other: Uint8Array): { readonly dialer: Uint8Array; readonly acceptor: Uint8Array } {
    const own = this.#options.challenge
    return this.role === 'dialer' ? { dialer: own, acceptor: other } : { dialer: other, acceptor: own }
  }
}

function checkStores(own: readonly string[], { nodeName, storeIdentifiers }: LinkHello): void {
  if (own.length === 0 || storeIdentifiers.length === 0) return
  if (own.length === storeIdentifiers.length && own.every((identifier, i) => identifier === storeIdentifiers[i])) return
  throw new LinkFailure('wrong-store', `node ${nodeName} uses other databases; compare cluster.stores of both nodes`)
}
