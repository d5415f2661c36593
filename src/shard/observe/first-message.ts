// Reports the first message that is received or sent, once.

import type { BrokerView } from '../../core/index.ts'

export class FirstMessage {
  readonly #notify: () => void
  #isNotified = false

  constructor(notify: () => void) {
    this.#notify = notify
  }

  check(view: Pick<BrokerView, 'counts'>): void {
    if (this.#isNotified) return
    const { publishesReceived, publishesSent } = view.counts
    this.#isNotified = publishesReceived + publishesSent > 0
    if (this.#isNotified) this.#notify()
  }
}
