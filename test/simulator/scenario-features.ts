// Features of a random scenario besides its faults: the seed decides about each separately.

import { Random } from './random.ts'

export interface ScenarioFeatures extends FurtherFeatures {
  /** Clients may not publish, receive or subscribe to everything; `changing`: and what they may changes meanwhile. */
  readonly denials: 'none' | 'fixed' | 'changing'
  /** Authorization requests take time. */
  readonly asksPermission: boolean
  /** Administrators disconnect clients, and ban some for a while. */
  readonly administrators: boolean
  /** Put before every topic of every client; '': nothing. */
  readonly mountpoint: string
  /** `$exclusive/...` is there and used. */
  readonly exclusive: boolean
  /** Sessions that end soon, and clients that say so when they go. */
  readonly briefSessions: boolean
  /** Clients come back with another version of MQTT. */
  readonly otherVersions: boolean
  /** Clients that take packets up to a size only. */
  readonly smallPackets: boolean
  /** What is said from shard to shard may be on its way for so long. */
  readonly slowLinkMs: number
}

interface FurtherFeatures {
  /** The generator for the features below, so that a scenario without them is what it was before there were any. */
  readonly generator: Random
  /** Of clients whose sessions are not stored and that do not keep up, the oldest message goes and not the newest. */
  readonly dropsOldest: boolean
  /** Clients that take one message at a time, and think about it for long. */
  readonly slowClients: boolean
  /** A third shared group over the same topics, and members that ask for different QoS. */
  readonly mixedGroups: boolean
  /** All clients publish retained messages to one topic. */
  readonly commonState: boolean
  /** A client is disconnected for a denied action (`deny_action = disconnect`). */
  readonly denialEnds: boolean
  /** Shards die two at a time, and just when another joins. */
  readonly nearDeaths: boolean
  /** Administrators publish, subscribe and unsubscribe in the names of clients. */
  readonly administratorsAct: boolean
  /** A shared group with one member that stays for good, and others whose sessions end soon after they go. */
  readonly steadyMember: boolean
  /** Wills and retained messages that are larger than this are on disk only; undefined: the broker's own limits. */
  readonly maxBytesInMemory: number | undefined
}

export function drawFeatures(random: Random, seed: number): ScenarioFeatures {
  return {
    ...drawFirst(random),
    ...drawFurther(new Random(seed + furtherSeeds)),
    ...drawMemory(new Random(seed + memorySeeds)),
  }
}

function drawMemory(generator: Random): Pick<FurtherFeatures, 'maxBytesInMemory'> {
  return { maxBytesInMemory: generator.pick([undefined, undefined, 0, 40]) }
}

/** Beyond all seeds that scenarios use: the scenario itself takes no number of this generator. */
const furtherSeeds = 7 * 2 ** 32
const memorySeeds = 8 * 2 ** 32

function drawFurther(generator: Random): Omit<FurtherFeatures, 'maxBytesInMemory'> {
  return {
    generator,
    dropsOldest: generator.chance(0.3),
    slowClients: generator.chance(0.15),
    mixedGroups: generator.chance(0.2),
    commonState: generator.chance(0.25),
    denialEnds: generator.chance(0.3),
    nearDeaths: generator.chance(0.3),
    administratorsAct: generator.chance(0.2),
    steadyMember: generator.chance(0.2),
  }
}

function drawFirst(random: Random): Omit<ScenarioFeatures, keyof FurtherFeatures> {
  return {
    denials: random.pick(['none', 'none', 'fixed', 'changing'] as const),
    asksPermission: random.chance(0.1),
    administrators: random.chance(0.2),
    mountpoint: random.chance(0.1) ? 'site/' : '',
    exclusive: random.chance(0.2),
    briefSessions: random.chance(0.2),
    otherVersions: random.chance(0.2),
    smallPackets: random.chance(0.15),
    slowLinkMs: random.pick([0, 0, 0, 200]),
  }
}
