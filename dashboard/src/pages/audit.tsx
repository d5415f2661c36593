import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog } from '../parts/dialogs.tsx'
import { RouteSelect, Search, TextField, Toolbar } from '../parts/fields.tsx'
import { FailureNotice, Page } from '../parts/page.tsx'
import { isPartOfList, NumberedPager, readPageNumber, readRowsPerPage } from '../parts/pager.tsx'
import { type Column, DataTable, withKeys } from '../parts/table.tsx'
import { Time } from '../parts/values.tsx'
import { loadAllPages } from '../state/all-rows.ts'
import { api } from '../state/api.ts'
import { formatInputTime, parseInputTime, escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { changeQuery, readQueryValue } from '../state/router.ts'

type Entry = Extract<Awaited<ReturnType<typeof api.get_audit>>, { reply: unknown }>['reply']['data'][number]

const dayMs = 86_400_000
const outcomes = ['done', 'refused', 'failed'] as const

export default function Audit(): JSX.Element {
  const [open, setOpen] = useState<Entry>()
  const given = {
    username: readQueryValue('user'),
    operation: readQueryValue('operation'),
    outcome: readQueryValue('outcome'),
  }
  const times = { since: toMsText(readQueryValue('since')), until: toMsText(readQueryValue('until')) }
  const filters = Object.fromEntries(Object.entries({ ...given, ...times }).filter(([, value]) => value !== ''))
  const query = { page: readPageNumber(), limit: readRowsPerPage(), ...filters }
  const loadAll = async () => {
    const result = await loadAllPages((page) => api.get_audit({ query: { ...page, ...filters } }))
    return 'failure' in result ? result : { reply: { ...result.reply, data: withKeys(result.reply.data) } }
  }
  const key = JSON.stringify(['audit', query, readQueryValue('namespace')])
  const found = useQuery(key, (options) => api.get_audit({ query }, options), listMs)
  return (
    <Page title={t('auditLog')} isLive={true}>
      <Filters />
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('auditLog')}
        rows={found.reply && withKeys(found.reply.data)}
        rowKey={({ rowKey }) => rowKey}
        rowName={({ operation }) => operation}
        query={found}
        empty={t('noAudit')}
        loadAll={loadAll}
        isPart={isPartOfList(found.reply?.meta)}
        columns={createColumns()}
        actions={[{ word: t('show'), run: setOpen }]}
      />
      <NumberedPager meta={found.reply?.meta} />
      {open !== undefined && (
        <Dialog title={t('requestTitle', { name: open.operation })} onClose={() => setOpen(undefined)}>
          <p class="mono">{escapeHiddenLetters(`${open.method} ${open.path}`)}</p>
          <pre tabIndex={0} role="region" aria-label={t('request')}>
            {JSON.stringify(open.request, undefined, 2)?.split('\n').map(escapeHiddenLetters).join('\n')}
          </pre>
          <div class="dialog-buttons">
            <button type="button" onClick={() => setOpen(undefined)}>
              {t('close')}
            </button>
          </div>
        </Dialog>
      )}
    </Page>
  )
}

/** Milliseconds since 1970, as the API takes them. */
function toMsText(local: string): string {
  const ms = parseInputTime(local)
  return Number.isNaN(ms) ? '' : String(ms)
}

function Filters(): JSX.Element {
  return (
    <Toolbar>
      <Search label={t('user')} name="user" />
      <Search label={t('operation')} name="operation" />
      <RouteSelect
        label={t('outcome')}
        name="outcome"
        options={[['', t('all')] as const, ...outcomes.map((one) => [one, one] as const)]}
      />
      <button
        type="button"
        onClick={() => changeQuery({ since: formatInputTime(Date.now() - dayMs), until: undefined, page: undefined })}
      >
        {t('lastDay')}
      </button>
      {(['since', 'until'] as const).map((name) => (
        <TextField
          key={name}
          label={t(name)}
          type="datetime-local"
          value={readQueryValue(name)}
          onInput={(value) => changeQuery({ [name]: value, page: undefined })}
        />
      ))}
    </Toolbar>
  )
}

function createColumns(): readonly Column<Entry>[] {
  return [
    { key: 'time', title: t('time'), value: ({ at }) => at, render: (row) => <Time ms={row.at_ms} /> },
    { key: 'username', title: t('user'), value: ({ username }) => username },
    { key: 'operation', title: t('operation'), value: ({ operation }) => operation },
    {
      key: 'request',
      title: t('request'),
      value: ({ method, path }) => `${method} ${path}`,
    },
    { key: 'outcome', title: t('outcome'), value: ({ outcome }) => outcome },
    { key: 'namespace', title: t('namespace'), value: ({ namespace }) => namespace },
    { key: 'address', title: t('address'), value: ({ address }) => address },
    { key: 'message', title: t('why'), value: ({ message }) => message },
  ]
}
