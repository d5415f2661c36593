// Writes the batches of a shard, one after the other, on a connection of its own. `CommitProtocol` decides; this file does the I/O.

import { StorageFailure } from '../store.ts'
import { type CommitProtocol, type ProtocolEffect, type ServerTimeline, type StopReason } from './commit-protocol.ts'
import { type CommitStatements, isOneStatement, parseShardRow } from './commit-statements.ts'
import type { EncodedBatch } from './encoded-batch.ts'
import { probeBackend } from './probe-backend.ts'
import type { ServerIdentity } from './server-checks.ts'
import { ServerConnection, type Statement } from './server-connection.ts'
import type { StoreAddress } from './store-address.ts'

/** The home does not write this shard any more. No later commit succeeds. */
export class ShardStopped extends Error {
  readonly reason: StopReason

  constructor(reason: StopReason, text: string) {
    super(text)
    this.reason = reason
  }
}

export interface ShardWriterCallbacks {
  /** What the server has is confirmed: it may be read. */
  onReady(server: ServerIdentity): void
  /** What is read from now on is not confirmed. */
  onUnready(why: string): void
  /** A batch is durable. `standbyNames`: `synchronous_standby_names` of the server. */
  onDurable(sequence: number, standbyNames: string): void
  /** The database had lost these batches, which are stored again. */
  onRepeated(first: number, last: number): void
  onStopped(stopped: ShardStopped): void
}

export interface ShardWriterOptions {
  readonly address: StoreAddress
  readonly statements: CommitStatements
  readonly protocol: CommitProtocol<EncodedBatch>
  readonly callbacks: ShardWriterCallbacks
}

type WriteEffect = Extract<ProtocolEffect<EncodedBatch>, { kind: 'write' }>
type Effect = ProtocolEffect<EncodedBatch>

interface Waiting {
  readonly batch: EncodedBatch
  resolve(): void
  reject(error: unknown): void
}

const firstPauseMs = 100
const maxPauseMs = 2_000
/** A statement that takes longer is looked up on another connection, and waits as long as the server works on it. */
const slowMs = 5_000
/** Time for the transfer of a batch is added. */
const minBytesPerMs = 1_024

export class ShardWriter {
  readonly #options: ShardWriterOptions
  readonly #waiting: Waiting[] = []
  #current: Waiting | undefined
  #connection: ServerConnection | undefined
  #number = 0
  #pauseMs = firstPauseMs
  #standbyNames = ''
  #stopped: ShardStopped | undefined
  #isClosed = false
  readonly #timers = new Set<NodeJS.Timeout>()

  constructor(options: ShardWriterOptions) {
    this.#options = options
  }

  start(): void {
    this.#options.protocol.start()
    this.#runEffects()
  }

  /** Resolves when the batch is durable, however long that takes. Rejects with ShardStopped, or StorageFailure after `close`. */
  write(batch: EncodedBatch): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ batch, resolve, reject })
      this.#writeNext()
    })
  }

  /** Another node uses this server. */
  handleReportedServer(server: ServerTimeline): void {
    this.#options.protocol.handleReportedServer(server)
    this.#runEffects()
  }

  /** Ends the connection. Batches that are not durable are rejected. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const timer of this.#timers) clearTimeout(timer)
    this.#rejectAll(new StorageFailure('the store is closed'))
    await this.#connection?.close().catch(() => this.#connection?.destroy())
  }

  #writeNext(): void {
    if (this.#isClosed) return this.#rejectAll(new StorageFailure('the store is closed'))
    if (this.#stopped !== undefined) return this.#rejectAll(this.#stopped)
    if (this.#current !== undefined) return
    this.#current = this.#waiting.shift()
    if (this.#current === undefined) return
    this.#options.protocol.commit(this.#current.batch)
    this.#runEffects()
  }

  #rejectAll(error: Error): void {
    const current = this.#current
    this.#current = undefined
    current?.reject(error)
    for (const waiting of this.#waiting.splice(0)) waiting.reject(error)
  }

  #runEffects(): void {
    for (const effect of this.#options.protocol.takeEffects()) if (!this.#isClosed) this.#run(effect)
  }

  #run(effect: Effect): void {
    const { protocol, statements, callbacks } = this.#options
    switch (effect.kind) {
      case 'connect':
        return this.#connect(effect.connection, effect.hasFailed)
      case 'disconnect':
        this.#connection?.destroy()
        this.#connection = undefined
        return
      case 'raise-attempt':
        return this.#send(effect.connection, statements.raiseAttempt(effect.attempt), ({ rows, warnings }) =>
          protocol.handleRaised(effect.connection, parseShardRow(rows[0]), warnings),
        )
      case 'read-row':
        return this.#send(effect.connection, statements.readRow(), ({ rows }) =>
          protocol.handleRow(effect.connection, parseShardRow(rows[0])),
        )
      case 'write':
        return this.#writeBatch(effect)
      case 'durable':
        return this.#handleDurable(effect.sequence)
      case 'ready':
        this.#pauseMs = firstPauseMs
        if (this.#connection !== undefined) callbacks.onReady(this.#connection.server)
        return
      case 'unready':
        return callbacks.onUnready(effect.why)
      case 'repeated':
        return callbacks.onRepeated(effect.first, effect.last)
      case 'stopped':
        return this.#stop(new ShardStopped(effect.reason, effect.text))
      default:
        effect satisfies never
    }
  }

  #connect(number: number, hasFailed: boolean): void {
    this.#number = number
    if (!hasFailed) return this.#open(number)
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#open(number)
    }, this.#pauseMs)
    this.#timers.add(timer)
    this.#pauseMs = Math.min(this.#pauseMs * 2, maxPauseMs)
  }

  #open(number: number): void {
    const { address, protocol } = this.#options
    const onLost = (error: Error): void => this.#report(() => protocol.handleLost(number, error.message))
    const findProblem = (server: ServerIdentity): string | undefined => protocol.findServerProblem(server)
    ServerConnection.open({ address, use: 'commit', findProblem, onLost }).then(
      (connection) => {
        if (this.#isClosed || this.#number !== number) return connection.destroy()
        this.#connection = connection
        this.#standbyNames = connection.facts.standbyNames
        this.#report(() => protocol.handleConnected(number, connection.server))
      },
      (error: unknown) => this.#reportLost(number, error),
    )
  }

  #writeBatch(effect: WriteEffect): void {
    const { protocol, statements } = this.#options
    const { connection, batch } = effect
    const [part] = batch.parts
    if (part !== undefined && isOneStatement(batch)) {
      const statement = statements.writeBatch(part, effect)
      return this.#send(
        connection,
        statement,
        ({ rows, warnings }) => {
          this.#standbyNames = String(rows[0]?.[1])
          protocol.handleWritten(connection, rows[0]?.[0] === '1', warnings)
        },
        batch.bytes,
      )
    }
    this.#watch(connection, batch.bytes, (server) => this.#writeParts(server, effect)).then(
      ({ hasEffect, warnings }) => this.#report(() => protocol.handleWritten(connection, hasEffect, warnings)),
      (error: unknown) => this.#reportLost(connection, error),
    )
  }

  /** One transaction. The first statement locks the row of the shard until the end of the transaction. */
  async #writeParts(
    server: ServerConnection,
    effect: WriteEffect,
  ): Promise<{ hasEffect: boolean; warnings: readonly string[] }> {
    const { statements } = this.#options
    await server.run({ text: 'BEGIN' })
    const { rows } = await server.run(statements.writeFence(effect))
    this.#standbyNames = String(rows[0]?.[1])
    if (rows[0]?.[0] !== '1') {
      await server.run({ text: 'ROLLBACK' })
      return { hasEffect: false, warnings: [] }
    }
    for (const part of effect.batch.parts) {
      for (const statement of statements.writePart(part)) await server.run(statement)
    }
    const { warnings } = await server.run({ text: 'COMMIT' })
    return { hasEffect: true, warnings }
  }

  #send(
    number: number,
    statement: Statement,
    handle: (result: Awaited<ReturnType<ServerConnection['run']>>) => void,
    bytes = 0,
  ): void {
    this.#watch(number, bytes, (server) => server.run(statement)).then(
      (result) => this.#report(() => handle(result)),
      (error: unknown) => this.#reportLost(number, error),
    )
  }

  /** Rejects as well if the server does not work on it any more: its response was lost. */
  #watch<Result>(number: number, bytes: number, work: (server: ServerConnection) => Promise<Result>): Promise<Result> {
    const server = this.#connection
    if (server === undefined || this.#number !== number) return Promise.reject(new StorageFailure('not connected'))
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined
      const wait = (delayMs: number): void => {
        timer = setTimeout(() => {
          this.#timers.delete(timer as NodeJS.Timeout)
          probeBackend(this.#options.address, server).then(() => {
            if (timer !== undefined) wait(slowMs)
          }, reject)
        }, delayMs)
        this.#timers.add(timer)
      }
      wait(slowMs + bytes / minBytesPerMs)
      work(server)
        .then(resolve, reject)
        .finally(() => {
          clearTimeout(timer)
          this.#timers.delete(timer as NodeJS.Timeout)
          timer = undefined
        })
    })
  }

  #report(handle: () => void): void {
    if (this.#isClosed) return
    handle()
    this.#runEffects()
  }

  /** An error of the server, too, leaves the outcome open: a commit can fail after its record was written. */
  #reportLost(number: number, error: unknown): void {
    if (!(error instanceof StorageFailure)) throw error
    this.#report(() => this.#options.protocol.handleLost(number, error.message))
  }

  #handleDurable(sequence: number): void {
    const current = this.#current
    this.#current = undefined
    this.#options.callbacks.onDurable(sequence, this.#standbyNames)
    current?.resolve()
    this.#writeNext()
  }

  #stop(stopped: ShardStopped): void {
    this.#stopped = stopped
    this.#options.callbacks.onStopped(stopped)
    this.#rejectAll(stopped)
  }
}
