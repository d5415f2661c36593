// One plugin on one shard: its channel, its calls and its failures. It remains when the process of the plugin is replaced.

import type { AlarmName, Log } from '../../telemetry/index.ts'
import type { HookName } from '../manifest/plugin-manifest.ts'
import { FailureBreaker } from './failure-breaker.ts'
import { PluginMatcher } from './client-matcher.ts'
import type { CallResult, PluginChannel } from './plugin-channel.ts'
import { pluginCells, readPluginRow, type PlannedPlugin } from './plugin-plan.ts'

type Answered = Exclude<CallResult, { kind: 'failure' }>

/** Writes the frame of a call. */
type WriteCall = (channel: PluginChannel, callId: number) => void

export interface HookCall<Answer extends object> {
  readonly write: WriteCall
  /** Returns a text if the answer is not allowed: a failure. */
  parse(result: Answered): Answer | string
  /** Undefined: the call failed, or was not made. */
  onAnswer(answer: Answer | undefined): void
}

export interface HookedPluginDependencies {
  readonly shard: number
  readonly log: Log
  nowMs(): number
  raiseAlarm(name: AlarmName, message: string): void
  endAlarm(name: AlarmName, message: string): void
}

/** Length of the largest texts of plugins in logs and alarms. */
const maxReasonLength = 300

export class HookedPlugin {
  readonly #dependencies: HookedPluginDependencies
  readonly #breaker = new FailureBreaker()
  /** Calls beyond `maxPending`, in order. */
  readonly #waiting = new Set<HookCall<object>>()
  #plan: PlannedPlugin
  #matcher: PluginMatcher
  #channel: PluginChannel | undefined
  #row: Float64Array

  constructor(plan: PlannedPlugin, channel: PluginChannel | undefined, dependencies: HookedPluginDependencies) {
    this.#dependencies = dependencies
    this.#plan = plan
    this.#matcher = new PluginMatcher(plan.filters)
    this.#channel = channel
    this.#row = readPluginRow(plan.counters, dependencies.shard)
  }

  get name(): string {
    return this.#plan.name
  }

  get plan(): PlannedPlugin {
    return this.#plan
  }

  get matcher(): PluginMatcher {
    return this.#matcher
  }

  /** More calls than `max_pending` wait. */
  get isFull(): boolean {
    return this.#waiting.size > 0
  }

  /** False: a call would have to wait for others. */
  get hasCapacity(): boolean {
    return !this.#mustWait()
  }

  hasHook(hook: HookName): boolean {
    return this.#plan.hooks.includes(hook)
  }

  /** Calls of the old channel still answer. */
  change(plan: PlannedPlugin, channel: PluginChannel | undefined): void {
    this.#plan = plan
    this.#matcher = new PluginMatcher(plan.filters)
    this.#channel = channel
    this.#row = readPluginRow(plan.counters, this.#dependencies.shard)
    this.#startWaiting()
  }

  /** The plugin is stopped: nothing is called any more. */
  end(): void {
    this.#channel = undefined
    this.#startWaiting()
    this.#dependencies.endAlarm(`plugin_failed:${this.name}`, `plugin ${this.name} is stopped`)
  }

  /** Calls the hook, or decides at once that it fails. `onAnswer` may be called before this returns. */
  call<Answer extends object>(call: HookCall<Answer>): void {
    if (this.#mustWait()) this.#waiting.add(call)
    else this.#start(call)
  }

  /** Reports an event. Beyond `max_pending`, and while the plugin fails, it is dropped and counted. */
  notify(write: WriteCall): void {
    const channel = this.#channel
    if (channel?.isOpen !== true || !this.#breaker.isClosed || channel.pending >= this.#plan.maxPending)
      this.#row[pluginCells.failures]++
    else this.#begin(channel, write, (result) => this.#recordNotice(result))
  }

  #recordNotice(result: CallResult): void {
    if (result.kind === 'failure') this.#recordFailure(result.text)
  }

  /** Called in intervals: fails calls that take too long. */
  expire(): void {
    this.#channel?.expire(this.#plan.timeoutMs)
    this.#startWaiting()
    this.#updatePending()
  }

  #mustWait(): boolean {
    const channel = this.#channel
    return channel?.isOpen === true && channel.pending >= this.#plan.maxPending && this.#breaker.isClosed
  }

  #recordFailure(reason: string): void {
    this.#row[pluginCells.failures]++
    const why = reason.slice(0, maxReasonLength)
    if (!this.#breaker.recordFailure(this.#plan, this.#dependencies.nowMs())) return
    this.#dependencies.log.warn('plugin failed', { plugin: this.name, why })
    this.#dependencies.raiseAlarm(
      `plugin_failed:${this.name}`,
      `plugin ${this.name} failed ${this.#plan.maxFailures} times in a row: ${why}`,
    )
  }

  #start(call: HookCall<object>): void {
    if (this.#plan.isSuspended) {
      // The node has raised the alarm, and no failure may delay the first call after the start.
      this.#row[pluginCells.failures]++
      return call.onAnswer(undefined)
    }
    const channel = this.#channel
    if (channel === undefined || !channel.isOpen) {
      this.#recordFailure('it has no process')
      return call.onAnswer(undefined)
    }
    if (!this.#breaker.allowsCall(this.#dependencies.nowMs())) {
      this.#row[pluginCells.failures]++
      return call.onAnswer(undefined)
    }
    this.#begin(channel, call.write, (result) => call.onAnswer(this.#parse(call, result)))
  }

  /** Records the result, and returns the answer; undefined: the call failed. */
  #parse(call: HookCall<object>, result: CallResult): object | undefined {
    const answer = result.kind === 'failure' ? result.text : call.parse(result)
    if (typeof answer === 'string') {
      this.#recordFailure(answer)
      return undefined
    }
    if (this.#breaker.recordSuccess())
      this.#dependencies.endAlarm(`plugin_failed:${this.name}`, `plugin ${this.name} works again`)
    return answer
  }

  #begin(channel: PluginChannel, write: WriteCall, onResult: (result: CallResult) => void): void {
    this.#row[pluginCells.calls]++
    const callId = channel.begin((result) => {
      onResult(result)
      if (this.#waiting.size > 0) this.#startWaiting()
      this.#updatePending()
    })
    write(channel, callId)
    this.#updatePending()
  }

  /** Starts waiting calls while there is space, or fails them while the plugin fails. */
  #startWaiting(): void {
    for (const waiting of this.#waiting) {
      if (this.#mustWait()) return
      this.#waiting.delete(waiting)
      this.#start(waiting)
    }
  }

  #updatePending(): void {
    this.#row[pluginCells.pending] = (this.#channel?.pending ?? 0) + this.#waiting.size
  }
}
