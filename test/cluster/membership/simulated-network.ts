// Connections of nodes to database servers, and between nodes. Directions can be cut singly.

import type { Random } from '../../simulator/random.ts'
import type { Request, SimulatedDatabase, SimulatedServer } from './simulated-database.ts'
import type { SimulatedTime } from './simulated-time.ts'

/** A statement without a response for this long is checked over a second connection. */
const checkMs = 3_000
const connectTimeoutMs = 2_000

export class SimulatedNetwork {
  readonly #time: SimulatedTime
  readonly #random: Random
  readonly database: SimulatedDatabase
  /** `from>to`; nodes by name, servers as `database N`. */
  readonly #cuts = new Set<string>()
  /** Time of the last change of each direction. */
  readonly #changedMs = new Map<string, number>()
  /** Time at which the last late statement of each node arrives. */
  readonly #lateMs = new Map<string, number>()
  /** Probability that a statement is late by seconds. */
  lateness = 0

  constructor(time: SimulatedTime, random: Random, database: SimulatedDatabase) {
    this.#time = time
    this.#random = random
    this.database = database
  }

  setCut(from: string, to: string, isCut: boolean): void {
    const name = `${from}>${to}`
    if (this.#cuts.has(name) === isCut) return
    this.#changedMs.set(name, this.#time.nowMs)
    if (isCut) this.#cuts.add(name)
    else this.#cuts.delete(name)
  }

  healAll(): void {
    for (const name of Array.from(this.#cuts)) {
      const [from = '', to = ''] = name.split('>')
      this.setCut(from, to, false)
    }
    this.lateness = 0
  }

  isCut(from: string, to: string): boolean {
    return this.#cuts.has(`${from}>${to}`)
  }

  areConnected(a: string, b: string): boolean {
    return !this.isCut(a, b) && !this.isCut(b, a)
  }

  /** Time since both directions work; 0 if one does not. */
  measureConnectedMs(a: string, b: string): number {
    if (!this.areConnected(a, b)) return 0
    const changedMs = Math.max(this.#changedMs.get(`${a}>${b}`) ?? 0, this.#changedMs.get(`${b}>${a}`) ?? 0)
    return this.#time.nowMs - changedMs
  }

  /** A statement of the node arrives after `delayMs`. */
  recordLate(node: string, delayMs: number): void {
    this.#lateMs.set(node, Math.max(this.#lateMs.get(node) ?? 0, this.#time.nowMs + delayMs))
  }

  /** Time since the statements of the node arrive. */
  measurePunctualMs(node: string): number {
    return this.#time.nowMs - (this.#lateMs.get(node) ?? 0)
  }

  /** Delivers a message between nodes, if the direction works. */
  send(from: string, to: string, deliver: () => void): void {
    if (!this.isCut(from, to)) this.#time.after(this.#random.between(1, 20), deliver)
  }

  /** Returns the servers that accept writes and that the node reaches, the last promoted one at the end. */
  listServers(node: string): readonly SimulatedServer[] {
    return this.database.servers.filter((server) => server.isUp && this.areConnected(node, describeServer(server)))
  }

  /** Opens a connection to a server that accepts writes: the last promoted one, unless it did not respond in time. */
  connect(node: string, opened: (connection: SimulatedConnection | undefined) => void): void {
    const servers = this.listServers(node)
    const last = servers.at(-1)
    if (last === undefined) return this.#time.after(connectTimeoutMs, () => opened(undefined))
    const server = this.#random.chance(0.8) ? last : this.#random.pick(servers)
    this.#time.after(this.#random.between(2, 30), () =>
      opened(new SimulatedConnection({ node, server, network: this, time: this.#time, random: this.#random })),
    )
  }
}

export interface ConnectionParts {
  readonly node: string
  readonly server: SimulatedServer
  readonly network: SimulatedNetwork
  readonly time: SimulatedTime
  readonly random: Random
}

export function describeServer(server: SimulatedServer): string {
  return `database ${server.number}`
}

export class SimulatedConnection {
  readonly server: SimulatedServer
  readonly #parts: ConnectionParts
  readonly #run: number
  #isOpen = true

  constructor(parts: ConnectionParts) {
    this.#parts = parts
    this.server = parts.server
    this.#run = parts.server.runs
  }

  close(): void {
    this.#isOpen = false
  }

  /** `respond` is called once, unless the connection is closed before. */
  run(statement: Omit<Request, 'respond'>, respond: (result: unknown) => void): void {
    const { node, network, time, random } = this.#parts
    const name = describeServer(this.server)
    let isDone = false
    const finish = (result: unknown): void => {
      if (isDone || !this.#isOpen) return
      isDone = true
      if (result === undefined) this.close()
      respond(result)
    }
    const request: Request = {
      ...statement,
      respond: (result) => {
        const responseMs = random.chance(network.lateness) ? random.between(1_000, 4_000) : random.between(1, 10)
        if (responseMs >= 1_000) network.recordLate(node, responseMs)
        if (!network.isCut(name, node)) time.after(responseMs, () => finish(result))
      },
    }
    // What the network has accepted arrives even if the sender closes its end, and late if the direction is cut meanwhile.
    const isLate = network.isCut(node, name) || random.chance(network.lateness)
    const delayMs = isLate ? random.between(1_000, 20_000) : random.between(1, 10)
    if (isLate) network.recordLate(node, delayMs)
    time.after(delayMs, () => {
      if (this.server.runs === this.#run) this.server.run(request)
      else request.respond(undefined)
    })
    const check = (): void => {
      if (isDone || !this.#isOpen) return
      const isLast = network.listServers(node).at(-1) === this.server
      if (isLast && this.server.isWorkingOn(request)) time.after(1_000, check)
      else finish(undefined)
    }
    time.after(checkMs, check)
  }
}
