// A gateway in the simulated world. Its clients have connections to the core of that world, its state is in facts on the
// disk, and it crashes and starts with the broker.
//
//   device <~~ datagrams ~~> LossyNetwork <──> gateway <── PacketLink ── Link of the world ──> core

import { PacketLink } from '../../../src/mqtt-client/index.ts'
import {
  AddressLimits,
  type DatagramGateway,
  type GatewayDependencies,
  type MqttConnection,
  type MqttConnectionCallbacks,
  createGatewayCounters,
} from '../../../src/gateways/index.ts'
import { TopicTable } from '../../../src/protocol/index.ts'
import type { ByteStream } from '../../../src/transports/index.ts'
import { calmNetwork, type Link } from '../network.ts'
import type { PlannedEvent } from '../stage.ts'
import type { World } from '../world.ts'
import type { LossyNetwork } from './lossy-network.ts'

const maxPacketBytes = 268_435_460
const limits = { maxPacketBytes, maxPropertyBytes: maxPacketBytes, maxTopicLevels: 65_535, maxTopicBytes: 65_535 }
const prefix = 'gateway/simulated/'
/** Separate from the identifiers of the world's own commands. */
const firstRequestId = 5_000_000

export class GatewayHost {
  readonly #world: World
  readonly #network: LossyNetwork
  readonly #make: (dependencies: GatewayDependencies) => DatagramGateway
  readonly #topics = new TopicTable(1_024)
  #gateway: DatagramGateway | undefined
  /** Number of restarts, including one in progress. */
  starts = 0
  /** The gateway that runs: events planned for an earlier one are ignored. */
  #runNumber = 0
  #nextRequestId = firstRequestId
  #seenEvents = 0
  readonly #waiting = new Map<number, () => void>()

  constructor(world: World, network: LossyNetwork, make: (dependencies: GatewayDependencies) => DatagramGateway) {
    this.#world = world
    this.#network = network
    this.#make = make
    network.onGateway = (bytes, peer) => this.#gateway?.handleDatagram(bytes, peer)
    this.#start()
  }

  /** Restarts without passing time. Devices do not notice. */
  restart(how: 'graceful' | 'kill' | 'power-loss'): void {
    this.#world.stage.record('gateway', () => `restarts: ${how}`)
    this.starts++
    const gateway = this.#gateway
    // Its socket delivers nothing more.
    this.#gateway = undefined
    if (how === 'graceful') {
      gateway?.close()
      this.#world.settle()
    }
    this.#runNumber++
    this.#waiting.clear()
    this.#world.restart(how)
    this.#start()
  }

  #start(): void {
    const gateway = this.#make(this.#dependencies())
    const stored = new Map<string, string>()
    for (const record of this.#world.records())
      if (record.kind === 'fact' && record.name.startsWith(prefix))
        stored.set(record.name.slice(prefix.length), record.value)
    this.#gateway = gateway
    if (stored.size > 0) gateway.restore?.(stored)
  }

  #dependencies(): GatewayDependencies {
    const { stage } = this.#world
    const runNumber = this.#runNumber
    const ifAlive = (run: () => void) => (): void => {
      if (runNumber === this.#runNumber) run()
    }
    let wake: PlannedEvent | undefined
    return {
      nowMs: () => this.#world.host.nowMs,
      random: () => stage.random.fraction(),
      randomBelow: (limit) => Math.floor(stage.random.fraction() * limit),
      send: (bytes, peer) => this.#network.sendToDevice(bytes, peer),
      hasSpace: () => true,
      isBanned: () => false,
      openMqtt: (_, callbacks) => this.#open(callbacks, ifAlive),
      wakeAt: (timeMs) => {
        stage.cancel(wake)
        if (timeMs === Infinity) return
        wake = stage.after(
          timeMs - this.#world.host.nowMs,
          ifAlive(() => this.#gateway?.tick()),
        )
      },
      addresses: new AddressLimits(),
      place: { own: 0, shards: 1 },
      forward: () => {},
      storeValue: (name, value) => void this.#storeFacts([{ name: `${prefix}${name}`, value }]),
      runWhenDurable: (done) => {
        this.#waiting.set(this.#storeFacts([]), ifAlive(done))
        this.#look()
      },
      counters: createGatewayCounters(),
    }
  }

  #storeFacts(facts: readonly { readonly name: string; readonly value: string | undefined }[]): number {
    const requestId = this.#nextRequestId++
    const command = { name: 'keep-facts', facts } as const
    const [shard] = this.#world.host.shards
    this.#world.stage.after(0, () => {
      if (shard.isRunning) shard.handle({ kind: 'command', requestId, command })
    })
    return requestId
  }

  /** Polls for outputs of the core while a request is pending. */
  #look(): void {
    const { events } = this.#world.host
    for (; this.#seenEvents < events.length; this.#seenEvents++) {
      const event = events[this.#seenEvents]
      if (event?.event !== 'command-done') continue
      const done = this.#waiting.get(event.requestId)
      this.#waiting.delete(event.requestId)
      done?.()
    }
    if (this.#waiting.size > 0) this.#world.stage.after(1, () => this.#look())
  }

  #open(callbacks: MqttConnectionCallbacks, ifAlive: (run: () => void) => () => void): MqttConnection {
    const { stage, host } = this.#world
    const stream = new LinkStream(host.accept(calmNetwork), (run) => void stage.after(0, ifAlive(run)))
    const link = new PacketLink(
      {
        handlePacket: (_, packet) => ifAlive(() => callbacks.handlePacket(packet))(),
        handleMalformed: (_, error) => {
          throw error
        },
        handleClosed: () => ifAlive(() => callbacks.handleClosed())(),
        handleWritten: () => ifAlive(() => callbacks.handleWritten?.())(),
      },
      stream,
      {
        decoder: { role: 'client', version: 5, topics: this.#topics, ...limits },
        later: (work) => void stage.after(0, ifAlive(work)),
        ownsChunks: false,
      },
    )
    return {
      send: (packet) => link.send(packet),
      acknowledge: (type, packetId) => link.acknowledge(type, packetId),
      publish: (fields) => void link.publish(fields, maxPacketBytes),
      get unsentBytes() {
        return link.unsentBytes
      },
      pause: () => link.pauseReading(),
      resume: () => link.resumeReading(),
      // Only lists of clients read the properties.
      reportClientChange: () => {},
      end: (goodbye) => link.end(goodbye),
    }
  }
}

/** The client's end of a connection of the world, as a stream. */
class LinkStream implements ByteStream {
  readonly remoteAddress = '127.0.0.1'
  readonly remotePort = 1
  onData: (chunk: Buffer) => void = () => {}
  onClose: (error?: Error) => void = () => {}
  readonly #link: Link | undefined
  readonly #later: (run: () => void) => void
  #isClosed = false

  /** `link` undefined: no listener. */
  constructor(link: Link | undefined, later: (run: () => void) => void) {
    this.#link = link
    this.#later = later
    if (link === undefined) later(() => this.#close())
    link?.attachClient({
      arrived: (chunk) => {
        if (!this.#isClosed) this.onData(Buffer.from(chunk))
      },
      ended: () => this.#close(),
      drained: () => {},
    })
  }

  write(buffer: Buffer, done: () => void): void {
    // The world keeps sent bytes until they arrive, and the writer reuses its buffer.
    if (!this.#isClosed) this.#link?.toBroker.send(Buffer.from(buffer))
    this.#later(done)
  }

  pause(): void {
    this.#link?.toClient.pause()
  }

  resume(): void {
    this.#link?.toClient.resume()
  }

  end(): void {
    this.#link?.toBroker.end()
    this.#later(() => this.#close())
  }

  destroy(): void {
    this.#link?.break({ clientAfterMs: undefined, brokerAfterMs: 0 })
    this.#later(() => this.#close())
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.onClose()
  }
}
