// Common parts of scenarios from seeds: the clients, the run of one scenario, and runs of many.

import assert from 'node:assert/strict'
import type { Client, Publication, World } from '../simulator/world.ts'

/** Sessions that survive every scenario. */
export const durable = { cleanStart: false, sessionExpirySeconds: 100_000 } as const

/** A publisher and a subscriber of one broker. The subscriber receives all messages of the bridge to this broker. */
export interface ClientPair {
  readonly world: World
  readonly author: Client
  readonly subscriber: Client
  readonly publications: Publication[]
}

/** Each client without a connection reconnects, if its broker runs. */
export function reconnectAll(pairs: readonly ClientPair[]): void {
  for (const { world, author, subscriber } of pairs) {
    if (!world.host.isRunning) continue
    for (const client of [author, subscriber]) if (!client.hasOpenConnection) client.connect()
  }
}

interface Scenario<End> {
  /** The progress of the scenario, also if it stopped early. */
  readonly end: End
  run(): void
  /** The fault that an oracle found after the run. */
  fault(): string | undefined
}

export type ScenarioEnd<End> = End & { readonly fault: string | undefined }

/** Runs a scenario; an exception is a fault like those of the oracles. */
export function runScenario<End>(seed: number, scenario: Scenario<End>): ScenarioEnd<End> {
  try {
    scenario.run()
    return { fault: scenario.fault(), ...scenario.end }
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    return { fault: `the scenario stopped: ${text} [seed ${seed}]`, ...scenario.end }
  }
}

/** Fails with the first fault. Returns the sums of the numbers of all runs. */
export function runAll<End extends Record<keyof End, number>>(
  count: number,
  runOne: (seed: number) => ScenarioEnd<End>,
): End {
  const sums: Record<string, number> = {}
  for (let seed = 1; seed <= count; seed++) {
    const { fault, ...numbers } = runOne(seed)
    assert.equal(fault, undefined)
    for (const [name, number] of Object.entries<number>(numbers)) sums[name] = (sums[name] ?? 0) + number
  }
  return sums as End
}
