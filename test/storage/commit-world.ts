// A home that commits batches to a simulated database while connections, servers and waits for the standby fail, from a seed.

import assert from 'node:assert/strict'
import { CommitProtocol, type StopReason } from '../../src/storage/postgres/commit-protocol.ts'
import { Random } from '../simulator/random.ts'
import { type SentStatement, type SimulatedBatch, SimulatedServer, type StatementResult } from './simulated-database.ts'

export interface WorldOptions {
  readonly seed: number
  readonly batches: number
  /** Standbys without the last batches may be promoted. */
  readonly canGoBack?: boolean
  /** Another node may take the shard. */
  readonly canBeReplaced?: boolean
  readonly maxKeptBytes?: number
}

interface SimulatedConnection {
  readonly number: number
  readonly server: SimulatedServer
  isOpen: boolean
  /** Sent and not executed. */
  readonly sent: SentStatement[]
  readonly executed: { readonly statement: SentStatement; readonly result: StatementResult }[]
}

const home = { shard: 0, epoch: 5, life: 'mine' }
const batchBytes = 100
const maxSteps = 20_000

export class CommitWorld {
  readonly #options: WorldOptions
  readonly #random: Random
  readonly #protocol: CommitProtocol<SimulatedBatch>
  readonly #connections: SimulatedConnection[] = []
  /** Oldest first. All may be reached. */
  #servers: SimulatedServer[]
  #connecting: number | undefined
  #isPending = false
  #isStable = false
  #isReady = false
  #wasReplaced = false
  #hasGoneBack = false
  committed = 0
  durable = 0
  readonly repeated: { readonly first: number; readonly last: number }[] = []
  stopped: StopReason | undefined
  /** How often each kind of event happened. */
  readonly counts = new Map<string, number>()

  constructor(options: WorldOptions) {
    this.#options = options
    this.#random = new Random(options.seed)
    const server = new SimulatedServer(1, [])
    server.take(home.epoch, home.life)
    server.replicated = server.log.length
    this.#servers = [server]
    const maxKeptBytes = options.maxKeptBytes ?? Infinity
    this.#protocol = new CommitProtocol({ home, server: server.identity, maxKeptBytes })
  }

  /** Runs until all batches are durable or the home has stopped; faults end before. */
  run(): void {
    this.#protocol.start()
    this.#handleEffects()
    for (let step = 0; step < maxSteps; step++) {
      if (this.stopped !== undefined) return this.#checkEnd()
      if (this.durable === this.#options.batches) return this.#settle()
      if (step === maxSteps / 2) this.#stabilize()
      this.#step()
      this.#handleEffects()
    }
    assert.fail(`${this.durable} of ${this.#options.batches} batches are durable after ${maxSteps} steps`)
  }

  /** Nothing fails from now on, and former primaries are gone. */
  #stabilize(): void {
    this.#isStable = true
    for (const connection of this.#connections) if (connection.server !== this.#primary) this.#close(connection)
    this.#handleEffects()
  }

  /** The home compares once more what the database has. */
  #settle(): void {
    this.#stabilize()
    for (const connection of this.#connections) if (connection.isOpen) this.#close(connection)
    this.#isReady = false
    this.#handleEffects()
    for (let step = 0; step < maxSteps && !this.#isReady && this.stopped === undefined; step++) {
      this.#step()
      this.#handleEffects()
    }
    assert.ok(this.#isReady || this.stopped !== undefined, 'the home is ready in the end')
    if (this.stopped === undefined) assert.equal(this.#primary.listBatches().length, this.durable, 'no batch is lost')
    this.#checkEnd()
  }

  get #primary(): SimulatedServer {
    const primary = this.#servers.at(-1)
    assert.ok(primary !== undefined)
    return primary
  }

  #step(): void {
    const faults = this.#isStable ? [] : this.#listFaults()
    const steps: [number, string, () => void][] = [
      [20, 'commit', () => this.#commit()],
      [20, 'connect', () => this.#connect()],
      [30, 'execute', () => this.#execute()],
      [30, 'replicate', () => this.#replicate()],
      [30, 'respond', () => this.#respond()],
      ...faults,
    ]
    const total = steps.reduce((sum, [weight]) => sum + weight, 0)
    let chosen = this.#random.between(0, total - 1)
    for (const [weight, name, act] of steps) {
      chosen -= weight
      if (chosen >= 0) continue
      this.counts.set(name, (this.counts.get(name) ?? 0) + 1)
      return act()
    }
  }

  #listFaults(): [number, string, () => void][] {
    const { canGoBack, canBeReplaced } = this.#options
    return [
      [4, 'cancel', () => this.#cancelWait()],
      [4, 'lose', () => this.#loseConnection()],
      [2, 'fail', () => this.#failStatement()],
      [1, 'restart', () => this.#restart()],
      [1, 'promote', () => this.#promote(0)],
      [1, 'report', () => this.#protocol.handleReportedServer(this.#primary.identity)],
      ...(canGoBack === true ? ([[1, 'go-back', () => this.#promote(this.#random.between(0, 3))]] as const) : []),
      ...(canBeReplaced === true && this.durable > this.#options.batches / 2
        ? ([[1, 'replace', () => this.#replace()]] as const)
        : []),
    ].map(([weight, name, act]) => [weight, name, act] as [number, string, () => void])
  }

  #commit(): void {
    if (this.#isPending || this.committed === this.#options.batches) return
    this.#isPending = true
    this.committed += 1
    this.#protocol.commit({ bytes: batchBytes, position: this.committed })
  }

  #connect(): void {
    const number = this.#connecting
    if (number === undefined) return
    this.#connecting = undefined
    if (!this.#isStable && this.#random.chance(0.25)) return this.#protocol.handleLost(number, 'connection refused')
    const server = this.#isStable ? this.#primary : this.#random.pick(this.#servers)
    this.#connections.push({ number, server, isOpen: true, sent: [], executed: [] })
    this.#protocol.handleConnected(number, server.identity)
  }

  /** Also a statement whose connection is lost: it arrives late. */
  #execute(): void {
    const connection = this.#pick(({ sent }) => sent.length > 0)
    const statement = connection?.sent.shift()
    if (connection === undefined || statement === undefined) return
    connection.executed.push({ statement, result: connection.server.execute(home, statement) })
  }

  /** An old primary has no standby any more. */
  #replicate(): void {
    const primary = this.#primary
    if (primary.replicated < primary.log.length) primary.replicated += 1
  }

  #respond(): void {
    const connection = this.#pick(({ executed, isOpen, server }) => {
      const [first] = executed
      return isOpen && first !== undefined && first.result.waitsFor <= server.replicated
    })
    if (connection !== undefined) this.#deliver(connection, [])
  }

  /** The server responds although the standby does not have it. */
  #cancelWait(): void {
    const connection = this.#pick(({ executed, isOpen, server }) => {
      const [first] = executed
      return isOpen && first !== undefined && first.result.waitsFor > server.replicated
    })
    if (connection !== undefined) this.#deliver(connection, ['canceling wait for synchronous replication'])
  }

  #deliver(connection: SimulatedConnection, warnings: readonly string[]): void {
    const executed = connection.executed.shift()
    if (executed === undefined) return
    const { statement, result } = executed
    if (statement.kind === 'read-row') this.#protocol.handleRow(connection.number, result.row)
    else if (statement.kind === 'raise-attempt') {
      this.#protocol.handleRaised(connection.number, result.row, warnings)
    } else this.#protocol.handleWritten(connection.number, result.row !== undefined, warnings)
  }

  #loseConnection(): void {
    const connection = this.#pick(({ isOpen }) => isOpen)
    if (connection !== undefined) this.#close(connection)
  }

  /** The server responds with an error, for example because it ends the process. */
  #failStatement(): void {
    const connection = this.#pick(({ isOpen, executed }) => isOpen && executed.length > 0)
    if (connection !== undefined) this.#protocol.handleLost(connection.number, 'terminating connection')
  }

  #close(connection: SimulatedConnection): void {
    connection.isOpen = false
    this.#protocol.handleLost(connection.number, 'connection reset')
  }

  /** All processes of the server end. What was not replicated is visible afterwards. */
  #restart(): void {
    const server = this.#random.pick(this.#servers)
    for (const connection of this.#connections.filter((each) => each.server === server)) {
      connection.sent.length = 0
      connection.executed.length = 0
      if (connection.isOpen) this.#close(connection)
    }
  }

  /** The old primary and its connections live on. `lost`: entries that the standby had confirmed and does not have. */
  #promote(lost: number): void {
    const old = this.#primary
    const count = Math.max(1, old.replicated - lost)
    if (count < old.replicated) this.#hasGoneBack = true
    this.#servers = [...this.#servers.slice(-1), new SimulatedServer(old.timeline + 1, old.log.slice(0, count))]
  }

  #replace(): void {
    if (this.#wasReplaced) return
    this.#wasReplaced = true
    this.#primary.replace({ epoch: home.epoch + 1, life: 'other' })
  }

  #pick(isPossible: (connection: SimulatedConnection) => boolean): SimulatedConnection | undefined {
    const possible = this.#connections.filter(isPossible)
    return possible.length === 0 ? undefined : this.#random.pick(possible)
  }

  #handleEffects(): void {
    for (const effect of this.#protocol.takeEffects()) {
      switch (effect.kind) {
        case 'connect':
          this.#connecting = effect.connection
          break
        case 'disconnect': {
          const connection = this.#connections.find(({ number }) => number === effect.connection)
          if (connection !== undefined) connection.isOpen = false
          break
        }
        case 'raise-attempt':
        case 'read-row':
        case 'write':
          this.#connections.find(({ number }) => number === effect.connection)?.sent.push(effect)
          break
        case 'durable':
          this.#handleDurable(effect.sequence)
          break
        case 'ready':
          this.#isReady = true
          this.#checkReady(effect.server.timeline)
          break
        case 'repeated':
          this.repeated.push(effect)
          break
        case 'stopped':
          this.stopped = effect.reason
          break
        case 'unready':
          break
        default:
          effect satisfies never
      }
    }
  }

  #handleDurable(sequence: number): void {
    assert.equal(sequence, this.durable + 1, 'batches become durable in their order')
    assert.equal(this.stopped, undefined, 'nothing is acknowledged after the end')
    this.durable = sequence
    this.#isPending = false
    if (this.#hasGoneBack) return
    const primary = this.#primary
    assert.ok(primary.listBatches(primary.replicated).includes(sequence), `batch ${sequence} is on the standby`)
  }

  /** Reads act on what is visible, so it must survive the server. */
  #checkReady(timeline: number): void {
    const server = this.#servers.find((each) => each.timeline === timeline)
    if (server === undefined || this.#hasGoneBack) return
    const visible = server.listBatches()
    assert.deepEqual(server.listBatches(server.replicated), visible, 'all visible batches are on the standby')
    assert.ok(visible.length >= this.durable, 'all durable batches are visible')
  }

  #checkEnd(): void {
    const found = this.#primary.listBatches()
    const expected = Array.from({ length: found.length }, (_, index) => index + 1)
    assert.deepEqual(found, expected, 'each batch is stored once, in order')
    assert.equal(this.#primary.countBatchesAfter(home.epoch + 1), 0, 'no statement of the former home has an effect')
    if (this.stopped === 'replaced') assert.ok(this.#wasReplaced, 'another home took the shard')
    if (this.stopped === 'went-back') assert.ok(this.#hasGoneBack, 'the database went back')
    if (!this.#hasGoneBack) assert.ok(found.length >= this.durable, 'no durable batch is lost')
  }
}
