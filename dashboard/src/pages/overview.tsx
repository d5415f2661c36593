import type { JSX } from 'preact'
import { FailureNotice, Page } from '../parts/page.tsx'
import { DataTable } from '../parts/table.tsx'
import { LocalTime, Name } from '../parts/values.tsx'
import { api } from '../state/api.ts'
import { formatNumber } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { figuresMs, listMs, useQuery } from '../state/query.ts'

export default function Overview(): JSX.Element {
  return (
    <Page title={t('overview')} isLive={true}>
      <Figures />
      <Nodes />
      <Alarms />
    </Page>
  )
}

interface FigureProps {
  readonly title: string
  readonly value: number | undefined
  readonly unit?: string
  /** A number and what it counts. */
  readonly detail?: string | undefined
}

function Figure({ title, value, unit, detail }: FigureProps): JSX.Element {
  return (
    <div class="figure" role="group" aria-label={title}>
      <span class="figure-title">{title}</span>
      <span class="figure-value">
        {value === undefined ? '–' : formatNumber(value, unit === undefined ? 0 : 1)}
        {unit !== undefined && <small> {unit}</small>}
      </span>
      {detail !== undefined && <small>{detail}</small>}
    </div>
  )
}

function Figures(): JSX.Element {
  const stats = useQuery('stats', (options) => api.get_stats({}, options), figuresMs)
  const numbers = stats.reply?.data[0]?.stats ?? {}
  const most = (name: string): string | undefined => {
    const value = numbers[`${name}.max`]
    return value === undefined ? undefined : t('mostSeen', { value: formatNumber(value) })
  }
  return (
    <>
      <FailureNotice failure={stats.failure} onRetry={stats.reload} />
      <div class="figures">
        <Figure title={t('connections')} value={numbers['connections.count']} detail={most('connections')} />
        <Figure title={t('sessions')} value={numbers['sessions.count']} detail={most('sessions')} />
        <Figure title={t('subscriptions')} value={numbers['subscriptions.count']} detail={most('subscriptions')} />
        <Figure title={t('retained')} value={numbers['retained.count']} detail={most('retained')} />
      </div>
    </>
  )
}

function Nodes(): JSX.Element {
  const nodes = useQuery('nodes', (options) => api.list_nodes({}, options), listMs)
  return (
    <>
      <FailureNotice failure={nodes.failure} onRetry={nodes.reload} />
      <DataTable
        caption={t('nodes')}
        rows={nodes.reply?.data}
        rowKey={({ node }) => node}
        isLoading={nodes.isLoading}
        empty={t('noNodes')}
        columns={[
          { key: 'node', title: t('nodeName'), value: ({ node }) => node, render: ({ node }) => <Name text={node} /> },
          { key: 'node_status', title: t('state'), value: (row) => row.node_status },
          { key: 'version', title: t('version'), value: ({ version }) => version },
          { key: 'uptime', title: t('uptime'), value: ({ uptime }) => uptime },
          { key: 'connections', title: t('connections'), value: (row) => row.connections, isNumber: true },
          { key: 'shards', title: t('shards'), value: ({ shards }) => shards, isNumber: true },
          { key: 'profile', title: t('securityProfile'), value: (row) => row.security_profile },
        ]}
      />
    </>
  )
}

function Alarms(): JSX.Element {
  const alarms = useQuery('alarms', (options) => api.list_activated_alarms({}, options), listMs)
  const rows = alarms.reply?.data.flatMap(({ node, alarms: list }) => list.map((alarm) => ({ ...alarm, node })))
  return (
    <>
      <FailureNotice failure={alarms.failure} onRetry={alarms.reload} />
      <DataTable
        caption={t('activeAlarms')}
        rows={rows}
        rowKey={({ node, name }) => `${node} ${name}`}
        isLoading={alarms.isLoading}
        empty={t('noActiveAlarms')}
        columns={[
          { key: 'name', title: t('alarm'), value: ({ name }) => name },
          { key: 'message', title: t('message'), value: ({ message }) => message },
          { key: 'node', title: t('nodeName'), value: ({ node }) => node },
          {
            key: 'activated_at',
            title: t('since'),
            value: (row) => row.activated_at,
            render: (row) => <LocalTime text={row.activated_at} />,
          },
        ]}
      />
    </>
  )
}
