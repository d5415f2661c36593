import type { JSX } from 'preact'
import { Facts, FailureNotice, Page } from '../parts/page.tsx'
import { DataTable } from '../parts/table.tsx'
import { api, isAllowed } from '../state/api.ts'
import { formatBytes, escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showResult } from '../state/results.ts'

export default function Nodes(): JSX.Element {
  const found = useQuery('nodes', (options) => api.list_nodes({}, options), listMs)
  const load = useQuery('load', (options) => api.get_metrics({}, options), listMs)
  return (
    <Page title={t('nodes')} isLive={true}>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('nodes')}
        rows={found.reply?.data}
        rowKey={({ node }) => node}
        query={found}
        empty={t('noNodes')}
        columns={[
          { key: 'node', title: t('nodeName'), value: ({ node }) => node },
          { key: 'node_status', title: t('state'), value: (row) => row.node_status },
          { key: 'version', title: t('version'), value: ({ version }) => version },
          { key: 'uptime', title: t('uptime'), value: ({ uptime }) => uptime },
          { key: 'shards', title: t('shards'), value: ({ shards }) => shards, isNumber: true },
          { key: 'connections', title: t('connections'), value: (row) => row.connections, isNumber: true },
          { key: 'security_profile', title: t('securityProfile'), value: (row) => row.security_profile },
        ]}
        actions={
          isAllowed('ctrl_broker')
            ? [
                { word: t('restartBroker'), isDangerous: true, run: ({ node }) => confirmControl('restart', node) },
                { word: t('stopBroker'), isDangerous: true, run: ({ node }) => confirmControl('stop', node) },
              ]
            : []
        }
      />
      {load.reply !== undefined && (
        <Facts
          facts={[
            [t('memory'), formatBytes(Number(load.reply.memory))],
            [t('processor'), load.reply.cpuinfo],
          ]}
        />
      )}
    </Page>
  )
}

function confirmControl(action: 'restart' | 'stop', node: string): void {
  const title = t(action === 'restart' ? 'restartBrokerTitle' : 'stopBrokerTitle', { name: escapeHiddenLetters(node) })
  confirmBefore({
    title,
    text: t(action === 'restart' ? 'restartBrokerText' : 'stopBrokerText'),
    act: t(action === 'restart' ? 'restartBroker' : 'stopBroker'),
    typed: node,
    run: async () => {
      showResult(title, await api.ctrl_broker({ params: { action } }))
      return true
    },
  })
}
