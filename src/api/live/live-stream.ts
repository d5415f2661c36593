// Live messages for a page: a stream of JSON lines. The node queries the watches of the shards several times per
// second. Messages that a slow page cannot receive are dropped and counted.

import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { LiveMessage } from '../../actions/index.ts'
import type { TopicFilter, TopicName } from '../../protocol/index.ts'
import { wholeBroker } from '../context/names.ts'
import { findRetained, listRetained, type RetainedDependencies } from '../retained/retained.ts'

export interface LiveWanted {
  readonly filter: TopicFilter
  /** Messages per second. */
  readonly maxRate: number
  /** Maximum bytes of a payload. */
  readonly maxBytes: number
}

/** At the same time. */
const maxStreams = 8
const pollMs = 250
const heartbeatMs = 10_000
const secondMs = 1_000
/** Maximum unread bytes of a page; beyond it messages are dropped. */
const maxUnreadBytes = 1_048_576
/** Retained messages that come first. */
const maxRetained = 200

type Shards = RetainedDependencies['supervisor']
type Dependencies = Omit<RetainedDependencies, 'names'>

/** The open streams of the whole process. */
export class LiveStreams {
  readonly #dependencies: Dependencies
  readonly #open = new Set<LiveStream>()

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** Returns lines of JSON until the stream is destroyed. */
  open(request: LiveWanted): Readable | 'too-many' {
    if (this.#open.size >= maxStreams) return 'too-many'
    const stream = new LiveStream(this.#dependencies.supervisor, request, () => this.#open.delete(stream))
    this.#open.add(stream)
    void stream.begin(this.#dependencies)
    return stream.lines
  }
}

class LiveStream {
  readonly lines: Readable
  readonly #supervisor: Shards
  readonly #wanted: LiveWanted
  readonly #id = `$live/${randomUUID()}`
  #timer: NodeJS.Timeout | undefined
  #isPolling = false
  #secondEndsAtMs = 0
  #sentInSecond = 0
  #leftOut = 0
  #lastLineMs = performance.now()

  constructor(supervisor: Shards, request: LiveWanted, onEnd: () => void) {
    this.#supervisor = supervisor
    this.#wanted = request
    this.lines = new Readable({ read: () => undefined, highWaterMark: maxUnreadBytes })
    this.lines.once('close', () => {
      clearInterval(this.#timer)
      onEnd()
      for (let shard = 0; shard < supervisor.size; shard++)
        void supervisor.query(shard, { kind: 'end-watch', watch: this.#id })
    })
  }

  /** Watches start before retained messages are read, so that no message is missed. */
  async begin(dependencies: Dependencies): Promise<void> {
    const retained = { ...dependencies, names: wholeBroker }
    // The response starts now, even without messages.
    this.#writeLine({ heartbeat: Date.now() })
    await this.#poll()
    const found = await listRetained(retained, this.#wanted.filter, maxRetained)
    for (const { topic, qos, publisher, publishedAtMs } of found?.rows ?? []) {
      const message = await findRetained(retained, topic as TopicName)
      if (message === null || message === undefined || this.lines.destroyed) continue
      const { payload: whole } = message
      const payload = whole.subarray(0, this.#wanted.maxBytes)
      this.#send({ topic, qos, retain: true, size: whole.length, payload, publisher, atMs: publishedAtMs })
    }
    if (this.lines.destroyed) return
    this.#timer = setInterval(() => void this.#poll(), pollMs)
  }

  async #poll(): Promise<void> {
    if (this.#isPolling) return
    this.#isPolling = true
    const { filter, maxBytes } = this.#wanted
    const query = { kind: 'take-watch', watch: this.#id, filter, maxBytes } as const
    const shards = Array.from({ length: this.#supervisor.size }, (_none, shard) => this.#supervisor.query(shard, query))
    for (const batch of await Promise.all(shards)) {
      // A restarting shard has no watch.
      if (batch === undefined) continue
      for (const message of batch.messages) this.#send(message)
      this.#leftOut += batch.leftOut
    }
    this.#isPolling = false
    if (this.#leftOut > 0) this.#writeLine({ left_out: this.#leftOut })
    this.#leftOut = 0
    if (performance.now() - this.#lastLineMs >= heartbeatMs) this.#writeLine({ heartbeat: Date.now() })
  }

  #send({ topic, qos, retain, size, payload, publisher, atMs }: LiveMessage): void {
    const now = performance.now()
    if (now >= this.#secondEndsAtMs) {
      this.#secondEndsAtMs = now + secondMs
      this.#sentInSecond = 0
    }
    if (this.#sentInSecond >= this.#wanted.maxRate || this.lines.readableLength > maxUnreadBytes) {
      this.#leftOut += 1
      return
    }
    this.#sentInSecond += 1
    const payloadBase64 = Buffer.from(payload).toString('base64')
    const truncated = payload.length < size
    this.#writeLine({
      ts: atMs,
      topic,
      qos,
      retain,
      size,
      payload_base64: payloadBase64,
      truncated,
      clientid: publisher,
    })
  }

  #writeLine(content: object): void {
    if (this.lines.destroyed) return
    this.#lastLineMs = performance.now()
    this.lines.push(`${JSON.stringify(content)}\n`)
  }
}
