// Commands of administrators: which actions they are, or why they are refused.

import type { Instant } from './lease.ts'
import type { MembershipAction } from './membership-actions.ts'
import type { MembershipCommand } from './membership-events.ts'
import { findNode, isHomeless, isQuarantined, listMembers, type MembershipRows } from './membership-rows.ts'
import type { MembershipState } from './membership-state.ts'
import { listCandidates, planRebalance } from './plan-homes.ts'

export type ResolvedCommand = { readonly actions: readonly MembershipAction[] } | { readonly problem: string }

/** A life that has written its row within this time is not dead. */
const minExpireAgeMs = 3_000

/** Resolves a command from the last confirmed rows. */
export function resolveCommand(state: MembershipState, command: MembershipCommand, now: Instant): ResolvedCommand {
  const { rows } = state
  if (rows === undefined || state.session.server === undefined) {
    return {
      problem: `the database does not answer (${state.session.problem ?? 'not connected yet'}); retry when it does`,
    }
  }
  switch (command.kind) {
    case 'evacuate':
      return resolveEvacuate(rows, command.node, command.isEvacuated)
    case 'expire':
      return resolveExpire(state, rows, { life: command.life, passedMs: now.monotonicMs - state.receivedMs })
    case 'rebalance':
      return { actions: planRebalance(rows).map((move) => ({ kind: 'move', ...move })) }
    case 'accept-loss':
      return resolveAcceptLoss(state, rows, command.shard)
    default:
      return command satisfies never
  }
}

function resolveEvacuate(rows: MembershipRows, name: string, isEvacuated: boolean): ResolvedCommand {
  const node = listMembers(rows).find((member) => member.name === name)
  if (node === undefined) return { problem: `no live node has the name ${name}; "cluster status" lists the nodes` }
  if (isEvacuated && !listCandidates(rows).some(({ life }) => life !== node.life)) {
    return { problem: `no other core node can take the shards of ${name}; start one first` }
  }
  return { actions: [{ kind: 'evacuate', life: node.life, isEvacuated }] }
}

function resolveExpire(
  state: MembershipState,
  rows: MembershipRows,
  { life, passedMs }: { readonly life: string; readonly passedMs: number },
): ResolvedCommand {
  const node = findNode(rows, life)
  if (node === undefined) return { problem: `no node has the life ${life}; "cluster status" lists the lives` }
  if (node.isEnded) return { problem: `the life ${life} has ended already` }
  if (life === state.options.life) return { problem: 'a node does not expire its own life; stop the node instead' }
  const ageMs = rows.nowMs - node.seenMs + passedMs
  if (ageMs < minExpireAgeMs) {
    return {
      problem: `the life ${life} wrote its row ${Math.max(0, Math.round(ageMs))} ms ago, so its process is not dead`,
    }
  }
  return { actions: [{ kind: 'expire', life }] }
}

function resolveAcceptLoss(state: MembershipState, rows: MembershipRows, shard: number): ResolvedCommand {
  const row = rows.shards.find((found) => found.shard === shard)
  if (row === undefined) return { problem: `there is no shard ${shard}; the cluster has ${rows.shards.length}` }
  const isDown = state.isHeld(shard) || isQuarantined(rows, row)
  if (!isDown) {
    const reason = isHomeless(rows, row) ? 'waits for a home' : 'is running'
    return {
      problem: `shard ${shard} ${reason}; only a shard that is held or quarantined can be accepted with its loss`,
    }
  }
  const raiseTo = Math.max(row.epoch, state.epochs.get(shard) ?? 0)
  return { actions: [{ kind: 'accept-loss', shard, epoch: row.epoch, raiseTo }] }
}
