// Connects two links without threads: link buffers wait until the test delivers them, and the sender's memory is
// detached as by a transfer.

import {
  Link,
  type LinkDecodeError,
  type LinkDependencies,
  type LinkPort,
  type RelayedStream,
  type RelayOrigin,
} from '../../src/links/index.ts'
import { createPlainPublish, PeerNames, type Message, type PeerMessage } from '../../src/core/index.ts'
import { TopicTable } from '../../src/protocol/index.ts'
import { localNames } from './peer-message-samples.ts'

const ignore = (): void => {}

class PipeEnd implements LinkPort {
  onBuffer: (buffer: ArrayBuffer) => void = ignore
  onClose: () => void = ignore
  other: PipeEnd | undefined
  readonly buffers: ArrayBuffer[] = []
  isClosing = false
  isClosed = false

  send(buffer: ArrayBuffer): void {
    const [moved] = structuredClone([buffer], { transfer: [buffer] })
    if (!this.isClosing && moved !== undefined) this.other?.buffers.push(moved)
  }

  close(): void {
    this.isClosing = true
    if (this.other !== undefined) this.other.isClosing = true
  }

  /** Returns whether a link buffer or the end of the link was delivered. */
  deliver(): boolean {
    const buffer = this.buffers.shift()
    if (buffer !== undefined) this.onBuffer(buffer)
    else if (this.isClosing && !this.isClosed) {
      this.isClosed = true
      this.onClose()
    } else return false
    return true
  }
}

export class Recorder implements LinkDependencies {
  readonly topics = new TopicTable(1_024)
  readonly names = new PeerNames()
  readonly messages: PeerMessage[] = []
  readonly relayed: { stream: RelayedStream; origin: RelayOrigin }[] = []
  readonly congestion: boolean[] = []
  onRelayed: (stream: RelayedStream) => void = ignore
  isClosed = false
  /** Why the link ended, if its bytes could not be read. */
  error: LinkDecodeError | undefined

  onPeerMessage(_: Link, message: PeerMessage): void {
    this.messages.push(message)
  }

  onPlainMessage(_: Link, message: Message): void {
    this.messages.push(createPlainPublish(message))
  }

  onRelayedConnection(_: Link, stream: RelayedStream, origin: RelayOrigin): void {
    this.relayed.push({ stream, origin })
    this.onRelayed(stream)
  }

  onCongestionChange(_: Link, isCongested: boolean): void {
    this.congestion.push(isCongested)
  }

  onInput(): void {}
  onFlushNeeded(): void {}
  onFinalNotice(): void {}

  onClosed(_: Link, error: LinkDecodeError | undefined): void {
    this.isClosed = true
    this.error = error
  }
}

/** Links of shard 0 and shard 1 to each other. */
export class LinkedPair {
  readonly owners = [new Recorder(), new Recorder()] as const
  readonly links: readonly [Link, Link]
  readonly #ends: readonly [PipeEnd, PipeEnd]

  constructor() {
    const left = new PipeEnd()
    const right = new PipeEnd()
    left.other = right
    right.other = left
    this.#ends = [left, right]
    // Each end numbers the local shards in another order.
    for (const name of localNames) this.owners[0].names.add(name)
    for (const name of localNames.toReversed()) this.owners[1].names.add(name)
    this.links = [new Link(1, left, this.owners[0]), new Link(0, right, this.owners[1])]
  }

  /** Delivers the pending link buffers to end `to`. Returns their number. */
  deliverAll(to: 0 | 1): number {
    let buffers = 0
    this.links[1 - to]?.flush()
    for (; this.#ends[to].deliver(); buffers++) while (this.links[to].readNext());
    return buffers
  }

  /** Delivers in both directions until neither side has anything to send. */
  settle(): void {
    while (this.deliverAll(0) + this.deliverAll(1) > 0);
  }

  /** Changes the next link buffer that end `to` will receive. */
  changeNext(to: 0 | 1, change: (buffer: ArrayBuffer) => ArrayBuffer): void {
    const { buffers } = this.#ends[to]
    if (buffers.length > 0) buffers[0] = change(buffers[0])
  }

  /** End `to` will receive this link buffer after those before it. */
  receive(to: 0 | 1, buffer: ArrayBuffer): void {
    this.#ends[to].buffers.push(buffer)
  }

  /** Shard `which` fails: the link buffers that it had sent still arrive. */
  kill(which: 0 | 1): void {
    this.#ends[which].close()
  }
}
