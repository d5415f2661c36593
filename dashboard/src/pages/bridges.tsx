import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { FormDialog } from '../parts/dialogs.tsx'
import { Checkbox, TextArea } from '../parts/fields.tsx'
import { FailureNotice, Page } from '../parts/page.tsx'
import { type Column, DataTable } from '../parts/table.tsx'
import { LocalTime } from '../parts/values.tsx'
import { api, may, textOf } from '../state/api.ts'
import { formatNumber, formatSeconds, visible } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { tellDone, tellResult } from '../state/results.ts'

type Bridge = Extract<
  Awaited<ReturnType<typeof api.get_mqtt_bridges>>,
  { reply: unknown }
>['reply']['data']['bridge']['nodes'][number]

export default function Bridges(): JSX.Element {
  const [edited, setEdited] = useState<Bridge>()
  const found = useQuery('bridges', (options) => api.get_mqtt_bridges({}, options), listMs)
  const canChange = may('put_mqtt_bridge')
  const turn = async (name: string, isOn: boolean): Promise<void> => {
    const result = await api.put_mqtt_bridge_switch({
      params: { bridge_name: name },
      body: { data: { bridge_switch: isOn } },
    })
    tellResult(`${t(isOn ? 'turnOn' : 'turnOff')} ${name}`, result)
    found.reload()
  }
  return (
    <Page title={t('bridges')} isLive={true}>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('bridges')}
        rows={found.reply?.data.bridge.nodes}
        rowKey={({ name }) => name}
        isLoading={found.isLoading}
        empty={t('noBridges')}
        columns={bridgeColumns(canChange, turn)}
        actions={canChange ? [{ word: t('edit'), run: setEdited }] : []}
      />
      {edited !== undefined && (
        <BridgeDialog bridge={edited} onClose={() => setEdited(undefined)} onDone={found.reload} />
      )}
    </Page>
  )
}

function bridgeColumns(
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
        <Checkbox
          label=""
          name={`${t('enabled')} ${visible(name)}`}
          role="switch"
          isChecked={enable}
          isDisabled={!canChange}
          onChange={(isOn) => void turn(name, isOn)}
        />
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

const editorRows = 20

/** The settings as the API gives and takes them; secrets are `******` and stay when they are sent back like that. */
function BridgeDialog({ bridge, onClose, onDone }: DialogProps): JSX.Element {
  const { status: _status, ...settings } = bridge
  const [text, setText] = useState(JSON.stringify(settings, undefined, 2))
  const save = async (): Promise<string | undefined> => {
    let parsed: unknown
    try {
      parsed = JSON.parse(text)
    } catch (error) {
      return `${t('notJson')}: ${(error as Error).message}`
    }
    const result = await api.put_mqtt_bridge({
      params: { bridge_name: bridge.name },
      body: { [bridge.name]: parsed },
    })
    if ('failure' in result) return textOf(result.failure)
    tellDone(`${t('edit')} ${bridge.name}`)
    onDone()
    return undefined
  }
  return (
    <FormDialog title={t('editTitle', { name: visible(bridge.name) })} onClose={onClose} onSave={save}>
      <TextArea label={t('settings')} value={text} onInput={setText} rows={editorRows} />
    </FormDialog>
  )
}
