// One random scenario: faults for a while, then all faults end, and each shard must find a home.

import { MembershipViolation, type OracleName } from './membership-oracles.ts'
import { MembershipWorld, type WorldOptions } from './membership-world.ts'
import { describeServer } from './simulated-network.ts'

export interface ScenarioEnd {
  readonly seed: number
  readonly violation: { readonly oracle: OracleName; readonly text: string } | undefined
  readonly lines: readonly string[]
}

const faultsMs = 60_000
/** The unlinked, the end of a refused life (7 s), its new life, a former life of the same name (7 s), and the take-over. */
const settleMs = 40_000
const names = ['a', 'b', 'c', 'd', 'e']

export function runMembershipScenario(seed: number, options: Omit<WorldOptions, 'seed' | 'shards'> = {}): ScenarioEnd {
  const world = new MembershipWorld({ seed, shards: 4, ...options })
  let violation: ScenarioEnd['violation']
  try {
    new FaultyRun(world).run()
  } catch (error) {
    if (!(error instanceof MembershipViolation)) throw error
    violation = { oracle: error.oracle, text: error.message }
  }
  return { seed, violation, lines: world.lines }
}

type Fault = () => void

class FaultyRun {
  readonly #world: MembershipWorld
  readonly #names: readonly string[]
  #isOver = false

  constructor(world: MembershipWorld) {
    this.#world = world
    this.#names = names.slice(0, world.random.between(2, 5))
  }

  run(): void {
    const { random, time, network } = this.#world
    for (const name of this.#names) this.#world.start(name)
    time.runUntil(random.between(0, 12_000))
    network.lateness = random.pick([0, 0, 0.002, 0.02])
    this.#world.pauseChance = random.pick([0, 0, 0.0001, 0.0005])
    const faults = this.#chooseFaults()
    const pace = random.pick([500, 3_000, 10_000])
    this.#faultsLater(faults, pace)
    time.runUntil(time.nowMs + faultsMs)
    this.#settle()
  }

  /** Each scenario has some kinds of faults, so that they also occur without the others. */
  #chooseFaults(): readonly Fault[] {
    const { random } = this.#world
    const nodes = [() => this.#kill(), () => this.#pause(), () => this.#stop(), () => this.#failShard()]
    const links = [() => this.#cutNodes(), () => this.#cutDatabase()]
    const databases = [
      () => this.#restartDatabase(),
      () => this.#stallStandby(),
      () => this.#network.database.cancelWaits(),
      () => this.#promote(),
    ]
    const clocks = [() => this.#setNodeClock(), () => this.#setDatabaseClock()]
    const commands = [() => this.#command()]
    const groups = [nodes, links, databases, clocks, commands].filter(() => random.chance(0.5))
    return groups.length === 0 ? nodes : groups.flat()
  }

  get #network() {
    return this.#world.network
  }

  #faultsLater(faults: readonly Fault[], pace: number): void {
    const { random, time } = this.#world
    time.after(random.between(1, 2 * pace), () => {
      if (this.#isOver) return
      random.pick(faults)()
      this.#faultsLater(faults, pace)
    })
  }

  #pickNode() {
    const live = this.#world.nodes.filter((node) => !node.isDead)
    return live.length === 0 ? undefined : this.#world.random.pick(live)
  }

  #kill(): void {
    const { random, time } = this.#world
    const node = this.#pickNode()
    if (node === undefined) return
    this.#world.log(`kill ${node.name}`)
    node.kill()
    time.after(random.between(100, 30_000), () => this.#world.restart(node.name))
  }

  #pause(): void {
    const { random } = this.#world
    const node = this.#pickNode()
    if (node === undefined) return
    const isFrozen = random.chance(0.5)
    this.#world.log(`pause ${node.name}${isFrozen ? ' with its clock' : ''}`)
    node.troubledMs = this.#world.time.nowMs
    node.pause(random.between(100, 25_000), isFrozen)
  }

  #stop(): void {
    const node = this.#pickNode()
    if (node === undefined) return
    this.#world.log(`stop ${node.name}`)
    node.input({ kind: 'stop' })
    this.#world.time.after(this.#world.random.between(5_000, 30_000), () => this.#world.restart(node.name))
  }

  #failShard(): void {
    const node = this.#pickNode()
    const [home] = node?.homes.values() ?? []
    if (node === undefined || home === undefined || !home.isRunning || this.#world.random.chance(0.8)) return
    const { shard, epoch } = home
    this.#world.log(`shard ${shard} of ${node.name} fails`)
    home.close()
    node.input({ kind: 'home-failed', shard, epoch })
  }

  #cutNodes(): void {
    const { random } = this.#world
    const [from, to] = [random.pick(this.#names), random.pick(this.#names)]
    if (from !== to) this.#cut(from, to)
  }

  #cutDatabase(): void {
    const { random } = this.#world
    const server = describeServer(random.pick(this.#network.database.servers))
    const name = random.pick(this.#names)
    if (random.chance(0.5)) this.#cut(name, server)
    else this.#cut(server, name)
  }

  #cut(from: string, to: string): void {
    const { random, time } = this.#world
    this.#world.log(`cut ${from} to ${to}`)
    this.#network.setCut(from, to, true)
    if (random.chance(0.3)) this.#network.setCut(to, from, true)
    time.after(random.between(500, 25_000), () => {
      this.#network.setCut(from, to, false)
      this.#network.setCut(to, from, false)
    })
  }

  #restartDatabase(): void {
    const { primary } = this.#network.database
    const durationMs = this.#world.random.between(100, 25_000)
    this.#world.log(`database ${primary.number} is down for ${durationMs} ms`)
    primary.stop()
    this.#world.checkAvailability()
    this.#world.time.after(durationMs, () => {
      primary.start()
      this.#world.checkAvailability()
    })
  }

  #stallStandby(): void {
    const { primary } = this.#network.database
    this.#world.log('the standby stalls')
    primary.isStandbyStalled = true
    this.#world.checkAvailability()
    this.#world.time.after(this.#world.random.between(100, 20_000), () => {
      primary.isStandbyStalled = false
      primary.replicate()
      this.#world.checkAvailability()
    })
  }

  #promote(): void {
    const { random } = this.#world
    const { database } = this.#network
    const former = database.primary
    if (former.replicated === undefined) return
    // The administrator stops the former server; in a third of the promotions it lives on.
    if (!random.chance(0.33)) former.stop()
    const missing = random.chance(0.05) ? random.between(1, 30) : 0
    if (missing > 0) this.#world.isLossy = true
    this.#world.log(`promotion, ${missing} entries are missing`)
    database.promote(missing)
    this.#world.checkAvailability()
    this.#world.time.after(random.between(0, 10_000), () => {
      database.attachStandby()
      this.#world.checkAvailability()
    })
  }

  #setNodeClock(): void {
    const { random, time } = this.#world
    const node = this.#pickNode()
    if (node === undefined) return
    this.#world.log(`clock of ${node.name} is wrong`)
    node.troubledMs = time.nowMs
    if (random.chance(0.3)) node.wallStoppedMs = time.nowMs
    else node.wallOffsetMs = random.pick([-1, 1]) * random.between(100, 100_000)
    time.after(random.between(500, 20_000), () => {
      node.wallStoppedMs = undefined
      node.wallOffsetMs = 0
      node.troubledMs = time.nowMs
    })
  }

  #setDatabaseClock(): void {
    const { random } = this.#world
    const offsetMs = random.pick([-1, 1]) * random.between(100, 60_000)
    this.#world.log(`clock of the database changes by ${offsetMs} ms`)
    this.#network.database.primary.clockOffsetMs = random.chance(0.3) ? 0 : offsetMs
  }

  #command(): void {
    const { random } = this.#world
    const node = this.#pickNode()
    if (node === undefined) return
    const dead = this.#world.nodes.filter((found) => found.isDead)
    const name = random.pick(this.#names)
    const commands = [
      { kind: 'evacuate', node: name, isEvacuated: random.chance(0.5) },
      { kind: 'rebalance' },
      ...(dead.length === 0 ? [] : [{ kind: 'expire', life: random.pick(dead).life } as const]),
    ] as const
    node.input({ kind: 'command', id: this.#world.time.nowMs, command: random.pick(commands) })
  }

  #settle(): void {
    const { time, nodes } = this.#world
    const { database } = this.#network
    this.#isOver = true
    this.#world.log('all faults end')
    this.#world.pauseChance = 0
    this.#network.healAll()
    for (const server of database.servers.slice(0, -1)) server.stop()
    if (!database.primary.isUp) database.primary.start()
    database.primary.clockOffsetMs = 0
    database.attachStandby()
    this.#world.checkAvailability()
    for (const node of nodes) {
      node.wallOffsetMs = 0
      node.wallStoppedMs = undefined
    }
    // An administrator ends evacuations, and accepts what is down.
    for (const delayMs of [15_000, 25_000]) time.after(delayMs, () => this.#repair())
    time.after(1_000, () => this.#world.restart(this.#names[0] ?? ''))
    time.runUntil(time.nowMs + settleMs + 15_000)
    this.#world.oracles.checkEnd()
  }

  #repair(): void {
    const [node] = this.#world.nodes.filter((found) => !found.isDead && found.mayAct())
    if (node === undefined) return
    for (const name of this.#names) {
      node.input({ kind: 'command', id: 0, command: { kind: 'evacuate', node: name, isEvacuated: false } })
    }
    for (let shard = 0; shard < this.#world.shards; shard++) {
      node.input({ kind: 'command', id: 1 + shard, command: { kind: 'accept-loss', shard } })
    }
  }
}
