// What the next transaction of a node writes, from the rows that were confirmed last.

import { chooseRefusedLives } from './choose-refused-lives.ts'
import { type Instant, isLeaseHeld } from './lease.ts'
import type { MembershipAction } from './membership-actions.ts'
import { findNode, isHomeless, listMembers, type MembershipRows } from './membership-rows.ts'
import { endMarginMs, type MembershipState } from './membership-state.ts'
import { listCandidates, planTakes } from './plan-homes.ts'

/** More than the time between a write of a life and the next read of this node, so that both limits end together. */
const observedMarginMs = 500
const cleanIntervalMs = 60_000

/** Returns the actions in the order in which they are applied. */
export function planActions(state: MembershipState, now: Instant): readonly MembershipAction[] {
  const { rows, session } = state
  if (!state.hasJoined || rows === undefined) {
    const { name, role, address, leaseMs } = state.options
    return [{ kind: 'join', name, role, address, leaseMs }]
  }
  return [
    ...(session.isFresh ? [{ kind: 'barrier' } as const] : []),
    ...planOwn(state, rows, now),
    ...planUnlink(state, rows, now),
    ...planEnds(state, rows, now),
    ...planTake(state, rows, now),
    ...state.commands.flatMap(({ actions }) => actions),
  ]
}

/** Returns whether another node can take the shards of this one. */
export function hasOtherCandidate(state: MembershipState, rows: MembershipRows): boolean {
  return listCandidates(rows).some(({ life }) => life !== state.options.life)
}

function planOwn(state: MembershipState, rows: MembershipRows, now: Instant): readonly MembershipAction[] {
  const { homes, options } = state
  const isLeaving = state.isStopping || state.isRefused
  const actions = homes.planActions(rows, options.life, { releases: isLeaving, nowMs: now.monotonicMs })
  const holds = rows.shards
    .filter(({ shard, epoch, isHeld }) => !isHeld && epoch < (state.epochs.get(shard) ?? 0))
    .map(({ shard, epoch }): MembershipAction => ({ kind: 'hold', shard, epoch }))
  const ownsShard = rows.shards.some(({ life }) => life === options.life)
  const leaves = isLeaving && homes.size === 0 && !ownsShard
  return [...holds, ...actions, ...(leaves ? [{ kind: 'leave' } as const] : [])]
}

function planUnlink(state: MembershipState, rows: MembershipRows, now: Instant): readonly MembershipAction[] {
  const { life } = state.options
  const lives = state.reach.listUnreached(now.monotonicMs)
  const written = rows.unlinked.filter(({ by }) => by === life).map(({ other }) => other)
  return lives.join() === written.toSorted().join() ? [] : [{ kind: 'unlink', lives }]
}

/** Lives whose lease is over end, after this node was confirmed for long enough. */
function planEnds(state: MembershipState, rows: MembershipRows, now: Instant): readonly MembershipAction[] {
  const { options, observations, run } = state
  const own = state.ownNode
  if (options.role !== 'core' || own === undefined || own.isRefused) return []
  const runMs = run.measureMs(now.monotonicMs)
  const ends = rows.nodes.flatMap((node): MembershipAction[] => {
    const { life, beats, leaseMs } = node
    const limitMs = leaseMs + endMarginMs
    if (node.isEnded || life === options.life || runMs < Math.max(limitMs, options.leaseMs + endMarginMs)) return []
    const silenceMs = observations.measureSilenceMs(life, now.monotonicMs)
    const ageMs = rows.nowMs - node.seenMs + (now.monotonicMs - state.receivedMs)
    if (silenceMs >= limitMs) return [{ kind: 'end', life, beats, minAgeMs: undefined }]
    if (silenceMs < leaseMs + observedMarginMs || ageMs <= limitMs) return []
    return [{ kind: 'end', life, beats, minAgeMs: limitMs }]
  })
  if (runMs < options.leaseMs + endMarginMs || state.isWaiting) return ends
  const refusals = chooseRefusedLives(rows).map((refused): MembershipAction => ({ kind: 'refuse', ...refused }))
  const isCleanDue = now.monotonicMs - state.lastCleanMs >= cleanIntervalMs
  return [...ends, ...refusals, ...(isCleanDue ? [{ kind: 'clean' } as const] : [])]
}

function planTake(state: MembershipState, rows: MembershipRows, now: Instant): readonly MembershipAction[] {
  const { options } = state
  if (!state.canTake || state.isRefused || state.isWaiting || !isLeaseHeld(state.lease, now)) return []
  const measureMs = (shard: number): number => {
    const sinceMs = state.homelessMs.get(shard)
    return sinceMs === undefined ? 0 : now.monotonicMs - sinceMs
  }
  // Another life may know a higher epoch, if the database went back: it has had the time to hold the shard.
  const hasOthers = listMembers(rows).some(({ life }) => life !== options.life)
  const isNew = hasOthers && state.run.measureMs(now.monotonicMs) < options.leaseMs + endMarginMs
  const shards = planTakes(rows, options.life, measureMs)
    .filter(({ shard, epoch }) => !state.isHeld(shard) && (epoch === 0 || !isNew))
    .map(({ shard, epoch }) => ({ shard, epoch }))
  return shards.length === 0 ? [] : [{ kind: 'take', shards }]
}

/** Returns the shard that this node gives away next: one after the other, so that clients of the others are served meanwhile. */
export function chooseShardToMove(state: MembershipState, rows: MembershipRows): number | undefined {
  const { homes, options } = state
  if (homes.list().some((home) => home.state === 'stopping' || home.state === 'stopped')) return undefined
  const isDraining = state.ownNode?.isEvacuated === true || state.clockDiffers
  const targets = new Set(listCandidates(rows).map(({ life }) => life))
  const isAnyOnTheWay = rows.shards.some(
    (row) => isHomeless(rows, row) && row.target !== undefined && findNode(rows, row.target)?.isEnded === false,
  )
  if (!hasOtherCandidate(state, rows) || isAnyOnTheWay) return undefined
  return rows.shards.find(({ shard, epoch, life, target }) => {
    const home = homes.get(shard)
    if (life !== options.life || home?.state !== 'running' || home.epoch !== epoch) return false
    return isDraining || (target !== undefined && target !== options.life && targets.has(target))
  })?.shard
}
