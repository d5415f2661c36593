// The common parts of gateway scenarios.

import type { Random } from '../random.ts'
import type { DatagramTraits, LossyNetwork } from './lossy-network.ts'

export interface ScenarioOptions {
  readonly isRecorded?: boolean
  /** Adds a defect on purpose, to test the oracles. */
  readonly damage?: (network: LossyNetwork) => void
}

export interface GatewayScenario {
  /** Sentences about violated rules; empty if none was violated. */
  readonly faults: readonly string[]
  readonly delivered: number
  /** Number of datagrams. */
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
