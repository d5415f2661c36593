import type { JSX } from 'preact'
import { RouteCheckbox, RouteSelect, Search, Toolbar } from '../parts/fields.tsx'
import { FailureNotice, Page } from '../parts/page.tsx'
import {
  CursorPager,
  isPartOfList,
  NumberedPager,
  readCursor,
  readPageNumber,
  readRowsPerPage,
} from '../parts/pager.tsx'
import { type Column, DataTable, readOrder } from '../parts/table.tsx'
import { LocalTime } from '../parts/values.tsx'
import { loadAllFromCursor } from '../state/all-rows.ts'
import { api, isAllowed } from '../state/api.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { readQueryValue, route } from '../state/router.ts'
import { ClientPage } from './client.tsx'
import { confirmDisconnect } from './client-acts.tsx'
import { createClientColumn } from './message-columns.tsx'

export default function Clients(): JSX.Element {
  const clientId = route.value.path[1]
  return clientId === undefined ? <ClientList /> : <ClientPage key={clientId} clientId={clientId} />
}

type ClientQuery = NonNullable<NonNullable<Parameters<typeof api.list_clients>[0]>['query']>
type ClientRow = Extract<Awaited<ReturnType<typeof api.list_clients>>, { reply: unknown }>['reply']['data'][number]

/** The filters of the route as the API takes them. */
function readRouteFilters(): ClientQuery {
  const search = readQueryValue('search')
  const state = readQueryValue('state')
  const [, kind = '', text = search] = /^(user|ip):(.*)$/.exec(search) ?? []
  return {
    ...(kind === '' && text !== '' ? { _like_clientid: text } : {}),
    ...(kind === 'user' ? { _like_username: text } : {}),
    ...(kind === 'ip' ? { ip_address: text } : {}),
    ...(state === '' ? {} : { conn_state: state }),
    ...(readQueryValue('waiting') === '1' ? { _gte_mqueue_len: 1 } : {}),
    ...(readQueryValue('dropped') === '1' ? { _gte_mqueue_dropped: 1 } : {}),
    ...(readQueryValue('internal') === '1' ? {} : { internal: false }),
  }
}

const createColumns = (): readonly Column<ClientRow>[] => [
  createClientColumn(),
  { key: 'username', title: t('userName'), value: ({ username }) => username },
  {
    key: 'conn_state',
    title: t('state'),
    value: (row) => row.conn_state,
    render: (row) => t(row.connected ? 'connected' : 'disconnected'),
  },
  { key: 'ip_address', title: t('address'), value: (row) => row.ip_address },
  { key: 'proto_ver', title: t('mqttVersion'), value: (row) => formatProtocolVersion(row.proto_ver) },
  {
    key: 'since',
    title: t('since'),
    value: (row) => row.disconnected_at ?? row.connected_at ?? row.created_at,
    render: (row) => <LocalTime text={row.disconnected_at ?? row.connected_at ?? row.created_at} />,
  },
  { key: 'mqueue_len', title: t('waiting'), value: (row) => row.mqueue_len, isNumber: true, orderBy: 'mqueue_len' },
  { key: 'inflight', title: t('inflight'), value: ({ inflight }) => inflight, isNumber: true, orderBy: 'inflight' },
  {
    key: 'mqueue_dropped',
    title: t('dropped'),
    value: (row) => row.mqueue_dropped,
    isNumber: true,
    orderBy: 'mqueue_dropped',
  },
  {
    key: 'subscriptions_cnt',
    title: t('subscriptions'),
    value: (row) => row.subscriptions_cnt,
    isNumber: true,
    orderBy: 'subscriptions_cnt',
  },
]

/** As people write it. */
export function formatProtocolVersion(level: number): string {
  return level === 4 ? '3.1.1' : level === 3 ? '3.1' : '5.0'
}

function ClientList(): JSX.Element {
  const filters = readRouteFilters()
  const limit = readRowsPerPage()
  const columns = createColumns()
  const order = readOrder(columns) as ClientQuery['order_by']
  const query =
    order === undefined
      ? { ...filters, limit, cursor: readCursor() }
      : { ...filters, limit, page: readPageNumber(), order_by: order }
  const namespace = readQueryValue('namespace')
  const clients = useQuery(
    JSON.stringify([query, namespace]),
    (options) => api.list_clients({ query }, options),
    listMs,
  )
  const loadAll = () => loadAllFromCursor((page) => api.list_clients({ query: { ...filters, ...page } }))
  return (
    <Page title={t('clients')} isLive={true}>
      <Toolbar>
        <Search label={t('searchClients')} hint={t('searchClientsHint')} />
        <RouteSelect
          label={t('state')}
          name="state"
          options={[
            ['', t('all')],
            ['connected', t('connected')],
            ['disconnected', t('disconnected')],
          ]}
        />
        <RouteCheckbox label={t('withWaiting')} name="waiting" />
        <RouteCheckbox label={t('withDropped')} name="dropped" />
        <RouteCheckbox label={t('withInternal')} name="internal" />
      </Toolbar>
      <FailureNotice failure={clients.failure} onRetry={clients.reload} />
      <DataTable
        caption={t('clients')}
        columns={columns}
        isPart={isPartOfList(clients.reply?.meta)}
        rows={clients.reply?.data}
        rowKey={({ clientid }) => clientid}
        query={clients}
        empty={t('noClients')}
        loadAll={loadAll}
        actions={
          isAllowed('kickout_client')
            ? [
                {
                  word: t('disconnect'),
                  isDangerous: true,
                  findDisabledReason: ({ connected }) => (connected ? undefined : t('notConnected')),
                  run: ({ clientid }) => confirmDisconnect(clientid, clients.reload),
                },
              ]
            : []
        }
      />
      {order === undefined ? <CursorPager meta={clients.reply?.meta} /> : <NumberedPager meta={clients.reply?.meta} />}
    </Page>
  )
}
