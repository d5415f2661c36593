import type { JSX } from 'preact'
import { RouteCheckbox, Search, Toolbar } from '../parts/fields.tsx'
import { FailureNotice, Page } from '../parts/page.tsx'
import { CursorPager, isPartOfList, readCursor, readRowsPerPage } from '../parts/pager.tsx'
import { DataTable } from '../parts/table.tsx'
import { loadAllFromCursor } from '../state/all-rows.ts'
import { api } from '../state/api.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { readQueryValue } from '../state/router.ts'
import { createClientColumn } from './message-columns.tsx'

type SubscriptionQuery = NonNullable<NonNullable<Parameters<typeof api.list_subscriptions>[0]>['query']>

function readRouteFilters(): SubscriptionQuery {
  const search = readQueryValue('search')
  const [, clientid] = /^client:(.*)$/.exec(search) ?? []
  if (clientid !== undefined) return clientid === '' ? {} : { clientid }
  return search === '' ? {} : { _match_topic: search }
}

export default function Subscriptions(): JSX.Element {
  const filters = { ...readRouteFilters(), ...(readQueryValue('shared') === '1' ? { shared: true } : {}) }
  const query = { ...filters, limit: readRowsPerPage(), cursor: readCursor() }
  const key = JSON.stringify([query, readQueryValue('namespace')])
  const found = useQuery(key, (options) => api.list_subscriptions({ query }, options), listMs)
  const loadAll = () => loadAllFromCursor((page) => api.list_subscriptions({ query: { ...filters, ...page } }))
  return (
    <Page title={t('subscriptions')} isLive={true}>
      <Toolbar>
        <Search label={t('searchSubscriptions')} hint={t('searchSubscriptionsHint')} />
        <RouteCheckbox label={t('sharedOnly')} name="shared" />
      </Toolbar>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('subscriptions')}
        rows={found.reply?.data}
        rowKey={({ clientid, topic }) => `${clientid} ${topic}`}
        query={found}
        empty={t('noSubscriptions')}
        loadAll={loadAll}
        isPart={isPartOfList(found.reply?.meta)}
        columns={[
          createClientColumn(),
          { key: 'topic', title: t('topicFilter'), value: ({ topic }) => topic, canCopy: true },
          { key: 'qos', title: t('qos'), value: ({ qos }) => qos, isNumber: true },
          { key: 'node', title: t('nodeName'), value: ({ node }) => node },
        ]}
      />
      <CursorPager meta={found.reply?.meta} />
    </Page>
  )
}
