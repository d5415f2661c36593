// The channel to one shard, in the process of a plugin: calls arrive, answers and requests of the plugin leave. Answers of one turn of
// the event loop are sent together.

import type { Socket } from 'node:net'
import { decodeToProcess, FrameReader } from '../calls/frame-reader.ts'
import { FrameWriter } from '../calls/frame-writer.ts'
import type { FrameToProcess } from '../calls/call-frames.ts'
import type { ClientInfo } from '../manifest/plugin-types.ts'
import type { HookRunner } from './hook-runner.ts'

/** The broker is trusted: the limit is that of the length field. */
const maxFrameBytes = 0xffff_ffff

interface PendingRequest {
  resolve(value: unknown): void
  reject(error: Error): void
}

export class ProcessChannel {
  readonly writer = new FrameWriter()
  readonly #socket: Socket
  readonly #reader = new FrameReader(maxFrameBytes)
  readonly #clients = new Map<number, ClientInfo>()
  readonly #requests = new Map<number, PendingRequest>()
  #runner: HookRunner | undefined
  #lastRequest = 0
  #isFlushPlanned = false

  constructor(socket: Socket) {
    this.#socket = socket
  }

  /** From now on calls arrive. */
  start(runner: HookRunner): void {
    this.#runner = runner
    this.#socket.on('data', (chunk: Buffer) => {
      this.#reader.read(chunk, (frame) => this.#handle(decodeToProcess(frame)))
    })
  }

  findClient(client: number): ClientInfo | undefined {
    return this.#clients.get(client)
  }

  /** Sends what was written in this turn of the event loop. */
  planFlush(): void {
    if (this.#isFlushPlanned) return
    this.#isFlushPlanned = true
    setImmediate(() => {
      this.#isFlushPlanned = false
      this.#socket.write(this.writer.take())
    })
  }

  /** Resolves with the response of the shard. */
  request(write: (writer: FrameWriter, requestId: number) => void): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const requestId = ++this.#lastRequest
    this.#requests.set(requestId, { resolve, reject })
    write(this.writer, requestId)
    this.planFlush()
    return promise
  }

  #handle(frame: FrameToProcess): void {
    switch (frame.kind) {
      case 'client':
        this.#clients.set(frame.client, frame.info as ClientInfo)
        return
      case 'forget-client':
        this.#clients.delete(frame.client)
        return
      case 'call':
      case 'publish-call':
        this.#runner?.run(this, frame)
        return
      case 'response': {
        const pending = this.#requests.get(frame.requestId)
        this.#requests.delete(frame.requestId)
        if (frame.error === undefined) pending?.resolve(frame.value)
        else pending?.reject(new Error(frame.error))
        return
      }
      default:
        frame satisfies never
    }
  }
}
