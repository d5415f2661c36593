import type { JSX } from 'preact'
import { TextField, Toolbar } from '../parts/fields.tsx'
import { FailureNotice, Page } from '../parts/page.tsx'
import { DataTable } from '../parts/table.tsx'
import { api } from '../state/api.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { changeQuery, readQueryValue } from '../state/router.ts'
import { createClientColumn } from './message-columns.tsx'

const presetMs = '500'

export default function Slow(): JSX.Element {
  const chosen = readQueryValue('threshold') === '' ? presetMs : readQueryValue('threshold')
  const threshold = Number(chosen)
  const query = Number.isInteger(threshold) && threshold >= 0 ? { threshold } : {}
  const key = JSON.stringify(['slow', query, readQueryValue('namespace')])
  const found = useQuery(key, (options) => api.list_slow_subscriptions({ query }, options), listMs)
  return (
    <Page title={t('slow')} isLive={true}>
      <Toolbar>
        <TextField
          label={t('thresholdMs')}
          type="number"
          min={0}
          value={chosen}
          onInput={(value) => changeQuery({ threshold: value === presetMs ? undefined : value })}
        />
      </Toolbar>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('slow')}
        rows={found.reply?.data}
        rowKey={({ clientid }) => clientid}
        query={found}
        empty={t('noSlow')}
        columns={[
          createClientColumn(),
          { key: 'topic', title: t('topic'), value: ({ topic }) => topic, canCopy: true },
          { key: 'timespan', title: t('behindMs'), value: ({ timespan }) => timespan, isNumber: true },
          { key: 'mqueue_len', title: t('waiting'), value: (row) => row.mqueue_len, isNumber: true },
          { key: 'node', title: t('nodeName'), value: ({ node }) => node },
        ]}
      />
    </Page>
  )
}
