// Dead letters, which a service refused: show, send again, delete.

import type { JSX } from 'preact'
import { Dialog } from '../parts/dialogs.tsx'
import { FailureNotice } from '../parts/page.tsx'
import { DataTable } from '../parts/table.tsx'
import { Time } from '../parts/values.tsx'
import { api, may } from '../state/api.ts'
import { visible } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { useQuery } from '../state/query.ts'
import { showResult } from '../state/results.ts'

interface DeadLettersProps {
  /** `type:name` */
  readonly action: string
  readonly onClose: () => void
  readonly onChanged: () => void
}

export function DeadLetters({ action, onClose, onChanged }: DeadLettersProps): JSX.Element {
  const params = { id: action }
  const found = useQuery(`dead letters ${action}`, (options) => api.get_dead_letters({ params }, options))
  const carryOut = async (what: 'retry' | 'delete', letter?: string): Promise<void> => {
    const query = letter === undefined ? {} : { letter }
    const result = await (what === 'retry'
      ? api.retry_dead_letters({ params, query })
      : api.remove_dead_letters({ params, query }))
    showResult(`${t(what === 'retry' ? 'sendAgain' : 'delete')} ${action}`, result)
    found.reload()
    onChanged()
  }
  const canChange = may('retry_dead_letters')
  return (
    <Dialog title={`${t('deadLetters')} ${visible(action)}`} isWide={true} onClose={onClose}>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('deadLetters')}
        rows={found.reply?.data}
        rowKey={({ id }) => id}
        query={found}
        empty={t('noDeadLetters')}
        columns={[
          { key: 'at', title: t('time'), value: ({ at }) => at, render: ({ at }) => <Time ms={Date.parse(at)} /> },
          { key: 'rule', title: t('rule'), value: ({ rule }) => rule },
          { key: 'reason', title: t('reason'), value: ({ reason }) => reason },
          { key: 'payload', title: t('payload'), value: ({ payload }) => payload, canCopy: true },
        ]}
        actions={
          canChange
            ? [
                { word: t('sendAgain'), run: ({ id }) => void carryOut('retry', id) },
                { word: t('delete'), isDangerous: true, run: ({ id }) => void carryOut('delete', id) },
              ]
            : []
        }
      />
      <div class="dialog-buttons">
        {canChange && (
          <button type="button" onClick={() => void carryOut('retry')}>
            {t('sendAllAgain')}
          </button>
        )}
        <button type="button" onClick={onClose}>
          {t('close')}
        </button>
      </div>
    </Dialog>
  )
}
