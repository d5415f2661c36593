// A shard in a test: the real core, an in-memory store, streams without a network, and time that passes
// when the test sets it. Turns are real: the shard schedules them with `setImmediate`, and `turns` waits for them.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { defaultAccessSettings } from '../../src/access/index.ts'
import type { CoreSettings, RuleHook } from '../../src/core/index.ts'
import { defaultCoreSettings } from '../core/default-settings.ts'
import {
  AckPacket,
  PacketDecoder,
  parseTopicFilter,
  reasonCodes,
  TopicTable,
  type AckType,
  type ConnectPacket,
  type ControlPacket,
  type Packet,
  type ProtocolVersion,
  type PublishPacket,
  type QoS,
  type SubscriptionRequest,
} from '../../src/protocol/index.ts'
import { restoreBroker } from '../../src/shard/store/restore-records.ts'
import { Shard } from '../../src/shard/shard.ts'
import type { ShardListener, ShardStart } from '../../src/shard/index.ts'
import { Counters, counterCells, createCounterTable, type CounterName, type Log } from '../../src/telemetry/index.ts'
import { encode, encodePublish, type PublishFrame } from '../simulator/wire.ts'
import { FakeStream } from './fake-stream.ts'
import { HeldStore } from './held-store.ts'
import { plainConnect } from '../simulator/plain-connect.ts'

export interface StageOptions {
  readonly core?: Partial<CoreSettings>
  readonly start?: Partial<ShardStart>
  readonly store?: HeldStore
  readonly nowMs?: number
  /** Undefined: rules do nothing. */
  readonly ruleHook?: RuleHook
  /** Whether another stage of the same test has mocked the timers. */
  readonly timersAreMocked?: boolean
}

export const listener = {
  number: 1,
  kind: 'tcp',
  name: 'default',
  host: '127.0.0.1',
  port: 1_883,
  maxConnections: undefined,
  isLoopback: true,
  sharesPort: false,
} as const

/** More iterations of the event loop than needed. */
const enoughTurns = 8

export class ShardStage {
  readonly shard: Shard
  readonly store: HeldStore
  readonly lines: { level: string; event: string; fields: unknown }[] = []
  readonly alarms: string[] = []
  /** Number of reports of the first message. */
  firstMessages = 0
  readonly clock: { now: number; nowMs(): number }
  readonly #context: TestContext
  readonly #counters: Counters

  constructor(context: TestContext, options: StageOptions = {}) {
    this.#context = context
    if (options.timersAreMocked !== true) context.mock.timers.enable({ apis: ['setTimeout'] })
    const counters = createCounterTable(options.start?.shards ?? 1)
    this.#counters = new Counters(counters, 0)
    this.store = options.store ?? new HeldStore()
    this.clock = {
      now: options.nowMs ?? 1_800_000_000_000,
      nowMs(): number {
        return this.now
      },
    }
    this.shard = new Shard({
      identity: 'stage',
      ruleHook: options.ruleHook ?? { run: () => 0, runTriggers: (triggers) => triggers.length, recordLost: () => {} },
      start: {
        shardNumber: 0,
        dataDirectory: '/nowhere',
        listeners: [listener],
        core: { ...defaultCoreSettings, ...options.core },
        clockBaseMs: 0,
        storage: { sync: 'commit', syncIntervalMs: 1_000 },
        access: defaultAccessSettings,
        maxPropertyBytes: 65_536,
        maxUnsentBytesTotal: 1 << 30,
        maxUnfinishedBytesTotal: 1 << 30,
        maxConnections: 1_000,
        counters,
        logLevel: 'debug',
        ...options.start,
      },
      findListenerByName: () => undefined,
      findListener: (number) => (number === listener.number ? listener : undefined),
      acceptGatewayStream: () => false,
      store: this.store,
      clock: this.clock,
      counters: this.#counters,
      log: this.#log(),
      onFirstMessage: () => this.firstMessages++,
      reportLinkFailure: (peer) => assert.fail(`the link to shard ${peer} failed`),
      raiseAlarm: (_, message) => this.alarms.push(message),
      endAlarm: (_, message) => this.alarms.push(message),
      fail: (error) => {
        throw error
      },
    })
  }

  /** Starts a new shard with the stored records. */
  static async restored(context: TestContext, options: StageOptions): Promise<ShardStage> {
    const stage = new ShardStage(context, options)
    await restoreBroker(stage.store, stage.shard.core, { nowMs: stage.clock.nowMs(), mark: undefined })
    stage.shard.handleInput({ kind: 'tick' })
    await stage.turns()
    return stage
  }

  counter(name: CounterName): number {
    return this.#counters.cells[counterCells[name]] ?? 0
  }

  /** Waits until the shard is idle. */
  async turns(count = enoughTurns): Promise<void> {
    for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
  }

  async passMs(ms: number): Promise<void> {
    this.clock.now += ms
    this.#context.mock.timers.tick(ms)
    await this.turns()
  }

  /** A connection before CONNECT. */
  unauthenticated(version: ProtocolVersion = 4, through: ShardListener = listener): TestClient {
    const client = new TestClient(new FakeStream(), version)
    this.shard.accept(client.stream, through)
    return client
  }

  /** A connected client. */
  async client(clientId: string, options: Partial<ConnectPacket> = {}): Promise<TestClient> {
    const client = this.unauthenticated(options.version ?? 4)
    client.connect(clientId, options)
    await this.turns()
    return client
  }

  /** A client with a subscription. */
  async subscriber(
    clientId: string,
    filter: string,
    options: Partial<ConnectPacket> & { qos?: QoS } = {},
  ): Promise<TestClient> {
    const { qos = 2, ...connect } = options
    const client = await this.client(clientId, connect)
    client.subscribe([{ filter, qos }])
    await this.turns()
    return client
  }

  #log(): Log {
    const line =
      (level: string) =>
      (event: string, fields?: unknown): void => {
        this.lines.push({ level, event, fields })
      }
    return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') }
  }
}

const topics = new TopicTable(1_024)

export class TestClient {
  readonly stream: FakeStream
  readonly version: ProtocolVersion
  /** All packets that it has received, in order. */
  readonly received: Packet[] = []
  readonly #decoder: PacketDecoder

  constructor(stream: FakeStream, version: ProtocolVersion) {
    this.stream = stream
    this.version = version
    this.#decoder = new PacketDecoder({
      role: 'client',
      version,
      topics,
      maxPacketBytes: 0xfff_ffff,
      maxPropertyBytes: 1 << 20,
      maxTopicLevels: 65_535,
      maxTopicBytes: 65_535,
    })
    stream.onTaken = (bytes) => this.#read(bytes)
  }

  connect(clientId: string, options: Partial<ConnectPacket> = {}): void {
    this.send(plainConnect(this.version, clientId, options))
  }

  subscribe(
    requests: readonly (Partial<Omit<SubscriptionRequest, 'filter'>> & { filter: string })[],
    identifier?: number,
  ): void {
    this.send({
      type: 'subscribe',
      packetId: 1,
      subscriptions: requests.map((request) => ({
        qos: 2,
        noLocal: false,
        retainAsPublished: false,
        retainHandling: 0,
        ...request,
        filter: parseTopicFilter(request.filter)!,
      })),
      properties: identifier === undefined ? undefined : { subscriptionIdentifier: identifier },
    })
  }

  acknowledge(type: AckType, packetId: number): void {
    this.send(new AckPacket(type, packetId, reasonCodes.success, undefined))
  }

  send(...packets: ControlPacket[]): void {
    this.stream.arrive(Buffer.concat(packets.map((packet) => encode(packet, this.version))))
  }

  /** Sends all in one chunk. */
  publish(...frames: PublishFrame[]): void {
    this.stream.arrive(Buffer.concat(frames.map((frame) => encodePublish(frame, this.version))))
  }

  of<Type extends Packet['type']>(type: Type): Extract<Packet, { type: Type }>[] {
    return this.received.filter((packet): packet is Extract<Packet, { type: Type }> => packet.type === type)
  }

  get last(): Packet | undefined {
    return this.received.at(-1)
  }

  /** The types of the received packets, in order. */
  get types(): string[] {
    return this.received.map((packet) => packet.type)
  }

  get payloads(): string[] {
    return this.of('publish').map(payloadOf)
  }

  #read(bytes: Buffer): void {
    this.#decoder.push(bytes)
    for (let packet = this.#decoder.next(); packet !== undefined; packet = this.#decoder.next())
      this.received.push(packet)
  }
}

export function payloadOf(packet: PublishPacket): string {
  return packet.chunk.toString('utf8', packet.payloadStart, packet.frameEnd)
}
