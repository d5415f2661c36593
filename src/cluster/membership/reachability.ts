// Which members this node reaches: heartbeats arrive in both directions, and the data connection is open.

import type { Life } from '../peer-name.ts'
import type { Instant } from './lease.ts'
import type { NodeHeartbeat } from './node-heartbeat.ts'

interface Reach {
  /** Monotonic time of the last heartbeat, or of the first expectation. */
  receivedMs: number
  /** From the last heartbeat: how long the other node has received none. */
  silenceMs: number
  /** Monotonic time; undefined: the data connection is open, or not reported. */
  linkLostMs: number | undefined
  heartbeat: NodeHeartbeat | undefined
  /** Wall clock of the other node minus the own one. A delay makes it smaller, so the greatest of the last ones counts. */
  offsetsMs: number[]
}

/** A member of which no heartbeat arrived for longer is not asked about its lease. */
const maxHeartbeatAgeMs = 2_000
const maxOffsets = 8

export class Reachability {
  readonly #limitMs: number
  readonly #members = new Map<Life, Reach>()
  /** Silence counts from here on: before, this process did not run. */
  #graceMs = 0

  /** `limitMs`: silence after which a member is not reached. */
  constructor(limitMs: number) {
    this.#limitMs = limitMs
  }

  /** The members other than this node. */
  expect(lives: readonly Life[], nowMs: number): void {
    const expected = new Set(lives)
    for (const life of this.#members.keys()) if (!expected.has(life)) this.#members.delete(life)
    for (const life of expected) {
      if (this.#members.has(life)) continue
      const reach = { receivedMs: nowMs, silenceMs: 0, linkLostMs: undefined, heartbeat: undefined, offsetsMs: [] }
      this.#members.set(life, reach)
    }
  }

  /** This process has not run for a while: what it missed says nothing about the others. */
  restart(nowMs: number): void {
    this.#graceMs = nowMs
  }

  receive(heartbeat: NodeHeartbeat, now: Instant): void {
    const reach = this.#members.get(heartbeat.life)
    if (reach === undefined) return
    reach.receivedMs = now.monotonicMs
    reach.silenceMs = heartbeat.silenceMs
    reach.heartbeat = heartbeat
    reach.offsetsMs = [...reach.offsetsMs, heartbeat.wallClockMs - now.wallMs].slice(-maxOffsets)
  }

  setLink(life: Life, isOpen: boolean, nowMs: number): void {
    const reach = this.#members.get(life)
    if (reach !== undefined) reach.linkLostMs = isOpen ? undefined : (reach.linkLostMs ?? nowMs)
  }

  /** Time since the last heartbeat of this member arrived. */
  measureSilenceMs(life: Life, nowMs: number): number {
    const reach = this.#members.get(life)
    return reach === undefined ? 0 : nowMs - Math.max(reach.receivedMs, this.#graceMs)
  }

  isReached(life: Life, nowMs: number): boolean {
    const reach = this.#members.get(life)
    if (reach === undefined) return true
    const maxSilenceMs = nowMs - this.#graceMs
    const linkMs = reach.linkLostMs === undefined ? 0 : Math.min(nowMs - reach.linkLostMs, maxSilenceMs)
    const silenceMs = Math.min(reach.silenceMs, maxSilenceMs)
    return Math.max(this.measureSilenceMs(life, nowMs), silenceMs, linkMs) < this.#limitMs
  }

  /** Returns the members that are not reached, in order of their lives. */
  listUnreached(nowMs: number): readonly Life[] {
    return [...this.#members.keys()].filter((life) => !this.isReached(life, nowMs)).toSorted()
  }

  /** Returns whether another member has a lease, as far as this node knows. Heartbeats that waited during a pause are old. */
  isLeaseHeldByOther(nowMs: number): boolean {
    if (nowMs - this.#graceMs < maxHeartbeatAgeMs) return false
    return [...this.#members.values()].some(
      ({ heartbeat, receivedMs }) => heartbeat?.hasLease === true && nowMs - receivedMs <= maxHeartbeatAgeMs,
    )
  }

  /** Returns the clocks of the members, in ms ahead of the own wall clock. */
  listOffsetsMs(nowMs: number): readonly number[] {
    return [...this.#members.values()].flatMap(({ offsetsMs, receivedMs }) =>
      offsetsMs.length === 0 || nowMs - receivedMs > this.#limitMs ? [] : [Math.max(...offsetsMs)],
    )
  }

  getHeartbeat(life: Life): NodeHeartbeat | undefined {
    return this.#members.get(life)?.heartbeat
  }
}
