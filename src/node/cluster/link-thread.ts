// The link thread as the main thread sees it: started, told about nodes and shards, and started again when it fails. What other nodes had sent
// is lost with it: each of its starts is a new run, which ends the channels of the earlier one.

import { type Transferable, Worker } from 'node:worker_threads'
import type { LinkIdentity, StartedShard } from '../../cluster/index.ts'
import {
  linkThreadEntry,
  type LinkThreadStart,
  type LinkThreadToNode,
  type NodeToLinkThread,
  type OtherNode,
} from '../../links/index.ts'

export interface LinkThreadOptions {
  readonly identity: Omit<LinkIdentity, 'run'>
  readonly start: Omit<LinkThreadStart, 'identity'>
  onMessage(message: Exclude<LinkThreadToNode, { kind: 'ready' | 'failed' | 'stopped' }>): void
  /** The thread has failed, and starts again. */
  onFailure(report: string): void
}

const restartDelayMs = 500
const maxHeapMb = 1_024

export class LinkThread {
  readonly #options: LinkThreadOptions
  #worker: Worker | undefined
  #run = 0
  #nodes: readonly OtherNode[] = []
  readonly #shards = new Set<StartedShard>()
  #timer: NodeJS.Timeout | undefined
  #isStopping = false
  /** Resolves the first start: with the port of the listener, or with the reason why there is none. */
  #settleStart: ((outcome: { readonly port: number } | { readonly problem: string }) => void) | undefined
  #settleStop: (() => void) | undefined
  #report = ''

  constructor(options: LinkThreadOptions) {
    this.#options = options
  }

  /** Resolves with the port on which other nodes connect, or with the reason why the thread cannot listen. */
  start(): Promise<{ readonly port: number } | { readonly problem: string }> {
    return new Promise((resolve) => {
      this.#settleStart = resolve
      this.#startThread()
    })
  }

  setNodes(nodes: readonly OtherNode[]): void {
    this.#nodes = nodes
    this.#send({ kind: 'nodes', nodes })
  }

  /** A shard of this node runs. The object names it until `removeShard`. */
  addShard(shard: StartedShard): void {
    this.#shards.add(shard)
    this.#send({ kind: 'shard-up', shard })
  }

  removeShard(shard: StartedShard): void {
    if (this.#shards.delete(shard)) this.#send({ kind: 'shard-down', shard })
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    clearTimeout(this.#timer)
    const worker = this.#worker
    if (worker === undefined) return
    await new Promise<void>((resolve) => {
      this.#settleStop = resolve
      this.#send({ kind: 'stop' })
    })
    await worker.terminate()
  }

  #send(message: NodeToLinkThread, transfer: readonly Transferable[] = []): void {
    this.#worker?.postMessage(message, transfer)
  }

  #startThread(): void {
    const { identity, start } = this.#options
    this.#run++
    const worker = new Worker(linkThreadEntry, {
      name: 'links',
      workerData: { ...start, identity: { ...identity, run: this.#run } } satisfies LinkThreadStart,
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    })
    this.#worker = worker
    worker.on('message', (message: LinkThreadToNode) => this.#handleMessage(message))
    worker.on(
      'error',
      (error) => (this.#report = error instanceof Error ? (error.stack ?? error.message) : String(error)),
    )
    worker.on('exit', () => this.#handleExit())
    this.#send({ kind: 'nodes', nodes: this.#nodes })
    for (const shard of this.#shards) this.#send({ kind: 'shard-up', shard })
  }

  #handleMessage(message: LinkThreadToNode): void {
    switch (message.kind) {
      case 'ready':
        this.#settleStart?.({ port: message.port })
        this.#settleStart = undefined
        return
      case 'failed':
        this.#report = message.message
        return
      case 'stopped':
        return this.#settleStop?.()
      default:
        return this.#options.onMessage(message)
    }
  }

  #handleExit(): void {
    this.#worker = undefined
    this.#settleStop?.()
    if (this.#isStopping) return
    const settle = this.#settleStart
    if (settle !== undefined) return settle({ problem: this.#report })
    this.#options.onFailure(this.#report)
    this.#timer = setTimeout(() => this.#startThread(), restartDelayMs)
  }
}
