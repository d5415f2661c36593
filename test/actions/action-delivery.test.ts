// Sizes of the batches that an action sends. Order and repetition are tested by scenarios: see test/simulator/action-scenario.ts.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ActionDelivery, type ActionDeliveryDependencies } from '../../src/actions/delivery/action-delivery.ts'
import { createStreamPair } from '../../src/mqtt-client/index.ts'
import type { Packet } from '../../src/protocol/index.ts'
import { type ActionEntry, type WriteOutcome } from '../../src/sinks/index.ts'
import type { ByteStream } from '../../src/transports/index.ts'
import { encode, freshDecoder } from '../protocol/decoding.ts'

/** An action whose queue and service the test controls. The key of an entry is the first letter of its payload. */
class Stage {
  /** Payloads of the batches, as they were sent. */
  readonly batches: string[][] = []
  readonly #pending: ((outcomes: readonly WriteOutcome[]) => void)[] = []
  readonly #work: (() => void)[] = []
  #timers: (() => void)[] = []
  #queue: ByteStream | undefined
  #packetId = 0

  readonly delivery: ActionDelivery

  constructor(
    settings: { readonly batchSize: number; readonly inflightWindow: number },
    storeDeadLetter: ActionDeliveryDependencies['storeDeadLetter'] = () => assert.fail('the service refuses nothing'),
  ) {
    this.delivery = new ActionDelivery(
      {
        ...settings,
        batchTimeMs: settings.batchSize === 1 ? 0 : 10,
        maxRetries: 0,
        retryIntervalMs: 500,
        healthCheckIntervalMs: 5_000,
        onePerKey: false,
      },
      {
        nowMs: () => 0,
        random: () => 0,
        after: (_, work) => {
          this.#timers.push(work)
          return { cancel: () => (this.#timers = this.#timers.filter((other) => other !== work)) }
        },
        findOrderKey: ({ payload }) => payload.toString('utf8', 0, 1),
        queue: { clientId: 'queue', userProperties: [], open: () => this.#open(), later: (work) => work() },
        storeDeadLetter,
        recordOutcome: () => {},
        onStateChange: () => {},
        onReady: () => {},
      },
    )
    const sink = {
      write: (batch: readonly ActionEntry[]) => {
        this.batches.push(batch.map(({ payload }) => payload.toString()))
        return new Promise<readonly WriteOutcome[]>((resolve) => this.#pending.push(resolve))
      },
      check: () => Promise.resolve(undefined),
      close: () => {},
    }
    this.delivery.start(sink, '')
    this.#runAll()
  }

  /** Adds these entries to the queue. */
  queue(...payloads: readonly string[]): void {
    for (const payload of payloads) this.#publish(payload)
    this.#runAll()
  }

  /** Runs all pending timers. */
  passTime(): void {
    for (const work of this.#timers.splice(0)) work()
    this.#runAll()
  }

  /** The service accepts the oldest batch in flight. */
  async completeBatch(): Promise<void> {
    const taken = this.batches.length - this.#pending.length
    const count = this.batches[taken]?.length ?? assert.fail('nothing is with the service')
    this.#pending.shift()?.(Array.from({ length: count }, () => ({ outcome: 'done' })))
    await Promise.resolve()
    this.#runAll()
  }

  /** The oldest batch in flight, which has one entry, has this outcome. */
  async failBatch(outcome: WriteOutcome): Promise<void> {
    this.#pending.shift()?.([outcome])
    await Promise.resolve()
    this.#runAll()
  }

  #open(): ByteStream {
    const [client, queue] = createStreamPair((work) => void this.#work.push(work))
    const decoder = freshDecoder()
    queue.onData = (chunk) => {
      decoder.push(chunk)
      for (let packet = decoder.next(); packet !== undefined; packet = decoder.next()) this.#take(packet)
    }
    this.#queue = queue
    return client
  }

  #take({ type }: Packet): void {
    if (type !== 'connect') return
    this.#write(encode({ type: 'connack', sessionPresent: true, reasonCode: 0, properties: undefined }, 5))
  }

  #publish(payload: string): void {
    const head = {
      type: 'publish',
      topic: '$action',
      qos: 1,
      retain: false,
      dup: false,
      properties: undefined,
    } as const
    this.#write(encode({ ...head, packetId: ++this.#packetId, payload: Buffer.from(payload) }, 5))
  }

  #write(bytes: Buffer): void {
    this.#queue?.write(bytes, () => {})
  }

  #runAll(): void {
    for (let work = this.#work.shift(); work !== undefined; work = this.#work.shift()) work()
  }
}

describe('a batch of an action', () => {
  test('that waits for another one is not divided', async () => {
    const stage = new Stage({ batchSize: 4, inflightWindow: 1 })
    stage.queue('a1', 'a2', 'a3')
    stage.passTime()
    assert.deepEqual(stage.batches, [['a1', 'a2', 'a3']], 'not complete, but due')
    stage.queue('b1', 'b2', 'b3', 'b4', 'b5')
    assert.equal(stage.batches.length, 1, 'the window has space for one batch')
    await stage.completeBatch()
    assert.deepEqual(stage.batches[1], ['b1', 'b2', 'b3', 'b4'])
  })

  test('is sent at the same time as another one if the window has space for both', () => {
    const stage = new Stage({ batchSize: 2, inflightWindow: 4 })
    stage.queue('a1', 'a2', 'b1', 'b2', 'c1', 'c2')
    assert.deepEqual(stage.batches, [
      ['a1', 'a2'],
      ['b1', 'b2'],
    ])
  })

  test('that is due is sent at the same time as another one, although it is not complete', () => {
    const stage = new Stage({ batchSize: 4, inflightWindow: 4 })
    stage.queue('a1', 'a2')
    stage.passTime()
    stage.queue('b1', 'b2')
    stage.passTime()
    assert.deepEqual(stage.batches, [
      ['a1', 'a2'],
      ['b1', 'b2'],
    ])
  })

  test('of one entry is sent if the window has space', async () => {
    const stage = new Stage({ batchSize: 1, inflightWindow: 2 })
    stage.queue('a1', 'b1', 'c1')
    assert.deepEqual(stage.batches, [['a1'], ['b1']])
    await stage.completeBatch()
    assert.deepEqual(stage.batches[2], ['c1'])
  })
})

test('a discarded entry becomes a dead letter, unless the service accepts it; entries with its key go on', async () => {
  const letters: string[] = []
  const stage = new Stage({ batchSize: 1, inflightWindow: 2 }, async (entry, why, isDiscarded) => {
    letters.push(`${entry.payload.toString()}: ${why} ${isDiscarded}`)
    return true
  })
  const payloads = (): string[] => stage.delivery.listOldestEntries(9).map(({ entry }) => entry.payload.toString())
  stage.queue('a1', 'b1', 'a2', 'a3', 'c1')
  assert.deepEqual(
    [stage.batches, payloads()],
    [
      [['a1'], ['b1']],
      ['a1', 'b1', 'a2', 'a3', 'c1'],
    ],
  )
  const [a1, b1, a2] = stage.delivery.listOldestEntries(9)
  for (const entry of [a2, a1, b1]) assert.equal(stage.delivery.discard(entry?.sequence, 'discarded', 9), 1)
  assert.equal(stage.delivery.discard(a1?.sequence, 'discarded', 9), 0, 'no entry is discarded twice')
  assert.deepEqual([letters, payloads()], [['a2: discarded true'], ['a3', 'c1']])
  await stage.completeBatch()
  await stage.failBatch({ outcome: 'retry', why: 'busy' })
  assert.deepEqual(letters, ['a2: discarded true', 'b1: discarded true'], 'the service has accepted a1')
  stage.passTime()
  assert.deepEqual(stage.batches.slice(2), [['a3']])
  assert.equal(stage.delivery.discard(undefined, 'all', 9), 2)
  assert.deepEqual(letters.slice(2), ['c1: all true'])
  await stage.failBatch({ outcome: 'refused', why: 'bad' })
  assert.deepEqual([letters.slice(3), payloads()], [['a3: bad true'], []])
})

test('a sink that throws or rejects ends nothing: the entry that causes it becomes a dead letter, others are sent', async () => {
  for (const isSynchronous of [true, false]) {
    const sent: string[] = []
    const letters: string[] = []
    const work: (() => void)[] = []
    const open = openQueue(['good 1', 'poison', 'good 2'], work)
    const delivery = new ActionDelivery(
      {
        batchSize: 3,
        batchTimeMs: 0,
        inflightWindow: 3,
        maxRetries: 0,
        retryIntervalMs: 10,
        healthCheckIntervalMs: 5_000,
        onePerKey: false,
      },
      {
        nowMs: () => 0,
        random: () => 0,
        after: (delayMs, later) => {
          if (delayMs < 1_000) work.push(later)
          return { cancel: () => {} }
        },
        findOrderKey: () => undefined,
        queue: { clientId: 'queue', userProperties: [], open, later: (later) => later() },
        storeDeadLetter: async (entry, why) => {
          letters.push(`${entry.payload.toString()}: ${why}`)
          return true
        },
        recordOutcome: () => {},
        onStateChange: () => {},
        onReady: () => {},
      },
    )
    const write = (batch: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> => {
      const hasPoison = batch.some(({ payload }) => payload.toString() === 'poison')
      if (hasPoison && isSynchronous) throw new Error('a defect of the driver')
      if (hasPoison) return Promise.reject(new Error('a defect of the driver'))
      sent.push(...batch.map(({ payload }) => payload.toString()))
      return Promise.resolve(batch.map(() => ({ outcome: 'done' })))
    }
    delivery.start({ write, check: () => Promise.reject(new Error('no check')), close: () => {} }, '')
    for (let round = 0; round < 20; round++) {
      for (const run of work.splice(0)) run()
      await Promise.resolve()
    }
    assert.deepEqual(sent, ['good 1', 'good 2'])
    assert.deepEqual(letters, ['poison: failed: internal error of the sink: a defect of the driver'])
    delivery.stop()
  }
})

/** A queue that has these entries when it is opened. */
function openQueue(payloads: readonly string[], work: (() => void)[]): () => ByteStream {
  return () => {
    const [client, queue] = createStreamPair((run) => void work.push(run))
    const decoder = freshDecoder()
    queue.onData = (chunk) => {
      decoder.push(chunk)
      for (let packet = decoder.next(); packet !== undefined; packet = decoder.next()) {
        if (packet.type !== 'connect') continue
        const head = {
          type: 'publish',
          topic: '$action',
          qos: 1,
          retain: false,
          dup: false,
          properties: undefined,
        } as const
        const connack = { type: 'connack', sessionPresent: true, reasonCode: 0, properties: undefined } as const
        const publishes = payloads.map((payload, at) =>
          encode({ ...head, packetId: at + 1, payload: Buffer.from(payload) }, 5),
        )
        queue.write(Buffer.concat([encode(connack, 5), ...publishes]), () => {})
      }
    }
    return client
  }
}
