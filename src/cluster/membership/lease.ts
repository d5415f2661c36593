// A lease is the time in which a node may act as a member: acknowledge, complete CONNECT and SUBSCRIBE, answer peers.
//
// It counts from the time at which the confirmed write was sent, on two clocks, and ends with the first of them: a virtual machine that is paused
// stops its monotonic clock, and a wall clock can be set.

/** One moment, by the clocks of a node. */
export interface Instant {
  /** Clock that no one sets, the same for all threads of a process. */
  readonly monotonicMs: number
  /** ms since 1970. */
  readonly wallMs: number
}

export interface Lease {
  readonly monotonicUntilMs: number
  readonly wallFromMs: number
  readonly wallUntilMs: number
}

/** A wall clock that was set back by more than this cannot limit the lease any more, so the lease ends. */
const maxSetBackMs = 500

export function grantLease(sentAt: Instant, durationMs: number): Lease {
  return {
    monotonicUntilMs: sentAt.monotonicMs + durationMs,
    wallFromMs: sentAt.wallMs - maxSetBackMs,
    wallUntilMs: sentAt.wallMs + durationMs,
  }
}

/** `now` is read after the input and before the decision that needs the lease. */
export function isLeaseHeld(lease: Lease | undefined, { monotonicMs, wallMs }: Instant): boolean {
  if (lease === undefined) return false
  return monotonicMs < lease.monotonicUntilMs && wallMs >= lease.wallFromMs && wallMs < lease.wallUntilMs
}
