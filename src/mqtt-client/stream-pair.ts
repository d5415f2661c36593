// Two connected byte streams within one thread.

import type { ByteStream, GatewayClientTraits, StreamCredentials, StreamReceiver } from '../transports/index.ts'

interface PendingWrite {
  readonly bytes: Buffer
  readonly done: () => void
  next: PendingWrite | undefined
}

type Later = (work: () => void) => void

const ignore = (): void => {}

/** All streams with a receiver share these. */
function passChunk(this: PairedStream, chunk: Buffer): void {
  this.receiver?.handleChunk(chunk)
}

function passEnd(this: PairedStream): void {
  this.receiver?.handleEnd(undefined)
}

/** Address of the other end, as the second stream reports it. */
export interface StreamPeer {
  readonly address: string
  readonly port: number
  /** Properties of a gateway client; undefined: the client uses no gateway. */
  readonly gatewayClient?: GatewayClientTraits | undefined
  readonly credentials?: StreamCredentials | undefined
}

const thisProcess: StreamPeer = { address: '127.0.0.1', port: 0 }

/** Bytes written to one are read from the other, later and never within the call. */
export function createStreamPair(later: Later, peer: StreamPeer = thisProcess): readonly [ByteStream, ByteStream] {
  const one = new PairedStream(later, thisProcess)
  const other = new PairedStream(later, peer)
  one.join(other)
  other.join(one)
  return [one, other]
}

class PairedStream implements ByteStream {
  readonly remoteAddress: string
  readonly remotePort: number
  readonly gatewayClient: GatewayClientTraits | undefined
  onGatewayClientChange: (() => void) | undefined = undefined
  readonly credentials: StreamCredentials | undefined
  onData: (chunk: Buffer) => void = ignore
  onClose: (error?: Error) => void = ignore
  receiver: StreamReceiver | undefined
  readonly #later: Later
  #other: PairedStream | undefined
  /**
   * Received and not read yet. A write is done when it was read, so there is at most one, and possibly a last one: too few for an array,
   * which would take more memory than the stream.
   */
  #arrived: PendingWrite | undefined
  #isPaused = false
  /** `ending`: this end reads no more, and its written bytes are on the way to the other. */
  #state: 'open' | 'ending' | 'closed' = 'open'

  constructor(later: Later, { address, port, gatewayClient, credentials }: StreamPeer) {
    this.credentials = credentials
    this.gatewayClient = gatewayClient
    this.remoteAddress = address
    this.remotePort = port
    this.#later = later
  }

  setReceiver(receiver: StreamReceiver): void {
    this.receiver = receiver
    this.onData = passChunk
    this.onClose = passEnd
  }

  join(other: PairedStream): void {
    this.#other = other
  }

  write(bytes: Buffer, done: () => void): void {
    if (this.#state !== 'open' || this.#other === undefined) return this.#later(done)
    this.#other.#arrive({ bytes, done, next: undefined })
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#deliverLater()
  }

  end(): void {
    if (this.#state !== 'open') return
    this.#state = 'ending'
    this.onData = ignore
    this.#dropArrived()
    if (this.#other !== undefined) this.#other.#deliverLater()
  }

  destroy(): void {
    if (this.#state === 'closed') return
    this.onData = ignore
    this.#dropArrived()
    if (this.#other !== undefined) this.#other.#dropArrived()
    this.#later(() => this.#closeBoth())
  }

  #arrive(written: PendingWrite): void {
    if (this.#state !== 'open') this.#later(written.done)
    else if (this.#arrived === undefined) this.#arrived = written
    else findLast(this.#arrived).next = written
    this.#deliverLater()
  }

  /** The function is created when it is needed: most streams are idle. */
  #deliverLater(): void {
    this.#later(() => this.#deliverArrived())
  }

  #deliverArrived(): void {
    while (!this.#isPaused && this.#state === 'open') {
      const first = this.#arrived
      if (first === undefined) break
      this.#arrived = first.next
      this.onData(first.bytes)
      first.done()
    }
    const isRead = this.#arrived === undefined || this.#state !== 'open'
    if (isRead && this.#other !== undefined && this.#other.#state === 'ending') this.#closeBoth()
  }

  #dropArrived(): void {
    let dropped = this.#arrived
    this.#arrived = undefined
    for (; dropped !== undefined; dropped = dropped.next) this.#later(dropped.done)
  }

  #closeBoth(): void {
    this.#close()
    if (this.#other !== undefined) this.#other.#close()
  }

  #close(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.onData = ignore
    this.#dropArrived()
    this.onClose()
  }
}

function findLast(write: PendingWrite): PendingWrite {
  let last = write
  while (last.next !== undefined) last = last.next
  return last
}
