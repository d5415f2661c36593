// An outgoing connection that is being opened: its target, its result, and how it is cancelled.

import type { ByteStream } from './byte-stream.ts'

export interface DialTarget {
  readonly scheme: 'tcp' | 'tls' | 'ws' | 'wss' | 'quic'
  /** A name or an address, without brackets. */
  readonly host: string
  readonly port: number
  /** For WebSocket, with a slash in front and what stands behind a question mark. */
  readonly path: string
}

/**
 * `address`: there is no such host, or one that is never asked. `unreachable`: there is no valid answer. `too-slow`:
 * not within the time. `tls`: the handshake failed, or the certificate is not believed. `files`: ours cannot be read. `upgrade`:
 * it is there and speaks no MQTT over WebSocket. `no-quic`: this machine has no library for it.
 */
export type DialFailure = 'address' | 'unreachable' | 'too-slow' | 'tls' | 'files' | 'upgrade' | 'no-quic'

export interface DialProblem {
  readonly reason: DialFailure
  /** For people, without a full stop. */
  readonly message: string
}

/** One of the two is called once, later than `dial` returns, and neither after `abandon`. */
export interface DialHandlers {
  /** Sets `onData` and `onClose` of the stream before it returns. */
  onOpen(stream: ByteStream): void
  onProblem(problem: DialProblem): void
}

export interface Dial {
  /** Nothing is heard of it any more, and what was opened is closed. After `onOpen` it does nothing. */
  abandon(): void
}

/** One way in which a connection that is being opened goes on. It is over once. */
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
    const message = `${where} did not answer within ${timeoutMs / 1_000} s`
    this.#timer = setTimeout(() => this.#end({ reason: 'too-slow', message }), timeoutMs)
  }

  /** What has to be closed should it not succeed. */
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

/** The other side has had its say in it: a certificate may have any names. */
function sanitizeRemoteText(message: string): string {
  // oxlint-disable-next-line no-control-regex
  const plain = message.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').trim()
  return plain.length > maxMessageCharacters ? `${plain.slice(0, maxMessageCharacters)}...` : plain
}

/** As people write it: `[::1]:1883`. */
export function whereOf({ host, port }: Pick<DialTarget, 'host' | 'port'>): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
