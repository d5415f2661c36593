// The simulated world: one broker, its disk, a network and clients, all from one seed. Hand-written scenarios and the
// conformance tests use it without faults (see README.md); random scenarios enable faults.
//
//   const world = new World({ seed: 1 })
//   const subscriber = world.subscriber('wills/#')
//   world.connect('sensor-1', { keepAliveSeconds: 10, will: { topic: 'wills/sensor-1', payload: 'gone' } })
//   world.passSeconds(16)
//   assert.deepEqual(subscriber.payloads, ['gone'])

import {
  type BrokerCore,
  type BrokerEvent,
  type Command,
  type CommandResult,
  type CoreSettings,
  type MemoryUse,
} from '../../src/core/index.ts'
import { defaultCoreSettings } from '../core/default-settings.ts'
import { reasonCodes, type ProtocolVersion } from '../../src/protocol/index.ts'
import type { StoredRecord } from '../../src/records/index.ts'
import { BrokerHost, type HostTraits } from './broker-host.ts'
import { combinedView, type WorldView } from './broker-view.ts'
import type { PublishOptions, SubscribeOptions } from './client-session.ts'
import type { ConnectOptions } from './client-options.ts'
import { Client, type ClientDependencies } from './client.ts'
import { Disk, DiskGroup, type CrashKind } from './disk.ts'
import { MemoryRecordStore, type RecordStore } from './record-store.ts'
import { calmNetwork, type NetworkTraits } from './network.ts'
import { SlowReads } from './slow-reads.ts'
import { Stage } from './stage.ts'
import { testShards } from '../test-length.ts'
import { RealRecordStore } from './real-record-store.ts'
import { openWire, type Wire } from './wire.ts'

export { Client } from './client.ts'
export type { ConnectOptions, WillOptions } from './client-options.ts'
export { Publication, type PublishOptions, type ReceivedMessage, type SubscribeOptions } from './client-session.ts'
export { Violation } from './stage.ts'
export { encode, encodePublish, Wire, type PublishFrame } from './wire.ts'

export interface WorldOptions {
  /** Default: 1. The same seed, options and actions give the same scenario. */
  seed?: number
  /** Differences from `defaultCoreSettings`. */
  settings?: Partial<CoreSettings>
  /** Keeps the log, for `world.log`. */
  isRecorded?: boolean
  /** Network of clients that have no network traits of their own. Default: no delays. */
  network?: NetworkTraits
  /** Maximum duration of each step of the disk; default: 0. */
  diskStepMs?: number
  host?: Partial<HostTraits>
  /** The storage of records; default: memory. */
  recordStore?: RecordStore
  /** Reads queues with the code of a real shard, in steps that take time. Requires a `RealRecordStore` and `passMsAsync`. */
  readsSlowly?: boolean
  /** False: actions only plan events, and the caller lets time pass. */
  settles?: boolean
  /** False: the broker is not started. */
  starts?: boolean
  /** The stage of another world, if both worlds share a clock. */
  stage?: Stage
  /** Number of shards of the broker; default: `testShards`. */
  shards?: number
  /** Number of local shards; default: 0. */
  locals?: number
}

export class World implements ClientDependencies {
  readonly stage: Stage
  readonly disk: DiskGroup
  readonly host: BrokerHost
  readonly broker: { accept: BrokerHost['accept'] }
  readonly clients: Client[]
  readonly recordStore: RecordStore
  /** Undefined: a read of a queue is one step of the disk. */
  readonly reads: SlowReads | undefined
  private readonly options: WorldOptions
  private named: number
  private lastCommand: number

  constructor(options: WorldOptions = {}) {
    this.options = options
    this.stage = options.stage ?? new Stage(options.seed ?? 1, options.isRecorded ?? false)
    this.recordStore = options.recordStore ?? new MemoryRecordStore()
    this.reads = options.readsSlowly === true ? slowReadsOf(this.stage, this.recordStore) : undefined
    const disks = Array.from(
      { length: options.shards ?? testShards },
      () => new Disk(this.stage, this.recordStore, { maxStepMs: options.diskStepMs ?? 0 }, this.reads),
    )
    this.disk = new DiskGroup(disks)
    const locals = Array.from(
      { length: options.locals ?? 0 },
      () => new Disk(this.stage, new MemoryRecordStore(), { maxStepMs: 0 }),
    )
    this.host = new BrokerHost(this.stage, disks, {
      locals,
      settings: { ...defaultCoreSettings, ...options.settings },
      traits: {
        maxTurnMs: 0,
        maxLinkMs: 0,
        clockOffsetMs: 0,
        acknowledgesEarly: false,
        decision: ({ authenticationMethod }) => ({
          decision:
            authenticationMethod === undefined
              ? { allowed: true }
              : { allowed: false, reason: reasonCodes.badAuthenticationMethod },
          afterMs: 0,
        }),
        ...options.host,
      },
    })
    this.broker = this.host
    this.clients = []
    this.named = 0
    this.lastCommand = 1_000_000
    if (options.starts !== false && this.recordStore instanceof MemoryRecordStore) this.start()
  }

  get nowMs(): number {
    return this.stage.nowMs
  }

  get log(): readonly string[] {
    return this.stage.log ?? []
  }

  /** The core that owns the session of this client. */
  coreOf(clientId: string): BrokerCore {
    return this.host.coreOf(clientId)
  }

  /** Read-only view of the broker. */
  get view(): WorldView {
    const { all, shards } = this.host
    return combinedView(
      all.map((shard) => shard.core.view),
      { stored: shards.length, viewOf: (clientId) => this.host.coreOf(clientId).view },
    )
  }

  /** Returns the events of one kind that the broker has reported. */
  events<K extends BrokerEvent['event']>(kind: K): Extract<BrokerEvent, { event: K }>[] {
    return this.host.events.filter((event): event is Extract<BrokerEvent, { event: K }> => event.event === kind)
  }

  /** Returns a connected client. The scenario fails if the broker refuses the connection. */
  connect(id: string, options: ConnectOptions = {}): Client {
    const client = this.client(id, options)
    client.connect()
    if (!client.isConnected) this.stage.fail(`the broker refused ${id}: ${client.connack?.reasonCode ?? 'no CONNACK'}`)
    return client
  }

  /** Returns a client that is not connected. */
  client(id: string, options: ConnectOptions = {}): Client {
    const network = options.network ?? this.options.network
    const client = new Client(this, id, network === undefined ? options : { ...options, network })
    this.clients.push(client)
    return client
  }

  /** Returns a connected client with a unique client ID and granted subscriptions. */
  subscriber(filters: string | readonly string[], options: ConnectOptions & SubscribeOptions = {}): Client {
    const client = this.connect(`subscriber-${++this.named}`, options)
    const suback = client.subscribe(filters, subscribeOptions(options))
    const refused = suback?.reasonCodes.find((code) => code >= 0x80)
    if (suback === undefined || refused !== undefined)
      this.stage.fail(`the broker refused ${String(filters)}: ${refused ?? 'no SUBACK'}`)
    return client
  }

  /** A client with a unique client ID publishes once. */
  publish(topic: string, payload: string | Buffer, options: PublishOptions & { version?: ProtocolVersion } = {}): void {
    const publisher = this.connect(
      `publisher-${++this.named}`,
      options.version === undefined ? {} : { version: options.version },
    )
    const publication = publisher.publish(topic, payload, options)
    if (!publication.isComplete) this.stage.fail(`the broker did not acknowledge "${topic}" at QoS ${publication.qos}`)
    publisher.disconnect()
  }

  /** Opens a connection without a `Client`: it sends the given packets, legal or not, and keeps all received packets. */
  wire(options: { version?: ProtocolVersion; name?: string; network?: NetworkTraits } = {}): Wire {
    const wire = openWire(this.stage, this.host, {
      name: options.name ?? `wire-${++this.named}`,
      version: options.version ?? 5,
      network: options.network ?? this.options.network ?? calmNetwork,
    })
    return wire ?? this.stage.fail('no listener: the broker is not running')
  }

  /** Runs everything that takes no time. Actions of clients call this; actions of wires do not. */
  settle(): void {
    if (this.options.settles !== false) this.stage.pass(this.stage.nowMs)
  }

  passMs(ms: number): void {
    this.stage.pass(this.stage.nowMs + ms)
  }

  passSeconds(seconds: number): void {
    this.passMs(seconds * 1_000)
  }

  async passMsAsync(ms: number): Promise<void> {
    await this.stage.passAsync(this.stage.nowMs + ms)
  }

  /** Starts the broker with the records of its disk. */
  start(): void {
    if (this.host.start() !== undefined) throw new Error('this disk takes real time: plan the start as an event')
    this.settle()
  }

  /** `kill`: as by SIGKILL, written data remains. `power-loss`: only synced data certainly remains. */
  crash(death: CrashKind = 'power-loss'): void {
    if (this.host.die(death) !== undefined) throw new Error('this disk takes real time: plan the crash as an event')
    this.settle()
  }

  /** Stops in order: clients get DISCONNECT, and all data is durable. */
  stop(): void {
    this.host.stop()
    this.settle()
    if (this.host.isRunning) this.passSeconds(10)
    if (this.host.isRunning) this.stage.fail('the broker did not stop after a shutdown request')
  }

  /** Calls `crash` (`stop` for 'graceful') and `start` without passing time. */
  restart(how: CrashKind | 'graceful' = 'power-loss'): void {
    if (how === 'graceful') this.stop()
    else this.crash(how)
    this.start()
  }

  /** Changes limits of the running broker, also for later starts. */
  changeSettings(changes: Partial<CoreSettings>): void {
    this.host.settings = { ...this.host.settings, ...changes }
    if (this.host.isRunning) this.host.handle({ kind: 'settings', settings: this.host.settings })
    this.settle()
  }

  /** Runs a command of an administrator. Undefined: the broker has not responded yet. */
  command(command: Command): CommandResult | undefined {
    const requestId = ++this.lastCommand
    this.host.handle({ kind: 'command', requestId, command })
    this.settle()
    return this.events('command-done').find((event) => event.requestId === requestId)?.result
  }

  /** Bytes that the broker counts as used memory, of all shards. */
  heldBytes(use: MemoryUse): number {
    return this.host.all.reduce((sum, { memory }) => sum + memory.get(use), 0)
  }

  /** All records on the disk. */
  records(): StoredRecord[] {
    const records = this.recordStore.readAll()
    if (records instanceof Promise) throw new Error('this disk takes real time')
    return records
  }
}

function slowReadsOf(stage: Stage, recordStore: RecordStore): SlowReads {
  if (!(recordStore instanceof RealRecordStore)) throw new Error('only queues in a store are read slowly')
  return new SlowReads(stage, () => recordStore.store)
}

function subscribeOptions(options: SubscribeOptions): SubscribeOptions {
  const { qos, noLocal, retainAsPublished, retainHandling, identifier } = options
  return {
    ...(qos === undefined ? {} : { qos }),
    ...(noLocal === undefined ? {} : { noLocal }),
    ...(retainAsPublished === undefined ? {} : { retainAsPublished }),
    ...(retainHandling === undefined ? {} : { retainHandling }),
    ...(identifier === undefined ? {} : { identifier }),
  }
}
