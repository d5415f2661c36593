// Dead letters of an action are sent again by a job, whose progress is true at each moment.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { DeadLetterRetry, type RetriedLetters } from '../../src/actions/delivery/dead-letter-retry.ts'
import type { DeadLetter } from '../../src/actions/delivery/dead-letters.ts'

function letterOf(id: number): DeadLetter {
  return { id, why: '', atMs: 0, entry: { payload: Buffer.from(String(id)), attributes: [] } }
}

/** Dead letters of which at most `window` are delivered at one time, and an action queue that answers when the test says so. */
class Stage {
  readonly letters: number[]
  readonly sent: number[] = []
  isStopped = false
  #stores: { readonly id: number; readonly resolve: (why: string | undefined) => void }[] = []
  #timers: (() => void)[] = []
  readonly retry: DeadLetterRetry

  constructor(count: number, window: number) {
    this.letters = Array.from({ length: count }, (_, index) => index + 1)
    const delivered = (): readonly number[] => this.letters.slice(0, window)
    const isStopped = (): boolean => this.isStopped
    const letters: RetriedLetters = {
      get isStopped() {
        return isStopped()
      },
      get size() {
        return delivered().length
      },
      get canReceive() {
        return delivered().length < window
      },
      find: (id) => (delivered().includes(id) ? letterOf(id) : undefined),
      next: (afterId) =>
        delivered()
          .filter((id) => id > afterId)
          .map(letterOf)[0],
      delete: (id) => this.letters.splice(this.letters.indexOf(id ?? 0), 1).length,
    }
    this.retry = new DeadLetterRetry(letters, {
      after: (_, work) => {
        this.#timers.push(work)
        return { cancel: () => (this.#timers = this.#timers.filter((other) => other !== work)) }
      },
      countStored: () => this.letters.length,
      store: ({ payload }) => new Promise((resolve) => this.#stores.push({ id: Number(payload.toString()), resolve })),
    })
  }

  /** The action queue answers up to `count` requests, one after the other. */
  async answer(count: number, whyOf: (id: number) => string | undefined = () => undefined): Promise<void> {
    for (let number = 0; number < count; number++) {
      await setImmediate()
      const store = this.#stores.shift()
      if (store === undefined) return
      const why = whyOf(store.id)
      if (why === undefined) this.sent.push(store.id)
      store.resolve(why)
    }
    await setImmediate()
  }

  passTime(): void {
    for (const work of this.#timers.splice(0)) work()
  }
}

test('a job sends each letter in order, also those that the queue delivers later', async () => {
  const stage = new Stage(5, 2)
  const result = stage.retry.retryAll(5_000)
  await stage.answer(5)
  assert.deepEqual(await result, { isRunning: false, sent: 5, stayed: 0, pending: 0, why: '' })
  assert.deepEqual([stage.sent, stage.letters], [[1, 2, 3, 4, 5], []])
})

test('a request during a job, and one that waits for too long, gets the progress; no letter is sent twice', async () => {
  const stage = new Stage(4, 10)
  const first = stage.retry.retryAll(5_000)
  await stage.answer(1)
  const second = stage.retry.retryAll(5_000)
  const one = await stage.retry.retryOne(2)
  assert.deepEqual(one, { isRunning: false, sent: 0, stayed: 0, pending: 0, why: '' }, 'it is being sent')
  stage.passTime()
  const progress = { isRunning: true, sent: 1, stayed: 0, pending: 3, why: '' }
  assert.deepEqual([await first, await second], [progress, progress])
  await stage.answer(3)
  assert.deepEqual(stage.retry.progress, { isRunning: false, sent: 4, stayed: 0, pending: 0, why: '' })
  assert.deepEqual(stage.sent, [1, 2, 3, 4])
})

test('letters that cannot be sent stay, with the reason, and do not stop others', async () => {
  const stage = new Stage(3, 10)
  const result = stage.retry.retryAll(5_000)
  await stage.answer(3, (id) => (id === 2 ? 'the rule fails again' : undefined))
  assert.deepEqual(await result, { isRunning: false, sent: 2, stayed: 1, pending: 0, why: 'the rule fails again' })
  assert.deepEqual(stage.letters, [2])
})

test('a job ends if letters that stay leave no place for further ones, and says how many were not tried', async () => {
  const stage = new Stage(5, 2)
  const result = stage.retry.retryAll(5_000)
  await stage.answer(5, () => 'the action queue is full')
  assert.deepEqual(await result, {
    isRunning: false,
    sent: 0,
    stayed: 2,
    pending: 3,
    why: 'the action queue is full',
  })
})

test('a job ends with its action, and leaves what was not sent', async () => {
  const stage = new Stage(3, 10)
  const result = stage.retry.retryAll(5_000)
  await setImmediate()
  stage.isStopped = true
  await stage.answer(3)
  assert.deepEqual(await result, { isRunning: false, sent: 1, stayed: 0, pending: 2, why: '' })
  assert.deepEqual(stage.letters, [2, 3])
})
