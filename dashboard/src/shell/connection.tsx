import type { JSX } from 'preact'
import { isBrokerAway } from '../state/api.ts'
import { escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { outcome } from '../state/results.ts'

/** Shows that the broker does not respond. */
export function Connection(): JSX.Element | null {
  if (!isBrokerAway.value) return null
  return (
    <div role="alert" class="notice failed">
      {t('brokerAway')}
    </div>
  )
}

/** Result of the last action. Both regions exist at all times, because a screen reader announces only changes of existing regions. */
export function LastOutcome(): JSX.Element {
  const last = outcome.value
  const dismiss = (
    <button type="button" class="small" onClick={() => (outcome.value = undefined)}>
      {t('dismiss')}
    </button>
  )
  return (
    <div class="outcomes">
      <div role="status">
        {last?.kind === 'done' && (
          <p class="notice done">
            {escapeHiddenLetters(last.text)} {dismiss}
          </p>
        )}
      </div>
      {last?.kind === 'failed' && (
        <div role="alert" class="notice failed">
          {escapeHiddenLetters(last.text)} {dismiss}
        </div>
      )}
    </div>
  )
}
