import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Toolbar } from '../parts/fields.tsx'
import { FailureNotice } from '../parts/page.tsx'
import { isPartOfList, NumberedPager, readPageNumber, readRowsPerPage } from '../parts/pager.tsx'
import { DataTable } from '../parts/table.tsx'
import { Time } from '../parts/values.tsx'
import { loadAllPages } from '../state/all-rows.ts'
import { api, isAllowed } from '../state/api.ts'
import { escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showResult } from '../state/results.ts'
import { readQueryValue } from '../state/router.ts'
import { BanDialog } from './client-acts.tsx'

const msPerSecond = 1_000

export function Bans(): JSX.Element {
  const [isAdding, setAdding] = useState(false)
  const query = { page: readPageNumber(), limit: readRowsPerPage() }
  const key = JSON.stringify(['bans', query, readQueryValue('namespace')])
  const found = useQuery(key, (options) => api.list_banned({ query }, options), listMs)
  const remove = (as: string, subject: string): void =>
    confirmBefore({
      title: t('deleteTitle', { name: escapeHiddenLetters(subject) }),
      text: t('deleteBanText'),
      act: t('delete'),
      run: async () => {
        showResult(t('deleteTitle', { name: subject }), await api.delete_banned({ params: { as, who: subject } }))
        found.reload()
        return true
      },
    })
  return (
    <>
      <Toolbar>
        {isAllowed('create_banned') && (
          <button type="button" onClick={() => setAdding(true)}>
            {t('add')}
          </button>
        )}
      </Toolbar>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('bans')}
        rows={found.reply?.data}
        rowKey={({ as, who: subject }) => `${as} ${subject}`}
        rowName={({ who: subject }) => subject}
        query={found}
        empty={t('noBans')}
        loadAll={() => loadAllPages((page) => api.list_banned({ query: page }))}
        isPart={isPartOfList(found.reply?.meta)}
        columns={[
          { key: 'who', title: t('who'), value: ({ who }) => who },
          { key: 'as', title: t('by'), value: ({ as }) => as },
          { key: 'reason', title: t('reason'), value: ({ reason }) => reason },
          { key: 'by', title: t('bannedBy'), value: ({ by }) => by },
          { key: 'at', title: t('since'), value: ({ at }) => at, render: ({ at }) => <Time ms={at * msPerSecond} /> },
          {
            key: 'until',
            title: t('until'),
            value: ({ until }) => until,
            render: ({ until }) => (until === null ? t('forEver') : <Time ms={until * msPerSecond} />),
          },
        ]}
        actions={
          isAllowed('delete_banned')
            ? [{ word: t('delete'), isDangerous: true, run: ({ as, who: subject }) => remove(as, subject) }]
            : []
        }
      />
      <NumberedPager meta={found.reply?.meta} />
      {isAdding && <BanDialog onClose={() => setAdding(false)} onDone={found.reload} />}
    </>
  )
}
