// Access control: users, client IDs, access rules, bans, and explanations of access decisions.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { FormDialog } from '../parts/dialogs.tsx'
import { Search, TextField, Toolbar } from '../parts/fields.tsx'
import { FailureNotice, Page } from '../parts/page.tsx'
import { isPartOfList, NumberedPager, readPageNumber, readRowsPerPage } from '../parts/pager.tsx'
import { DataTable, type RowAction } from '../parts/table.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { Time } from '../parts/values.tsx'
import { loadAllPages } from '../state/all-rows.ts'
import { api, type CallOptions, isAllowed, type Result, formatFailure } from '../state/api.ts'
import { escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showDone, showResult } from '../state/results.ts'
import { readQueryValue } from '../state/router.ts'
import { Bans } from './bans.tsx'
import { Explain } from './explain.tsx'
import { Rules } from './access-rules.tsx'

export default function Access(): JSX.Element {
  return (
    <Page title={t('accessControl')} isLive={true}>
      <Tabs
        label={t('accessControl')}
        tabs={[
          { key: 'users', title: t('users'), render: () => <Credentials kind={users} /> },
          { key: 'clients', title: t('clientIdentifiers'), render: () => <Credentials kind={clientIds} /> },
          { key: 'rules', title: t('rules'), render: () => <Rules /> },
          { key: 'bans', title: t('bans'), render: () => <Bans /> },
          { key: 'explain', title: t('explain'), render: () => <Explain /> },
        ]}
      />
    </Page>
  )
}

interface Credential {
  readonly name: string
  readonly createdAt: number
}

interface CredentialPage {
  readonly data: readonly Credential[]
  readonly meta: { readonly hasnext: boolean; readonly count: number }
}

/** One of the two lists: they differ in what they call the name. */
interface CredentialKind {
  readonly title: 'users' | 'clientIdentifiers'
  readonly add: 'addUser' | 'addClientIdentifier'
  readonly label: 'userName' | 'clientIdentifier'
  readonly search: 'searchUsers' | 'searchClientIdentifiers'
  readonly empty: 'noUsers' | 'noClientIdentifiers'
  list(query: { page: number; limit: number; search: string }, options: CallOptions): Promise<Result<CredentialPage>>
  create(name: string, password: string): Promise<Result<unknown>>
  update(name: string, password: string): Promise<Result<unknown>>
  remove(name: string): Promise<Result<unknown>>
}

const users: CredentialKind = {
  title: 'users',
  add: 'addUser',
  label: 'userName',
  search: 'searchUsers',
  empty: 'noUsers',
  list: async ({ search, ...pages }, options) => {
    const like = search === '' ? {} : { _like_username: search }
    const result = await api.list_auth_username({ query: { ...pages, ...like } }, options)
    if ('failure' in result) return result
    const { data, meta } = result.reply
    return { reply: { data: data.map((row) => ({ name: row.username, createdAt: row.created_at })), meta } }
  },
  create: (username, password) => api.create_auth_username({ body: { username, password } }),
  update: (username, password) => api.update_auth_username({ params: { username }, body: { password } }),
  remove: (username) => api.delete_auth_username({ params: { username } }),
}

const clientIds: CredentialKind = {
  title: 'clientIdentifiers',
  add: 'addClientIdentifier',
  label: 'clientIdentifier',
  search: 'searchClientIdentifiers',
  empty: 'noClientIdentifiers',
  list: async ({ search, ...pages }, options) => {
    const like = search === '' ? {} : { _like_clientid: search }
    const result = await api.list_auth_clientid({ query: { ...pages, ...like } }, options)
    if ('failure' in result) return result
    const { data, meta } = result.reply
    return { reply: { data: data.map((row) => ({ name: row.clientid, createdAt: row.created_at })), meta } }
  },
  create: (clientid, password) => api.create_auth_clientid({ body: { clientid, password } }),
  update: (clientid, password) => api.update_auth_clientid({ params: { clientid }, body: { password } }),
  remove: (clientid) => api.delete_auth_clientid({ params: { clientid } }),
}

/** Action of the dialog: add a credential, or change its password. */
type CredentialDialogMode = { readonly act: 'add' } | { readonly act: 'change'; readonly name: string }

function Credentials({ kind }: { readonly kind: CredentialKind }): JSX.Element {
  const [mode, setMode] = useState<CredentialDialogMode>()
  const search = readQueryValue('search')
  const query = { page: readPageNumber(), limit: readRowsPerPage(), search }
  const key = JSON.stringify([kind.title, query, readQueryValue('namespace')])
  const found = useQuery(key, (options) => kind.list(query, options), listMs)
  const canChange = isAllowed('create_auth_username')
  const remove = (name: string): void =>
    confirmBefore({
      title: t('deleteTitle', { name: escapeHiddenLetters(name) }),
      text: t('deleteCredentialText'),
      act: t('delete'),
      run: async () => {
        showResult(t('deleteTitle', { name }), await kind.remove(name))
        found.reload()
        return true
      },
    })
  const actions: readonly RowAction<Credential>[] = [
    { word: t('changePassword'), run: ({ name }) => setMode({ act: 'change', name }) },
    { word: t('delete'), isDangerous: true, run: ({ name }) => remove(name) },
  ]
  return (
    <>
      <Toolbar>
        <Search label={t(kind.search)} />
        {canChange && (
          <button type="button" onClick={() => setMode({ act: 'add' })}>
            {t('add')}
          </button>
        )}
      </Toolbar>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t(kind.title)}
        rows={found.reply?.data}
        rowKey={({ name }) => name}
        query={found}
        empty={t(kind.empty)}
        loadAll={() => loadAllPages((page) => kind.list({ ...page, search }, {}))}
        isPart={isPartOfList(found.reply?.meta)}
        columns={[
          { key: 'name', title: t(kind.label), value: ({ name }) => name, canCopy: true },
          {
            key: 'created_at',
            title: t('createdAt'),
            value: ({ createdAt }) => createdAt,
            render: ({ createdAt }) => <Time ms={createdAt} />,
          },
        ]}
        actions={canChange ? actions : []}
      />
      <NumberedPager meta={found.reply?.meta} />
      {mode !== undefined && (
        <CredentialDialog kind={kind} mode={mode} onClose={() => setMode(undefined)} onDone={found.reload} />
      )}
    </>
  )
}

interface DialogProps {
  readonly kind: CredentialKind
  readonly mode: CredentialDialogMode
  readonly onClose: () => void
  readonly onDone: () => void
}

function CredentialDialog({ kind, mode, onClose, onDone }: DialogProps): JSX.Element {
  const isNew = mode.act === 'add'
  const [name, setName] = useState(mode.act === 'change' ? mode.name : '')
  const [password, setPassword] = useState('')
  const title = isNew ? t(kind.add) : t('changePassword')
  const save = async (): Promise<string | undefined> => {
    const result = await (isNew ? kind.create(name, password) : kind.update(name, password))
    if ('failure' in result) return formatFailure(result.failure)
    showDone(`${title}: ${name}`)
    onDone()
    return undefined
  }
  return (
    <FormDialog title={title} onClose={onClose} onSave={save}>
      <TextField label={t(kind.label)} value={name} onInput={setName} isRequired={true} isDisabled={!isNew} />
      <TextField
        label={t('password')}
        type="password"
        value={password}
        onInput={setPassword}
        isRequired={true}
        autocomplete="new-password"
      />
    </FormDialog>
  )
}
