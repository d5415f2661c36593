// Queues that the core wants back from disk: each is read once the batches before it are there.

import type { Input, Question } from '../core/index.ts'
import { readQueue, type Store } from '../storage/index.ts'

type LoadQueue = Extract<Question, { kind: 'load-queue' }>
type QueueLoaded = Extract<Input, { kind: 'queue-loaded' }>

export class QueueLoads {
  readonly #store: Store
  readonly #answer: (answer: QueueLoaded) => void
  readonly #fail: (error: unknown) => void
  #waiting: LoadQueue[] = []
  #underWay = 0

  constructor(store: Store, answer: (answer: QueueLoaded) => void, fail: (error: unknown) => void) {
    this.#store = store
    this.#answer = answer
    this.#fail = fail
  }

  get underWay(): number {
    return this.#underWay
  }

  add(question: LoadQueue, committedBatch: number): void {
    if (question.afterBatch <= committedBatch) this.#read(question)
    else this.#waiting.push(question)
  }

  noteCommitted(batch: number): void {
    if (this.#waiting.length === 0) return
    const ready = this.#waiting.filter((question) => question.afterBatch <= batch)
    this.#waiting = this.#waiting.filter((question) => question.afterBatch > batch)
    for (const question of ready) this.#read(question)
  }

  #read({ question, clientId, fromSequence, limit }: LoadQueue): void {
    this.#underWay++
    readQueue(this.#store, clientId, fromSequence, limit).then(
      ({ records, isEnd }) => {
        this.#underWay--
        this.#answer({ kind: 'queue-loaded', question, records, isEnd })
      },
      (error: unknown) => this.#fail(error),
    )
  }
}
