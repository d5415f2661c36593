// After each turn, the memory account equals a count of everything that is in memory.

import type { BrokerCore } from '../../src/core/index.ts'
import type { Stage } from './stage.ts'

/** With more sessions the count takes more time than the scenario. */
const maxSessions = 64
/** After more events the count is made less often. */
const everyTurn = 2_000
const nowAndThen = 64

export class MemoryMonitor {
  private readonly stage: Stage
  private turns = 0

  constructor(stage: Stage) {
    this.stage = stage
  }

  turnEnded(name: string, { view }: BrokerCore): void {
    this.turns++
    if (this.turns > everyTurn && this.turns % nowAndThen !== 0) return
    if (view.sessions > maxSessions) return
    for (const [use, bytes] of Object.entries(view.recountMemory())) {
      const counted = view.memory.get(use as 'queues')
      if (counted !== bytes) this.stage.fail(`${name} counts ${counted} bytes for ${use}, and holds ${bytes}`)
    }
  }
}
