// Counters and gauges of one plugin.

import type { PluginMetrics } from '../manifest/plugin-types.ts'

const maxMetrics = 100
const namePattern = /^[a-z][a-z0-9_]{0,63}$/
/** The broker counts these for every plugin. */
const ownNames = new Set(['calls', 'failures', 'pending'])

export class PluginMetricSet implements PluginMetrics {
  readonly #counters = new Map<string, number>()
  readonly #gauges = new Map<string, number>()
  #hasChanged = false

  counter(name: string): { inc(n?: number): void } {
    this.#add(name, this.#counters, this.#gauges)
    return {
      inc: (n = 1) => {
        if (!(Number.isFinite(n) && n >= 0)) throw new TypeError(`counter ${name} cannot grow by ${n}`)
        this.#counters.set(name, (this.#counters.get(name) ?? 0) + n)
        this.#hasChanged = true
      },
    }
  }

  gauge(name: string): { set(n: number): void } {
    this.#add(name, this.#gauges, this.#counters)
    return {
      set: (n) => {
        if (!Number.isFinite(n)) throw new TypeError(`gauge ${name} cannot be ${n}`)
        this.#gauges.set(name, n)
        this.#hasChanged = true
      },
    }
  }

  /** Returns all values if one has changed since the last call. */
  takeChanged(): { counters: Record<string, number>; gauges: Record<string, number> } | undefined {
    if (!this.#hasChanged) return undefined
    this.#hasChanged = false
    return { counters: Object.fromEntries(this.#counters), gauges: Object.fromEntries(this.#gauges) }
  }

  #add(name: string, values: Map<string, number>, others: ReadonlyMap<string, number>): void {
    if (!namePattern.test(name) || ownNames.has(name) || others.has(name))
      throw new TypeError(`${name} cannot be the name of this metric`)
    if (values.has(name)) return
    if (this.#counters.size + this.#gauges.size >= maxMetrics)
      throw new RangeError(`metric ${name}: a plugin may have ${maxMetrics} metrics`)
    values.set(name, 0)
    this.#hasChanged = true
  }
}
