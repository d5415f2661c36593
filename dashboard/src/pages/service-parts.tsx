// What connectors, actions and sources have in common: columns, acts of a row, and the dialog with their settings.

import type { JSX } from 'preact'
import { JsonDialog } from '../parts/json-dialog.tsx'
import { SwitchCell } from '../parts/switch-cell.tsx'
import type { Column, RowAction } from '../parts/table.tsx'
import { api, type Result } from '../state/api.ts'
import { visible } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { askBefore } from '../state/questions.ts'
import { tellResult } from '../state/results.ts'
import { SectionDialog } from './section-dialog.tsx'

export type Kind = 'connector' | 'action' | 'source'

export interface Named {
  readonly type: string
  readonly name: string
}

interface Service extends Named {
  readonly enable: boolean
  readonly status: string
  readonly status_reason: string
}

export const idOf = ({ type, name }: Named): string => `${type}:${name}`

const calls = {
  connector: {
    add: api.add_connector,
    change: api.change_connector,
    enable: api.enable_connector,
    remove: api.remove_connector,
    addition: 'addConnector',
    deletion: 'deleteConnectorText',
  },
  action: {
    add: api.add_action,
    change: api.change_action,
    enable: api.enable_action,
    remove: api.remove_action,
    addition: 'addAction',
    deletion: 'deleteActionText',
  },
  source: {
    add: api.add_source,
    change: api.change_source,
    enable: api.enable_source,
    remove: api.remove_source,
    addition: 'addSource',
    deletion: 'deleteSourceText',
  },
} as const

const newSettings: Readonly<Record<Kind, unknown>> = {
  connector: { type: 'http', name: 'service', url: 'http://127.0.0.1:8080' },
  action: {
    type: 'http',
    name: 'post',
    connector: 'service',
    parameters: { path: '/', method: 'post', body: '${payload}' },
  },
  source: {
    type: 'mqtt',
    name: 'incoming',
    connector: 'service',
    parameters: { topic: 'plant/#', qos: 1 },
  },
}

/** Columns of each kind of service. */
export function commonColumns<Row extends Service>(
  kind: Kind,
  canChange: boolean,
  onChanged: () => void,
): readonly Column<Row>[] {
  const turn = async (row: Row, isOn: boolean): Promise<void> => {
    const params = { id: idOf(row), enable: isOn ? 'true' : 'false' } as const
    const result = await calls[kind].enable({ params })
    tellResult(`${t(isOn ? 'turnOn' : 'turnOff')} ${idOf(row)}`, result)
    onChanged()
  }
  return [
    { key: 'name', title: t('name'), value: idOf },
    {
      key: 'enable',
      title: t('enabled'),
      value: ({ enable }) => enable,
      render: (row) => (
        <SwitchCell
          name={idOf(row)}
          isOn={row.enable}
          isDisabled={!canChange}
          onChange={(isOn) => void turn(row, isOn)}
        />
      ),
    },
    { key: 'state', title: t('state'), value: ({ status }) => status },
    { key: 'reason', title: t('reason'), value: (row) => row.status_reason },
  ]
}

/** What is done with each kind. */
export function commonActions<Row extends Service>(
  kind: Kind,
  onEdit: (row: Row) => void,
  onChanged: () => void,
): readonly RowAction<Row>[] {
  const remove = (row: Row): void =>
    askBefore({
      title: t('deleteTitle', { name: visible(idOf(row)) }),
      text: t(calls[kind].deletion),
      act: t('delete'),
      run: async () => {
        const params = { id: idOf(row) }
        const result = await calls[kind].remove({ params })
        tellResult(t('deleteTitle', { name: idOf(row) }), result)
        onChanged()
        return true
      },
    })
  return [
    { word: t('edit'), run: onEdit },
    { word: t('delete'), isDangerous: true, run: remove },
  ]
}

interface ServiceDialogProps {
  readonly kind: Kind
  /** undefined: a new one. */
  readonly known: Named | undefined
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Adds one, or changes its settings. */
export function ServiceDialog({ kind, known, onClose, onDone }: ServiceDialogProps): JSX.Element {
  const addTitle = t(calls[kind].addition)
  const save = (value: Readonly<Record<string, unknown>>): Promise<Result<unknown>> => {
    const body = value as Named & Readonly<Record<string, unknown>>
    if (known === undefined) return calls[kind].add({ body })
    const params = { id: idOf(known) }
    return calls[kind].change({ params, body })
  }
  const common = { onClose, onDone, onSave: save }
  if (known === undefined) return <JsonDialog {...common} title={addTitle} act={addTitle} value={newSettings[kind]} />
  return (
    <SectionDialog
      {...common}
      title={t('editTitle', { name: visible(idOf(known)) })}
      act={`${t('edit')} ${idOf(known)}`}
      path={[`${kind}s`, known.type, known.name]}
      value={settingsOf(known)}
    />
  )
}

/** What the API takes back: without what it tells of the state. */
function settingsOf(known: Named): Readonly<Record<string, unknown>> {
  const told = new Set(['type', 'name', 'status', 'status_reason', 'node_status', 'counters'])
  return Object.fromEntries(Object.entries(known).filter(([key]) => !told.has(key)))
}
