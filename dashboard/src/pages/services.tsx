// Connectors and actions: the services that rules send to, and what waits for them.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Toolbar } from '../parts/fields.tsx'
import { FailureNotice } from '../parts/page.tsx'
import { type Column, DataTable, type RowAction } from '../parts/table.tsx'
import { api, type CallOptions, isAllowed, type Result } from '../state/api.ts'
import { formatSeconds, escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, type Query, useQuery } from '../state/query.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showResult } from '../state/results.ts'
import {
  createCommonActions,
  createCommonColumns,
  toServiceId,
  type Kind,
  type Named,
  ServiceDialog,
} from './service-parts.tsx'
import { DeadLetters } from './dead-letters.tsx'
import { WaitingResults } from './waiting-results.tsx'

type Replies<Name extends keyof typeof api> = Extract<
  Awaited<ReturnType<(typeof api)[Name]>>,
  { reply: unknown }
>['reply']
type Connector = Replies<'get_connectors'>[number]
type Counters = Replies<'get_action_metrics'>['metrics']
type Action = Replies<'get_actions'>[number] & { readonly counters: Counters | undefined }

async function loadActions(options: CallOptions): Promise<Result<readonly Action[]>> {
  const found = await api.get_actions({}, options)
  if ('failure' in found) return found
  const metrics = await Promise.all(
    found.reply.map((action) => api.get_action_metrics({ params: { id: toServiceId(action) } }, options)),
  )
  return {
    reply: found.reply.map((action, at) => {
      const response = metrics[at]
      return { ...action, counters: response !== undefined && 'reply' in response ? response.reply.metrics : undefined }
    }),
  }
}

export function Services(): JSX.Element {
  const [edited, setEdited] = useState<{ readonly kind: Kind; readonly known: Named | undefined }>()
  const [lettersOf, setLettersOf] = useState<string>()
  const [queueOf, setQueueOf] = useState<string>()
  const connectors = useQuery('connectors', (options) => api.get_connectors({}, options), listMs)
  const actions = useQuery('actions', loadActions, listMs)
  const canChange = isAllowed('change_action')
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
        onLetters={(action) => setLettersOf(toServiceId(action))}
        onQueue={(action) => setQueueOf(toServiceId(action))}
        onChanged={reload}
      />
      {edited !== undefined && <ServiceDialog {...edited} onClose={() => setEdited(undefined)} onDone={reload} />}
      {lettersOf !== undefined && (
        <DeadLetters action={lettersOf} onClose={() => setLettersOf(undefined)} onChanged={reload} />
      )}
      {queueOf !== undefined && (
        <WaitingResults action={queueOf} onClose={() => setQueueOf(undefined)} onChanged={reload} />
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
        rowKey={toServiceId}
        query={found}
        empty={t('noConnectors')}
        columns={createCommonColumns<Connector>('connector', canChange, onChanged)}
        actions={canChange ? createCommonActions<Connector>('connector', onEdit, onChanged) : []}
      />
    </>
  )
}

interface ActionsProps extends ListProps<Action> {
  readonly onLetters: (action: Action) => void
  readonly onQueue: (action: Action) => void
}

function Actions({ found, canChange, onEdit, onLetters, onQueue, onChanged }: ActionsProps): JSX.Element {
  const restart = (action: Action): void => {
    const id = toServiceId(action)
    confirmBefore({
      title: t('restartTitle', { name: escapeHiddenLetters(id) }),
      text: t('restartServiceText'),
      act: t('restart'),
      run: async () => {
        showResult(t('restartTitle', { name: id }), await api.control_action({ params: { id, operation: 'restart' } }))
        onChanged()
        return true
      },
    })
  }
  const own: readonly RowAction<Action>[] = [
    { word: t('restart'), run: restart },
    {
      word: t('deadLetters'),
      isShown: ({ counters }) => (counters?.dead_letters ?? 0) > 0,
      run: onLetters,
    },
    {
      word: t('waitingResults'),
      isShown: ({ counters }) => (counters?.queuing ?? 0) > 0,
      run: onQueue,
    },
  ]
  return (
    <>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('actions')}
        rows={found.reply}
        rowKey={toServiceId}
        query={found}
        empty={t('noActions')}
        columns={[...createCommonColumns<Action>('action', canChange, onChanged), ...createCounterColumns()]}
        actions={canChange ? [...createCommonActions<Action>('action', onEdit, onChanged), ...own] : []}
      />
    </>
  )
}

function createCounterColumns(): readonly Column<Action>[] {
  return [
    createCounterColumn('queuing', t('waiting')),
    {
      key: 'oldest_age',
      title: t('oldestAge'),
      value: ({ counters }) => counters?.oldest_age ?? undefined,
      render: ({ counters }) =>
        typeof counters?.oldest_age === 'number' ? formatSeconds(counters.oldest_age / 1_000) : '–',
      isNumber: true,
    },
    createCounterColumn('success', t('succeeded')),
    createCounterColumn('failed', t('failed')),
    createCounterColumn('retried', t('retried')),
    createCounterColumn('dead_letters', t('deadLetters')),
    { key: 'last_error', title: t('lastError'), value: ({ counters }) => counters?.last_error },
  ]
}

function createCounterColumn(key: keyof Counters, title: string): Column<Action> {
  return {
    key,
    title,
    value: ({ counters }) => counters?.[key] ?? undefined,
    isNumber: true,
  }
}
