// Cached decisions of a remote service for single clients. Limited for each client; removed with the client.

import type { Identity } from '../../core/index.ts'

/** `ignore`: other rules decide. `failed`: no response, or an invalid one. */
export type ServiceResponse = 'allow' | 'deny' | 'ignore' | 'failed'

export interface DecisionLimits {
  /** auth.cache.max_size: decisions of one client. */
  readonly maxPerClient: number
  readonly ttlMs: number
}

/**
 * Minimum lifetime, so that a new decision is valid when the core repeats its check, and a client causes at most one
 * request per second for one topic.
 */
const minTtlMs = 1_000
/** Maximum decisions of one client within the minimum lifetime: one SUBSCRIBE with many filters needs all of them. */
const maxRecentDecisions = 4_096

interface CachedDecision {
  readonly response: ServiceResponse
  readonly receivedAtMs: number
  readonly untilMs: number
}

export class ServiceDecisions {
  #limits: DecisionLimits
  #decisions = new WeakMap<Identity, Map<string, CachedDecision>>()

  constructor(limits: DecisionLimits) {
    this.#limits = limits
  }

  /** Applies new limits and empties the cache. */
  changeLimits(limits: DecisionLimits): void {
    this.#limits = limits
    this.#decisions = new WeakMap()
  }

  /** Undefined if unknown or expired. */
  find(identity: Identity, action: 'publish' | 'subscribe', topic: string, nowMs: number): ServiceResponse | undefined {
    const decision = this.#decisions.get(identity)?.get(toDecisionKey(action, topic))
    return decision === undefined || decision.untilMs <= nowMs ? undefined : decision.response
  }

  recordResponse(
    identity: Identity,
    decision: { readonly action: 'publish' | 'subscribe'; readonly topic: string; readonly response: ServiceResponse },
    nowMs: number,
  ): void {
    const { response } = decision
    const own = this.#decisions.get(identity) ?? new Map<string, CachedDecision>()
    this.#decisions.set(identity, own)
    const key = toDecisionKey(decision.action, decision.topic)
    // A failed request is repeated soon, because a failure is not a denial.
    const holdsMs = response === 'failed' ? minTtlMs : Math.max(minTtlMs, this.#limits.ttlMs)
    own.delete(key)
    own.set(key, { response, receivedAtMs: nowMs, untilMs: nowMs + holdsMs })
    this.#removeOldest(own, nowMs)
  }

  /** A map keeps the order of insertion: the first is the oldest. */
  #removeOldest(own: Map<string, CachedDecision>, nowMs: number): void {
    for (const [key, { receivedAtMs }] of own) {
      const isYoung = nowMs - receivedAtMs < minTtlMs
      if (own.size <= (isYoung ? Math.max(maxRecentDecisions, this.#limits.maxPerClient) : this.#limits.maxPerClient))
        return
      own.delete(key)
    }
  }
}

function toDecisionKey(action: 'publish' | 'subscribe', topic: string): string {
  return `${action} ${topic}`
}
