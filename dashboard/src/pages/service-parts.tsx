// Common parts of connectors, actions and sources: columns, row actions, and the dialog with their settings.

import type { JSX } from 'preact'
import { SwitchCell } from '../parts/switch-cell.tsx'
import type { Column, RowAction } from '../parts/table.tsx'
import { api } from '../state/api.ts'
import { escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { useQuery } from '../state/query.ts'
import { showResult } from '../state/results.ts'
import { type NewEntry, NewEntryDialog } from './new-entry-dialog.tsx'
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

export const toServiceId = ({ type, name }: Named): string => `${type}:${name}`

const calls = {
  connector: {
    add: api.add_connector,
    probe: api.probe_connector,
    change: api.change_connector,
    enable: api.enable_connector,
    remove: api.remove_connector,
    addition: 'addConnector',
    deletion: 'deleteConnectorText',
  },
  action: {
    add: api.add_action,
    probe: api.probe_action,
    change: api.change_action,
    enable: api.enable_action,
    remove: api.remove_action,
    addition: 'addAction',
    deletion: 'deleteActionText',
  },
  source: {
    add: api.add_source,
    probe: api.probe_source,
    change: api.change_source,
    enable: api.enable_source,
    remove: api.remove_source,
    addition: 'addSource',
    deletion: 'deleteSourceText',
  },
} as const

const newSettings: Readonly<Record<Kind, NewEntry>> = {
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
export function createCommonColumns<Row extends Service>(
  kind: Kind,
  canChange: boolean,
  onChanged: () => void,
): readonly Column<Row>[] {
  const turn = async (row: Row, isOn: boolean): Promise<void> => {
    const params = { id: toServiceId(row), enable: isOn ? 'true' : 'false' } as const
    const result = await calls[kind].enable({ params })
    showResult(`${t(isOn ? 'turnOn' : 'turnOff')} ${toServiceId(row)}`, result)
    onChanged()
  }
  return [
    { key: 'name', title: t('name'), value: toServiceId },
    {
      key: 'enable',
      title: t('enabled'),
      value: ({ enable }) => enable,
      render: (row) => (
        <SwitchCell
          name={toServiceId(row)}
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

/** Row actions of all kinds. */
export function createCommonActions<Row extends Service>(
  kind: Kind,
  onEdit: (row: Row) => void,
  onChanged: () => void,
): readonly RowAction<Row>[] {
  const remove = (row: Row): void =>
    confirmBefore({
      title: t('deleteTitle', { name: escapeHiddenLetters(toServiceId(row)) }),
      text: t(calls[kind].deletion),
      act: t('delete'),
      run: async () => {
        const params = { id: toServiceId(row) }
        const result = await calls[kind].remove({ params })
        showResult(t('deleteTitle', { name: toServiceId(row) }), result)
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
export function ServiceDialog({ known, ...props }: ServiceDialogProps): JSX.Element {
  return known === undefined ? <NewService {...props} /> : <KnownService {...props} known={known} />
}

function NewService({ kind, onClose, onDone }: Omit<ServiceDialogProps, 'known'>): JSX.Element {
  const { add, probe, addition } = calls[kind]
  const connectors = useQuery('connectors', (options) => api.get_connectors({}, options))
  const listNames = (type: string): readonly string[] =>
    (connectors.reply ?? []).filter((connector) => connector.type === type).map(({ name }) => name)
  return (
    <NewEntryDialog
      title={t(addition)}
      section={[`${kind}s`]}
      example={newSettings[kind]}
      onClose={onClose}
      onDone={onDone}
      onAdd={(body) => add({ body })}
      onTest={(body) => probe({ body })}
      connectors={listNames}
    />
  )
}

function KnownService(props: ServiceDialogProps & { readonly known: Named }): JSX.Element {
  const { kind, known, onClose, onDone } = props
  return (
    <SectionDialog
      title={t('editTitle', { name: escapeHiddenLetters(toServiceId(known)) })}
      act={`${t('edit')} ${toServiceId(known)}`}
      path={[`${kind}s`, known.type, known.name]}
      value={omitStateFields(known)}
      onClose={onClose}
      onDone={onDone}
      onSave={(body) => calls[kind].change({ params: { id: toServiceId(known) }, body })}
    />
  )
}

/** Settings without the state fields, as the API accepts them in a change. */
function omitStateFields(known: Named): Readonly<Record<string, unknown>> {
  const shownFields = new Set(['type', 'name', 'status', 'status_reason', 'node_status', 'counters'])
  return Object.fromEntries(Object.entries(known).filter(([key]) => !shownFields.has(key)))
}
