// Measures the cost in JavaScript of a message from one shard to another: two cores in one thread with a link between them, without sockets and other
// threads. It measures processor time, which can also be compared on a busy machine.
//
//   node --max-inlined-bytecode-size-cumulative=3000 bench/shards/hop.ts [--rounds 60]

import { parseArgs } from 'node:util'
import { BrokerCore, Connection, type Input, computeOwnerShard, PeerNames } from '../../src/core/index.ts'
import { defaultCoreSettings } from '../../test/core/default-settings.ts'
import { Link, type LinkPort } from '../../src/links/index.ts'
import { PacketDecoder, type PacketDecoderOptions, parseTopicFilter, TopicTable } from '../../src/protocol/index.ts'
import { connectFrame, publishFrame } from '../load/frames.ts'
import { number, printTable } from '../load/table.ts'

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '60' } } })

const pairs = 20
const messagesInChunk = 600
const sendsBetweenDrains = 4_096
const warmRounds = 60
const repeats = 5

/** A link that transfers messages immediately. */
class Port implements LinkPort {
  onBuffer: (buffer: ArrayBuffer) => void = () => {}
  onClose: () => void = () => {}
  readonly buffers: ArrayBuffer[] = []
  other: Port | undefined

  send(buffer: ArrayBuffer): void {
    this.other?.buffers.push(buffer)
  }

  close(): void {}
}

class HalfBroker {
  readonly own: number
  readonly core: BrokerCore
  readonly topics = new TopicTable(1_024)
  readonly port = new Port()
  readonly link: Link
  readonly #nowMs: () => number
  delivered = 0

  constructor(own: number, nowMs: () => number) {
    this.own = own
    this.#nowMs = nowMs
    const shard = { own, count: 2 }
    this.core = new BrokerCore(defaultCoreSettings, { identity: `hop${own}`, topics: this.topics, shard })
    const peer = 1 - own
    this.link = new Link(peer, this.port, {
      topics: this.topics,
      names: new PeerNames(),
      onPeerMessage: (_, message) => this.handle({ kind: 'peer-message', peer, message }),
      onPlainMessage: (_, message) => this.handle({ kind: 'plain-peer-message', peer, message }),
      onRelayedConnection: () => {},
      onCongestionChange: () => {},
      onInput: () => {},
      onFlushNeeded: () => {},
      onFinalNotice: () => {},
      onClosed: () => {},
    })
  }

  handle(input: Input): void {
    this.core.handle(input, this.#nowMs())
  }

  carryOut(): void {
    const outputs = this.core.takeOutputs()
    for (const { requestId } of outputs.requests.splice(0))
      this.handle({ kind: 'authentication-result', requestId, decision: { allowed: true } })
    this.delivered += outputs.sends.length
    outputs.peerSends.drainTo(() => this.link)
    this.link.settle()
    this.core.clearOutputs()
    const batch = this.core.takeBatch()
    if (batch !== undefined) this.handle({ kind: 'committed', batch: batch.number })
  }

  /** True: something had arrived. */
  takeIn(): boolean {
    const buffers = this.port.buffers.splice(0)
    for (const buffer of buffers) this.port.onBuffer(buffer)
    for (let taken = 1; this.link.readNext(); taken++) if (taken % sendsBetweenDrains === 0) this.carryOut()
    this.carryOut()
    this.link.flush()
    return buffers.length > 0
  }

  /** A connected client of this core. */
  client(name: string): Connection {
    const connection = new Connection({}, { name: 'tcp:default', isLoopback: true }, '127.0.0.1')
    let clientId = name
    for (let attempt = 0; computeOwnerShard(clientId, 2) !== this.own; attempt++) clientId = `${name}-${attempt}`
    this.handle({ kind: 'connection-opened', connection })
    const decoder = this.decoder()
    decoder.push(connectFrame({ version: 4, clientId, persistent: false }))
    const packet = decoder.next()
    if (packet !== undefined) this.handle({ kind: 'packet', connection, packet })
    this.carryOut()
    return connection
  }

  decoder(): PacketDecoder {
    const limits = { maxPacketBytes: 1_048_576, maxPropertyBytes: 65_536, maxTopicLevels: 128, maxTopicBytes: 65_535 }
    const of: PacketDecoderOptions = { role: 'server', topics: this.topics, ...limits }
    return new PacketDecoder(of)
  }
}

/** Processor time in microseconds for each message that subscribers on shard `to` get from publishers on shard 0. */
function measure(to: 0 | 1): number {
  let nowMs = 1_800_000_000_000
  const halves = [new HalfBroker(0, () => nowMs), new HalfBroker(1, () => nowMs)] as const
  halves[0].port.other = halves[1].port
  halves[1].port.other = halves[0].port
  const settle = (): void => {
    while (halves.map((half) => half.takeIn()).some(Boolean));
  }
  for (const half of halves) half.handle({ kind: 'peer-joined', peer: 1 - half.own })
  settle()
  const sources = Array.from({ length: pairs }, (_, pair) => openPair(halves[0], halves[to], pair, settle))
  const connections = sources.map(({ subscriber }) => subscriber)
  const round = (): void => {
    for (const { chunk, decoder, publisher } of sources) {
      decoder.push(chunk)
      for (let packet = decoder.next(); packet !== undefined; packet = decoder.next())
        halves[0].handle({ kind: 'packet', connection: publisher, packet })
      halves[0].carryOut()
    }
    nowMs++
    settle()
    for (const connection of connections) connection.unsentBytes = 0
  }
  for (let warm = 0; warm < warmRounds; warm++) round()
  let least = Infinity
  for (let repeat = 0; repeat < repeats; repeat++) {
    const deliveredBefore = halves[to].delivered
    const before = process.cpuUsage()
    for (let count = 0; count < Number(options.rounds); count++) round()
    const { user, system } = process.cpuUsage(before)
    const delivered = halves[to].delivered - deliveredBefore
    least = Math.min(least, (user + system) / delivered)
  }
  return least
}

function openPair(from: HalfBroker, to: HalfBroker, pair: number, settle: () => void) {
  const topic = `hop/${pair}`
  const filter = parseTopicFilter(topic)
  if (filter === undefined) throw new Error(`${topic} is not a filter`)
  const subscriber = to.client(`subscriber-${pair}`)
  const subscriptions = [{ filter, qos: 0, noLocal: false, retainAsPublished: false, retainHandling: 0 } as const]
  const packet = { type: 'subscribe', packetId: 1, subscriptions, properties: undefined } as const
  to.handle({ kind: 'packet', connection: subscriber, packet: { ...packet, subscriptions: [...subscriptions] } })
  to.carryOut()
  settle()
  const publisher = from.client(`publisher-${pair}`)
  const decoder = from.decoder()
  decoder.push(connectFrame({ version: 4, clientId: 'x', persistent: false }))
  decoder.next()
  const frame = publishFrame({ version: 4, topic, qos: 0, packetId: 0, payload: Buffer.alloc(64, 'x') })
  const chunk = Buffer.concat(Array.from({ length: messagesInChunk }, () => frame))
  return { subscriber, publisher, decoder, chunk }
}

const [here, hop] = [measure(0), measure(1)]
printTable(
  ['20 to 20, QoS 0', 'cpu µs/message', ''],
  [
    ['on one shard', number(here, 3), ''],
    ['from one shard to another', number(hop, 3), `${number(hop / here, 2)}x`],
  ],
)
