// What else a random story may have, whatever its trouble: the seed decides about each by itself.

import { Random } from './random.ts'

export interface Twists extends FurtherTwists {
  /** Clients may not publish, receive or subscribe to everything; `changing`: and what they may changes meanwhile. */
  readonly denials: 'none' | 'fixed' | 'changing'
  /** What a client may do is asked of somebody who takes time. */
  readonly asksPermission: boolean
  /** Operators send clients away, and keep some from coming back for a while. */
  readonly operators: boolean
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

interface FurtherTwists {
  /** Dice of what belongs to the twists below, so that a story without them is what it was before there were any. */
  readonly dice: Random
  /** Of clients whose sessions are not stored and that do not keep up, the oldest message goes and not the newest. */
  readonly dropsOldest: boolean
  /** Clients that take one message at a time, and think about it for long. */
  readonly slowClients: boolean
  /** A third shared group over the same topics, and members that ask for different QoS. */
  readonly mixedGroups: boolean
  /** Everybody keeps retained messages on one topic. */
  readonly commonState: boolean
  /** Who does what it may not is sent away (`deny_action = disconnect`). */
  readonly denialEnds: boolean
  /** Shards die two at a time, and just when another joins. */
  readonly nearDeaths: boolean
  /** Operators publish, subscribe and unsubscribe in the names of clients. */
  readonly operatorsAct: boolean
  /** A shared group with one member that stays for good, and others whose sessions end soon after they go. */
  readonly steadyMember: boolean
  /** Wills and retained messages that are larger than this are on disk only; undefined: the broker's own limits. */
  readonly maxBytesInMemory: number | undefined
}

export function drawTwists(random: Random, seed: number): Twists {
  return {
    ...drawFirst(random),
    ...drawFurther(new Random(seed + furtherSeeds)),
    ...drawMemory(new Random(seed + memorySeeds)),
  }
}

function drawMemory(dice: Random): Pick<FurtherTwists, 'maxBytesInMemory'> {
  return { maxBytesInMemory: dice.pick([undefined, undefined, 0, 40]) }
}

/** Beyond all seeds that anybody tells stories of: nothing of these dice is thrown by the story itself. */
const furtherSeeds = 7 * 2 ** 32
const memorySeeds = 8 * 2 ** 32

function drawFurther(dice: Random): Omit<FurtherTwists, 'maxBytesInMemory'> {
  return {
    dice,
    dropsOldest: dice.chance(0.3),
    slowClients: dice.chance(0.15),
    mixedGroups: dice.chance(0.2),
    commonState: dice.chance(0.25),
    denialEnds: dice.chance(0.3),
    nearDeaths: dice.chance(0.3),
    operatorsAct: dice.chance(0.2),
    steadyMember: dice.chance(0.2),
  }
}

function drawFirst(random: Random): Omit<Twists, keyof FurtherTwists> {
  return {
    denials: random.pick(['none', 'none', 'fixed', 'changing'] as const),
    asksPermission: random.chance(0.1),
    operators: random.chance(0.2),
    mountpoint: random.chance(0.1) ? 'site/' : '',
    exclusive: random.chance(0.2),
    briefSessions: random.chance(0.2),
    otherVersions: random.chance(0.2),
    smallPackets: random.chance(0.15),
    slowLinkMs: random.pick([0, 0, 0, 200]),
  }
}
