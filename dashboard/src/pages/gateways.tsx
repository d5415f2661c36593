// Gateways: which of them run, where, and how many clients they have.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { FailureNotice, Page } from '../parts/page.tsx'
import { SwitchCell } from '../parts/switch-cell.tsx'
import { type Column, DataTable } from '../parts/table.tsx'
import { api, isAllowed } from '../state/api.ts'
import { escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { showResult } from '../state/results.ts'
import { NewEntryDialog } from './new-entry-dialog.tsx'
import { SectionDialog } from './section-dialog.tsx'

type Gateway = Extract<Awaited<ReturnType<typeof api.get_gateways>>, { reply: unknown }>['reply'][number]

interface Edited {
  readonly name: string
  readonly configuration: Readonly<Record<string, unknown>>
}

export default function Gateways(): JSX.Element {
  const [edited, setEdited] = useState<Edited>()
  const [extended, setExtended] = useState<string>()
  const found = useQuery('gateways', (options) => api.get_gateways({}, options), listMs)
  const canChange = isAllowed('change_gateway')
  const turn = async (name: string, isOn: boolean): Promise<void> => {
    const result = await api.enable_gateway({ params: { name, enable: isOn ? 'true' : 'false' } })
    showResult(`${t(isOn ? 'turnOn' : 'turnOff')} ${name}`, result)
    found.reload()
  }
  const edit = async ({ name }: Gateway): Promise<void> => {
    const result = await api.get_gateway({ params: { name } })
    if ('failure' in result) showResult(`${t('edit')} ${name}`, result)
    else setEdited({ name, configuration: result.reply.configuration })
  }
  return (
    <Page title={t('gateways')} isLive={true}>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('gateways')}
        rows={found.reply}
        rowKey={({ name }) => name}
        query={found}
        empty={t('noGateways')}
        columns={createGatewayColumns(canChange, turn)}
        actions={
          canChange
            ? [
                { word: t('edit'), run: (gateway) => void edit(gateway) },
                { word: t('addListener'), run: ({ name }) => setExtended(name) },
              ]
            : []
        }
      />
      {edited !== undefined && (
        <SectionDialog
          path={['gateway', edited.name]}
          title={t('editTitle', { name: escapeHiddenLetters(edited.name) })}
          act={`${t('edit')} ${edited.name}`}
          value={edited.configuration}
          onClose={() => setEdited(undefined)}
          onDone={found.reload}
          onSave={(body) => api.change_gateway({ params: { name: edited.name }, body })}
        />
      )}
      {extended !== undefined && (
        <NewListener gateway={extended} onClose={() => setExtended(undefined)} onDone={found.reload} />
      )}
    </Page>
  )
}

interface ListenerProps {
  readonly gateway: string
  readonly onClose: () => void
  readonly onDone: () => void
}

function NewListener({ gateway, onClose, onDone }: ListenerProps): JSX.Element {
  return (
    <NewEntryDialog
      title={t('addListenerTitle', { name: escapeHiddenLetters(gateway) })}
      section={['gateway', gateway, 'listeners']}
      example={{ type: gateway === 'stomp' ? 'tcp' : 'udp', name: 'default' }}
      onClose={onClose}
      onDone={onDone}
      onAdd={(body) => api.add_gateway_listener({ params: { name: gateway }, body })}
    />
  )
}

function createGatewayColumns(
  canChange: boolean,
  turn: (name: string, isOn: boolean) => Promise<void>,
): readonly Column<Gateway>[] {
  const states = { running: t('running'), stopped: t('stopped'), unloaded: t('withoutListener') } as const
  return [
    { key: 'name', title: t('name'), value: ({ name }) => name },
    {
      key: 'enable',
      title: t('enabled'),
      value: ({ status }) => status === 'running',
      render: ({ name, status }) => (
        <SwitchCell
          name={name}
          isOn={status === 'running'}
          isDisabled={!canChange || status === 'unloaded'}
          onChange={(isOn) => void turn(name, isOn)}
        />
      ),
    },
    { key: 'protocol', title: t('protocol'), value: (row) => row.proto_name },
    { key: 'state', title: t('state'), value: ({ status }) => states[status] },
    {
      key: 'listeners',
      title: t('listeners'),
      value: ({ listeners }) => listeners.map(({ bind, running }) => `${bind}${running ? '' : ' (!)'}`).join(' '),
    },
    { key: 'clients', title: t('clients'), value: (row) => row.current_connections, isNumber: true },
    { key: 'maximum', title: t('maximum'), value: (row) => row.max_connections, isNumber: true },
    { key: 'received', title: t('packetsReceived'), value: ({ metrics }) => metrics['received'] ?? 0, isNumber: true },
    { key: 'sent', title: t('packetsSent'), value: ({ metrics }) => metrics['sent'] ?? 0, isNumber: true },
    { key: 'dropped', title: t('dropped'), value: ({ metrics }) => countDropped(metrics), isNumber: true },
  ]
}

function countDropped(metrics: Readonly<Record<string, number>>): number {
  let sum = 0
  for (const [name, count] of Object.entries(metrics)) if (name.startsWith('dropped.')) sum += count
  return sum
}
