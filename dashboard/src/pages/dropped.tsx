import type { JSX } from 'preact'
import { RouteSelect, Search, Toolbar } from '../parts/fields.tsx'
import { FailureNotice, Facts, Page } from '../parts/page.tsx'
import { isPartOfList, NumberedPager, readPageNumber, readRowsPerPage } from '../parts/pager.tsx'
import { DataTable, withKeys } from '../parts/table.tsx'
import { Time } from '../parts/values.tsx'
import { loadAllPages } from '../state/all-rows.ts'
import { api } from '../state/api.ts'
import { formatNumber } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { formatLink, readQueryValue } from '../state/router.ts'
import { createClientColumn } from './message-columns.tsx'

type Reason = NonNullable<NonNullable<NonNullable<Parameters<typeof api.list_dropped>[0]>['query']>['reason']>

/** As the API has them; a reason that is new there is found by all. */
const reasons: readonly Reason[] = [
  'queue-full',
  'memory-full',
  'expired',
  'too-large',
  'not-reading',
  'rate-limited',
  'storage-full',
  'no-retained-room',
  'session-ended',
  'peer-behind',
  'not-allowed',
]

export default function Dropped(): JSX.Element {
  const topic = readQueryValue('search')
  const reason = reasons.find((one) => one === readQueryValue('reason'))
  const filters = {
    ...(topic === '' ? {} : { topic }),
    ...(reason === undefined ? {} : { reason }),
  }
  const query = { page: readPageNumber(), limit: readRowsPerPage(), ...filters }
  const loadAll = async () => {
    const result = await loadAllPages(async (page) => {
      const found = await api.list_dropped({ query: { ...page, ...filters } })
      return 'failure' in found ? found : { reply: { data: found.reply.data, meta: toPageMeta(found.reply.meta) } }
    })
    return 'failure' in result ? result : { reply: { ...result.reply, data: withKeys(result.reply.data) } }
  }
  const key = JSON.stringify(['dropped', query, readQueryValue('namespace')])
  const found = useQuery(key, (options) => api.list_dropped({ query }, options), listMs)
  const counts = Object.entries(found.reply?.meta.by_reason ?? {})
  return (
    <Page title={t('droppedMessages')} isLive={true}>
      <Facts facts={counts.map(([name, count]) => [name, formatNumber(count)])} />
      <Toolbar>
        <RouteSelect
          label={t('reason')}
          name="reason"
          options={[['', t('all')] as const, ...reasons.map((one) => [one, one] as const)]}
        />
        <Search label={t('searchDropped')} hint={t('searchRetainedHint')} />
      </Toolbar>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('droppedMessages')}
        rows={found.reply && withKeys(found.reply.data)}
        rowKey={({ rowKey }) => rowKey}
        query={found}
        empty={t('noDropped')}
        loadAll={loadAll}
        isPart={isPartOfList(toPageMeta(found.reply?.meta))}
        columns={[
          { key: 'ts', title: t('time'), value: ({ ts }) => ts, render: ({ ts }) => <Time ms={ts} /> },
          { key: 'topic', title: t('topic'), value: (row) => row.topic, canCopy: true },
          { key: 'qos', title: t('qos'), value: ({ qos }) => qos, isNumber: true },
          { key: 'reason', title: t('reason'), value: (row) => row.reason },
          { key: 'publisher', title: t('publisher'), value: ({ publisher }) => publisher, canCopy: true },
          createClientColumn(t('receiver')),
          {
            key: 'explain',
            title: t('explain'),
            value: () => '',
            render: ({ publisher, topic: ofMessage }) =>
              publisher === '' ? null : (
                <a href={formatLink(['clients', publisher], { tab: 'explain', topic: ofMessage })}>{t('explain')}</a>
              ),
          },
        ]}
      />
      <NumberedPager meta={toPageMeta(found.reply?.meta)} />
    </Page>
  )
}

/** Computes `hasnext`: the reply has a count only. */
function toPageMeta(meta: { readonly page: number; readonly limit: number; readonly count: number } | undefined) {
  return meta === undefined ? undefined : { count: meta.count, hasnext: meta.page * meta.limit < meta.count }
}
