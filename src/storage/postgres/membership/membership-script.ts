// The transactions of the membership as SQL, in the first database.
//
// A transaction is one text without parameters, so the server has all of it before it begins: a node that is paused or disconnected holds no lock.
// It locks the row of the cluster first. Each later statement sees everything that was confirmed before, so conditions that several rows
// decide are checked under the lock.

import {
  type Life,
  maxFailures,
  type MembershipAction,
  type MembershipRows,
  type MembershipTransaction,
  type NodeRow,
  type ShardRow,
  type UnlinkedRow,
} from '../../../cluster/index.ts'
import { StorageFailure } from '../../store.ts'

/** Rows of ended lives are kept for this time, for those who look for the reason of a fail-over. */
const keptEnded = '1 hour'
const maxRowsBytes = 16_777_216

/** Returns the text of a transaction. Its second last statement returns the rows. */
export function writeMembershipScript(transaction: MembershipTransaction): string {
  const { life, attempt, canTake, actions } = transaction
  const writer = new ScriptWriter(life, attempt)
  const beat = `UPDATE nodes SET seen = clock_timestamp(), beats = beats + 1, can_take = ${canTake}
    WHERE life = ${writer.life} AND attempt = ${attempt} AND ended IS NULL AND NOT is_refused`
  return [
    'BEGIN',
    'SELECT 1 FROM godwit_cluster FOR UPDATE',
    ...actions.flatMap((action) => writer.writeAction(action)),
    beat,
    ...(actions.length === 0 ? [] : ['UPDATE godwit_cluster SET membership_version = membership_version + 1']),
    readRows,
    'COMMIT',
  ].join(';\n')
}

const readRows = `SELECT json_build_object(
  'nowMs', trunc(extract(epoch FROM clock_timestamp()) * 1000),
  'version', (SELECT membership_version FROM godwit_cluster),
  'standbyNames', current_setting('synchronous_standby_names'),
  'nodes', coalesce((SELECT json_agg(json_build_array(life, name, role, address, lease_ms, join_order, beats, attempt,
    trunc(extract(epoch FROM seen) * 1000), can_take, is_evacuated, is_refused, ended IS NOT NULL) ORDER BY join_order) FROM nodes), '[]'),
  'homes', coalesce((SELECT json_agg(json_build_array(shard, epoch, life, failures, is_restored, target, is_held)
    ORDER BY shard) FROM homes), '[]'),
  'unlinked', coalesce((SELECT json_agg(json_build_array(by, of) ORDER BY by, of) FROM unlinked), '[]'))`

class ScriptWriter {
  readonly life: string
  readonly #attempt: number
  /** The own life may act. */
  readonly #isLive: string
  /** It may decide about others. */
  readonly #isCore: string

  constructor(life: Life, attempt: number) {
    this.life = quoteText(life)
    this.#attempt = attempt
    const own = `SELECT FROM nodes AS me WHERE me.life = ${this.life} AND me.attempt = ${attempt} AND me.ended IS NULL`
    this.#isLive = `EXISTS (${own})`
    this.#isCore = `EXISTS (${own} AND me.role = 'core' AND NOT me.is_refused)`
  }

  writeAction(action: MembershipAction): readonly string[] {
    const { life } = this
    switch (action.kind) {
      case 'join':
        return [this.#writeJoin(action)]
      case 'barrier':
        return [
          `UPDATE nodes SET attempt = ${this.#attempt} WHERE life = ${life} AND attempt < ${this.#attempt} AND ended IS NULL`,
        ]
      case 'end': {
        const age =
          action.minAgeMs === undefined ? '' : ` AND seen < clock_timestamp() - ${toInterval(action.minAgeMs)}`
        return [
          this.#writeEnd(quoteText(action.life), `AND beats = ${toInteger(action.beats)}${age} AND ${this.#isCore}`),
        ]
      }
      case 'expire':
        return [this.#writeEnd(quoteText(action.life), `AND ${this.#isCore}`)]
      case 'leave':
        return [this.#writeEnd(life, `AND attempt = ${this.#attempt}`)]
      case 'refuse':
        return [this.#writeRefuse(action.life, action.other)]
      case 'unlink':
        return this.#writeUnlink(action.lives)
      case 'take':
        return action.shards.map((shard) => this.#writeTake(shard))
      case 'evacuate':
        return [
          `UPDATE nodes SET is_evacuated = ${action.isEvacuated} WHERE life = ${quoteText(action.life)} AND ended IS NULL
            AND ${this.#isLive}`,
        ]
      case 'clean':
        return this.#writeClean()
      default:
        return [this.#writeHome(action)]
    }
  }

  #writeJoin({ name, role, address, leaseMs }: Extract<MembershipAction, { kind: 'join' }>): string {
    return `INSERT INTO nodes (life, name, role, address, lease_ms, join_order, attempt, seen)
      SELECT ${this.life}, ${quoteText(name)}, ${quoteText(role)}, ${quoteText(address)}, ${toInteger(leaseMs)},
        coalesce(max(join_order), 0) + 1, ${this.#attempt}, clock_timestamp() FROM nodes
      ON CONFLICT (life) DO UPDATE SET attempt = excluded.attempt
        WHERE nodes.attempt < excluded.attempt AND nodes.ended IS NULL`
  }

  #writeEnd(life: string, condition: string): string {
    return `UPDATE nodes SET ended = clock_timestamp() WHERE life = ${life} AND ended IS NULL ${condition}`
  }

  #writeRefuse(refused: Life, otherLife: Life): string {
    const [life, other] = [quoteText(refused), quoteText(otherLife)]
    return `UPDATE nodes SET is_refused = true WHERE life = ${life} AND ended IS NULL AND NOT is_refused AND ${this.#isCore}
      AND EXISTS (SELECT FROM nodes AS o WHERE o.life = ${other} AND o.ended IS NULL AND NOT o.is_refused)
      AND EXISTS (SELECT FROM unlinked WHERE by = ${life} AND of = ${other})
      AND EXISTS (SELECT FROM unlinked WHERE by = ${other} AND of = ${life})`
  }

  #writeUnlink(lives: readonly Life[]): readonly string[] {
    const remove = `DELETE FROM unlinked WHERE by = ${this.life} AND ${this.#isLive}`
    if (lives.length === 0) return [remove]
    const list = lives.map((life) => `(${quoteText(life)})`).join(', ')
    const insert = `INSERT INTO unlinked (by, of) SELECT ${this.life}, u.of FROM (VALUES ${list}) AS u (of) WHERE ${this.#isLive}`
    return [remove, insert]
  }

  #writeTake({ shard, epoch }: { readonly shard: number; readonly epoch: number }): string {
    const hasOlder = `SELECT FROM nodes AS mine JOIN nodes AS older USING (name)
      WHERE mine.life = ${this.life} AND older.ended IS NULL AND older.join_order < mine.join_order`
    const failures = '(failures + (NOT is_restored)::integer)'
    return `UPDATE homes AS h SET epoch = epoch + 1, life = ${this.life}, failures = ${failures}, is_restored = false, target = NULL
      WHERE shard = ${toInteger(shard)} AND epoch = ${toInteger(epoch)} AND NOT is_held AND ${failures} < ${maxFailures}
      AND (h.life IS NULL OR EXISTS (SELECT FROM nodes AS n WHERE n.life = h.life AND n.ended IS NOT NULL))
      AND ${this.#isCore} AND NOT EXISTS (${hasOlder})`
  }

  #writeHome(action: Extract<MembershipAction, { readonly epoch: number }>): string {
    const isOwn = ` AND life = ${this.life}`
    const write = (changes: string, condition = ''): string =>
      `UPDATE homes SET ${changes} WHERE shard = ${toInteger(action.shard)} AND epoch = ${toInteger(action.epoch)}${condition}
        AND ${this.#isLive}`
    switch (action.kind) {
      case 'release':
        return write('life = NULL, is_restored = true', isOwn)
      case 'restart': {
        const isLast = `failures + 1 >= ${maxFailures}`
        return write(
          `epoch = epoch + 1, failures = failures + 1, is_restored = ${isLast}, life = CASE WHEN ${isLast} THEN NULL ELSE life END`,
          isOwn,
        )
      }
      case 'restored':
        return write('is_restored = true', isOwn)
      case 'stable':
        return write('failures = 0', isOwn)
      case 'move':
        return write(`target = ${quoteText(action.target)}`)
      case 'hold':
        return write('is_held = true')
      case 'accept-loss':
        return write(
          `epoch = greatest(epoch, ${toInteger(action.raiseTo)}), life = NULL, failures = 0, is_restored = true, is_held = false`,
        )
      default:
        return action satisfies never
    }
  }

  #writeClean(): readonly string[] {
    return [
      `DELETE FROM nodes AS n WHERE ended <= clock_timestamp() - interval '${keptEnded}' AND ${this.#isLive}
        AND NOT EXISTS (SELECT FROM homes AS h WHERE h.life = n.life)`,
      `DELETE FROM unlinked AS u WHERE ${this.#isLive} AND (
        NOT EXISTS (SELECT FROM nodes AS n WHERE n.life = u.by AND n.ended IS NULL)
        OR NOT EXISTS (SELECT FROM nodes AS n WHERE n.life = u.of AND n.ended IS NULL))`,
    ]
  }
}

/** What a transaction has read. */
export interface MembershipReading {
  readonly rows: MembershipRows
  /** `synchronous_standby_names` of the server. */
  readonly standbyNames: string
}

type Row = readonly unknown[]

/** Parses the result of the statement that reads the rows. Throws StorageFailure. */
export function parseMembershipReading(text: unknown): MembershipReading {
  if (typeof text !== 'string' || text.length > maxRowsBytes)
    throw new StorageFailure('the rows of the membership are missing')
  const { nowMs, version, standbyNames, nodes, homes, unlinked } = JSON.parse(text) as {
    readonly nowMs: number
    readonly version: number
    readonly standbyNames: string
    readonly nodes: readonly Row[]
    readonly homes: readonly Row[]
    readonly unlinked: readonly Row[]
  }
  const rows = {
    nowMs,
    version,
    nodes: nodes.map(parseNode),
    shards: homes.map(parseHome),
    unlinked: unlinked.map(([by, other]): UnlinkedRow => ({ by: String(by), other: String(other) })),
  }
  return { rows, standbyNames }
}

function parseNode(row: Row): NodeRow {
  const [
    life,
    name,
    role,
    address,
    leaseMs,
    joinOrder,
    beats,
    attempt,
    seenMs,
    canTake,
    isEvacuated,
    isRefused,
    isEnded,
  ] = row
  return {
    life: String(life),
    name: String(name),
    role: role === 'core' ? 'core' : 'replica',
    address: String(address),
    leaseMs: Number(leaseMs),
    joinOrder: Number(joinOrder),
    beats: Number(beats),
    attempt: Number(attempt),
    seenMs: Number(seenMs),
    canTake: canTake === true,
    isEvacuated: isEvacuated === true,
    isRefused: isRefused === true,
    isEnded: isEnded === true,
  }
}

function parseHome([shard, epoch, life, failures, isRestored, target, isHeld]: Row): ShardRow {
  return {
    shard: Number(shard),
    epoch: Number(epoch),
    life: toLife(life),
    failures: Number(failures),
    isRestored: isRestored === true,
    target: toLife(target),
    isHeld: isHeld === true,
  }
}

function toLife(value: unknown): Life | undefined {
  return typeof value === 'string' ? value : undefined
}

function toInteger(value: number): string {
  if (!Number.isSafeInteger(value)) throw new RangeError(`not an integer: ${value}`)
  return String(value)
}

function toInterval(ms: number): string {
  return `interval '${toInteger(Math.round(ms))} milliseconds'`
}

/** Returns a literal that means the same whatever `standard_conforming_strings` is. */
function quoteText(text: string): string {
  if (text.includes('\0')) throw new RangeError('a text for the database has a NUL')
  return `E'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}
