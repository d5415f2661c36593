// What scenarios from seeds have in common: who is in them, how one is told, and many of them in a row.

import assert from 'node:assert/strict'
import type { Client, Publication, World } from '../simulator/world.ts'

/** Sessions that outlive every scenario. */
export const durable = { cleanStart: false, sessionExpirySeconds: 100_000 } as const

/** Who publishes at a broker, and who hears everything there. */
export interface People {
  readonly world: World
  readonly author: Client
  readonly listener: Client
  readonly publications: Publication[]
}

/** Each client without a connection reconnects, if its broker runs. */
export function comeBack(people: readonly People[]): void {
  for (const { world, author, listener } of people) {
    if (!world.host.isRunning) continue
    for (const client of [author, listener]) if (!client.hasOpenConnection) client.connect()
  }
}

interface Scenario<End> {
  /** How far it came, also where it stopped. */
  readonly end: End
  tell(): void
  /** What an oracle found once it was told. */
  fault(): string | undefined
}

export type ScenarioEnd<End> = End & { readonly fault: string | undefined }

/** Tells it to its end; an exception is a fault like those that the oracles find. */
export function told<End>(seed: number, scenario: Scenario<End>): ScenarioEnd<End> {
  try {
    scenario.tell()
    return { fault: scenario.fault(), ...scenario.end }
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    return { fault: `the scenario stopped: ${text} [seed ${seed}]`, ...scenario.end }
  }
}

/** Fails with the first fault. Gives the numbers of all ends, added up. */
export function runAll<End extends Record<keyof End, number>>(
  count: number,
  tell: (seed: number) => ScenarioEnd<End>,
): End {
  const sums: Record<string, number> = {}
  for (let seed = 1; seed <= count; seed++) {
    const { fault, ...numbers } = tell(seed)
    assert.equal(fault, undefined)
    for (const [name, number] of Object.entries<number>(numbers)) sums[name] = (sums[name] ?? 0) + number
  }
  return sums as End
}
