// An outgoing connection that is being opened: its target, its result, and its cancellation.

import type { ByteStream } from '../streams/byte-stream.ts'

export interface DialTarget {
  readonly scheme: 'tcp' | 'tls' | 'ws' | 'wss' | 'quic'
  /** A name or an address, without brackets. */
  readonly host: string
  readonly port: number
  /** For WebSocket, with a leading slash and the query. */
  readonly path: string
}

/**
 * `address`: unknown or forbidden host. `unreachable`: no valid response. `too-slow`: timeout. `tls`: failed handshake or
 * untrusted certificate. `files`: own files unreadable. `upgrade`: the host refuses MQTT over WebSocket. `no-quic`: the
 * QUIC library is missing.
 */
export type DialFailure = 'address' | 'unreachable' | 'too-slow' | 'tls' | 'files' | 'upgrade' | 'no-quic'

export interface DialProblem {
  readonly reason: DialFailure
  /** Text without a full stop. */
  readonly message: string
}

/** One of the two is called once, after `dial` has returned, and neither after `abandon`. */
export interface DialHandlers {
  /** Must set `onData` and `onClose` of the stream before it returns. */
  onOpen(stream: ByteStream): void
  onProblem(problem: DialProblem): void
}

export interface Dial {
  /** Closes what was opened and calls no handler. Does nothing after `onOpen`. */
  abandon(): void
}

/** The state of one attempt. It ends once. */
export class DialAttempt implements Dial {
  readonly #handlers: DialHandlers
  #isSettled = false
  #timer: NodeJS.Timeout | undefined
  /** Closes what has been opened so far. */
  #cleanUp: () => void = ignore

  constructor(handlers: DialHandlers) {
    this.#handlers = handlers
  }

  get isSettled(): boolean {
    return this.#isSettled
  }

  limitTo(timeoutMs: number, where: string): void {
    const message = `${where} did not respond within ${timeoutMs / 1_000} s`
    this.#timer = setTimeout(() => this.#end({ reason: 'too-slow', message }), timeoutMs)
  }

  /** Sets what must be closed on failure. */
  onFailure(cleanUp: () => void): void {
    if (this.#isSettled) cleanUp()
    else this.#cleanUp = cleanUp
  }

  succeed(stream: ByteStream): void {
    if (this.#isSettled) return stream.destroy()
    this.#stop()
    this.#handlers.onOpen(stream)
  }

  fail(problem: DialProblem): void {
    process.nextTick(() => this.#end(problem))
  }

  abandon(): void {
    if (this.#isSettled) return
    this.#stop()
    this.#cleanUp()
  }

  #end(problem: DialProblem): void {
    if (this.#isSettled) return
    this.#stop()
    this.#cleanUp()
    this.#handlers.onProblem({ reason: problem.reason, message: sanitizeRemoteText(problem.message) })
  }

  #stop(): void {
    this.#isSettled = true
    clearTimeout(this.#timer)
  }
}

const ignore = (): void => {}
const maxMessageCharacters = 300

/** The remote side controls parts of the text: a certificate may contain any names. */
function sanitizeRemoteText(message: string): string {
  // oxlint-disable-next-line no-control-regex
  const plain = message.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').trim()
  return plain.length > maxMessageCharacters ? `${plain.slice(0, maxMessageCharacters)}...` : plain
}

/** Returns the usual form: `[::1]:1883`. */
export function formatHostPort({ host, port }: Pick<DialTarget, 'host' | 'port'>): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
