import type { JSX } from 'preact'
import { FailureNotice, Page } from '../parts/page.tsx'
import { DataTable } from '../parts/table.tsx'
import { api, may } from '../state/api.ts'
import { visible } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { askBefore } from '../state/questions.ts'
import { tellResult } from '../state/results.ts'

export default function Listeners(): JSX.Element {
  const found = useQuery('listeners', (options) => api.list_listeners({}, options), listMs)
  const rows = found.reply?.data.flatMap(({ node, listeners }) => listeners.map((row) => ({ ...row, node })))
  const restart = (identifier: string): void =>
    askBefore({
      title: t('restartTitle', { name: visible(identifier) }),
      text: t('restartListenerText'),
      act: t('restart'),
      run: async () => {
        const result = await api.restart_listener({ params: { identifier } })
        tellResult(t('restartTitle', { name: identifier }), result)
        found.reload()
        return true
      },
    })
  return (
    <Page title={t('listeners')} isLive={true}>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('listeners')}
        rows={rows}
        rowKey={({ node, identifier }) => `${node} ${identifier}`}
        rowName={({ identifier }) => identifier}
        isLoading={found.isLoading}
        empty={t('noListeners')}
        columns={[
          { key: 'identifier', title: t('identifier'), value: ({ identifier }) => identifier },
          { key: 'listen_on', title: t('address'), value: (row) => row.listen_on },
          { key: 'current_conns', title: t('connections'), value: (row) => row.current_conns, isNumber: true },
          { key: 'max_conns', title: t('maximum'), value: (row) => row.max_conns, isNumber: true },
          { key: 'refused', title: t('refused'), value: (row) => row.shutdown_count['refused'] ?? 0, isNumber: true },
          { key: 'acceptors', title: t('shards'), value: ({ acceptors }) => acceptors, isNumber: true },
          { key: 'node', title: t('nodeName'), value: ({ node }) => node },
        ]}
        actions={
          may('restart_listener')
            ? [{ word: t('restart'), isDangerous: true, run: ({ identifier }) => restart(identifier) }]
            : []
        }
      />
    </Page>
  )
}
