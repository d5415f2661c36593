// ClientOutput alone: exactly the appended bytes go to the stream, in order.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PacketDecoder, TopicTable } from '../../src/protocol/index.ts'
import { ClientOutput, type ClientOutputDependencies } from '../../src/shard/io/client-output.ts'
import { pooledBytes, minReferencedBytes, WriteBuffers } from '../../src/shard/io/write-buffers.ts'
import { FakeStream } from './fake-stream.ts'
import { fc } from '../properties.ts'

const chunkBytes = 6_000
const chunkCount = 3

class OutputDependencies implements ClientOutputDependencies {
  dirty: ClientOutput[] = []
  readonly reader = {
    handleChunk(): void {},
    handleBuffered(): void {},
    handleSent(): void {},
  }
  readonly writer = {
    buffers: new WriteBuffers(),
    encodeRound: 1,
    isHeld: false,
    scheduleFlush: (output: ClientOutput): void => void this.dirty.push(output),
    countSentBytes(): void {},
  }
  handleInputEnded(): void {}
  handleClosed(): void {}
}

class OutputModel {
  readonly dependencies = new OutputDependencies()
  readonly stream = new FakeStream()
  readonly output: ClientOutput
  readonly chunks: Buffer[]
  readonly expected: Buffer[] = []
  /** The start of the next range of each chunk if it follows the last one. */
  readonly next: number[]
  #fill = 0

  constructor() {
    this.stream.isStalled = true
    this.output = new ClientOutput(
      this.dependencies,
      this.stream,
      new PacketDecoder({
        role: 'server',
        topics: new TopicTable(1),
        maxPacketBytes: 1_000,
        maxPropertyBytes: 1_000,
        maxTopicLevels: 10,
        maxTopicBytes: 65_535,
      }),
    )
    this.chunks = Array.from({ length: chunkCount }, () => this.#freshBytes(chunkBytes))
    this.next = this.chunks.map(() => 0)
  }

  #freshBytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => (this.#fill = (this.#fill * 31 + 7) & 0xffff) & 0xff))
  }

  appendRange(which: number, skipped: number, length: number): void {
    const chunk = this.chunks[which]
    const start = Math.min(chunk.length, this.next[which] + skipped) % chunk.length
    const end = Math.min(chunk.length, start + length)
    const at = this.output.appendRange(chunk, start, end)
    const bytes = Buffer.from(chunk.subarray(start, end))
    // As in `passFrame`: the first byte differs for each receiver.
    bytes[0] = this.output.buffer[at] = (bytes[0] + 1) & 0xff
    this.expected.push(bytes)
    this.next[which] = end === chunk.length ? 0 : end
  }

  reserve(length: number): void {
    const bytes = this.#freshBytes(length)
    bytes.copy(this.output.reserve(length), this.output.at)
    this.output.advance(length)
    this.expected.push(bytes)
  }

  appendReference(length: number): void {
    const bytes = Buffer.alloc(length, this.#freshBytes(251))
    this.output.appendReference(bytes, 0, length)
    this.expected.push(bytes)
  }

  /** Starts another drain. Between two drains, unused bytes of a buffer may be written. */
  startDrain(which: number): void {
    this.dependencies.writer.encodeRound++
    this.#freshBytes(chunkBytes).copy(this.chunks[which], this.next[which], this.next[which])
  }

  endTurn(): void {
    for (const output of this.dependencies.dirty.splice(0)) output.flush()
  }

  finish(): void {
    this.endTurn()
    for (let round = 0; round < 500 && this.stream.waitingBytes > 0; round++) this.stream.take()
  }
}

type Step = (model: OutputModel) => void

const which = fc.nat(chunkCount - 1)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc
      .tuple(
        which,
        fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat(50)),
        fc.oneof(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 1, max: 3_000 })),
      )
      .map(
        ([chunk, skipped, length]): Step =>
          (model) =>
            model.appendRange(chunk, skipped, length),
      ),
  },
  {
    weight: 2,
    arbitrary: fc.integer({ min: 1, max: 200 }).map(
      (length): Step =>
        (model) =>
          model.reserve(length),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 30_000, max: 70_000 }).map(
      (length): Step =>
        (model) =>
          model.reserve(length),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.integer({ min: minReferencedBytes, max: minReferencedBytes + 50 }).map(
      (length): Step =>
        (model) =>
          model.appendReference(length),
    ),
  },
  {
    weight: 3,
    arbitrary: which.map(
      (chunk): Step =>
        (model) =>
          model.startDrain(chunk),
    ),
  },
  { weight: 2, arbitrary: fc.constant<Step>((model) => model.endTurn()) },
  { weight: 2, arbitrary: fc.constant<Step>((model) => model.stream.take('one')) },
)

test('the stream gets exactly the appended bytes, in order, and every buffer is returned', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
      const model = new OutputModel()
      for (const act of steps) act(model)
      model.finish()
      assert.ok(Buffer.concat(model.stream.taken).equals(Buffer.concat(model.expected)))
      assert.equal(model.stream.maxConcurrentWrites <= 1, true)
      assert.equal(model.dependencies.writer.buffers.takenBytes, 0)
      assert.equal(model.output.unsentBytes, 0)
    }),
    { numRuns: 60, seed: 20_261_121 },
  )
})

test('bytes that a buffer gets after a drain are not confused with those that were copied ahead', () => {
  const model = new OutputModel()
  const buffer = model.chunks[0]
  model.appendRange(0, 0, 100)
  buffer.fill(0xee, 100)
  model.dependencies.writer.encodeRound++
  model.appendRange(0, 0, 100)
  model.finish()
  assert.deepEqual(Buffer.concat(model.stream.taken), Buffer.concat(model.expected))
})

test('a turn that fills a buffer writes it and continues in another', () => {
  const model = new OutputModel()
  for (let written = 0; written < pooledBytes * 2; written += 1_000) model.reserve(1_000)
  assert.equal(model.stream.writeCount, 1)
  assert.ok(model.dependencies.writer.buffers.takenBytes >= pooledBytes * 2)
  model.finish()
  assert.deepEqual(Buffer.concat(model.stream.taken), Buffer.concat(model.expected))
})

test('a payload that is referenced is not copied, and the bytes before it take as much memory as they need', () => {
  const model = new OutputModel()
  const payload = Buffer.alloc(minReferencedBytes, 'x')
  const written: Buffer[] = []
  const write = model.stream.write.bind(model.stream)
  model.stream.write = (buffer, done) => {
    written.push(buffer)
    write(buffer, done)
  }
  model.reserve(100)
  model.endTurn()
  for (let count = 0; count < 10; count++) {
    model.reserve(20)
    model.output.appendReference(payload, 0, payload.length)
    model.expected.push(payload)
  }
  model.reserve(1)
  assert.equal(model.dependencies.writer.buffers.takenBytes, 2 * pooledBytes + 10 * (20 + payload.length))
  assert.equal(model.output.unsentBytes, pooledBytes + 10 * (20 + payload.length) + 1)
  model.finish()
  assert.equal(written.filter(({ buffer }) => buffer === payload.buffer).length, 10)
  assert.ok(Buffer.concat(model.stream.taken).equals(Buffer.concat(model.expected)))
  assert.equal(model.dependencies.writer.buffers.takenBytes, 0)
})

test('a connection that ends with referenced payloads in its output releases them', () => {
  for (const ends of ['by the peer', 'by the broker']) {
    const model = new OutputModel()
    model.reserve(100)
    model.endTurn()
    model.appendReference(minReferencedBytes)
    if (ends === 'by the peer') model.stream.onClose()
    else {
      model.output.endsAfterFlush = true
      model.finish()
      assert.ok(Buffer.concat(model.stream.taken).equals(Buffer.concat(model.expected)))
    }
    model.stream.take()
    assert.equal(model.dependencies.writer.buffers.takenBytes, 0, ends)
  }
})

test('bytes that are queued during a write have buffers of at most twice their size', () => {
  const model = new OutputModel()
  model.reserve(10)
  model.endTurn()
  let gathered = 0
  for (; gathered < 1_000_000; gathered += 700) model.reserve(700)
  assert.ok(
    model.dependencies.writer.buffers.takenBytes <= pooledBytes + 2 * gathered,
    `${model.dependencies.writer.buffers.takenBytes}`,
  )
  model.finish()
  assert.equal(model.dependencies.writer.buffers.takenBytes, 0)
})

test('a turn that writes to very many clients has little more memory than the written bytes', () => {
  const buffers = new WriteBuffers()
  const taken = Array.from({ length: 10_000 }, () => buffers.take(5))
  assert.ok(buffers.takenBytes <= 512 * pooledBytes + 9_488 * 1_024, `${buffers.takenBytes}`)
  for (const buffer of taken) buffers.returnBuffer(buffer)
  assert.equal(buffers.takenBytes, 0)
  assert.equal(buffers.take(5).length, pooledBytes, 'buffers of the common size are reused')
  assert.ok(buffers.take(pooledBytes + 1).length > pooledBytes)
})

test('buffers for reuse can be freed, and are allocated again any number of times', () => {
  const buffers = new WriteBuffers()
  for (let round = 0; round < 3; round++) {
    const taken = Array.from({ length: 600 }, () => buffers.take(5))
    const common = taken.filter((buffer) => buffer.length === pooledBytes)
    assert.equal(common.length, 512, `in round ${round}`)
    for (const buffer of taken.slice(1)) buffers.returnBuffer(buffer)
    buffers.forget()
    // A buffer that was in use meanwhile is still one of the 512.
    buffers.returnBuffer(taken[0])
    assert.equal(buffers.take(5), taken[0])
    buffers.returnBuffer(taken[0])
  }
  assert.equal(buffers.takenBytes, 0)
})
