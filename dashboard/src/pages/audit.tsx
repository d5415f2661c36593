import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog } from '../parts/dialogs.tsx'
import { RouteSelect, Search, TextField, Toolbar } from '../parts/fields.tsx'
import { FailureNotice, Page } from '../parts/page.tsx'
import { NumberedPager, pageNumber, rowsPerPage } from '../parts/pager.tsx'
import { DataTable } from '../parts/table.tsx'
import { Time } from '../parts/values.tsx'
import { api } from '../state/api.ts'
import { visible } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { changeQuery, queryValue } from '../state/router.ts'

type Entry = Extract<Awaited<ReturnType<typeof api.get_audit>>, { reply: unknown }>['reply']['data'][number]

const outcomes = ['done', 'refused', 'failed'] as const

export default function Audit(): JSX.Element {
  const [open, setOpen] = useState<Entry>()
  const given = { username: queryValue('user'), operation: queryValue('operation'), outcome: queryValue('outcome') }
  const times = { since: msText(queryValue('since')), until: msText(queryValue('until')) }
  const asked = Object.fromEntries(Object.entries({ ...given, ...times }).filter(([, value]) => value !== ''))
  const query = { page: pageNumber(), limit: rowsPerPage(), ...asked }
  const key = JSON.stringify(['audit', query, queryValue('namespace')])
  const found = useQuery(key, (options) => api.get_audit({ query }, options), listMs)
  return (
    <Page title={t('auditLog')} isLive={true}>
      <Toolbar>
        <Search label={t('user')} name="user" />
        <Search label={t('operation')} name="operation" />
        <RouteSelect
          label={t('outcome')}
          name="outcome"
          options={[['', t('all')] as const, ...outcomes.map((one) => [one, one] as const)]}
        />
        {(['since', 'until'] as const).map((name) => (
          <TextField
            key={name}
            label={t(name)}
            type="datetime-local"
            value={queryValue(name)}
            onInput={(value) => changeQuery({ [name]: value, page: undefined })}
          />
        ))}
      </Toolbar>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('auditLog')}
        rows={found.reply?.data.map((entry, at) => ({ ...entry, at: String(at), time: entry.at }))}
        rowKey={({ at }) => at}
        rowName={({ operation }) => operation}
        isLoading={found.isLoading}
        empty={t('noAudit')}
        columns={[
          { key: 'time', title: t('time'), value: (row) => row.time, render: (row) => <Time ms={row.at_ms} /> },
          { key: 'username', title: t('user'), value: ({ username }) => username },
          { key: 'operation', title: t('operation'), value: ({ operation }) => operation },
          { key: 'outcome', title: t('outcome'), value: ({ outcome }) => outcome },
          { key: 'namespace', title: t('namespace'), value: ({ namespace }) => namespace },
          { key: 'address', title: t('address'), value: ({ address }) => address },
          { key: 'message', title: t('why'), value: ({ message }) => message },
        ]}
        actions={[{ word: t('show'), run: setOpen }]}
      />
      <NumberedPager meta={found.reply?.meta} />
      {open !== undefined && (
        <Dialog title={t('requestTitle', { name: open.operation })} onClose={() => setOpen(undefined)}>
          <p class="mono">{visible(`${open.method} ${open.path}`)}</p>
          <pre tabIndex={0} role="region" aria-label={t('request')}>
            {JSON.stringify(open.request, undefined, 2)?.split('\n').map(visible).join('\n')}
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
function msText(local: string): string {
  const ms = Date.parse(local)
  return Number.isNaN(ms) ? '' : String(ms)
}
