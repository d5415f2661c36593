// Decisions of plugins about actions of clients.

import type { Identity } from '../../core/index.ts'
import { type DecisionLimits, ServiceDecisions } from './service-decisions.ts'
import type { PluginAuthorization } from '../plugins/access-plugins.ts'

export class PluginDecisions {
  readonly #cached: ServiceDecisions
  /** For the next check only. */
  #single = new WeakMap<Identity, Map<string, PluginAuthorization['result']>>()

  constructor(limits: DecisionLimits) {
    this.#cached = new ServiceDecisions(limits)
  }

  changeLimits(limits: DecisionLimits): void {
    this.#cached.changeLimits(limits)
    this.#single = new WeakMap()
  }

  /** Undefined: the plugins must be asked. */
  find(
    identity: Identity,
    action: 'publish' | 'subscribe',
    topic: string,
    nowMs: number,
  ): PluginAuthorization['result'] | undefined {
    const single = this.#single.get(identity)
    const key = `${action} ${topic}`
    const decision = single?.get(key)
    if (decision !== undefined) {
      single?.delete(key)
      return decision
    }
    const cached = this.#cached.find(identity, action, topic, nowMs)
    return cached === 'failed' ? 'deny' : cached
  }

  record(
    identity: Identity,
    about: { readonly action: 'publish' | 'subscribe'; readonly topic: string },
    { result, isCached }: PluginAuthorization,
    nowMs: number,
  ): void {
    if (isCached) return this.#cached.recordResponse(identity, { ...about, response: result }, nowMs)
    const single = this.#single.get(identity) ?? new Map<string, PluginAuthorization['result']>()
    this.#single.set(identity, single)
    single.set(`${about.action} ${about.topic}`, result)
  }
}
