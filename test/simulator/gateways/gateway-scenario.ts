// What scenarios about gateways have in common.

import type { Random } from '../random.ts'
import type { DatagramTraits, LossyNetwork } from './lossy-network.ts'

export interface ScenarioOptions {
  readonly isRecorded?: boolean
  /** Breaks something on purpose, to see the oracles find it. */
  readonly damage?: (network: LossyNetwork) => void
}

export interface GatewayScenario {
  /** Sentences; empty: every promise was kept. */
  readonly faults: readonly string[]
  readonly delivered: number
  /** Datagrams. */
  readonly lost: number
  readonly log: readonly string[]
}

const maxLoss = 0.25
const maxRepetition = 0.25
const maxDelayMs = 1_500

export function randomTraits(random: Random): DatagramTraits {
  return {
    loss: random.fraction() * maxLoss,
    repetition: random.fraction() * maxRepetition,
    maxDelayMs: random.between(0, maxDelayMs),
  }
}
