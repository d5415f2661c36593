// Features of a random scenario besides its faults: the seed decides about each one separately.

import { Random } from './random.ts'

export interface ScenarioFeatures extends FurtherFeatures {
  /** Clients may not publish, receive or subscribe to everything; `changing`: their permissions change during the scenario. */
  readonly denials: 'none' | 'fixed' | 'changing'
  /** Authorization requests take time. */
  readonly delaysAuthorization: boolean
  /** Administrators disconnect clients, and ban some for a while. */
  readonly administrators: boolean
  /** The prefix of each topic of each client; '': none. */
  readonly mountpoint: string
  /** Exclusive subscriptions are available, and clients use them. */
  readonly exclusive: boolean
  /** Sessions expire soon, and clients set another expiry in DISCONNECT. */
  readonly briefSessions: boolean
  /** Clients reconnect with another version of MQTT. */
  readonly otherVersions: boolean
  /** Clients accept packets up to a maximum size only. */
  readonly smallPackets: boolean
  /** Maximum delay of messages between shards. */
  readonly slowLinkMs: number
}

interface FurtherFeatures {
  /** The generator for the features below, so that they do not change the choices of the scenario itself. */
  readonly generator: Random
  /** A clean session with a full queue drops its oldest message, not the newest. */
  readonly dropsOldest: boolean
  /** Clients accept one message at a time, and acknowledge it after seconds. */
  readonly slowClients: boolean
  /** A third shared group with the same topics, whose members request different QoS. */
  readonly mixedGroups: boolean
  /** All clients publish retained messages to one topic. */
  readonly commonState: boolean
  /** A client is disconnected for a denied action (`deny_action = disconnect`). */
  readonly denialEnds: boolean
  /** Two shards fail at almost the same time, or one fails while another returns. */
  readonly nearDeaths: boolean
  /** Administrators publish, subscribe and unsubscribe for clients. */
  readonly administratorsAct: boolean
  /** A shared group with one member that stays, while the sessions of the others end soon after they disconnect. */
  readonly steadyMember: boolean
  /** Wills and retained messages larger than this are on disk only; undefined: the default limits. */
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

/** Larger than all seeds of scenarios: the scenario itself draws no number from this generator. */
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
    delaysAuthorization: random.chance(0.1),
    administrators: random.chance(0.2),
    mountpoint: random.chance(0.1) ? 'site/' : '',
    exclusive: random.chance(0.2),
    briefSessions: random.chance(0.2),
    otherVersions: random.chance(0.2),
    smallPackets: random.chance(0.15),
    slowLinkMs: random.pick([0, 0, 0, 200]),
  }
}
