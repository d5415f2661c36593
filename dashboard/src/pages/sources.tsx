// Sources: what rules receive from services, with its counters.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Toolbar } from '../parts/fields.tsx'
import { FailureNotice } from '../parts/page.tsx'
import { type Column, DataTable, type RowAction } from '../parts/table.tsx'
import { api, type CallOptions, isAllowed, type Result } from '../state/api.ts'
import { escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showResult } from '../state/results.ts'
import { readQueryValue } from '../state/router.ts'
import { createCommonActions, createCommonColumns, toServiceId, type Named, ServiceDialog } from './service-parts.tsx'

type Replies<Name extends keyof typeof api> = Extract<
  Awaited<ReturnType<(typeof api)[Name]>>,
  { reply: unknown }
>['reply']
type Counters = Replies<'get_source_metrics'>['metrics']
type Source = Replies<'get_sources'>[number] & { readonly counters: Counters | undefined }

async function loadSources(options: CallOptions): Promise<Result<readonly Source[]>> {
  const found = await api.get_sources({}, options)
  if ('failure' in found) return found
  const metrics = await Promise.all(
    found.reply.map((source) => api.get_source_metrics({ params: { id: toServiceId(source) } }, options)),
  )
  return {
    reply: found.reply.map((source, at) => {
      const response = metrics[at]
      return { ...source, counters: response !== undefined && 'reply' in response ? response.reply.metrics : undefined }
    }),
  }
}

export function Sources(): JSX.Element {
  const [edited, setEdited] = useState<{ readonly known: Named | undefined }>()
  const found = useQuery(`sources ${readQueryValue('namespace')}`, loadSources, listMs)
  const canChange = isAllowed('change_source')
  const restart = (source: Source): void => {
    const id = toServiceId(source)
    confirmBefore({
      title: t('restartTitle', { name: escapeHiddenLetters(id) }),
      text: t('restartServiceText'),
      act: t('restart'),
      run: async () => {
        showResult(t('restartTitle', { name: id }), await api.control_source({ params: { id, operation: 'restart' } }))
        found.reload()
        return true
      },
    })
  }
  const again: RowAction<Source> = { word: t('restart'), run: restart }
  return (
    <>
      {canChange && (
        <Toolbar>
          <button type="button" onClick={() => setEdited({ known: undefined })}>
            {t('addSource')}
          </button>
        </Toolbar>
      )}
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('sources')}
        rows={found.reply}
        rowKey={toServiceId}
        query={found}
        empty={t('noSources')}
        columns={[...createCommonColumns<Source>('source', canChange, found.reload), ...createCounterColumns()]}
        actions={
          canChange
            ? [...createCommonActions<Source>('source', (known) => setEdited({ known }), found.reload), again]
            : []
        }
      />
      {edited !== undefined && (
        <ServiceDialog kind="source" known={edited.known} onClose={() => setEdited(undefined)} onDone={found.reload} />
      )}
    </>
  )
}

function createCounterColumns(): readonly Column<Source>[] {
  return [
    { key: 'received', title: t('received'), value: ({ counters }) => counters?.received, isNumber: true },
    { key: 'dropped', title: t('dropped'), value: ({ counters }) => counters?.dropped, isNumber: true },
    { key: 'last_error', title: t('lastError'), value: ({ counters }) => counters?.last_error },
  ]
}
