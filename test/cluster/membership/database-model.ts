// What the transactions of the membership do to the rows, without SQL. `test/storage/postgres` compares it with the statements on a real server.

import {
  countFailures,
  findNode,
  isHomeless,
  isWaiting,
  type Life,
  maxFailures,
  type MembershipAction,
  type MembershipRows,
  type MembershipTransaction,
  type NodeRow,
  type ShardRow,
} from '../../../src/cluster/index.ts'

/** `rows.nowMs` is that of the last transaction. */
export function createRows(shards: number): MembershipRows {
  return {
    nowMs: 0,
    version: 0,
    nodes: [],
    unlinked: [],
    shards: Array.from({ length: shards }, (_, shard) => ({
      shard,
      epoch: 0,
      life: undefined,
      failures: 0,
      isRestored: true,
      target: undefined,
      isHeld: false,
    })),
  }
}

/** Ended lives are deleted after this time. */
export const keptEndedMs = 3_600_000

/** Times at which lives ended, which only `clean` needs. */
export type EndTimes = Map<Life, number>

/** Returns the rows after the transaction at the time `nowMs` of the database. */
export function applyTransaction(
  rows: MembershipRows,
  transaction: MembershipTransaction,
  nowMs: number,
  endTimes: EndTimes,
): MembershipRows {
  let next = { ...rows, nowMs }
  for (const action of transaction.actions) {
    const before = next
    next = applyAction(next, transaction, action, endTimes)
    for (const node of next.nodes) {
      if (node.isEnded && findNode(before, node.life)?.isEnded !== true) endTimes.set(node.life, nowMs)
    }
  }
  const { life, attempt, canTake } = transaction
  next = changeNode(next, life, (node) =>
    node.attempt === attempt && !node.isEnded && !node.isRefused
      ? { ...node, beats: node.beats + 1, seenMs: nowMs, canTake }
      : node,
  )
  return transaction.actions.length === 0 ? next : { ...next, version: next.version + 1 }
}

function applyAction(
  rows: MembershipRows,
  { life, attempt }: MembershipTransaction,
  action: MembershipAction,
  endTimes: EndTimes,
): MembershipRows {
  if (action.kind === 'join') return join(rows, life, attempt, action)
  if (action.kind === 'barrier') {
    return changeNode(rows, life, (node) => (node.attempt < attempt && !node.isEnded ? { ...node, attempt } : node))
  }
  const own = findNode(rows, life)
  if (own === undefined || own.isEnded || own.attempt !== attempt) return rows
  const isCore = own.role === 'core' && !own.isRefused
  switch (action.kind) {
    case 'end':
      return changeNode(rows, action.life, (node) => {
        const isOld = action.minAgeMs === undefined || node.seenMs < rows.nowMs - action.minAgeMs
        return isCore && node.beats === action.beats && isOld ? { ...node, isEnded: true } : node
      })
    case 'expire':
      return changeNode(rows, action.life, (node) => (isCore ? { ...node, isEnded: true } : node))
    case 'leave':
      return changeNode(rows, life, (node) => ({ ...node, isEnded: true }))
    case 'refuse':
      return isCore && areUnlinked(rows, action.life, action.other)
        ? changeNode(rows, action.life, (node) => ({ ...node, isRefused: true }))
        : rows
    case 'unlink':
      return {
        ...rows,
        unlinked: [
          ...rows.unlinked.filter(({ by }) => by !== life),
          ...action.lives.map((other) => ({ by: life, other })),
        ],
      }
    case 'take':
      if (!isCore || isWaiting(rows, own)) return rows
      return action.shards.reduce((taken, version) => take(taken, life, version), rows)
    case 'evacuate':
      return changeNode(rows, action.life, (node) => ({ ...node, isEvacuated: action.isEvacuated }))
    case 'clean':
      return clean(rows, endTimes)
    default:
      return changeShard(rows, action, (shard) => changeOwnShard(shard, life, action))
  }
}

function join(
  rows: MembershipRows,
  life: Life,
  attempt: number,
  description: { name: string; role: NodeRow['role']; address: string; leaseMs: number },
): MembershipRows {
  const { name, role, address, leaseMs } = description
  if (findNode(rows, life) !== undefined) {
    return changeNode(rows, life, (node) => (node.attempt < attempt && !node.isEnded ? { ...node, attempt } : node))
  }
  const joinOrder = Math.max(0, ...rows.nodes.map((node) => node.joinOrder)) + 1
  const node = { life, name, role, address, leaseMs, joinOrder, beats: 0, attempt, seenMs: rows.nowMs }
  return {
    ...rows,
    nodes: [...rows.nodes, { ...node, canTake: false, isEvacuated: false, isRefused: false, isEnded: false }],
  }
}

type ShardAction = Extract<
  MembershipAction,
  { kind: 'release' | 'restart' | 'restored' | 'stable' | 'move' | 'hold' | 'accept-loss' }
>

function changeOwnShard(shard: ShardRow, life: Life, action: ShardAction): ShardRow {
  const isOwn = shard.life === life
  switch (action.kind) {
    case 'release':
      return isOwn ? { ...shard, life: undefined, isRestored: true } : shard
    case 'restart': {
      if (!isOwn) return shard
      const failures = shard.failures + 1
      const home = failures < maxFailures ? life : undefined
      return { ...shard, epoch: shard.epoch + 1, failures, isRestored: home === undefined, life: home }
    }
    case 'restored':
      return isOwn ? { ...shard, isRestored: true } : shard
    case 'stable':
      return isOwn ? { ...shard, failures: 0 } : shard
    case 'move':
      return { ...shard, target: action.target }
    case 'hold':
      return { ...shard, isHeld: true }
    case 'accept-loss':
      return {
        ...shard,
        epoch: Math.max(shard.epoch, action.raiseTo),
        life: undefined,
        failures: 0,
        isRestored: true,
        isHeld: false,
      }
    default:
      return action satisfies never
  }
}

function take(rows: MembershipRows, life: Life, version: { shard: number; epoch: number }): MembershipRows {
  return changeShard(rows, version, (shard) => {
    if (shard.isHeld || !isHomeless(rows, shard) || countFailures(shard) >= maxFailures) return shard
    const failures = countFailures(shard)
    return { ...shard, epoch: shard.epoch + 1, life, failures, isRestored: false, target: undefined }
  })
}

function areUnlinked(rows: MembershipRows, life: Life, other: Life): boolean {
  const isLive = (name: Life): boolean => {
    const node = findNode(rows, name)
    return node !== undefined && !node.isEnded && !node.isRefused
  }
  const hasRow = (by: Life, of: Life): boolean => rows.unlinked.some((row) => row.by === by && row.other === of)
  return isLive(life) && isLive(other) && hasRow(life, other) && hasRow(other, life)
}

function clean(rows: MembershipRows, endTimes: EndTimes): MembershipRows {
  const nodes = rows.nodes.filter(({ life, isEnded }) => {
    const endedMs = endTimes.get(life) ?? rows.nowMs
    return !isEnded || endedMs > rows.nowMs - keptEndedMs || rows.shards.some((shard) => shard.life === life)
  })
  const live = new Set(nodes.filter(({ isEnded }) => !isEnded).map(({ life }) => life))
  return { ...rows, nodes, unlinked: rows.unlinked.filter(({ by, other }) => live.has(by) && live.has(other)) }
}

/** Rows of ended lives do not change. */
function changeNode(rows: MembershipRows, life: Life, change: (node: NodeRow) => NodeRow): MembershipRows {
  return { ...rows, nodes: rows.nodes.map((node) => (node.life === life && !node.isEnded ? change(node) : node)) }
}

function changeShard(
  rows: MembershipRows,
  { shard, epoch }: { readonly shard: number; readonly epoch: number },
  change: (row: ShardRow) => ShardRow,
): MembershipRows {
  return { ...rows, shards: rows.shards.map((row) => (row.shard === shard && row.epoch === epoch ? change(row) : row)) }
}
