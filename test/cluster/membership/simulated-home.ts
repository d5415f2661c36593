// A stored shard at its home: it becomes the writer in its database, then commits and acknowledges.

import type { ShardVersion } from '../../../src/cluster/index.ts'
import type { MembershipWorld } from './membership-world.ts'
import type { SimulatedNode } from './simulated-node.ts'
import type { SimulatedConnection } from './simulated-network.ts'

/** The row of a shard that decides who writes its records. */
export interface Fence {
  readonly epoch: number
  readonly life: string
  readonly attempt: number
  readonly sequence: number
}

export class SimulatedHome {
  readonly shard: number
  readonly epoch: number
  readonly #world: MembershipWorld
  readonly #node: SimulatedNode
  #connection: SimulatedConnection | undefined
  #attempt = 0
  /** Number of the last commit that is stored. */
  #sequence = 0
  #state: 'starting' | 'running' | 'stopping' | 'closed' = 'starting'
  #isCommitting = false

  constructor(world: MembershipWorld, node: SimulatedNode, { shard, epoch }: ShardVersion) {
    this.#world = world
    this.#node = node
    this.shard = shard
    this.epoch = epoch
    this.#claim()
  }

  get isRunning(): boolean {
    return this.#state === 'running'
  }

  close(): void {
    this.#state = 'closed'
    this.#connection?.close()
  }

  /** `released`: the commit in flight ends first. */
  stop(reason: 'released' | 'lost'): void {
    if (this.#state === 'closed') return
    if (reason === 'released' && this.#isCommitting) this.#state = 'stopping'
    else this.#stopped()
  }

  #stopped(): void {
    this.close()
    const { shard, epoch } = this
    this.#world.time.after(this.#world.random.between(1, 100), () =>
      this.#node.input({ kind: 'home-stopped', shard, epoch }),
    )
  }

  /** Take-over, or barrier after an unknown outcome. Later statements of older connections have no effect. */
  #claim(): void {
    if (this.#state === 'closed') return
    if (this.#state === 'stopping') return this.#stopped()
    const attempt = ++this.#attempt
    this.#world.network.connect(this.#node.name, (connection) =>
      this.#node.step(() => {
        if (this.#state === 'closed') return
        if (connection === undefined) return this.#claim()
        this.#connection = connection
        const own = { epoch: this.epoch, life: this.#node.life, attempt }
        this.#world.claimFence(connection, this.shard, own, (fence) =>
          this.#node.step(() => this.#onClaimed(fence, attempt)),
        )
      }),
    )
  }

  #onClaimed(fence: Fence | undefined, attempt: number): void {
    if (this.#state === 'closed') return
    if (fence === undefined) return this.#world.time.after(500, () => this.#node.step(() => this.#claim()))
    if (!this.#isOwn(fence, attempt)) return this.#fail()
    if (this.#state === 'stopping') return this.#stopped()
    this.#world.oracles.onTakenOver(this.#node, this, fence)
    this.#sequence = fence.sequence
    if (this.#state === 'starting') {
      this.#state = 'running'
      const { shard, epoch } = this
      this.#node.input({ kind: 'home-restored', shard, epoch })
    }
    this.#commitLater()
  }

  #isOwn({ epoch, life, attempt }: Fence, own: number): boolean {
    return epoch === this.epoch && life === this.#node.life && attempt === own
  }

  /** Another home writes the shard, or the database went back: nothing more is sent. */
  #fail(): void {
    this.#world.log(`${this.#node.name} shard ${this.shard} epoch ${this.epoch} may not write any more`)
    this.#connection?.close()
  }

  #commitLater(): void {
    this.#world.time.after(this.#world.random.between(100, 600), () => this.#node.step(() => this.#commit()))
  }

  #commit(): void {
    if (this.#state !== 'running' || this.#connection === undefined) return
    this.#isCommitting = true
    const sequence = this.#sequence + 1
    const own = { epoch: this.epoch, life: this.#node.life, attempt: this.#attempt }
    this.#world.commit(this.#connection, this.shard, { ...own, sequence }, (stored) =>
      this.#node.step(() => this.#onCommitted(stored, sequence)),
    )
  }

  #onCommitted(isStored: boolean | undefined, sequence: number): void {
    this.#isCommitting = false
    if (this.#state === 'closed') return
    if (isStored === true) {
      this.#sequence = sequence
      // The lease is checked after the response was read and before the acknowledgement is sent.
      if (this.#node.mayAct()) this.#world.oracles.onAcknowledged(this.#node, this, sequence)
    }
    if (this.#state === 'stopping') return this.#stopped()
    if (isStored === undefined) this.#claim()
    else if (isStored) this.#commitLater()
    else this.#claim()
  }
}
