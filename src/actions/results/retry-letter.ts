// Sends a dead letter again: its result with the present templates, or its message through the present rule.

import type { RulePublication } from '../../core/index.ts'
import type { RuleEvent } from '../../rules/index.ts'
import { RuleError, type RuleMap } from '../../values/index.ts'
import type { ActionEntry } from '../../sinks/index.ts'
import { toPublication } from './action-entries.ts'
import { findRule } from './entry-attributes.ts'
import { createResultPublication, type ResultTarget, type StoreContext } from './result-store.ts'
import { MessageResults } from './result-limits.ts'
import { restoreEvent, hasMessage } from './stopped-messages.ts'

/** Evaluates the rule as it is now. Returns its results, or why it has none. */
export type EvaluateAgain = (rule: string, event: RuleEvent) => readonly RuleMap[] | Failure

interface Failure {
  readonly failure: string
}

export interface RetryContext {
  readonly target: ResultTarget
  readonly context: StoreContext
  readonly evaluate: EvaluateAgain
  /** Stores all entries in the action queue, or none. Returns why they could not be stored; undefined: they are. */
  store(first: RulePublication, further: readonly RulePublication[]): Promise<string | undefined>
}

/** Stores the entry of a dead letter in the action queue. Returns why the dead letter stays; undefined: it is stored. */
export async function retryLetter(entry: ActionEntry, retried: RetryContext): Promise<string | undefined> {
  if (!hasMessage(entry)) return retried.store(toPublication(entry), [])
  const publications = createMessagePublications(entry, retried)
  if ('failure' in publications) return publications.failure
  const [first, ...further] = publications
  // The rule as it is now has no result for the message.
  return first === undefined ? undefined : retried.store(first, further)
}

function createMessagePublications(
  entry: ActionEntry,
  { target, context, evaluate }: RetryContext,
): readonly RulePublication[] | Failure {
  const event = restoreEvent(entry)
  if (event === undefined) return { failure: 'the columns of the message were too large to be stored' }
  const rule = findRule(entry) ?? ''
  const qos = event.readColumn('qos')
  const original = { qos: qos === 1 || qos === 2 ? qos : 0, retain: false } as const
  try {
    const outputs = evaluate(rule, event)
    if ('failure' in outputs) return outputs
    // The limits that have stopped the rule apply to the retry as well.
    const excess = new MessageResults().add(outputs, 1, event)
    if (excess !== undefined) return { failure: `the rule ${rule}: ${excess.message}` }
    return outputs.map((output) => createResultPublication(target, { output, original, event, rule }, context))
  } catch (error) {
    if (error instanceof RuleError || error instanceof TypeError) return { failure: error.message }
    throw error
  }
}
