// Effects of a configuration change, for each key.

import type { JSX } from 'preact'
import { Name } from '../parts/values.tsx'
import type { api } from '../state/api.ts'
import { t } from '../state/messages.ts'

export type Outcome = Extract<Awaited<ReturnType<typeof api.update_config>>, { reply: unknown }>['reply']['data']

export interface Change {
  readonly key: string
  readonly old?: string | undefined
  readonly new?: string | undefined
}

export function ChangeList({ changes }: { readonly changes: readonly Change[] }): JSX.Element {
  if (changes.length === 0) return <p class="empty">{t('noChanges')}</p>
  return (
    <ul class="changes">
      {changes.map(({ key, old, new: next }) => (
        <li key={key} class="mono">
          <Name text={`${key}: ${old ?? t('byDefault')} → ${next ?? t('byDefault')}`} />
        </li>
      ))}
    </ul>
  )
}

/** Changes in effect, changes that need a restart, and keys without effect. */
export function OutcomeView({ outcome }: { readonly outcome: Outcome }): JSX.Element {
  const { changed, needs_restart: needsRestart, without_engine: withoutEngine, pinned, warnings } = outcome
  return (
    <section class="panel" aria-label={t('result')}>
      <h2>{t('changedNow')}</h2>
      <ChangeList changes={changed} />
      {needsRestart.length > 0 && (
        <>
          <h2>{t('needsRestart')}</h2>
          <ChangeList changes={needsRestart} />
        </>
      )}
      {withoutEngine.length > 0 && (
        <>
          <h2>{t('withoutEngine')}</h2>
          <ChangeList changes={withoutEngine} />
        </>
      )}
      <ul>
        {pinned.map((key) => (
          <li key={key}>{t('pinnedKey', { key })}</li>
        ))}
        {warnings.map((warning) => (
          <li key={warning}>
            <Name text={warning} />
          </li>
        ))}
      </ul>
    </section>
  )
}
