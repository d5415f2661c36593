import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { FormDialog } from '../parts/dialogs.tsx'
import { TextField } from '../parts/fields.tsx'
import { FailureNotice, Page } from '../parts/page.tsx'
import { type Column, DataTable } from '../parts/table.tsx'
import { Time } from '../parts/values.tsx'
import { api, isAllowed, formatFailure } from '../state/api.ts'
import { escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showDone, showResult } from '../state/results.ts'

type Row = Extract<Awaited<ReturnType<typeof api.get_namespaces>>, { reply: unknown }>['reply']['data'][number]
type Limit = Row['limits']['max_clients']

function describeLimit(limit: Limit): string {
  return limit === null ? t('byDefault') : String(limit)
}

export default function Namespaces(): JSX.Element {
  const [edited, setEdited] = useState<Row | 'new'>()
  const found = useQuery('namespace list', (options) => api.get_namespaces({}, options), listMs)
  const remove = (namespace: string): void =>
    confirmBefore({
      title: t('deleteTitle', { name: escapeHiddenLetters(namespace) }),
      text: t('deleteNamespaceText'),
      act: t('delete'),
      typed: namespace,
      run: async () => {
        showResult(t('deleteTitle', { name: namespace }), await api.remove_namespace({ params: { namespace } }))
        found.reload()
        return true
      },
    })
  const canChange = isAllowed('add_namespace')
  return (
    <Page
      title={t('namespaces')}
      isLive={true}
      actions={
        canChange && (
          <button type="button" onClick={() => setEdited('new')}>
            {t('addNamespace')}
          </button>
        )
      }
    >
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('namespaces')}
        rows={found.reply?.data}
        rowKey={({ namespace }) => namespace}
        query={found}
        empty={t('noNamespaces')}
        columns={createNamespaceColumns()}
        actions={
          canChange
            ? [
                { word: t('limits'), run: setEdited },
                { word: t('delete'), isDangerous: true, run: ({ namespace }) => remove(namespace) },
              ]
            : []
        }
      />
      {edited !== undefined && (
        <NamespaceDialog
          row={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
          onDone={found.reload}
        />
      )}
    </Page>
  )
}

function createNamespaceColumns(): readonly Column<Row>[] {
  return [
    { key: 'namespace', title: t('namespaceName'), value: ({ namespace }) => namespace },
    { key: 'clients', title: t('clients'), value: ({ clients }) => clients, isNumber: true },
    { key: 'retained_messages', title: t('retained'), value: (row) => row.retained_messages, isNumber: true },
    { key: 'max_clients', title: t('maxClients'), value: ({ limits }) => describeLimit(limits.max_clients) },
    {
      key: 'max_retained_messages',
      title: t('maxRetained'),
      value: ({ limits }) => describeLimit(limits.max_retained_messages),
    },
    { key: 'messages_rate', title: t('messagesRate'), value: ({ limits }) => describeLimit(limits.messages_rate) },
    {
      key: 'created_at',
      title: t('createdAt'),
      value: (row) => row.created_at,
      render: (row) => <Time ms={row.created_at === null ? undefined : Date.parse(row.created_at)} />,
    },
  ]
}

interface DialogProps {
  /** undefined: a new one. */
  readonly row: Row | undefined
  readonly onClose: () => void
  readonly onDone: () => void
}

function formatLimit(limit: Limit | undefined): string {
  return limit === undefined || limit === null ? '' : String(limit)
}

function parseLimit(text: string): Limit {
  const trimmed = text.trim()
  if (trimmed === '') return null
  return trimmed === 'infinity' ? 'infinity' : Number(trimmed)
}

function NamespaceDialog({ row, onClose, onDone }: DialogProps): JSX.Element {
  const [namespace, setNamespace] = useState(row?.namespace ?? '')
  const [maxClients, setMaxClients] = useState(formatLimit(row?.limits.max_clients))
  const [maxRetained, setMaxRetained] = useState(formatLimit(row?.limits.max_retained_messages))
  const [rate, setRate] = useState(formatLimit(row?.limits.messages_rate))
  const title = row === undefined ? t('addNamespace') : t('limitsTitle', { name: escapeHiddenLetters(row.namespace) })
  const save = async (): Promise<string | undefined> => {
    if (row === undefined) {
      const added = await api.add_namespace({ body: { namespace } })
      if ('failure' in added) return formatFailure(added.failure)
    }
    const body = {
      max_clients: parseLimit(maxClients),
      max_retained_messages: parseLimit(maxRetained),
      messages_rate: parseLimit(rate),
    }
    const result = await api.change_namespace({ params: { namespace }, body })
    if ('failure' in result) return formatFailure(result.failure)
    showDone(title)
    onDone()
    return undefined
  }
  const hint = t('limitHint')
  return (
    <FormDialog title={title} onClose={onClose} onSave={save}>
      {row === undefined && (
        <TextField label={t('namespaceName')} value={namespace} onInput={setNamespace} isRequired={true} />
      )}
      <TextField label={t('maxClients')} value={maxClients} onInput={setMaxClients} hint={hint} />
      <TextField label={t('maxRetained')} value={maxRetained} onInput={setMaxRetained} hint={hint} />
      <TextField label={t('messagesRate')} value={rate} onInput={setRate} hint={hint} />
    </FormDialog>
  )
}
