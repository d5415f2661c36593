// A connection in the network: two directions that keep the order of bytes. Bytes are split into pieces, delayed,
// kept while the receiver does not read, and lost when the connection breaks.
//
//   client end --- toBroker: [piece, piece, end] ---> broker end
//   client end <--- toClient: [piece] --------------- broker end

import type { Stage } from './stage.ts'

/** Callbacks for the events at one end of a connection. */
export interface LinkEnd {
  arrived(chunk: Buffer): void
  /** The other side closed, or the connection broke. Called at most once. */
  ended(isBroken: boolean): void
  /** Buffered bytes have left. */
  drained(): void
}

export interface NetworkTraits {
  /** Range of the delay of each piece, in milliseconds. */
  readonly minDelayMs: number
  readonly maxDelayMs: number
  /** Bytes arrive in pieces of random length. */
  readonly splits: boolean
  /** Maximum number of bytes in the network while the receiver does not read; other bytes wait at the sender. */
  readonly capacityBytes: number
}

/** A network without delays and faults, for hand-written scenarios. */
export const calmNetwork: NetworkTraits = { minDelayMs: 0, maxDelayMs: 0, splits: false, capacityBytes: 16_384 }

export class Direction {
  private readonly stage: Stage
  private readonly traits: NetworkTraits
  private readonly receiver: () => LinkEnd
  private readonly sender: () => LinkEnd
  private readonly pieces: (Buffer | 'end')[]
  private due: number
  private lastArrivalMs: number
  private waitingBytes: number
  private isPaused: boolean
  private isCut: boolean

  constructor(stage: Stage, traits: NetworkTraits, ends: { sender: () => LinkEnd; receiver: () => LinkEnd }) {
    this.stage = stage
    this.traits = traits
    this.sender = ends.sender
    this.receiver = ends.receiver
    this.pieces = []
    this.due = 0
    this.lastArrivalMs = 0
    this.waitingBytes = 0
    this.isPaused = false
    this.isCut = false
  }

  /** Bytes that the sender still holds because the network is full. */
  get unsentBytes(): number {
    return Math.max(0, this.waitingBytes - this.traits.capacityBytes)
  }

  send(bytes: Buffer): void {
    if (this.isCut) return
    this.waitingBytes += bytes.length
    if (!this.traits.splits && bytes.length > 0) return this.plan(bytes)
    let start = 0
    while (start < bytes.length) {
      const length = this.pieceLength(bytes.length - start)
      this.plan(bytes.subarray(start, start + length))
      start += length
    }
  }

  end(): void {
    if (!this.isCut) this.plan('end')
  }

  /** Discards all bytes in the network and delivers nothing more. */
  cut(): void {
    this.isCut = true
    this.pieces.length = 0
    this.waitingBytes = 0
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
    this.deliver()
  }

  private pieceLength(available: number): number {
    const { random } = this.stage
    return Math.min(available, random.chance(0.5) ? random.between(1, 8) : random.between(1, 400))
  }

  private plan(piece: Buffer | 'end'): void {
    const { minDelayMs, maxDelayMs } = this.traits
    const delayMs = maxDelayMs === 0 ? 0 : this.stage.random.between(minDelayMs, maxDelayMs)
    this.lastArrivalMs = Math.max(this.lastArrivalMs, this.stage.nowMs + delayMs)
    this.pieces.push(piece)
    this.stage.after(this.lastArrivalMs - this.stage.nowMs, () => {
      this.due++
      this.deliver()
    })
  }

  private deliver(): void {
    while (this.due > 0 && !this.isPaused && !this.isCut) {
      const piece = this.pieces.shift()
      if (piece === undefined) return
      this.due--
      if (piece === 'end') {
        this.isCut = true
        this.receiver().ended(false)
        return
      }
      const hadUnsent = this.unsentBytes > 0
      this.waitingBytes -= piece.length
      this.receiver().arrived(piece)
      if (hadUnsent && !this.isCut) this.sender().drained()
    }
  }
}

export class Link {
  readonly toBroker: Direction
  readonly toClient: Direction
  private readonly stage: Stage
  private clientEnd: LinkEnd
  private brokerEnd: LinkEnd

  constructor(stage: Stage, traits: NetworkTraits) {
    this.stage = stage
    this.clientEnd = nobody
    this.brokerEnd = nobody
    const client = (): LinkEnd => this.clientEnd
    const broker = (): LinkEnd => this.brokerEnd
    this.toBroker = new Direction(stage, traits, { sender: client, receiver: broker })
    this.toClient = new Direction(stage, traits, { sender: broker, receiver: client })
  }

  attachClient(end: LinkEnd): void {
    this.clientEnd = end
  }

  attachBroker(end: LinkEnd): void {
    this.brokerEnd = end
  }

  /** Breaks the connection; each end notices after its own time. Undefined: it never notices. */
  break(noticed: { clientAfterMs: number | undefined; brokerAfterMs: number | undefined }): void {
    this.toBroker.cut()
    this.toClient.cut()
    const { clientEnd, brokerEnd } = this
    if (noticed.clientAfterMs !== undefined) {
      this.clientEnd = nobody
      this.stage.after(noticed.clientAfterMs, () => clientEnd.ended(true))
    }
    if (noticed.brokerAfterMs !== undefined) {
      this.brokerEnd = nobody
      this.stage.after(noticed.brokerAfterMs, () => brokerEnd.ended(true))
    }
  }
}

const nobody: LinkEnd = { arrived: () => undefined, ended: () => undefined, drained: () => undefined }
