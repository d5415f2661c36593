// Watches the service of an action: checks it at intervals while there is nothing to send, and notices that it does not respond.

import type { Sink } from '../../sinks/index.ts'
import { checkSafely } from './safe-calls.ts'

export interface ServiceWatchDependencies {
  readonly healthCheckIntervalMs: number
  nowMs(): number
  after(delayMs: number, work: () => void): { cancel(): void }
  /** Whether the service has requests without a response. */
  isBusy(): boolean
  /** Whether there is nothing to send, so that a check is the most recent result. */
  isIdle(): boolean
  /** A check has succeeded. */
  onReached(): void
  /** A check has failed. */
  onProblem(why: string): void
  /** The service has not responded for this time. */
  onSilence(silentMs: number): void
}

/** If the service has not responded for this time, its state is no longer `connected`. */
const maxSilenceMs = 2_000

export class ServiceWatch {
  readonly #dependencies: ServiceWatchDependencies
  /** Undefined: there is no service. */
  #sink: Sink | undefined
  /** Time of the last response, or of the last request that was sent while no response was pending. */
  #lastResponseAtMs = 0
  #isChecking = false
  #isStopped = false
  #healthTimer: { cancel(): void } | undefined
  #silenceTimer: { cancel(): void } | undefined

  constructor(dependencies: ServiceWatchDependencies) {
    this.#dependencies = dependencies
  }

  /** Replaces the sink. A check of the previous one has no effect any more. */
  replace(sink: Sink | undefined): void {
    this.#sink = sink
    this.#isChecking = false
    this.#healthTimer?.cancel()
    this.#healthTimer = undefined
  }

  stop(): void {
    this.#isStopped = true
    this.replace(undefined)
    this.#silenceTimer?.cancel()
  }

  /** A request will be sent. */
  recordRequest(): void {
    if (!this.#dependencies.isBusy() && !this.#isChecking) this.restartSilence()
    this.#watchSilence()
  }

  /** The time without a response begins now. */
  restartSilence(): void {
    this.#lastResponseAtMs = this.#dependencies.nowMs()
  }

  /** Checks the service now if there is nothing to send, and then at intervals. */
  check(): void {
    this.#healthTimer?.cancel()
    this.#healthTimer = undefined
    const sink = this.#sink
    if (sink === undefined || this.#isStopped) return
    if (!this.#dependencies.isIdle()) return this.#planCheck(sink)
    this.#isChecking = true
    this.restartSilence()
    this.#watchSilence()
    checkSafely(sink, (problem) => {
      if (sink !== this.#sink) return
      this.#isChecking = false
      // Otherwise, a batch was sent meanwhile, and its result is more recent.
      if (this.#dependencies.isIdle()) this.#reportResult(problem)
      this.#planCheck(sink)
    })
  }

  #planCheck(sink: Sink): void {
    // The result of a check may have replaced the sink.
    if (sink !== this.#sink) return
    const { healthCheckIntervalMs } = this.#dependencies
    this.#healthTimer = this.#dependencies.after(healthCheckIntervalMs, () => this.check())
  }

  #reportResult(problem: string | undefined): void {
    if (problem === undefined) this.#dependencies.onReached()
    else this.#dependencies.onProblem(problem)
  }

  #watchSilence(): void {
    this.#silenceTimer ??= this.#dependencies.after(maxSilenceMs, () => this.#checkSilence())
  }

  /** All requests in progress and the check share this timer. */
  #checkSilence(): void {
    this.#silenceTimer = undefined
    if (!this.#dependencies.isBusy() && !this.#isChecking) return
    const silentMs = this.#dependencies.nowMs() - this.#lastResponseAtMs
    if (silentMs >= maxSilenceMs) this.#dependencies.onSilence(maxSilenceMs)
    const nextMs = silentMs >= maxSilenceMs ? maxSilenceMs : maxSilenceMs - silentMs
    this.#silenceTimer = this.#dependencies.after(nextMs, () => this.#checkSilence())
  }
}
