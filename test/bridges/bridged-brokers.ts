// Two brokers with one simulated clock, and a bridge of the first.

import assert from 'node:assert/strict'
import {
  Bridge,
  toBridgeSettings,
  type BridgeConnector,
  type BridgeEvent,
  type BridgeSettings,
  type LocalBroker,
} from '../../src/bridges/index.ts'
import { createStreamPair } from '../../src/mqtt-client/index.ts'
import { formatConfigError, loadConfig } from '../../src/config/index.ts'
import { toBridgeClientId } from '../../src/core/index.ts'
import type { QoS } from '../../src/protocol/index.ts'
import { calmNetwork, type NetworkTraits } from '../simulator/network.ts'
import { Stage, type PlannedEvent } from '../simulator/stage.ts'
import type { ByteStream } from '../../src/transports/index.ts'
import { World, type WorldOptions } from '../simulator/world.ts'
import { LinkStream } from './link-stream.ts'

export interface BridgedOptions {
  readonly seed?: number
  /** The settings of the bridge, without the server. */
  readonly bridge?: string
  /** Options of the local broker, or an existing broker. */
  readonly world?: WorldOptions | World
  readonly brokerId?: string
  /** Default: 'b'. */
  readonly name?: string
  readonly isOfAws?: boolean
  readonly remoteOptions?: WorldOptions
  readonly network?: NetworkTraits
  /** Called with each stream of the bridge to the local broker. */
  readonly localStream?: (stream: ByteStream) => void
  readonly isBroken?: (server: string) => boolean
  /** In place of the second broker: called with the remote end of each connection. */
  readonly crafted?: (stream: ByteStream) => void
  /** The remote broker of an earlier scenario: this scenario continues with its clock. */
  readonly remote?: World
}

export class Bridged {
  readonly stage: Stage
  readonly local: World
  remote: World
  readonly events: BridgeEvent[] = []
  readonly network: NetworkTraits
  readonly #localStream: (stream: ByteStream) => void
  /** Whether a server cannot be reached. */
  isBroken: (server: string) => boolean
  readonly dialed: string[] = []
  /** The last connection. */
  stream: LinkStream | undefined
  bridge: Bridge
  settings: BridgeSettings
  readonly #crafted: ((stream: ByteStream) => void) | undefined
  #timer: PlannedEvent | undefined
  /** The generation of the bridge: events of earlier ones have no effect. */
  #generation = 0
  #isLooking = false

  constructor(options: BridgedOptions = {}) {
    const own = { shards: 1, seed: options.seed ?? 1 }
    const known = options.world instanceof World ? options.world : options.remote
    this.stage = known?.stage ?? new Stage(own.seed, false)
    this.local =
      options.world instanceof World ? options.world : new World({ ...own, ...options.world, stage: this.stage })
    this.remote = options.remote ?? new World({ ...own, ...options.remoteOptions, stage: this.stage })
    this.network = options.network ?? calmNetwork
    this.#localStream = options.localStream ?? (() => undefined)
    this.#crafted = options.crafted
    this.isBroken = options.isBroken ?? (() => false)
    this.settings = settingsOf(options.bridge ?? '', options)
    this.bridge = this.#newBridge()
    this.settle()
  }

  settle(): void {
    this.local.settle()
  }

  passSeconds(seconds: number): void {
    this.local.passSeconds(seconds)
  }

  get status(): ReturnType<Bridge['readStatus']> {
    return this.bridge.readStatus()
  }

  /** Changes the settings of the bridge. */
  change(text: string): void {
    this.settings = settingsOf(text)
    this.bridge.change(this.settings)
    const generation = this.#generation
    this.#sendClientFilters(this.bridge, () => this.#generation === generation)
    this.settle()
  }

  /** Kills and restarts the process of the local broker, with the bridge. */
  restartLocal(death: 'kill' | 'power-loss' = 'kill'): void {
    this.killLocal(death)
    this.startLocal()
  }

  killLocal(death: 'kill' | 'power-loss' = 'kill'): void {
    this.#generation++
    this.#isLooking = false
    this.stage.cancel(this.#timer)
    this.stream?.destroy()
    this.local.crash(death)
  }

  startLocal(): void {
    this.local.start()
    this.bridge = this.#newBridge()
    this.settle()
  }

  /** Removes the bridge from the configuration, and adds one with the same name before the session of the first has ended. */
  replaceBridge(bridge: string): void {
    this.bridge.remove()
    this.bridge.stop()
    this.#generation++
    this.settings = settingsOf(bridge)
    this.bridge = this.#newBridge(true)
    this.settle()
  }

  /** Replaces the remote broker by one without data. */
  replaceRemote(options: WorldOptions = {}): void {
    if (this.remote.host.isRunning) this.remote.crash('kill')
    this.remote = new World({ shards: 1, ...options, stage: this.stage })
    this.settle()
  }

  #newBridge(isSessionNew = false): Bridge {
    const generation = this.#generation
    const isAlive = (): boolean => this.#generation === generation
    const bridge = new Bridge(this.settings, {
      connector: this.#connector(isAlive),
      broker: this.#broker(),
      nowMs: () => this.stage.nowMs,
      random: () => this.stage.random.fraction(),
      later: (work) => void this.stage.after(0, () => (isAlive() ? work() : undefined)),
      wakeAt: (timeMs) => {
        if (!isAlive()) return
        this.stage.cancel(this.#timer)
        if (timeMs === Infinity) return
        this.#timer = this.stage.after(timeMs - this.stage.nowMs, () => (isAlive() ? bridge.tick() : undefined))
      },
      emit: (event) => this.events.push(event),
    })
    bridge.start(isSessionNew)
    this.#sendClientFilters(bridge, isAlive)
    return bridge
  }

  /** The filters of local clients, for a transparent bridge: checked as in a shard. */
  #sendClientFilters(bridge: Bridge, isAlive: () => boolean): void {
    if (!this.settings.isTransparent || this.#isLooking) return
    this.#isLooking = true
    const { host } = this.local
    host.handle({ kind: 'client-filters', areWanted: true })
    const look = (): void => {
      this.#isLooking = isAlive() && this.settings.isTransparent
      if (!this.#isLooking) return
      const filters = host.coreOf().clientFilters
      if (filters?.isComplete === true)
        bridge.updateClientFilters({ changes: filters.take(), isComplete: true, unreported: filters.unreported })
      this.stage.after(100, look)
    }
    this.stage.after(0, look)
  }

  #connector(isAlive: () => boolean): BridgeConnector {
    return {
      dial: (server, _link, handlers) => {
        this.dialed.push(server)
        let isAbandoned = false
        this.stage.after(0, () => {
          if (isAbandoned || !isAlive()) return
          const isReachable = !this.isBroken(server)
          if (isReachable && this.#crafted !== undefined) return handlers.onOpen(this.#craft(this.#crafted))
          const link = isReachable ? this.remote.host.accept(this.network) : undefined
          if (link === undefined) return handlers.onProblem({ message: 'the remote broker has no listener' })
          this.stream = new LinkStream(this.stage, link)
          handlers.onOpen(this.stream)
        })
        return { abandon: () => (isAbandoned = true) }
      },
    }
  }

  #craft(crafted: (stream: ByteStream) => void): ByteStream {
    const [bridgeEnd, remoteEnd] = createStreamPair((work) => void this.stage.after(0, work))
    crafted(remoteEnd)
    return bridgeEnd
  }

  #broker(): LocalBroker {
    const { host, stage } = this.local
    return {
      open: () => {
        const { listener } = host.traits
        host.traits.listener = { ...listener, isInternal: true }
        const link = host.accept(calmNetwork)
        delete host.traits.listener
        if (listener !== undefined) host.traits.listener = listener
        assert.ok(link !== undefined, 'the local broker does not run')
        const stream = new LinkStream(stage, link, { lendsChunks: true })
        this.#localStream(stream)
        return stream
      },
      readSessionStatus: () => {
        const found = host.isRunning
          ? host.coreOf().view.findInternalSession(toBridgeClientId(this.settings.name))
          : undefined
        return (
          found ?? {
            subscriptions: new Map(),
            unreleased: [],
            spooled: 0,
            oldestAtMs: undefined,
            dropped: 0,
            drops: new Map(),
          }
        )
      },
      limits: {
        maxPacketBytes: host.settings.maxPacketBytes,
        maxPropertyBytes: 32_768,
        maxTopicLevels: 128,
        maxTopicBytes: 65_535,
      },
      receiveMaximum: host.settings.receiveMaximum,
    }
  }
}

type Config = Extract<ReturnType<typeof loadConfig>, { config: unknown }>['config']

/** Most tests create many bridges with the same settings. */
const configs = new Map<string, Config>()

function configOf(text: string): Config {
  const known = configs.get(text)
  if (known !== undefined) return known
  const loaded = loadConfig({ text, file: 'test.conf', overrides: [] })
  if ('errors' in loaded) assert.fail(loaded.errors.map(formatConfigError).join('\n'))
  configs.set(text, loaded.config)
  return loaded.config
}

export function settingsOf(
  text: string,
  of: { brokerId?: string; name?: string; isOfAws?: boolean } = {},
): BridgeSettings {
  const { brokerId = 'here', name = 'b', isOfAws } = of
  const named = `bridges.mqtt.${name} { enable = true, server = "mqtt-tcp://there:1883", proto_ver = 5, ${text} }`
  const config = configOf(named).bridges.mqtt.named.get(name)
  assert.ok(config !== undefined)
  const made = toBridgeSettings(name, config, { brokerId, link: {}, isOfAws })
  if ('problem' in made) assert.fail(made.problem)
  return made.settings
}

export function payloads(count: number, word = 'm'): string[] {
  return Array.from({ length: count }, (_, index) => `${word}${index}`)
}

/** A client publishes the messages one after the other. */
export function publishAll(world: World, topic: string, list: readonly string[], qos: QoS): void {
  const author = world.connect(`author-${list[0]}`)
  for (const payload of list) author.publish(topic, payload, { qos })
  author.disconnect()
}
