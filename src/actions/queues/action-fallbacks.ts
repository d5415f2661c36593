// The fallbacks of an action handle a result that the service refuses for good, or that the action queue does not accept.
//
//   rule ──► action queue ──► service refuses it ──► all fallbacks, durably ──► removed from the action queue
//     └────► not accepted: all fallbacks, in the turn of the message      └─► one fails: a dead letter as well
//
// Entries that a fallback causes have no fallbacks: those that it stores for another action, and those that rules store for its
// publication. So there are no endless loops.

import type { FallbackAction } from '../../config/index.ts'
import {
  splitScopedName,
  type Command,
  type CommandFailure,
  type CommandResult,
  type RuleActions,
  type RulePublication,
} from '../../core/index.ts'
import { RuleError } from '../../values/index.ts'
import type { Render, ActionEntry } from '../../sinks/index.ts'
import { toRuleAttribute, readDepth, fallbackAttribute, isOfFallback } from '../results/entry-attributes.ts'
import { toPublication } from '../results/action-entries.ts'
import type { ActionOrder } from '../results/action-order.ts'
import { compileRepublish, type MakePublication } from '../results/republish.ts'
import { addPublicationNamespace } from '../columns/namespaced-columns.ts'
import { describeFailure } from '../results/action-outcome.ts'
import { encodeStored, readResult, type StoredResult } from '../results/stored-results.ts'
import type { ActionInput } from '../results/action-input.ts'

/** An action that a fallback refers to. */
export interface FallbackTarget {
  readonly clientId: string
  readonly render: Render
  /** The form of the templates that `render` uses. */
  readonly form: string
  readonly order: ActionOrder
}

export interface ActionFallbacksDependencies {
  nowMs(): number
  readonly commands: { run(command: Command): Promise<CommandResult> }
  findTarget(action: string): FallbackTarget | undefined
  /** Counts an entry that a fallback stored for that action. */
  countStored(action: string): void
  /** Runs `work`. The rule does not run for `work`, and no entry that `work` stores has fallbacks. */
  runAsFallback(rule: string, work: () => void): void
  /** Called when a fallback has failed for a result of the rule. */
  onFailure(rule: string, why: string): void
}

/** `later`: the fallbacks must be tried again. */
export type FallbackOutcome = 'none' | 'done' | 'later' | { readonly failure: string }

interface PreparedFallback {
  readonly name: string
  /** Undefined: the fallback is another action. */
  readonly make: MakePublication | undefined
}

type Request = Extract<Command, { readonly name: 'publish' | 'store-in-action-queue' }>

/** Failures that another attempt cannot change. */
const permanentFailures: readonly CommandFailure[] = ['invalid-topic', 'too-large', 'not-available', 'not-allowed']

export class ActionFallbacks {
  readonly #fallbacks: readonly PreparedFallback[]
  readonly #namespace: string | undefined
  readonly #dependencies: ActionFallbacksDependencies
  /** Progress of entries for which some of the fallbacks have run. */
  readonly #progress = new WeakMap<ActionEntry, { done: number; readonly failures: string[] }>()

  constructor(action: string, fallbacks: readonly FallbackAction[], dependencies: ActionFallbacksDependencies) {
    this.#namespace = splitScopedName(action).namespace
    this.#dependencies = dependencies
    this.#fallbacks = fallbacks.map((fallback) =>
      fallback.kind === 'action'
        ? { name: fallback.id, make: undefined }
        : { name: 'republish', make: compileRepublish(fallback.arguments) },
    )
  }

  /** Runs the fallbacks for a result that the action queue did not accept, within the turn of the message for which the rule ran. */
  runAtOnce({ rule, output, original, event, actions }: ActionInput): void {
    const result = {
      output,
      original,
      clientId: event.readColumn('clientid'),
      topic: event.readColumn('topic'),
      atMs: this.#dependencies.nowMs(),
    }
    for (const fallback of this.#fallbacks) {
      const request = this.#createRequest(fallback, result, rule)
      if ('failure' in request) this.#dependencies.onFailure(rule, request.failure)
      else this.#dependencies.runAsFallback(rule, () => this.#runRequest(fallback, request, { rule, actions }))
    }
  }

  #runRequest(
    { name }: PreparedFallback,
    request: Request,
    { rule, actions }: { readonly rule: string; readonly actions: RuleActions },
  ): void {
    const failure =
      request.name === 'store-in-action-queue'
        ? actions.storeInActionQueue(request.clientId, request.publication)
        : actions.publish(request)
    if (failure !== undefined) this.#dependencies.onFailure(rule, `fallback ${name}: ${failure}`)
    else if (request.name === 'store-in-action-queue') this.#dependencies.countStored(name)
  }

  /** Runs the fallbacks for an entry that the service has refused for good. `done`: all fallbacks have stored it durably. */
  async run(entry: ActionEntry, rule: string): Promise<FallbackOutcome> {
    if (entry.result === undefined || this.#fallbacks.length === 0 || isOfFallback(entry)) return 'none'
    const result = readResult(entry.result)
    if ('failure' in result) return result
    const progress = this.#progress.get(entry) ?? { done: 0, failures: [] }
    this.#progress.set(entry, progress)
    for (const fallback of this.#fallbacks.slice(progress.done)) {
      const outcome = await this.#runOne(fallback, result, rule, readDepth(entry))
      if (outcome === 'later') return 'later'
      if (typeof outcome === 'object') progress.failures.push(outcome.failure)
      progress.done++
    }
    return progress.failures.length === 0 ? 'done' : { failure: progress.failures.join('; ') }
  }

  async #runOne(
    fallback: PreparedFallback,
    result: StoredResult,
    rule: string,
    ruleDepth: number,
  ): Promise<FallbackOutcome> {
    const made = this.#createRequest(fallback, result, rule)
    if ('failure' in made) return made
    const request = made.name === 'publish' ? { ...made, ruleDepth } : made
    let pending: Promise<CommandResult> | undefined
    // Rules for the publication of the fallback run before `runAsFallback` returns.
    this.#dependencies.runAsFallback(rule, () => {
      pending = this.#dependencies.commands.run(request)
    })
    const outcome = await pending
    if (outcome === undefined) return 'later'
    if (outcome.done) {
      if (request.name === 'store-in-action-queue') this.#dependencies.countStored(fallback.name)
      return 'done'
    }
    if (outcome.why === 'quota-exceeded')
      return { failure: `fallback ${fallback.name}: ${describeFailure('too-deep')}` }
    return permanentFailures.includes(outcome.why) ? { failure: `fallback ${fallback.name}: ${outcome.why}` } : 'later'
  }

  #createRequest(
    { name, make }: PreparedFallback,
    result: StoredResult,
    rule: string,
  ): Request | { readonly failure: string } {
    try {
      if (make !== undefined) return this.#createPublishRequest(make(result.output, result.original))
      const target = this.#dependencies.findTarget(name)
      return target === undefined
        ? { failure: `fallback ${name}: there is no such action` }
        : createEntryRequest(target, result, rule)
    } catch (error) {
      if (error instanceof RuleError || error instanceof TypeError)
        return { failure: `fallback ${name}: ${error.message}` }
      throw error
    }
  }

  #createPublishRequest(made: RulePublication): Request {
    const publication = this.#namespace === undefined ? made : addPublicationNamespace(this.#namespace, made)
    return { name: 'publish', ...publication, clientId: '' }
  }
}

function createEntryRequest(
  { clientId, render, form, order }: FallbackTarget,
  result: StoredResult,
  rule: string,
): Request {
  const { payload, attributes } = render(result.output, result.atMs)
  const columns = { clientid: result.clientId, topic: result.topic }
  const ordered = order.createAttributes({
    readColumn: (name) => (name === 'clientid' || name === 'topic' ? columns[name] : undefined),
  })
  const all = [...attributes, ...ordered, toRuleAttribute(rule), fallbackAttribute]
  const entry = { payload, attributes: all, result: encodeStored(result), form }
  return { name: 'store-in-action-queue', clientId, publication: toPublication(entry) }
}
