// The channel of a shard to the process of a plugin. Calls that are written in one turn are sent together; answers arrive in any order.

import type { Socket } from 'node:net'
import { decodeFromProcess, FrameError, FrameReader } from '../calls/frame-reader.ts'
import { FrameWriter } from '../calls/frame-writer.ts'
import type { FrameFromProcess } from '../calls/call-frames.ts'

export type CallResult = Extract<FrameFromProcess, { kind: 'pass' | 'answer' | 'change' | 'failure' }>
export type PluginRequest = Extract<FrameFromProcess, { kind: 'request' | 'publish-request' }>

export interface PluginChannelDependencies {
  /** Monotonic. */
  nowMs(): number
  /** Maximum of a frame from the process. */
  readonly maxFrameBytes: number
  /** Runs work that may give inputs to the core. */
  run(work: () => void): void
  handleRequest(request: PluginRequest): void
  /** The process has ended, or sent something that cannot be read. No call is pending any more. */
  onEnd(reason: string): void
}

interface PendingCall {
  readonly startedAtMs: number
  readonly onResult: (result: CallResult) => void
}

const maxCallId = 0xffff_ffff

export class PluginChannel {
  readonly writer = new FrameWriter()
  readonly #socket: Socket
  readonly #dependencies: PluginChannelDependencies
  readonly #reader: FrameReader
  /** In the order of their start. */
  readonly #pending = new Map<number, PendingCall>()
  #lastCall = 0
  #lastClient = 0
  #isOpen = true
  #onDrained: (() => void)[] = []

  constructor(socket: Socket, dependencies: PluginChannelDependencies) {
    this.#socket = socket
    this.#dependencies = dependencies
    this.#reader = new FrameReader(dependencies.maxFrameBytes)
    const run = (work: () => void): void => dependencies.run(work)
    socket.on('data', (chunk: Buffer) => run(() => this.#read(chunk)))
    socket.on('error', (error) => run(() => this.#end(error.message)))
    socket.on('close', () => run(() => this.#end('its process has ended')))
  }

  get isOpen(): boolean {
    return this.#isOpen
  }

  get pending(): number {
    return this.#pending.size
  }

  /** Returns the number of the call, for the frame that the caller writes next. */
  begin(onResult: (result: CallResult) => void): number {
    this.#lastCall = this.#lastCall === maxCallId ? 1 : this.#lastCall + 1
    this.#pending.set(this.#lastCall, { startedAtMs: this.#dependencies.nowMs(), onResult })
    return this.#lastCall
  }

  /** Returns a number for a client of this channel. */
  nextClient(): number {
    return ++this.#lastClient
  }

  flush(): void {
    if (this.writer.byteLength === 0) return
    const bytes = this.writer.take()
    if (this.#isOpen) this.#socket.write(bytes)
  }

  /** Fails the calls that have waited longer. */
  expire(timeoutMs: number): void {
    const startedBeforeMs = this.#dependencies.nowMs() - timeoutMs
    for (const [callId, { startedAtMs, onResult }] of this.#pending) {
      if (startedAtMs > startedBeforeMs) break
      this.#pending.delete(callId)
      onResult({ kind: 'failure', callId, text: `no answer within ${timeoutMs} ms` })
    }
    this.#checkDrained()
  }

  /** Resolves when no call is pending. */
  waitUntilDrained(): Promise<void> {
    if (this.#pending.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#onDrained.push(resolve))
  }

  close(): void {
    this.flush()
    this.#socket.end()
    this.#socket.unref()
  }

  #read(chunk: Buffer): void {
    try {
      this.#reader.read(chunk, (frame) => this.#handle(decodeFromProcess(frame)))
    } catch (error) {
      if (!(error instanceof FrameError)) throw error
      this.#socket.destroy()
      this.#end(`it sent ${error.message}`)
    }
    this.#checkDrained()
  }

  #handle(frame: FrameFromProcess): void {
    if (frame.kind === 'request' || frame.kind === 'publish-request') return this.#dependencies.handleRequest(frame)
    const call = this.#pending.get(frame.callId)
    // An answer that is late, or to a call that does not exist, changes nothing.
    if (call === undefined) return
    this.#pending.delete(frame.callId)
    call.onResult(frame)
  }

  #end(reason: string): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#dependencies.onEnd(reason)
    const calls = [...this.#pending]
    this.#pending.clear()
    for (const [callId, { onResult }] of calls) onResult({ kind: 'failure', callId, text: reason })
    this.#checkDrained()
  }

  #checkDrained(): void {
    if (this.#pending.size > 0 || this.#onDrained.length === 0) return
    const waiting = this.#onDrained
    this.#onDrained = []
    for (const resolve of waiting) resolve()
  }
}
