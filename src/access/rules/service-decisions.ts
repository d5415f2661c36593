// What a service elsewhere has said about single clients, for as long as it holds. Bounded for each client; what is kept
// of a client goes with it.

import type { Identity } from '../../core/index.ts'

/** `ignore`: it leaves it to others. `failed`: it did not answer, or not as it should. */
export type ServiceResponse = 'allow' | 'deny' | 'ignore' | 'failed'

export interface DecisionLimits {
  /** auth.cache.max_size: verdicts of one client. */
  readonly maxPerClient: number
  readonly ttlMs: number
}

/**
 * However short verdicts hold, the one that has just come is there when the core asks again for what it had asked for;
 * and no client makes more than one request a second about one topic.
 */
const minTtlMs = 1_000
/** Verdicts of one client that are not older than that: one SUBSCRIBE with very many filters needs them all. */
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

  /** New limits; what was learned before is forgotten. */
  changeLimits(limits: DecisionLimits): void {
    this.#limits = limits
    this.#decisions = new WeakMap()
  }

  /** Undefined: nobody knows, or not any more. */
  find(who: Identity, action: 'publish' | 'subscribe', topic: string, nowMs: number): ServiceResponse | undefined {
    const decision = this.#decisions.get(who)?.get(keyOf(action, topic))
    return decision === undefined || decision.untilMs <= nowMs ? undefined : decision.response
  }

  recordResponse(
    who: Identity,
    what: { readonly action: 'publish' | 'subscribe'; readonly topic: string; readonly answer: ServiceResponse },
    nowMs: number,
  ): void {
    const { answer: response } = what
    const own = this.#decisions.get(who) ?? new Map<string, CachedDecision>()
    this.#decisions.set(who, own)
    const key = keyOf(what.action, what.topic)
    // What failed is asked again soon: a service that is back is not to be taken for one that says no.
    const holdsMs = response === 'failed' ? minTtlMs : Math.max(minTtlMs, this.#limits.ttlMs)
    own.delete(key)
    own.set(key, { response, receivedAtMs: nowMs, untilMs: nowMs + holdsMs })
    this.#removeOldest(own, nowMs)
  }

  /** A map keeps the order of learning: the first is the oldest. */
  #removeOldest(own: Map<string, CachedDecision>, nowMs: number): void {
    for (const [key, { receivedAtMs }] of own) {
      const isYoung = nowMs - receivedAtMs < minTtlMs
      if (own.size <= (isYoung ? Math.max(maxRecentDecisions, this.#limits.maxPerClient) : this.#limits.maxPerClient))
        return
      own.delete(key)
    }
  }
}

function keyOf(action: 'publish' | 'subscribe', topic: string): string {
  return `${action} ${topic}`
}
