// The alarm about a full action queue. The first dropped message raises it; later ones do not.

import type { AlarmName } from '../../telemetry/index.ts'
import { alarmOf } from './action-entries.ts'

export class FullQueueAlarm {
  readonly #action: string
  readonly #raise: (name: AlarmName, message: string) => void
  #text = ''

  constructor(action: string, raise: (name: AlarmName, message: string) => void) {
    this.#action = action
    this.#raise = raise
  }

  get isFull(): boolean {
    return this.#text !== ''
  }

  /** Text that is appended to another alarm of the action; '' while its queue has space. */
  get suffix(): string {
    return this.isFull ? `; ${this.#text}` : ''
  }

  /** Called when a message was dropped, because the queue has `max` messages. */
  noteDropped(max: number): void {
    if (this.isFull) return
    this.#text = `its queue has ${max} messages, the maximum, and new results are dropped: see resource_opts.max_buffer_messages`
    this.#raise(alarmOf(this.#action), `the action ${this.#action} is too slow: ${this.#text}`)
  }

  /** Called when the queue has space, or when the alarm was ended for another reason. */
  reset(): void {
    this.#text = ''
  }
}
