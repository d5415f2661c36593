// The first steps of the way of a packet. The shard continues with the outputs of the core, and `PacketWriter` with the packets in them.
//
//   stream -> handleChunk -> decoder -> core -> carryOut
//
// The input of a turn is limited. If a connection sends more than its share, the rest is handled after the other connections.

import type { BrokerCore } from '../../core/index.ts'
import { type Packet, ProtocolError } from '../../protocol/index.ts'
import { counterCells, type Counters } from '../../telemetry/index.ts'
import type { Tracer } from '../observe/tracer.ts'
import type { Turn } from '../runtime/turn.ts'
import { isClockDue, maxUnencodedSends, computeUnsentReportBytes } from '../runtime/turn-limits.ts'
import type { ClientOutput } from './client-output.ts'
import { PartialPackets } from './partial-packets.ts'
import { ReadScheduler } from './read-scheduler.ts'

export interface PacketReaderDependencies {
  readonly core: BrokerCore
  readonly turn: Turn
  readonly counters: Counters
  /** Its tracer is set while a trace runs. */
  readonly eventLog: { readonly tracer: Tracer | undefined }
  /** Of all connections together, in bytes. */
  readonly maxUnfinishedBytesTotal: number
  /** Maximum unsent bytes of a connection. */
  readMaxUnsentBytes(): number
  /** Carries out the outputs of the core since the last call. */
  carryOut(): void
}

export class PacketReader {
  readonly #dependencies: PacketReaderDependencies
  readonly #partialPackets: PartialPackets
  readonly #scheduler: ReadScheduler

  constructor(dependencies: PacketReaderDependencies) {
    this.#dependencies = dependencies
    this.#partialPackets = new PartialPackets(dependencies.maxUnfinishedBytesTotal, (output, fault) => {
      this.#reportProtocolError(output, fault)
      dependencies.carryOut()
    })
    this.#scheduler = new ReadScheduler({
      read: (output) => this.read(output),
      planTurnEnd: dependencies.turn.planEnd,
      readMaxUnsentBytes: () => dependencies.readMaxUnsentBytes(),
    })
  }

  /** Memory of incomplete packets of all connections, in bytes. */
  get partialPacketBytes(): number {
    return this.#partialPackets.heldBytes
  }

  handleChunk(output: ClientOutput, chunk: Buffer): void {
    const { counters, turn } = this.#dependencies
    counters.cells[counterCells.bytesReceived] += chunk.length
    output.push(chunk)
    if (output.isBacklogged) return
    this.#scheduler.countInput(output, chunk.length, turn.number)
    this.read(output)
    this.#scheduler.postponeIfOverLimit(output)
  }

  /** Handles the first packet of a connection, which was read to choose the shard, and then the rest. Undefined: the decoder rejected it. */
  handleFirstPacket(output: ClientOutput, first: Packet | undefined): void {
    const { core, counters, eventLog, turn } = this.#dependencies
    const { connection } = output
    if (connection !== undefined && first !== undefined) {
      counters.cells[counterCells.packetsReceived]++
      connection.receivedPackets++
      eventLog.tracer?.recordPacket(connection, first, turn.nowMs())
      core.handlePacket(connection, first, turn.nowMs())
    }
    this.read(output)
  }

  /** Handles packets of one connection until none is left or the turn is over. */
  read(output: ClientOutput): void {
    const { core, counters, eventLog, turn } = this.#dependencies
    const { connection, decoder } = output
    const { tracer } = eventLog
    if (connection === undefined) return
    const nowMs = turn.nowMs()
    const { sends } = core.takeOutputs()
    let packets = 0
    let { costlySteps } = core
    try {
      while (!connection.isPaused) {
        const packet = decoder.next()
        if (packet === undefined) break
        packets++
        if (tracer !== undefined) tracer.recordPacket(connection, packet, nowMs)
        core.handlePacket(connection, packet, nowMs)
        if (sends.length >= maxUnencodedSends) this.#dependencies.carryOut()
        else if (!isClockDue(packets, core.costlySteps - costlySteps)) continue
        costlySteps = core.costlySteps
        if (turn.isOverdue()) {
          this.#scheduler.postpone(output)
          break
        }
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.#reportProtocolError(output, error)
    }
    if (packets === 0) core.handle({ kind: 'packet-part', connection, bytes: decoder.bufferedBytes }, nowMs)
    counters.cells[counterCells.packetsReceived] += packets
    connection.receivedPackets += packets
    this.#partialPackets.updateAfterRead(output)
    this.#dependencies.carryOut()
    this.#scheduler.pauseIfResponsesUnread(output)
  }

  #reportProtocolError({ connection, decoder }: ClientOutput, error: ProtocolError): void {
    const { core, turn } = this.#dependencies
    if (connection === undefined) return
    connection.version = connection.now.state === 'awaiting-connect' ? decoder.version : connection.version
    core.handle({ kind: 'protocol-fault', connection, error }, turn.nowMs())
  }

  /** Continues with postponed input until the turn is over. */
  continueBacklog(): void {
    this.#scheduler.continueBacklog(this.#dependencies.turn.isOverdue)
  }

  /** Pauses or resumes reading, as the core decided. */
  changeReading(output: ClientOutput, isPaused: boolean): void {
    this.#scheduler.change(output, isPaused)
  }

  /** A write is complete: reports the unsent bytes to the core, and resumes reading if it paused because of them. */
  handleSent(output: ClientOutput): void {
    const { core, turn } = this.#dependencies
    const { connection } = output
    const reportFrom = computeUnsentReportBytes(this.#dependencies.readMaxUnsentBytes())
    if (connection !== undefined && connection.unsentBytes >= reportFrom) {
      core.handle({ kind: 'unsent-bytes', connection, bytes: output.unsentBytes }, turn.nowMs())
      this.#dependencies.carryOut()
    }
    if (output.isReadingPaused) this.#scheduler.resume(output)
  }

  /** More bytes of an incomplete packet have arrived in the buffer of the stream. */
  handleBuffered(output: ClientOutput): void {
    this.#partialPackets.update(output)
  }

  /** More bytes of the first packet have arrived, before the connection has a shard. */
  handleFirstBytes(output: ClientOutput): void {
    this.#partialPackets.updateAfterRead(output)
  }

  forget(output: ClientOutput): void {
    this.#partialPackets.forget(output)
  }
}
