import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog } from '../parts/dialogs.tsx'
import { Search, Toolbar } from '../parts/fields.tsx'
import { FailureNotice, Page } from '../parts/page.tsx'
import { CursorPager, isPartOfList, readCursor, readRowsPerPage } from '../parts/pager.tsx'
import { type Column, DataTable } from '../parts/table.tsx'
import { PayloadView } from '../parts/payload.tsx'
import { LocalTime } from '../parts/values.tsx'
import { loadAllFromCursor } from '../state/all-rows.ts'
import { api, isAllowed } from '../state/api.ts'
import { escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showResult } from '../state/results.ts'
import { readQueryValue } from '../state/router.ts'
import { createMessageColumns } from './message-columns.tsx'

export default function Retained(): JSX.Element {
  const [shown, setShown] = useState<string>()
  const search = readQueryValue('search')
  const filter = search === '' ? {} : { topic: search }
  const query = { ...filter, limit: readRowsPerPage(), cursor: readCursor() }
  const key = JSON.stringify([query, readQueryValue('namespace')])
  const found = useQuery(key, (options) => api.list_retained({ query }, options), listMs)
  const loadAll = () => loadAllFromCursor((page) => api.list_retained({ query: { ...filter, ...page } }))
  const clear = (topic: string): void =>
    confirmBefore({
      title: t('deleteTitle', { name: escapeHiddenLetters(topic) }),
      text: t('deleteRetainedText'),
      act: t('delete'),
      run: async () => {
        showResult(t('deleteTitle', { name: topic }), await api.delete_retained({ params: { topic } }))
        found.reload()
        return true
      },
    })
  return (
    <Page title={t('retained')} isLive={true}>
      <Toolbar>
        <Search label={t('searchRetained')} hint={t('searchRetainedHint')} />
      </Toolbar>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('retained')}
        rows={found.reply?.data}
        rowKey={({ topic }) => topic}
        query={found}
        empty={t('noRetained')}
        loadAll={loadAll}
        isPart={isPartOfList(found.reply?.meta)}
        columns={createRetainedColumns()}
        actions={[
          { word: t('show'), run: ({ topic }) => setShown(topic) },
          {
            word: t('delete'),
            isDangerous: true,
            isShown: () => isAllowed('delete_retained'),
            run: ({ topic }) => clear(topic),
          },
        ]}
      />
      {shown !== undefined && <ShownMessage topic={shown} onClose={() => setShown(undefined)} />}
      <CursorPager meta={found.reply?.meta} />
    </Page>
  )
}

type Row = Extract<Awaited<ReturnType<typeof api.list_retained>>, { reply: unknown }>['reply']['data'][number]

function createRetainedColumns(): readonly Column<Row>[] {
  return [
    ...createMessageColumns<Row>(),
    {
      key: 'publish_at',
      title: t('publishedAt'),
      value: (row) => row.publish_at,
      render: (row) => <LocalTime text={row.publish_at} />,
    },
    {
      key: 'expires_at',
      title: t('expiresAt'),
      value: (row) => row.expires_at,
      render: (row) => <LocalTime text={row.expires_at} />,
    },
  ]
}

function ShownMessage({ topic, onClose }: { readonly topic: string; readonly onClose: () => void }): JSX.Element {
  const found = useQuery(`retained ${topic}`, (options) => api.get_retained({ params: { topic } }, options))
  return (
    <Dialog title={t('retainedTitle', { topic: escapeHiddenLetters(topic) })} onClose={onClose}>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      {found.reply !== undefined && <PayloadView base64={found.reply.data.payload_base64} />}
      <div class="dialog-buttons">
        <button type="button" onClick={onClose}>
          {t('close')}
        </button>
      </div>
    </Dialog>
  )
}
