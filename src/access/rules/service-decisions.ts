// What a service elsewhere has said about single clients, for as long as it holds. Bounded for each client; what is kept
// of a client goes with it.

import type { Identity } from '../../core/index.ts'

/** `ignore`: it leaves it to others. `failed`: it did not answer, or not as it should. */
export type ServiceAnswer = 'allow' | 'deny' | 'ignore' | 'failed'

export interface VerdictLimits {
  /** auth.cache.max_size: verdicts of one client. */
  readonly maxPerClient: number
  readonly ttlMs: number
}

/**
 * However short verdicts hold, the one that has just come is there when the core asks again for what it had asked for;
 * and no client makes more than one request a second about one topic.
 */
const shortestHoldMs = 1_000
/** Verdicts of one client that are not older than that: one SUBSCRIBE with very many filters needs them all. */
const maxYoungVerdicts = 4_096

interface Verdict {
  readonly answer: ServiceAnswer
  readonly learnedAtMs: number
  readonly untilMs: number
}

export class ServiceVerdicts {
  #limits: VerdictLimits
  #verdicts = new WeakMap<Identity, Map<string, Verdict>>()

  constructor(limits: VerdictLimits) {
    this.#limits = limits
  }

  /** New limits; what was learned before is forgotten. */
  changeLimits(limits: VerdictLimits): void {
    this.#limits = limits
    this.#verdicts = new WeakMap()
  }

  /** Undefined: nobody knows, or not any more. */
  find(who: Identity, action: 'publish' | 'subscribe', topic: string, nowMs: number): ServiceAnswer | undefined {
    const verdict = this.#verdicts.get(who)?.get(keyOf(action, topic))
    return verdict === undefined || verdict.untilMs <= nowMs ? undefined : verdict.answer
  }

  learn(
    who: Identity,
    what: { readonly action: 'publish' | 'subscribe'; readonly topic: string; readonly answer: ServiceAnswer },
    nowMs: number,
  ): void {
    const { answer } = what
    const own = this.#verdicts.get(who) ?? new Map<string, Verdict>()
    this.#verdicts.set(who, own)
    const key = keyOf(what.action, what.topic)
    // What failed is asked again soon: a service that is back is not to be taken for one that says no.
    const holdsMs = answer === 'failed' ? shortestHoldMs : Math.max(shortestHoldMs, this.#limits.ttlMs)
    own.delete(key)
    own.set(key, { answer, learnedAtMs: nowMs, untilMs: nowMs + holdsMs })
    this.#forgetOldest(own, nowMs)
  }

  /** A map keeps the order of learning: the first is the oldest. */
  #forgetOldest(own: Map<string, Verdict>, nowMs: number): void {
    for (const [key, { learnedAtMs }] of own) {
      const isYoung = nowMs - learnedAtMs < shortestHoldMs
      if (own.size <= (isYoung ? Math.max(maxYoungVerdicts, this.#limits.maxPerClient) : this.#limits.maxPerClient))
        return
      own.delete(key)
    }
  }
}

function keyOf(action: 'publish' | 'subscribe', topic: string): string {
  return `${action} ${topic}`
}
