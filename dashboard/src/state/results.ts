// Result of the last action, for the status line and the alert of the page.

import { signal } from '@preact/signals'
import { type Result, formatFailure } from './api.ts'
import { t } from './messages.ts'

export type Outcome = { readonly kind: 'done' | 'failed'; readonly text: string }

export const outcome = signal<Outcome | undefined>(undefined)

export function showDone(action: string): void {
  outcome.value = { kind: 'done', text: t('done', { what: action }) }
}

export function showFailed(action: string, why: string): void {
  outcome.value = { kind: 'failed', text: `${action}: ${why}` }
}

/** Tells what came of it. Returns whether it is done. */
export function showResult(action: string, result: Result<unknown>): boolean {
  if ('reply' in result) showDone(action)
  else showFailed(action, formatFailure(result.failure))
  return 'reply' in result
}
