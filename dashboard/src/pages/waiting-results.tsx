// Results that wait for the service of an action: show, move to the dead letters.

import type { JSX } from 'preact'
import { Dialog } from '../parts/dialogs.tsx'
import { FailureNotice } from '../parts/page.tsx'
import { DataTable } from '../parts/table.tsx'
import { api, may } from '../state/api.ts'
import { visible } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { useQuery } from '../state/query.ts'
import { showResult } from '../state/results.ts'

interface WaitingResultsProps {
  /** `type:name` */
  readonly action: string
  readonly onClose: () => void
  readonly onChanged: () => void
}

export function WaitingResults({ action, onClose, onChanged }: WaitingResultsProps): JSX.Element {
  const params = { id: action }
  const found = useQuery(`waiting results ${action}`, (options) => api.get_queued_results({ params }, options))
  const discard = async (entry?: string): Promise<void> => {
    const query = entry === undefined ? {} : { entry }
    const result = await api.discard_queued_results({ params, query })
    showResult(`${t('moveToDeadLetters')} ${action}`, result)
    found.reload()
    onChanged()
  }
  const canChange = may('discard_queued_results')
  return (
    <Dialog title={`${t('waitingResults')} ${visible(action)}`} isWide={true} onClose={onClose}>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('waitingResults')}
        rows={found.reply?.data}
        rowKey={({ id }) => id}
        query={found}
        empty={t('noWaitingResults')}
        columns={[
          { key: 'rule', title: t('rule'), value: ({ rule }) => rule },
          { key: 'reason', title: t('reason'), value: ({ reason }) => reason },
          { key: 'payload', title: t('payload'), value: ({ payload }) => payload, canCopy: true },
        ]}
        actions={canChange ? [{ word: t('moveToDeadLetters'), run: ({ id }) => void discard(id) }] : []}
      />
      <div class="dialog-buttons">
        {canChange && (
          <button type="button" onClick={() => void discard()}>
            {t('moveAllToDeadLetters')}
          </button>
        )}
        <button type="button" onClick={onClose}>
          {t('close')}
        </button>
      </div>
    </Dialog>
  )
}
