// The first message that comes or goes is told, once.

import type { BrokerView } from '../../core/index.ts'

export class FirstMessage {
  readonly #tell: () => void
  #isTold = false

  constructor(tell: () => void) {
    this.#tell = tell
  }

  look(view: Pick<BrokerView, 'counts'>): void {
    if (this.#isTold) return
    const { publishesReceived, publishesSent } = view.counts
    this.#isTold = publishesReceived + publishesSent > 0
    if (this.#isTold) this.#tell()
  }
}
