// What an administrator sees of the membership: facts of nodes and shards, and what stalls now, since when, why, and what to do.

import type { Life } from '../peer-name.ts'
import { type Instant, isLeaseHeld } from './lease.ts'
import {
  findNode,
  findOlderLife,
  isHomeless,
  isQuarantined,
  listMembers,
  type MembershipRows,
} from './membership-rows.ts'
import type { MembershipState } from './membership-state.ts'
import type { DatabaseServer } from './node-heartbeat.ts'

/** Something that does not work, and the way to repair it. */
export interface Stall {
  readonly kind:
    | 'database'
    | 'name'
    | 'refused'
    | 'clock'
    | 'database-clock'
    | 'unreached'
    | 'held'
    | 'quarantined'
    | 'homeless'
  /** The database, a node or a shard. */
  readonly subject: string
  /** How long this node has known of it, in ms; undefined: not measured. */
  readonly sinceMs: number | undefined
  readonly reason: string
  readonly remedy: string
}

export interface NodeFacts {
  readonly life: Life
  readonly name: string
  readonly role: string
  readonly address: string
  readonly state: 'member' | 'waiting' | 'refused' | 'evacuated'
  /** Time since its last beat. */
  readonly seenAgeMs: number
  readonly hasLease: boolean
  readonly isReached: boolean
}

export interface ShardFacts {
  readonly shard: number
  readonly epoch: number
  /** Name of the home; undefined: none. */
  readonly home: string | undefined
  readonly failures: number
  readonly state: 'running' | 'starting' | 'homeless' | 'held' | 'quarantined'
}

export interface MembershipFacts {
  readonly life: Life
  readonly hasLease: boolean
  readonly server: DatabaseServer | undefined
  /** The time of the cluster minus the own wall clock. */
  readonly clockOffsetMs: number
  readonly nodes: readonly NodeFacts[]
  readonly shards: readonly ShardFacts[]
  readonly stalls: readonly Stall[]
}

export function describeMembership(state: MembershipState, now: Instant): MembershipFacts {
  const { rows, options, session } = state
  const hasLease = isLeaseHeld(state.lease, now)
  return {
    life: options.life,
    hasLease,
    server: session.server,
    clockOffsetMs: Math.round(state.decideClock(now.monotonicMs).offsetMs),
    nodes: rows === undefined ? [] : listNodes(state, rows, now, hasLease),
    shards: rows === undefined ? [] : listShards(state, rows),
    stalls: [...listOwnStalls(state, now), ...(rows === undefined ? [] : listClusterStalls(state, rows, now))],
  }
}

function listNodes(state: MembershipState, rows: MembershipRows, now: Instant, hasLease: boolean): NodeFacts[] {
  const members = new Set(listMembers(rows))
  const live = rows.nodes.filter(({ isEnded }) => !isEnded)
  return live.map((node) => {
    const { life, name, role, address, seenMs } = node
    const isOwn = life === state.options.life
    const flags = node.isRefused ? 'refused' : node.isEvacuated ? 'evacuated' : 'member'
    return {
      life,
      name,
      role,
      address,
      state: members.has(node) ? flags : 'waiting',
      seenAgeMs: Math.max(0, rows.nowMs - seenMs + now.monotonicMs - state.receivedMs),
      hasLease: isOwn ? hasLease : state.reach.getHeartbeat(life)?.hasLease === true,
      isReached: isOwn || state.reach.isReached(life, now.monotonicMs),
    }
  })
}

function listShards(state: MembershipState, rows: MembershipRows): ShardFacts[] {
  return rows.shards.map((row) => {
    const { shard, epoch, life, failures, isRestored } = row
    const running = isRestored ? 'running' : 'starting'
    const down = isQuarantined(rows, row) ? 'quarantined' : isHomeless(rows, row) ? 'homeless' : running
    const home = isHomeless(rows, row) ? undefined : findNode(rows, life)?.name
    return { shard, epoch, home, failures, state: state.isHeld(shard) ? 'held' : down }
  })
}

function listOwnStalls(state: MembershipState, now: Instant): Stall[] {
  const stalls: Stall[] = []
  const { session, leaseLostMs } = state
  const sinceMs = leaseLostMs === undefined ? undefined : now.monotonicMs - leaseLostMs
  const isKept = state.isWaiting || state.isRefused
  if (!isLeaseHeld(state.lease, now) && (session.problem !== undefined || !isKept)) {
    const reason = session.problem ?? 'the database has not confirmed the last transaction'
    const remedy = 'start the database or its standby; nothing above QoS 0 is acknowledged until then'
    stalls.push({ kind: 'database', subject: 'database', sinceMs, reason, remedy })
  }
  const older =
    state.ownNode === undefined || state.rows === undefined ? undefined : findOlderLife(state.rows, state.ownNode)
  if (older !== undefined) {
    const reason = `the life ${older.life} has the name ${older.name} and has not ended`
    const remedy = `wait, or stop the other process; if it is dead: godwit ctl cluster expire ${older.life}`
    stalls.push({ kind: 'name', subject: older.name, sinceMs, reason, remedy })
  }
  const clock = state.decideClock(now.monotonicMs)
  if (clock.databaseDiffers) {
    const reason = 'its clock differs from the median of the nodes, and is not followed'
    stalls.push({
      kind: 'database-clock',
      subject: 'database',
      sinceMs: undefined,
      reason,
      remedy: 'set the clock of the server',
    })
  }
  if (state.clockDiffers) {
    const reason = `its clock differs by ${Math.round(clock.offsetMs)} ms, so it gives its shards away`
    stalls.push({ kind: 'clock', subject: state.options.name, sinceMs: undefined, reason, remedy: 'set its clock' })
  }
  return stalls
}

function listClusterStalls(state: MembershipState, rows: MembershipRows, now: Instant): Stall[] {
  const unreached = state.reach.listUnreached(now.monotonicMs).map((life): Stall => {
    const name = findNode(rows, life)?.name ?? life
    const sinceMs = state.reach.measureSilenceMs(life, now.monotonicMs)
    return {
      kind: 'unreached',
      subject: name,
      sinceMs,
      reason: 'no heartbeats between it and this node',
      remedy: 'repair the network',
    }
  })
  const refused = listMembers(rows).filter(({ isRefused }) => isRefused)
  return [
    ...unreached,
    ...refused.map(({ name }): Stall => {
      const reason = 'too few nodes reach it, so its life ends'
      return {
        kind: 'refused',
        subject: name,
        sinceMs: undefined,
        reason,
        remedy: 'repair the network between the nodes',
      }
    }),
    ...rows.shards.flatMap((row) => listShardStalls(state, rows, row.shard, now)),
  ]
}

function listShardStalls(state: MembershipState, rows: MembershipRows, shard: number, now: Instant): Stall[] {
  const row = rows.shards.find((found) => found.shard === shard)
  if (row === undefined) return []
  const subject = `shard ${shard}`
  const remedy = `godwit ctl cluster accept-loss ${shard}`
  const homelessMs = state.homelessMs.get(shard)
  const sinceMs = homelessMs === undefined ? undefined : now.monotonicMs - homelessMs
  if (state.isHeld(shard)) {
    const reason = `the database went back from epoch ${state.epochs.get(shard) ?? row.epoch}: confirmed records may be lost`
    return [{ kind: 'held', subject, sinceMs, reason, remedy: `promote a server that has the records, or: ${remedy}` }]
  }
  if (isQuarantined(rows, row)) {
    return [{ kind: 'quarantined', subject, sinceMs, reason: 'its records ended its start twice', remedy }]
  }
  if (!isHomeless(rows, row)) return []
  return [{ kind: 'homeless', subject, sinceMs, reason: 'no core node has taken it', remedy: 'start a core node' }]
}
