import type { JSX } from 'preact'
import { FailureNotice, Page } from '../parts/page.tsx'
import { DataTable } from '../parts/table.tsx'
import { api, isAllowed } from '../state/api.ts'
import { escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showResult } from '../state/results.ts'

type Action = 'start' | 'stop' | 'restart'

function formatTitle(action: Action, name: string): string {
  return action === 'restart' ? t('restartTitle', { name }) : `${t(action)} ${name}`
}

export default function Listeners(): JSX.Element {
  const found = useQuery('listeners', (options) => api.list_listeners({}, options), listMs)
  const rows = found.reply?.data.flatMap(({ node, listeners }) => listeners.map((row) => ({ ...row, node })))
  const controlListener = async (action: Action, identifier: string): Promise<boolean> => {
    const result = await api.control_listener({ params: { identifier, action } })
    showResult(formatTitle(action, identifier), result)
    found.reload()
    return true
  }
  const confirmControl = (action: 'restart' | 'stop', identifier: string): void =>
    confirmBefore({
      title: formatTitle(action, escapeHiddenLetters(identifier)),
      text: t(action === 'restart' ? 'restartListenerText' : 'stopListenerText'),
      act: t(action),
      run: () => controlListener(action, identifier),
    })
  return (
    <Page title={t('listeners')} isLive={true}>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('listeners')}
        rows={rows}
        rowKey={({ node, identifier }) => `${node} ${identifier}`}
        rowName={({ identifier }) => identifier}
        query={found}
        empty={t('noListeners')}
        columns={[
          { key: 'identifier', title: t('identifier'), value: ({ identifier }) => identifier },
          { key: 'running', title: t('state'), value: ({ running }) => t(running ? 'running' : 'stopped') },
          { key: 'listen_on', title: t('address'), value: (row) => row.listen_on },
          { key: 'current_conns', title: t('connections'), value: (row) => row.current_conns, isNumber: true },
          { key: 'max_conns', title: t('maximum'), value: (row) => row.max_conns, isNumber: true },
          { key: 'refused', title: t('refused'), value: (row) => row.shutdown_count['refused'] ?? 0, isNumber: true },
          { key: 'acceptors', title: t('shards'), value: ({ acceptors }) => acceptors, isNumber: true },
          { key: 'node', title: t('nodeName'), value: ({ node }) => node },
        ]}
        actions={
          isAllowed('control_listener')
            ? [
                {
                  word: t('restart'),
                  isDangerous: true,
                  run: ({ identifier }) => confirmControl('restart', identifier),
                },
                {
                  word: t('stop'),
                  isDangerous: true,
                  isShown: ({ running }) => running,
                  run: ({ identifier }) => confirmControl('stop', identifier),
                },
                {
                  word: t('start'),
                  isShown: ({ running }) => !running,
                  run: ({ identifier }) => void controlListener('start', identifier),
                },
              ]
            : []
        }
      />
    </Page>
  )
}
