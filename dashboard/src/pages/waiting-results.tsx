// Results that wait for the service of an action: show, move to the dead letters.

import type { JSX } from 'preact'
import { api, isAllowed } from '../state/api.ts'
import { t } from '../state/messages.ts'
import { useQuery } from '../state/query.ts'
import { showResult } from '../state/results.ts'
import { StoredResults, type StoredResultsProps } from './stored-results.tsx'

export function WaitingResults({ action, onClose, onChanged }: StoredResultsProps): JSX.Element {
  const params = { id: action }
  const found = useQuery(`waiting results ${action}`, (options) => api.get_queued_results({ params }, options))
  const discard = async (entry?: string): Promise<void> => {
    const query = entry === undefined ? {} : { entry }
    const result = await api.discard_queued_results({ params, query })
    showResult(`${t('moveToDeadLetters')} ${action}`, result)
    found.reload()
    onChanged()
  }
  const canChange = isAllowed('discard_queued_results')
  return (
    <StoredResults
      action={action}
      title={t('waitingResults')}
      empty={t('noWaitingResults')}
      found={found}
      firstColumns={[]}
      rowActions={canChange ? [{ word: t('moveToDeadLetters'), run: ({ id }) => void discard(id) }] : []}
      actionOnAll={canChange ? { word: t('moveAllToDeadLetters'), run: () => void discard() } : undefined}
      onClose={onClose}
    />
  )
}
