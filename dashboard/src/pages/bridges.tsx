import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { JsonDialog } from '../parts/json-dialog.tsx'
import { FailureNotice, Page } from '../parts/page.tsx'
import { SwitchCell } from '../parts/switch-cell.tsx'
import { type Column, DataTable } from '../parts/table.tsx'
import { LocalTime } from '../parts/values.tsx'
import { api, isAllowed } from '../state/api.ts'
import { formatNumber, formatSeconds, escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { showResult } from '../state/results.ts'

type Bridge = Extract<
  Awaited<ReturnType<typeof api.get_mqtt_bridges>>,
  { reply: unknown }
>['reply']['data']['bridge']['nodes'][number]

export default function Bridges(): JSX.Element {
  const [edited, setEdited] = useState<Bridge>()
  const found = useQuery('bridges', (options) => api.get_mqtt_bridges({}, options), listMs)
  const canChange = isAllowed('put_mqtt_bridge')
  const switchBridge = async (name: string, isOn: boolean): Promise<void> => {
    const result = await api.put_mqtt_bridge_switch({
      params: { bridge_name: name },
      body: { data: { bridge_switch: isOn } },
    })
    showResult(`${t(isOn ? 'turnOn' : 'turnOff')} ${name}`, result)
    found.reload()
  }
  return (
    <Page title={t('bridges')} isLive={true}>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('bridges')}
        rows={found.reply?.data.bridge.nodes}
        rowKey={({ name }) => name}
        query={found}
        empty={t('noBridges')}
        columns={createBridgeColumns(canChange, switchBridge)}
        actions={canChange ? [{ word: t('edit'), run: setEdited }] : []}
      />
      {edited !== undefined && (
        <BridgeDialog bridge={edited} onClose={() => setEdited(undefined)} onDone={found.reload} />
      )}
    </Page>
  )
}

function createBridgeColumns(
  canChange: boolean,
  turn: (name: string, isOn: boolean) => Promise<void>,
): readonly Column<Bridge>[] {
  return [
    { key: 'name', title: t('name'), value: ({ name }) => name },
    {
      key: 'enable',
      title: t('enabled'),
      value: ({ enable }) => enable,
      render: ({ enable, name }) => (
        <SwitchCell name={name} isOn={enable} isDisabled={!canChange} onChange={(isOn) => void turn(name, isOn)} />
      ),
    },
    { key: 'state', title: t('state'), value: ({ status }) => status?.state },
    { key: 'server', title: t('server'), value: ({ connector }) => connector.server },
    {
      key: 'lag',
      title: t('lag'),
      value: ({ status }) => status?.lag,
      render: ({ status }) => (status?.lag === undefined ? '–' : formatSeconds(status.lag)),
      isNumber: true,
    },
    { key: 'spool', title: t('spool'), value: ({ status }) => status?.spool_depth, isNumber: true },
    {
      key: 'rate',
      title: t('sentRate'),
      value: ({ status }) => status?.sent_rate,
      render: ({ status }) => formatNumber(status?.sent_rate ?? 0, 1),
      isNumber: true,
    },
    { key: 'last_error', title: t('lastError'), value: ({ status }) => status?.last_error },
    {
      key: 'since',
      title: t('since'),
      value: ({ status }) => status?.since,
      render: ({ status }) => <LocalTime text={status?.since} />,
    },
  ]
}

interface DialogProps {
  readonly bridge: Bridge
  readonly onClose: () => void
  readonly onDone: () => void
}

function BridgeDialog({ bridge, onClose, onDone }: DialogProps): JSX.Element {
  const { status: _status, ...settings } = bridge
  const { name } = bridge
  return (
    <JsonDialog
      title={t('editTitle', { name: escapeHiddenLetters(name) })}
      act={`${t('edit')} ${name}`}
      value={settings}
      onClose={onClose}
      onDone={onDone}
      onSave={(value) => api.put_mqtt_bridge({ params: { bridge_name: name }, body: { [name]: value } })}
    />
  )
}
