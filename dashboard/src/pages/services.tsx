// Connectors and actions: the services that rules send to, and what waits for them.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Toolbar } from '../parts/fields.tsx'
import { JsonDialog } from '../parts/json-dialog.tsx'
import { FailureNotice } from '../parts/page.tsx'
import { SwitchCell } from '../parts/switch-cell.tsx'
import { type Column, DataTable, type RowAction } from '../parts/table.tsx'
import { api, type CallOptions, may, type Result } from '../state/api.ts'
import { formatSeconds, visible } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, type Query, useQuery } from '../state/query.ts'
import { askBefore } from '../state/questions.ts'
import { tellResult } from '../state/results.ts'
import { SectionDialog } from './section-dialog.tsx'
import { DeadLetters } from './dead-letters.tsx'

type Replies<Name extends keyof typeof api> = Extract<
  Awaited<ReturnType<(typeof api)[Name]>>,
  { reply: unknown }
>['reply']
type Connector = Replies<'get_connectors'>[number]
type Counters = Replies<'get_action_metrics'>['metrics']
type Action = Replies<'get_actions'>[number] & { readonly counters: Counters | undefined }

/** Either kind, for what is done with both in the same way. */
type Kind = 'connector' | 'action'
type Named = Pick<Connector, 'type' | 'name'>

const idOf = ({ type, name }: Named): string => `${type}:${name}`

const newSettings: Readonly<Record<Kind, unknown>> = {
  connector: { type: 'http', name: 'service', url: 'http://127.0.0.1:8080' },
  action: {
    type: 'http',
    name: 'post',
    connector: 'service',
    parameters: { path: '/', method: 'post', body: '${payload}' },
  },
}

async function actionsWithCounters(options: CallOptions): Promise<Result<readonly Action[]>> {
  const found = await api.get_actions({}, options)
  if ('failure' in found) return found
  const metrics = await Promise.all(
    found.reply.map((action) => api.get_action_metrics({ params: { id: idOf(action) } }, options)),
  )
  return {
    reply: found.reply.map((action, at) => {
      const answer = metrics[at]
      return { ...action, counters: answer !== undefined && 'reply' in answer ? answer.reply.metrics : undefined }
    }),
  }
}

export function Services(): JSX.Element {
  const [edited, setEdited] = useState<{ readonly kind: Kind; readonly known: Named | undefined }>()
  const [lettersOf, setLettersOf] = useState<string>()
  const connectors = useQuery('connectors', (options) => api.get_connectors({}, options), listMs)
  const actions = useQuery('actions', actionsWithCounters, listMs)
  const canChange = may('change_action')
  const reload = (): void => {
    connectors.reload()
    actions.reload()
  }
  const add = (kind: Kind, word: string): JSX.Element => (
    <button type="button" onClick={() => setEdited({ kind, known: undefined })}>
      {word}
    </button>
  )
  const edit = (kind: Kind) => (known: Named) => setEdited({ kind, known })
  return (
    <>
      {canChange && (
        <Toolbar>
          {add('connector', t('addConnector'))}
          {add('action', t('addAction'))}
        </Toolbar>
      )}
      <Connectors found={connectors} canChange={canChange} onEdit={edit('connector')} onChanged={reload} />
      <Actions
        found={actions}
        canChange={canChange}
        onEdit={edit('action')}
        onLetters={(action) => setLettersOf(idOf(action))}
        onChanged={reload}
      />
      {edited !== undefined && <ServiceDialog {...edited} onClose={() => setEdited(undefined)} onDone={reload} />}
      {lettersOf !== undefined && (
        <DeadLetters action={lettersOf} onClose={() => setLettersOf(undefined)} onChanged={reload} />
      )}
    </>
  )
}

interface ListProps<Row> {
  readonly found: Query<readonly Row[]>
  readonly canChange: boolean
  readonly onEdit: (row: Row) => void
  readonly onChanged: () => void
}

function Connectors({ found, canChange, onEdit, onChanged }: ListProps<Connector>): JSX.Element {
  return (
    <>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('connectors')}
        rows={found.reply}
        rowKey={idOf}
        isLoading={found.isLoading}
        empty={t('noConnectors')}
        columns={commonColumns<Connector>('connector', canChange, onChanged)}
        actions={canChange ? commonActions<Connector>('connector', onEdit, onChanged) : []}
      />
    </>
  )
}

interface ActionsProps extends ListProps<Action> {
  readonly onLetters: (action: Action) => void
}

function Actions({ found, canChange, onEdit, onLetters, onChanged }: ActionsProps): JSX.Element {
  const restart = async (action: Action): Promise<void> => {
    const id = idOf(action)
    tellResult(t('restartTitle', { name: id }), await api.control_action({ params: { id, operation: 'restart' } }))
    onChanged()
  }
  const own: readonly RowAction<Action>[] = [
    { word: t('restart'), run: (action) => void restart(action) },
    {
      word: t('deadLetters'),
      isShown: ({ counters }) => (counters?.dead_letters ?? 0) > 0,
      run: onLetters,
    },
  ]
  return (
    <>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('actions')}
        rows={found.reply}
        rowKey={idOf}
        isLoading={found.isLoading}
        empty={t('noActions')}
        columns={[...commonColumns<Action>('action', canChange, onChanged), ...counterColumns()]}
        actions={canChange ? [...commonActions<Action>('action', onEdit, onChanged), ...own] : []}
      />
    </>
  )
}

function commonColumns<Row extends Connector>(
  kind: Kind,
  canChange: boolean,
  onChanged: () => void,
): readonly Column<Row>[] {
  const turn = async (row: Row, isOn: boolean): Promise<void> => {
    const params = { id: idOf(row), enable: isOn ? 'true' : 'false' } as const
    const result = await (kind === 'connector' ? api.enable_connector({ params }) : api.enable_action({ params }))
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

function counterColumns(): readonly Column<Action>[] {
  return [
    counter('queuing', t('waiting')),
    {
      key: 'oldest_age',
      title: t('oldestAge'),
      value: ({ counters }) => counters?.oldest_age ?? undefined,
      render: ({ counters }) =>
        typeof counters?.oldest_age === 'number' ? formatSeconds(counters.oldest_age / 1_000) : '–',
      isNumber: true,
    },
    counter('success', t('succeeded')),
    counter('failed', t('failed')),
    counter('retried', t('retried')),
    counter('dead_letters', t('deadLetters')),
    { key: 'last_error', title: t('lastError'), value: ({ counters }) => counters?.last_error },
  ]
}

function commonActions<Row extends Connector>(
  kind: Kind,
  onEdit: (row: Row) => void,
  onChanged: () => void,
): readonly RowAction<Row>[] {
  const remove = (row: Row): void =>
    askBefore({
      title: t('deleteTitle', { name: visible(idOf(row)) }),
      text: t(kind === 'action' ? 'deleteActionText' : 'deleteConnectorText'),
      act: t('delete'),
      run: async () => {
        const params = { id: idOf(row) }
        const result = await (kind === 'connector' ? api.remove_connector({ params }) : api.remove_action({ params }))
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

function ServiceDialog({ kind, known, onClose, onDone }: ServiceDialogProps): JSX.Element {
  const addTitle = t(kind === 'connector' ? 'addConnector' : 'addAction')
  const save = (value: Readonly<Record<string, unknown>>): Promise<Result<unknown>> => {
    const body = value as Named & Readonly<Record<string, unknown>>
    if (known === undefined) return kind === 'connector' ? api.add_connector({ body }) : api.add_action({ body })
    const params = { id: idOf(known) }
    return kind === 'connector' ? api.change_connector({ params, body }) : api.change_action({ params, body })
  }
  const common = { onClose, onDone, onSave: save }
  if (known === undefined) return <JsonDialog {...common} title={addTitle} act={addTitle} value={newSettings[kind]} />
  return (
    <SectionDialog
      {...common}
      title={t('editTitle', { name: visible(idOf(known)) })}
      act={`${t('edit')} ${idOf(known)}`}
      path={[kind === 'connector' ? 'connectors' : 'actions', known.type, known.name]}
      value={settingsOf(known)}
    />
  )
}

/** What the API takes back: without what it tells of the state. */
function settingsOf(known: Named): Readonly<Record<string, unknown>> {
  const told = new Set(['type', 'name', 'status', 'status_reason', 'node_status', 'counters'])
  return Object.fromEntries(Object.entries(known).filter(([key]) => !told.has(key)))
}

function counter(key: keyof Counters, title: string): Column<Action> {
  return {
    key,
    title,
    value: ({ counters }) => counters?.[key] ?? undefined,
    isNumber: true,
  }
}
