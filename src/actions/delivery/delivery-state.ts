// The state of a delivery, as alarms and reports show it: whether the service accepts entries, since when it does not, and why.

import { maskUrlSecrets } from '../../config/index.ts'
import type { ActionState } from '../plan/rule-reports.ts'

export interface DeliveryStateDependencies {
  nowMs(): number
  /** Called when the state has changed. `hasFailed`: the last request or check failed. */
  onStateChange(state: ActionState, why: string, hasFailed: boolean): void
}

export class DeliveryState {
  readonly #dependencies: DeliveryStateDependencies
  #state: ActionState = 'stopped'
  #reason = ''
  /** When the service was available last. */
  #sinceMs = 0
  #lastError = ''
  #hasFailed = false

  constructor(dependencies: DeliveryStateDependencies) {
    this.#dependencies = dependencies
  }

  get state(): ActionState {
    return this.#state
  }

  get reason(): string {
    return this.#reason
  }

  /** Whether the last request or check failed. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  get lastError(): string {
    return this.#lastError
  }

  /** Why the service does not accept entries, and since when; undefined: it does. */
  get outage(): { readonly why: string; readonly sinceMs: number } | undefined {
    if (this.#state === 'connected') return undefined
    const why = this.#reason === '' ? 'the service has not responded yet' : this.#reason
    return { why, sinceMs: this.#sinceMs }
  }

  /** The delivery has another sink, or none. */
  begin(state: 'connecting' | 'stopped', why: string): void {
    this.#hasFailed = false
    this.#set(state, why)
  }

  setConnected(): void {
    this.#hasFailed = false
    this.#set('connected', '')
  }

  /** A request or check has failed. */
  setFailed(why: string): void {
    this.#hasFailed = true
    this.recordError(why)
    this.#set('disconnected', why)
  }

  /** The service has not responded for this time. */
  setSilent(silentMs: number): void {
    if (this.#state !== 'stopped') this.#set('connecting', `the service has not responded for ${silentMs / 1_000} s`)
  }

  /** An entry was refused. */
  recordError(why: string): void {
    this.#lastError = maskUrlSecrets(why)
  }

  #set(state: ActionState, reason: string): void {
    const why = maskUrlSecrets(reason)
    if (state === this.#state && why === this.#reason) return
    if (this.#state === 'connected' || this.#sinceMs === 0) this.#sinceMs = this.#dependencies.nowMs()
    this.#state = state
    this.#reason = why
    this.#dependencies.onStateChange(state, why, this.#hasFailed)
  }
}
