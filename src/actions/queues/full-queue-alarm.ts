// The alarm about a full action queue, and its log events: the first dropped result or waiting publisher raises it; later ones do not.

import type { AlarmName, Log } from '../../telemetry/index.ts'
import { toAlarmName } from './queue-names.ts'

/** Publishers of this shard whose messages wait for space in action queues. */
export interface WaitingPublishers {
  readonly count: number
  /** One of them. */
  readonly clientId: string
}

export interface FullQueue {
  /** Maximum number of messages in the queue. */
  readonly maxMessages: number
  /** Why the service does not accept the messages, and since when; undefined: it is too slow. */
  readonly outage: { readonly why: string; readonly sinceMs: number } | undefined
}

export interface FullQueueDependencies {
  readonly log: Pick<Log, 'warn'>
  nowMs(): number
  raiseAlarm(name: AlarmName, message: string): void
}

/** While results are dropped or publishers wait, there is one log event of each kind in this time. */
const logIntervalMs = 10_000

export class FullQueueAlarm {
  readonly #action: string
  readonly #dependencies: FullQueueDependencies
  #text = ''
  #isWaiting = false
  #dropped = 0
  #droppedLogAtMs = Number.NEGATIVE_INFINITY
  #waitingLogAtMs = Number.NEGATIVE_INFINITY

  constructor(action: string, dependencies: FullQueueDependencies) {
    this.#action = action
    this.#dependencies = dependencies
  }

  get isFull(): boolean {
    return this.#text !== ''
  }

  /** Text that is appended to another alarm of the action; '' while its queue has space. */
  get suffix(): string {
    return this.isFull ? `; ${this.#text}` : ''
  }

  /** Called when a result of the rule was dropped. */
  recordDropped(rule: string, { maxMessages, outage }: FullQueue): void {
    this.#dropped++
    const atMs = this.#dependencies.nowMs()
    if (atMs - this.#droppedLogAtMs >= logIntervalMs) {
      this.#dependencies.log.warn('action queue full', {
        action: this.#action,
        rule,
        dropped: this.#dropped,
        max_buffer_messages: maxMessages,
        reason: describeOutage(outage).why,
      })
      this.#droppedLogAtMs = atMs
      this.#dropped = 0
    }
    if (this.isFull) return
    const { since, why } = describeOutage(outage)
    this.#text = `new results for action ${this.#action} are dropped: queue full (${maxMessages} messages)${since}: ${why}`
    this.#dependencies.raiseAlarm(toAlarmName(this.#action), this.#text)
  }

  /** Called each second while publishers wait for space in the queue. Returns for what they wait. */
  recordWaiting({ count, clientId }: WaitingPublishers, { maxMessages, outage }: FullQueue): string {
    const atMs = this.#dependencies.nowMs()
    const { since, why } = describeOutage(outage)
    if (atMs - this.#waitingLogAtMs >= logIntervalMs) {
      this.#dependencies.log.warn('publishers wait for action', {
        action: this.#action,
        publishers: count,
        client: clientId,
        reason: why,
      })
      this.#waitingLogAtMs = atMs
    }
    const text = `action ${this.#action}: queue full (${maxMessages} messages)${since}: ${why}`
    if (this.#isWaiting) return text
    this.#isWaiting = true
    this.#text = `publishers wait for ${text}`
    this.#dependencies.raiseAlarm(toAlarmName(this.#action), this.#text)
    return text
  }

  /** Called when the queue has space, or when the alarm was ended for another reason. */
  reset(): void {
    this.#text = ''
    this.#isWaiting = false
  }
}

function describeOutage(outage: FullQueue['outage']): { readonly since: string; readonly why: string } {
  if (outage === undefined) return { since: '', why: 'the service is too slow' }
  return { since: `, service not available since ${new Date(outage.sinceMs).toISOString()}`, why: outage.why }
}
