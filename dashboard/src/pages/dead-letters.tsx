// Dead letters, which a service refused: show, send again, delete.

import type { JSX } from 'preact'
import { Time } from '../parts/values.tsx'
import { api, isAllowed } from '../state/api.ts'
import { t } from '../state/messages.ts'
import { useQuery } from '../state/query.ts'
import { showDone, showFailed, showResult } from '../state/results.ts'
import { StoredResults, type StoredResultsProps } from './stored-results.tsx'

export function DeadLetters({ action, onClose, onChanged }: StoredResultsProps): JSX.Element {
  const params = { id: action }
  const found = useQuery(`dead letters ${action}`, (options) => api.get_dead_letters({ params }, options))
  const showChange = (): void => {
    found.reload()
    onChanged()
  }
  const sendAgain = async (letter?: string): Promise<void> => {
    const result = await api.retry_dead_letters({ params, query: letter === undefined ? {} : { letter } })
    const what = `${t('sendAgain')} ${action}`
    if (!('reply' in result)) showResult(what, result)
    else {
      const { state, count, stayed, pending, reason } = result.reply
      if (stayed > 0) showFailed(what, t('lettersStay', { sent: count, stayed, reason }))
      else if (state === 'running') showDone(`${what}: ${t('lettersFollow', { sent: count, pending })}`)
      else showDone(what)
    }
    showChange()
  }
  const remove = async (letter: string): Promise<void> => {
    showResult(`${t('delete')} ${action}`, await api.remove_dead_letters({ params, query: { letter } }))
    showChange()
  }
  const canChange = isAllowed('retry_dead_letters')
  return (
    <StoredResults
      action={action}
      title={t('deadLetters')}
      empty={t('noDeadLetters')}
      found={found}
      firstColumns={[
        { key: 'at', title: t('time'), value: ({ at }) => at, render: ({ at }) => <Time ms={Date.parse(at)} /> },
      ]}
      rowActions={
        canChange
          ? [
              { word: t('sendAgain'), run: ({ id }) => void sendAgain(id) },
              { word: t('delete'), isDangerous: true, run: ({ id }) => void remove(id) },
            ]
          : []
      }
      actionOnAll={canChange ? { word: t('sendAllAgain'), run: () => void sendAgain() } : undefined}
      onClose={onClose}
    />
  )
}
