// Runs one scenario from its seed in memory, and returns its result.

import { profileOf } from './profiles.ts'
import { RandomScenario, type ScenarioOptions } from './random-scenario.ts'
import { faultOf } from './stage.ts'

export interface ScenarioEnd {
  readonly seed: number
  readonly profile: string
  /** Sentence about the violated rule; undefined if none was violated. */
  readonly fault: string | undefined
  readonly log: readonly string[]
  /** Number of delivered messages: a scenario without deliveries proves nothing. */
  readonly delivered: number
  /** Those of them that clients of local shards received; undefined in scenarios without any. */
  readonly localMessages?: number
}

export function runScenario(seed: number, options: Omit<ScenarioOptions, 'seed' | 'recordStore'> = {}): ScenarioEnd {
  const scenario = new RandomScenario({ seed, ...options })
  const profile = (options.profile ?? profileOf(seed)).name
  let fault: string | undefined
  try {
    for (const ms of scenario.run()) scenario.world.passMs(ms)
    if (scenario.checkRecords() instanceof Promise) throw new Error('a scenario in memory takes no real time')
  } catch (error) {
    fault = faultOf(error, seed)
  }
  return endOf(scenario, { seed, profile, fault })
}

export function endOf(
  scenario: RandomScenario,
  known: { seed: number; profile: string; fault: string | undefined },
): ScenarioEnd {
  const { localClients } = scenario.world.host
  const count = (actors: typeof scenario.actors): number =>
    actors.reduce((sum, { client }) => sum + client.messages.length, 0)
  const locals = scenario.actors.filter(({ client }) => localClients.has(client.id))
  return { ...known, log: scenario.world.log, delivered: count(scenario.actors), localMessages: count(locals) }
}
