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
import { decodeJson, RuleError, valueAsJson, type RuleMap, type RuleValue } from '../../rules/index.ts'
import type { Render, ActionEntry } from '../../sinks/index.ts'
import { attributeOfRule, publicationOf } from './action-entries.ts'
import type { ActionOrder } from './action-order.ts'
import { compileRepublish, type MakePublication } from './republish.ts'
import { publicationWithin } from './rule-namespace.ts'
import type { ActionInput } from './rule-runner.ts'

/** An action that a fallback refers to. */
export interface FallbackTarget {
  readonly clientId: string
  readonly render: Render
  readonly order: ActionOrder
}

export interface ActionFallbacksDependencies {
  readonly commands: { run(command: Command): Promise<CommandResult> }
  target(action: string): FallbackTarget | undefined
  /** Counts an entry that a fallback stored for that action. */
  noteStored(action: string): void
  /** Runs `work`. The rule does not run for `work`, and no entry that `work` stores has fallbacks. */
  asFallback(rule: string, work: () => void): void
  /** Called when a fallback has failed for a result of the rule. */
  noteFailure(rule: string, why: string): void
}

/** `later`: the fallbacks must be tried again. */
export type FallbackOutcome = 'none' | 'done' | 'later' | { readonly failure: string }

/** A result of a rule, as it is stored for fallbacks. */
interface StoredResult {
  readonly original: ActionInput['original']
  readonly clientId: RuleValue
  readonly topic: RuleValue
  readonly output: RuleMap
}

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

  /** Returns the result in the form that is stored with its entry. Undefined: there are no fallbacks, or the result has no JSON form. */
  resultOf({ output, original, event }: ActionInput): Buffer | undefined {
    if (this.#fallbacks.length === 0) return undefined
    const { qos, retain } = original
    try {
      return Buffer.from(valueAsJson([qos, retain, event.column('clientid'), event.column('topic'), output]))
    } catch (error) {
      // The JSON form may be too large. The action itself does not need it.
      if (error instanceof RuleError) return undefined
      throw error
    }
  }

  /** Runs the fallbacks for a result that the action queue did not accept, within the turn of the message for which the rule ran. */
  runAtOnce({ rule, output, original, event, actions }: ActionInput): void {
    const result = { output, original, clientId: event.column('clientid'), topic: event.column('topic') }
    for (const fallback of this.#fallbacks) {
      const request = this.#requestFor(fallback, result, rule)
      if ('failure' in request) this.#dependencies.noteFailure(rule, request.failure)
      else this.#dependencies.asFallback(rule, () => this.#runRequest(fallback, request, { rule, actions }))
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
    if (failure !== undefined) this.#dependencies.noteFailure(rule, `fallback ${name}: ${failure}`)
    else if (request.name === 'store-in-action-queue') this.#dependencies.noteStored(name)
  }

  /** Runs the fallbacks for an entry that the service has refused for good. `done`: all fallbacks have stored it durably. */
  async run(entry: ActionEntry, rule: string): Promise<FallbackOutcome> {
    if (entry.result === undefined || this.#fallbacks.length === 0) return 'none'
    const result = readResult(entry.result)
    if ('failure' in result) return result
    const progress = this.#progress.get(entry) ?? { done: 0, failures: [] }
    this.#progress.set(entry, progress)
    for (const fallback of this.#fallbacks.slice(progress.done)) {
      const outcome = await this.#runOne(fallback, result, rule)
      if (outcome === 'later') return 'later'
      if (typeof outcome === 'object') progress.failures.push(outcome.failure)
      progress.done++
    }
    return progress.failures.length === 0 ? 'done' : { failure: progress.failures.join('; ') }
  }

  async #runOne(fallback: PreparedFallback, result: StoredResult, rule: string): Promise<FallbackOutcome> {
    const request = this.#requestFor(fallback, result, rule)
    if ('failure' in request) return request
    let pending: Promise<CommandResult> | undefined
    // Rules for the publication of the fallback run before `asFallback` returns.
    this.#dependencies.asFallback(rule, () => {
      pending = this.#dependencies.commands.run(request)
    })
    const outcome = await pending
    if (outcome === undefined) return 'later'
    if (outcome.done) {
      if (request.name === 'store-in-action-queue') this.#dependencies.noteStored(fallback.name)
      return 'done'
    }
    return permanentFailures.includes(outcome.why) ? { failure: `fallback ${fallback.name}: ${outcome.why}` } : 'later'
  }

  #requestFor(
    { name, make }: PreparedFallback,
    result: StoredResult,
    rule: string,
  ): Request | { readonly failure: string } {
    try {
      if (make !== undefined) return this.#publish(make(result.output, result.original))
      const target = this.#dependencies.target(name)
      return target === undefined
        ? { failure: `fallback ${name}: there is no such action` }
        : entryRequest(target, result, rule)
    } catch (error) {
      if (error instanceof RuleError || error instanceof TypeError)
        return { failure: `fallback ${name}: ${error.message}` }
      throw error
    }
  }

  #publish(made: RulePublication): Request {
    const publication = this.#namespace === undefined ? made : publicationWithin(this.#namespace, made)
    return { name: 'publish', ...publication, clientId: '', isOfRule: true }
  }
}

function entryRequest({ clientId, render, order }: FallbackTarget, result: StoredResult, rule: string): Request {
  const { payload, attributes } = render(result.output)
  const columns = { clientid: result.clientId, topic: result.topic }
  const ordered = order.attributesOf({
    column: (name) => (name === 'clientid' || name === 'topic' ? columns[name] : undefined),
  })
  const entry = { payload, attributes: [...attributes, ...ordered, attributeOfRule(rule)] }
  return { name: 'store-in-action-queue', clientId, publication: publicationOf(entry) }
}

/** Reads a result that `resultOf` has written. */
function readResult(result: Buffer): StoredResult | { readonly failure: string } {
  let stored: RuleValue
  try {
    stored = decodeJson(result.toString())
  } catch (error) {
    // A result may be nested deeper than the decoder accepts.
    if (error instanceof RuleError) return { failure: `fallbacks: ${error.message}` }
    throw error
  }
  const [qos, retain, clientId, topic, output] = stored as readonly RuleValue[]
  const original = { qos: qos === 1 || qos === 2 ? qos : 0, retain: retain === true } as const
  return { original, clientId, topic, output: withBytes(output ?? {}) as RuleMap }
}

const bytesKey = '$base64'

/** Converts objects with the one key `$base64` to bytes: their JSON form, if they are not valid UTF-8. */
function withBytes(value: RuleValue): RuleValue {
  if (Array.isArray(value)) return value.map((item: RuleValue) => withBytes(item))
  // Objects with another prototype are numbers.
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  const members = Object.entries(value)
  const [[key, bytes] = []] = members
  if (members.length === 1 && key === bytesKey && typeof bytes === 'string') return Buffer.from(bytes, 'base64')
  return Object.fromEntries(members.map(([name, member]: [string, RuleValue]) => [name, withBytes(member)]))
}
