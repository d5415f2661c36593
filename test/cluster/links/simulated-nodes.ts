// Two lives with their links, and a network between them that delivers bytes in pieces, loses directions, and cuts connections.

import { createHash } from 'node:crypto'
import {
  type ChannelReceiver,
  type LinkChannel,
  LifeLinks,
  LinkConnection,
  type LinkEnd,
  type LinkIdentity,
  linkLevels,
  type LinkSecret,
} from '../../../src/cluster/index.ts'

export const lives = ['00000000000000aa', '00000000000000bb'] as const
const maxWriteBytes = 65_536

export function createIdentity(index: number, changes: Partial<LinkIdentity> = {}): LinkIdentity {
  return {
    clusterId: 'plant',
    nodeName: `node-${index + 1}`,
    life: lives[index],
    run: 1,
    levels: linkLevels,
    storeIdentifiers: [],
    ...changes,
  }
}

/** A keyed hash that is good enough for a test of who sends which proof when. */
export function createTestSecret(key: string): LinkSecret {
  return {
    computeProof: (text) => createHash('sha256').update(key).update(text).digest(),
    isEqual: (one, other) => Buffer.from(one).equals(other),
  }
}

export class SimulatedNode {
  readonly identity: LinkIdentity
  readonly links: LifeLinks
  /** Buffers that arrived on each channel, as numbers, in the order of the channels. */
  readonly channels: {
    readonly channel: LinkChannel
    readonly received: number[]
    isFull: boolean
    hasEnded: boolean
  }[] = []
  readonly ends: LinkEnd[] = []

  constructor(identity: LinkIdentity, maxKeptBytes = 67_108_864) {
    this.identity = identity
    this.links = new LifeLinks({
      own: identity,
      limits: { maxKeptBytes },
      openChannel: (channel) => this.#open(channel),
    })
    this.links.setLives(new Set(lives))
  }

  #open(channel: LinkChannel): ChannelReceiver {
    const record = { channel, received: [] as number[], isFull: false, hasEnded: false }
    this.channels.push(record)
    return {
      handleBuffer: (buffer) => void record.received.push(readNumber(buffer)),
      handleFullChange: (isFull) => void (record.isFull = isFull),
      handleEnd: () => void (record.hasEnded = true),
    }
  }
}

/** A buffer of `bytes` bytes that names `number`, and whose other bytes depend on it. */
export function createBuffer(number: number, bytes: number): ArrayBuffer {
  const view = new Uint8Array(Math.max(4, bytes)).fill(number % 251)
  new DataView(view.buffer).setUint32(0, number)
  return view.buffer
}

function readNumber(buffer: ArrayBuffer): number {
  const number = new DataView(buffer).getUint32(0)
  const isIntact = new Uint8Array(buffer).subarray(4).every((byte) => byte === number % 251)
  if (!isIntact) throw new Error(`buffer ${number} was changed`)
  return number
}

/** One end of a simulated connection. */
interface End {
  readonly connection: LinkConnection
  /** Bytes on the way to this end. */
  incoming: Buffer[]
  /** Bytes to this end are lost. */
  losesInput: boolean
  /** The close of the other end is on its way. */
  isClosing: boolean
}

export interface ConnectionOptions {
  readonly secrets?: readonly [LinkSecret | undefined, LinkSecret | undefined]
  readonly dialer?: number
  readonly expectedLife?: string
}

export class SimulatedNetwork {
  nowMs = 0
  readonly nodes: readonly [SimulatedNode, SimulatedNode]
  #connections: [End, End][] = []
  #challenges = 0

  constructor(nodes: readonly [SimulatedNode, SimulatedNode]) {
    this.nodes = nodes
  }

  get connections(): number {
    return this.#connections.length
  }

  /** Opens a connection; `dialer`: the index of the node that dials. The ends are in the order of the nodes. */
  connect({ secrets = [undefined, undefined], dialer = 0, expectedLife }: ConnectionOptions = {}): LinkConnection[] {
    const ends = this.nodes.map((node, index): End => {
      const connection = new LinkConnection({
        role: index === dialer ? 'dialer' : 'acceptor',
        purpose: 'data',
        identity: node.identity,
        expectedLife: index === dialer ? expectedLife : undefined,
        secret: secrets[index],
        challenge: createHash('sha256')
          .update(`${++this.#challenges}`)
          .digest(),
        nowMs: this.nowMs,
        establish: (own, hello) => node.links.admit(own, hello, this.nowMs),
        onOutput: () => {},
        onEnd: (_, end) => void node.ends.push(end),
      })
      return { connection, incoming: [], losesInput: false, isClosing: false }
    })
    this.#connections.push([ends[0], ends[1]])
    return ends.map(({ connection }) => connection)
  }

  /** Moves at most `maxBytes` to each end of each connection. Returns the number of moved bytes. */
  step(maxBytes = Number.POSITIVE_INFINITY): number {
    let moved = 0
    for (const ends of this.#connections) {
      for (const [index, end] of ends.entries()) moved += deliver(ends[1 - index], end, maxBytes, this.nowMs)
    }
    this.#connections = this.#connections.filter((ends) => ends.some(({ connection }) => !connection.hasEnded))
    return moved
  }

  /** Moves bytes until nothing is on the way. */
  settle(): void {
    while (this.step() > 0);
  }

  passMs(ms: number): void {
    for (const endMs = this.nowMs + ms; this.nowMs < endMs;) {
      this.nowMs += 500
      for (const ends of this.#connections) for (const { connection } of ends) connection.tick(this.nowMs)
      for (const { links } of this.nodes) links.tick()
      this.settle()
    }
  }

  /** Breaks all connections: bytes on the way are lost. */
  cut(): void {
    for (const ends of this.#connections) for (const { connection } of ends) connection.handleClosed('cut')
    this.#connections = []
  }

  /** Loses all bytes to node `index` over the present connections; nothing is told to either side. */
  loseInput(index: number): void {
    for (const ends of this.#connections) {
      ends[index].losesInput = true
      ends[index].incoming = []
    }
  }
}

/** Takes output of `from`, and delivers at most `maxBytes` of what is on the way to `to`. */
function deliver(from: End, to: End, maxBytes: number, nowMs: number): number {
  for (let sent = from.connection.takeOutput(maxWriteBytes); sent !== undefined;) {
    if (!to.losesInput) to.incoming.push(sent)
    sent = from.connection.takeOutput(maxWriteBytes)
  }
  const bytes = Buffer.concat(to.incoming)
  const delivered = bytes.subarray(0, maxBytes)
  to.incoming = delivered.length === bytes.length ? [] : [bytes.subarray(delivered.length)]
  if (delivered.length > 0) to.connection.handleBytes(Buffer.from(delivered), nowMs)
  if (from.connection.hasEnded && to.incoming.length === 0 && !to.losesInput) to.connection.handleClosed('closed')
  return delivered.length
}
