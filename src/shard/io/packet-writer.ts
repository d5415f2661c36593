// The last steps of the way of a packet: packets that the core sends are encoded into the write buffer of their connection, which is written
// once, at the end of the turn.
//
//   sends -> encode -> write buffers -> flush -> stream

import type { SendList } from '../../core/index.ts'
import { counterCells, type Counters } from '../../telemetry/index.ts'
import type { Tracer } from '../observe/tracer.ts'
import type { OutputGate } from '../runtime/output-gate.ts'
import type { Turn } from '../runtime/turn.ts'
import type { ClientOutput } from './client-output.ts'
import { DeferredCloses } from './deferred-closes.ts'
import { encodeSends } from './encode-sends.ts'
import { FlushQueue } from './flush-queue.ts'
import { WriteBuffers } from './write-buffers.ts'

export interface PacketWriterDependencies {
  readonly turn: Turn
  readonly counters: Counters
  /** Its tracer is set while a trace runs. */
  readonly eventLog: { readonly tracer: Tracer | undefined }
  /** Maximum unsent bytes of all connections together. */
  readonly maxUnsentBytesTotal: number
  /** Undefined: the node is not part of a cluster. */
  readonly gate: OutputGate | undefined
}

export class PacketWriter {
  readonly buffers = new WriteBuffers()
  /** Number of the current call of `encodeSends`; bytes copied ahead are valid within one call. */
  encodeRound = 0
  readonly #dependencies: PacketWriterDependencies
  readonly #flushQueue = new FlushQueue()
  readonly #deferredCloses = new DeferredCloses()

  constructor(dependencies: PacketWriterDependencies) {
    this.#dependencies = dependencies
  }

  encode(sends: SendList): void {
    if (sends.length === 0) return
    const { counters, eventLog, turn } = this.#dependencies
    this.encodeRound++
    counters.cells[counterCells.packetsSent] += sends.length
    eventLog.tracer?.recordSends(sends, turn.nowMs())
    encodeSends(sends, turn.nowMs())
  }

  /** Closes the connection when its bytes are written. */
  close(output: ClientOutput): void {
    if (output.isClosed) return
    output.endsAfterFlush = true
    this.scheduleFlush(output)
  }

  /** The same after the commit of a batch, because the last packets wait for it. */
  closeAfterBatch(output: ClientOutput, batch: number): void {
    if (!output.isClosed) this.#deferredCloses.add(output, batch)
  }

  handleCommitted(batch: number): void {
    for (const output of this.#deferredCloses.take(batch)) this.close(output)
  }

  /** The connection has bytes to write at the end of the turn. */
  scheduleFlush(output: ClientOutput): void {
    this.#flushQueue.add(output)
    this.#dependencies.turn.planEnd()
  }

  /** Bytes were passed to the stream. */
  countSentBytes(bytes: number): void {
    this.#dependencies.counters.cells[counterCells.bytesSent] += bytes
  }

  /** Nothing may be passed to a stream now. */
  get isHeld(): boolean {
    const { gate } = this.#dependencies
    return gate !== undefined && !gate.isOpen
  }

  flush(): void {
    if (this.isHeld) return this.#dependencies.gate?.wait(this.#dependencies.turn.planEnd)
    this.#flushQueue.flush(this.buffers.takenBytes > this.#dependencies.maxUnsentBytesTotal)
  }
}
