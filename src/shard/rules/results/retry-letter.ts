// Sends a dead letter again: its result with the present templates, or its message through the present rule.

import type { RulePublication } from '../../../core/index.ts'
import { RuleError, type RuleEvent, type RuleMap } from '../../../rules/index.ts'
import type { ActionEntry } from '../../../sinks/index.ts'
import { publicationOf, ruleOf } from '../action-entries.ts'
import { publicationOfResult, type ResultTarget, type StoreContext } from './result-store.ts'
import { MessageResults } from './result-limits.ts'
import { eventOfStopped, hasMessage } from './stopped-messages.ts'

/** Evaluates the rule as it is now. Returns its results, or undefined if it fails. */
export type EvaluateAgain = (rule: string, event: RuleEvent) => readonly RuleMap[] | undefined

export interface RetryContext {
  readonly target: ResultTarget
  readonly context: StoreContext
  readonly evaluate: EvaluateAgain
  /** Stores an entry in the action queue. Returns false if it could not be stored. */
  store(publication: RulePublication): Promise<boolean>
}

/** Stores the entry of a dead letter in the action queue. Returns false if the dead letter stays. */
export async function retryLetter(entry: ActionEntry, retried: RetryContext): Promise<boolean> {
  if (!hasMessage(entry)) return retried.store(publicationOf(entry))
  const publications = publicationsOfMessage(entry, retried)
  for (const publication of publications ?? []) if (!(await retried.store(publication))) return false
  return publications !== undefined
}

/** Undefined: the rule fails again or has too many results, its result cannot be rendered, or the columns of the message were too large to be stored. */
function publicationsOfMessage(
  entry: ActionEntry,
  { target, context, evaluate }: RetryContext,
): readonly RulePublication[] | undefined {
  const event = eventOfStopped(entry)
  if (event === undefined) return undefined
  const rule = ruleOf(entry) ?? ''
  const qos = event.column('qos')
  const original = { qos: qos === 1 || qos === 2 ? qos : 0, retain: false } as const
  try {
    const outputs = evaluate(rule, event)
    // The limits that have stopped the rule apply to the retry as well.
    if (outputs === undefined || new MessageResults().add(outputs, 1) !== undefined) return undefined
    return outputs.map((output) => publicationOfResult(target, { output, original, event, rule }, context))
  } catch (error) {
    if (error instanceof RuleError || error instanceof TypeError) return undefined
    throw error
  }
}
