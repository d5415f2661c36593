import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { FailureNotice, Page } from '../parts/page.tsx'
import { Plot } from '../parts/plot.tsx'
import { DataTable } from '../parts/table.tsx'
import { LocalTime, Name } from '../parts/values.tsx'
import { api } from '../state/api.ts'
import { formatNumber } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { figuresMs, listMs, useQuery } from '../state/query.ts'
import { changeQuery, readQueryValue } from '../state/router.ts'

export default function Overview(): JSX.Element {
  return (
    <Page title={t('overview')} isLive={true}>
      <Figures />
      <History />
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
      <span class="figure-value">{value === undefined ? '–' : formatNumber(value, unit === undefined ? 0 : 1)}</span>
      <small>{unit ?? detail}</small>
    </div>
  )
}

function Figures(): JSX.Element {
  const current = useQuery('current', (options) => api.get_monitor_current({}, options), figuresMs)
  const stats = useQuery('stats', (options) => api.get_stats({}, options), listMs)
  const now = current.reply?.data
  const highest = stats.reply?.data[0]?.stats ?? {}
  const formatHighest = (name: string): string | undefined => {
    const value = highest[`${name}.max`]
    return value === undefined ? undefined : t('mostSeen', { value: formatNumber(value) })
  }
  const unit = t('perSecond')
  return (
    <>
      <FailureNotice failure={current.failure} onRetry={current.reload} />
      <div class="figures">
        <Figure title={t('connections')} value={now?.connections} detail={formatHighest('connections')} />
        <Figure title={t('sessions')} value={now?.sessions} detail={formatHighest('sessions')} />
        <Figure title={t('subscriptions')} value={now?.subscriptions} detail={formatHighest('subscriptions')} />
        {/* The highest number that is known has the messages below $SYS in it. */}
        <Figure title={t('retained')} value={now?.retained} />
        <Figure title={t('messagesIn')} value={now?.received_rate} unit={unit} />
        <Figure title={t('messagesOut')} value={now?.sent_rate} unit={unit} />
        <Figure title={t('dropped')} value={now?.dropped_rate} unit={unit} />
      </div>
    </>
  )
}

const spans = [
  ['3600', 'lastHour'],
  ['21600', 'sixHours'],
  ['86400', 'day'],
] as const

const fineStepSeconds = 10
const coarseStepSeconds = 60
const fineSpanSeconds = 3_600
const historyMs = 10_000

function History(): JSX.Element {
  const chosen = (spans.find(([seconds]) => seconds === readQueryValue('span')) ?? spans[0])[0]
  const latest = Number(chosen)
  const found = useQuery(`monitor ${chosen}`, (options) => api.get_monitor({ query: { latest } }, options), historyMs)
  const stepSeconds = latest <= fineSpanSeconds ? fineStepSeconds : coarseStepSeconds
  const points = found.reply?.data
  const plots = useMemo(() => toPlots(points ?? [], stepSeconds), [points, stepSeconds])
  return (
    <section class="panel" aria-label={t('history')}>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <fieldset class="toolbar">
        <legend class="hidden">{t('timeSpan')}</legend>
        {spans.map(([seconds, title]) => (
          <label key={seconds} class="check">
            <input
              type="radio"
              name="span"
              checked={seconds === chosen}
              onChange={() => changeQuery({ span: seconds === spans[0][0] ? undefined : seconds })}
            />{' '}
            {t(title)}
          </label>
        ))}
      </fieldset>
      <Plot
        title={t('messagesPerSecond')}
        times={plots.times}
        spanSeconds={latest}
        lines={[
          { title: t('messagesIn'), color: '--accent', values: plots.received },
          { title: t('messagesOut'), color: '--second', values: plots.sent },
          { title: t('dropped'), color: '--danger', values: plots.dropped },
        ]}
      />
      <Plot
        title={t('connections')}
        times={plots.times}
        spanSeconds={latest}
        lines={[{ title: t('connections'), color: '--accent', values: plots.connections }]}
      />
    </section>
  )
}

type Point = Extract<Awaited<ReturnType<typeof api.get_monitor>>, { reply: unknown }>['reply']['data'][number]

const msPerSecond = 1_000

/** Steps without a value before the line is interrupted: the broker was not running. */
const maxMissingSteps = 2

/** Counts of a step as rates. The last minute is not over yet: its rate would be too low. */
function toPlots(points: readonly Point[], stepSeconds: number) {
  const whole = withGaps(stepSeconds === coarseStepSeconds ? points.slice(0, -1) : points, stepSeconds * msPerSecond)
  const toRates = (key: 'received' | 'sent' | 'dropped'): (number | null)[] =>
    whole.map(({ point }) => (point === undefined ? null : point[key] / stepSeconds))
  return {
    times: whole.map(({ ms }) => ms / msPerSecond),
    received: toRates('received'),
    sent: toRates('sent'),
    dropped: toRates('dropped'),
    connections: whole.map(({ point }) => point?.connections ?? null),
  }
}

/** Where values are missing, an entry without a point interrupts the line. */
function withGaps(
  points: readonly Point[],
  stepMs: number,
): readonly { readonly ms: number; readonly point?: Point }[] {
  return points.flatMap((point, index) => {
    const ms = point.time_stamp
    const before = points[index - 1]?.time_stamp ?? ms
    const isGap = ms - before > (maxMissingSteps + 1) * stepMs
    return isGap ? [{ ms: before + stepMs }, { ms, point }] : [{ ms, point }]
  })
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
        query={nodes}
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
        query={alarms}
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
