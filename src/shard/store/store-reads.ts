// All reads of the core while the shard runs: parts of queues, and single messages. They share one alarm, which ends when neither kind
// of read fails.

import type { Input, CoreRequest } from '../../core/index.ts'
import type { Store } from '../../storage/index.ts'
import type { CrashMarker } from './crash-marker.ts'
import { MessageLoads } from './message-loads.ts'
import { QueueReads } from './queue-reads.ts'

type StoreRead = Extract<CoreRequest, { kind: 'load-queue' | 'load-message' }>

export function isStoreRead(request: CoreRequest): request is StoreRead {
  return request.kind === 'load-queue' || request.kind === 'load-message'
}

export interface StoreReadsCallbacks {
  /** Passes a response to the core, within `marked`. If that throws, the crash marker keeps the name of the record. */
  respond(
    response: Extract<Input, { kind: 'queue-loaded' | 'message-loaded' }>,
    marked: (work: () => void) => void,
  ): void
  onFailure(text: string): void
  onRecovery(): void
  fail(error: unknown): void
}

export class StoreReads {
  readonly #queues: QueueReads
  readonly #messages: MessageLoads
  readonly #failing = new Set<'queues' | 'messages'>()

  constructor(store: Store, callbacks: StoreReadsCallbacks, mark?: CrashMarker) {
    this.#queues = new QueueReads(store, this.#createCallbacks('queues', callbacks), mark)
    this.#messages = new MessageLoads(store, this.#createCallbacks('messages', callbacks), mark)
  }

  add(request: StoreRead, committedBatch: number): void {
    if (request.kind === 'load-queue') this.#queues.add(request, committedBatch)
    else this.#messages.add(request)
  }

  handleCommitted(batch: number): void {
    this.#queues.handleCommitted(batch)
  }

  async end(): Promise<void> {
    await Promise.all([this.#queues.end(), this.#messages.end()])
  }

  #createCallbacks(name: 'queues' | 'messages', callbacks: StoreReadsCallbacks): StoreReadsCallbacks {
    return {
      respond: (response, marked) => callbacks.respond(response, marked),
      onFailure: (text) => {
        this.#failing.add(name)
        callbacks.onFailure(text)
      },
      onRecovery: () => {
        this.#failing.delete(name)
        if (this.#failing.size === 0) callbacks.onRecovery()
      },
      fail: (error) => callbacks.fail(error),
    }
  }
}
