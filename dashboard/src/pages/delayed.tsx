// Messages to `$delayed/{seconds}/topic` that are not published yet.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog } from '../parts/dialogs.tsx'
import { FailureNotice, Page } from '../parts/page.tsx'
import { isPartOfList, NumberedPager, readPageNumber, readRowsPerPage } from '../parts/pager.tsx'
import { PayloadView } from '../parts/payload.tsx'
import { type Column, DataTable, type RowAction } from '../parts/table.tsx'
import { Time } from '../parts/values.tsx'
import { loadAllPages } from '../state/all-rows.ts'
import { api, isAllowed } from '../state/api.ts'
import { formatSeconds, escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showResult } from '../state/results.ts'
import { createMessageColumns } from './message-columns.tsx'

type Row = Extract<Awaited<ReturnType<typeof api.list_delayed_messages>>, { reply: unknown }>['reply']['data'][number]

export default function Delayed(): JSX.Element {
  const [shown, setShown] = useState<Row>()
  const query = { page: readPageNumber(), limit: readRowsPerPage() }
  const found = useQuery(
    `delayed ${JSON.stringify(query)}`,
    (options) => api.list_delayed_messages({ query }, options),
    listMs,
  )
  return (
    <Page title={t('delayedMessages')} isLive={true}>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('delayedMessages')}
        rows={found.reply?.data}
        rowKey={({ msgid }) => msgid}
        rowName={({ topic }) => topic}
        query={found}
        empty={t('noDelayed')}
        loadAll={() => loadAllPages((page) => api.list_delayed_messages({ query: page }))}
        isPart={isPartOfList(found.reply?.meta)}
        columns={createDelayedColumns()}
        actions={[
          { word: t('show'), run: setShown },
          ...(isAllowed('delete_delayed_message') ? [createDeletion(found.reload)] : []),
        ]}
      />
      <NumberedPager meta={found.reply?.meta} />
      {shown !== undefined && <ShownMessage row={shown} onClose={() => setShown(undefined)} />}
    </Page>
  )
}

function createDelayedColumns(): readonly Column<Row>[] {
  return [
    ...createMessageColumns<Row>(),
    {
      key: 'publish_at',
      title: t('publishedAt'),
      value: (row) => row.publish_at,
      render: (row) => <Time ms={Date.parse(row.publish_at)} />,
    },
    {
      key: 'expected_at',
      title: t('dueAt'),
      value: (row) => row.expected_at,
      render: (row) => <Time ms={Date.parse(row.expected_at)} />,
    },
    {
      key: 'delayed_remaining',
      title: t('remaining'),
      value: (row) => row.delayed_remaining,
      render: (row) => formatSeconds(row.delayed_remaining),
      isNumber: true,
    },
    { key: 'node', title: t('nodeName'), value: ({ node }) => node },
  ]
}

function createDeletion(onDone: () => void): RowAction<Row> {
  return {
    word: t('delete'),
    isDangerous: true,
    run: ({ topic, node, msgid }) => {
      const title = t('deleteTitle', { name: escapeHiddenLetters(topic) })
      confirmBefore({
        title,
        text: t('deleteDelayedText'),
        act: t('delete'),
        run: async () => {
          showResult(title, await api.delete_delayed_message({ params: { node, msgid } }))
          onDone()
          return true
        },
      })
    },
  }
}

function ShownMessage({ row, onClose }: { readonly row: Row; readonly onClose: () => void }): JSX.Element {
  const { node, msgid, topic } = row
  const params = { node, msgid }
  const found = useQuery(`delayed message ${msgid}`, (options) => api.get_delayed_message({ params }, options))
  return (
    <Dialog title={t('delayedTitle', { topic: escapeHiddenLetters(topic) })} onClose={onClose}>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      {found.reply === undefined ? (
        found.failure === undefined && <p aria-busy="true">{t('loading')}</p>
      ) : (
        <PayloadView base64={found.reply.payload} />
      )}
      <div class="dialog-buttons">
        <button type="button" onClick={onClose}>
          {t('close')}
        </button>
      </div>
    </Dialog>
  )
}
