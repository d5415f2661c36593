// Stores what a rule has for an action: results in the action queue, and everything that cannot be sent as dead letters with the reason.

import type { RuleActionFailure, RulePublication } from '../../core/index.ts'
import { RuleError } from '../../values/index.ts'
import { type ActionEntry, type Render } from '../../sinks/index.ts'
import { toDeadLetterEntry } from '../delivery/dead-letters.ts'
import { toRuleAttribute, toDepthAttributes, fallbackAttribute } from './entry-attributes.ts'
import { type EntryAttributes, toPublication } from './action-entries.ts'
import type { ActionInput, StoppedRule } from './action-input.ts'
import { type ColumnsJson, encodeResult } from './stored-results.ts'
import { toStoppedEntry } from './stopped-messages.ts'

/** The queues and templates of one action. */
export interface ResultTarget {
  readonly clientId: string
  readonly deadClientId: string
  readonly render: Render
  readonly form: string
  readonly attributes: EntryAttributes
}

export interface StoreContext {
  readonly nowMs: number
  readonly columns: ColumnsJson
  /** The result comes from a fallback: it has no fallbacks itself. */
  readonly isFallback: boolean
}

/** Returns the publication that stores a result. Throws RuleError or TypeError if the templates cannot render it. */
export function createResultPublication(
  { render, form, attributes }: ResultTarget,
  input: Pick<ActionInput, 'output' | 'original' | 'event' | 'rule'>,
  { nowMs, columns, isFallback }: StoreContext,
  depth = 1,
): RulePublication {
  const rendered = render(input.output, nowMs)
  const result = encodeResult(input, nowMs, columns)
  const marks = isFallback ? [fallbackAttribute, ...toDepthAttributes(depth)] : toDepthAttributes(depth)
  const entry = marks.length === 0 ? rendered : { ...rendered, attributes: [...rendered.attributes, ...marks] }
  return attributes.toPublication(input, entry, result, result === undefined ? undefined : form)
}

/** Stores one result. If the templates cannot render it, stores a dead letter and throws RuleError or TypeError. */
export function storeResult(
  target: ResultTarget,
  input: ActionInput,
  context: StoreContext,
): RuleActionFailure | undefined {
  let publication: RulePublication
  try {
    publication = createResultPublication(target, input, context, input.actions.depth)
  } catch (error) {
    if (error instanceof RuleError || error instanceof TypeError)
      storeUnrendered(target, input, { ...context, why: `the templates of the action: ${error.message}` })
    throw error
  }
  return input.actions.storeInActionQueue(target.clientId, publication)
}

function storeUnrendered(
  { deadClientId }: ResultTarget,
  input: ActionInput,
  { nowMs, columns, why }: StoreContext & { readonly why: string },
): void {
  const result = encodeResult(input, nowMs, columns)
  const entry: ActionEntry =
    result === undefined
      ? toStoppedEntry(input.event, input.rule)
      : { payload: Buffer.alloc(0), attributes: [toRuleAttribute(input.rule)], result, form: '' }
  input.actions.storeInActionQueue(deadClientId, toPublication(toDeadLetterEntry(entry, why, nowMs)))
}

/** Stores the message of a rule that was stopped as a dead letter. */
export function storeStopped(
  deadClientId: string,
  { rule, event, actions, why }: StoppedRule,
  nowMs: number,
): RuleActionFailure | undefined {
  const entry = toDeadLetterEntry(toStoppedEntry(event, rule), `the rule ${rule} was stopped: ${why}`, nowMs)
  return actions.storeInActionQueue(deadClientId, toPublication(entry))
}
