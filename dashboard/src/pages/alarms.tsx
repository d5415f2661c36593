import type { JSX } from 'preact'
import { Toolbar } from '../parts/fields.tsx'
import { FailureNotice, Page } from '../parts/page.tsx'
import { type Column, DataTable, withKeys } from '../parts/table.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { LocalTime } from '../parts/values.tsx'
import { api, isAllowed } from '../state/api.ts'
import { formatSeconds } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showResult } from '../state/results.ts'

type OfNode = Extract<Awaited<ReturnType<typeof api.list_alarms>>, { reply: unknown }>['reply']['data'][number]
type Alarm = OfNode['alarms'][number] & { readonly node: string }

export default function Alarms(): JSX.Element {
  return (
    <Page title={t('alarms')} isLive={true}>
      <Tabs
        label={t('alarms')}
        tabs={[
          { key: 'active', title: t('active'), render: () => <Active /> },
          { key: 'history', title: t('history'), render: () => <History /> },
        ]}
      />
    </Page>
  )
}

const msPerSecond = 1_000

function createColumns(isPast: boolean): readonly Column<Alarm>[] {
  const common: readonly Column<Alarm>[] = [
    { key: 'name', title: t('alarm'), value: ({ name }) => name },
    { key: 'message', title: t('message'), value: ({ message }) => message },
    { key: 'node', title: t('nodeName'), value: ({ node }) => node },
    {
      key: 'activated_at',
      title: t('since'),
      value: (row) => row.activated_at,
      render: (row) => <LocalTime text={row.activated_at} />,
    },
    {
      key: 'duration',
      title: t('duration'),
      value: ({ duration }) => duration,
      render: ({ duration }) => formatSeconds(duration / msPerSecond),
      isNumber: true,
    },
    { key: 'occurrences', title: t('occurrences'), value: ({ occurrences }) => occurrences, isNumber: true },
  ]
  if (!isPast) return common
  const ended: Column<Alarm> = {
    key: 'deactivated_at',
    title: t('endedAt'),
    value: (row) => row.deactivated_at,
    render: (row) => <LocalTime text={row.deactivated_at} />,
  }
  return [...common, ended]
}

function toAlarms(nodes: readonly OfNode[] | undefined): readonly Alarm[] | undefined {
  return nodes?.flatMap(({ node, alarms }) => alarms.map((alarm) => ({ ...alarm, node })))
}

function Active(): JSX.Element {
  const found = useQuery('active alarms', (options) => api.list_activated_alarms({}, options), listMs)
  const end = ({ name, node }: Alarm): void =>
    confirmBefore({
      title: t('endTitle', { name }),
      text: t('endAlarmText'),
      act: t('end'),
      run: async () => {
        showResult(t('endTitle', { name }), await api.deactivate_alarm({ body: { name, node } }))
        found.reload()
        return true
      },
    })
  return (
    <>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('activeAlarms')}
        rows={toAlarms(found.reply?.data)}
        rowKey={({ node, name }) => `${node} ${name}`}
        rowName={({ name }) => name}
        query={found}
        empty={t('noActiveAlarms')}
        columns={createColumns(false)}
        actions={isAllowed('deactivate_alarm') ? [{ word: t('end'), run: end }] : []}
      />
    </>
  )
}

function History(): JSX.Element {
  const found = useQuery('past alarms', (options) => api.list_deactivated_alarms({}, options), listMs)
  const rows = toAlarms(found.reply?.data)
  const clear = (): void =>
    confirmBefore({
      title: t('clearHistory'),
      text: t('clearHistoryText'),
      act: t('clearHistory'),
      run: async () => {
        showResult(t('clearHistory'), await api.forget_deactivated_alarms())
        found.reload()
        return true
      },
    })
  return (
    <>
      <Toolbar>
        {isAllowed('forget_deactivated_alarms') && (
          <button type="button" class="danger" onClick={clear}>
            {t('clearHistory')}
          </button>
        )}
      </Toolbar>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('alarmHistory')}
        rows={rows && withKeys(rows)}
        rowKey={({ rowKey }) => rowKey}
        query={found}
        empty={t('noPastAlarms')}
        columns={createColumns(true)}
      />
    </>
  )
}
