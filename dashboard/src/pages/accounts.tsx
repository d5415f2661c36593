import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog, FormDialog } from '../parts/dialogs.tsx'
import { Select, TextField, Toolbar } from '../parts/fields.tsx'
import { FailureNotice, Page } from '../parts/page.tsx'
import { DataTable } from '../parts/table.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { CopyButton, Name, Time } from '../parts/values.tsx'
import { api, formatFailure } from '../state/api.ts'
import { parseInputTime, escapeHiddenLetters } from '../state/format.ts'
import { t } from '../state/messages.ts'
import { listMs, useQuery } from '../state/query.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showDone, showResult } from '../state/results.ts'
import { session } from '../state/login-session.ts'

export default function Accounts(): JSX.Element {
  return (
    <Page title={t('accountsAndKeys')} isLive={true}>
      <Tabs
        label={t('accountsAndKeys')}
        tabs={[
          { key: 'accounts', title: t('accounts'), render: () => <AccountList /> },
          { key: 'keys', title: t('apiKeys'), render: () => <KeyList /> },
        ]}
      />
    </Page>
  )
}

function AccountList(): JSX.Element {
  const [isAdding, setAdding] = useState(false)
  const found = useQuery('accounts', (options) => api.get_users({}, options), listMs)
  const remove = (username: string): void =>
    confirmBefore({
      title: t('deleteTitle', { name: escapeHiddenLetters(username) }),
      text: t('deleteAccountText'),
      act: t('delete'),
      run: async () => {
        showResult(t('deleteTitle', { name: username }), await api.remove_user({ params: { username } }))
        found.reload()
        return true
      },
    })
  return (
    <>
      <Toolbar>
        <button type="button" onClick={() => setAdding(true)}>
          {t('addAccount')}
        </button>
      </Toolbar>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('accounts')}
        rows={found.reply?.data}
        rowKey={({ username }) => username}
        query={found}
        empty={t('noAccounts')}
        columns={[
          { key: 'username', title: t('userName'), value: ({ username }) => username },
          { key: 'role', title: t('role'), value: ({ role }) => role },
          { key: 'namespace', title: t('namespace'), value: ({ namespace }) => namespace ?? t('global') },
          { key: 'mfa', title: t('secondFactor'), value: ({ mfa }) => (mfa === 'none' ? t('no') : mfa.toUpperCase()) },
          { key: 'description', title: t('description'), value: ({ description }) => description },
        ]}
        actions={[
          {
            word: t('requireSecondFactor'),
            isShown: ({ mfa, backend }) => mfa === 'none' && backend === 'local',
            run: ({ username }) => changeSecondFactor(true, username, found.reload),
          },
          {
            word: t('removeSecondFactor'),
            isDangerous: true,
            isShown: ({ mfa }) => mfa !== 'none',
            run: ({ username }) => changeSecondFactor(false, username, found.reload),
          },
          {
            word: t('delete'),
            isDangerous: true,
            run: ({ username }) => remove(username),
            findDisabledReason: ({ username }) => (username === session.value?.username ? t('ownAccount') : undefined),
          },
        ]}
      />
      {isAdding && <AccountDialog onClose={() => setAdding(false)} onDone={found.reload} />}
    </>
  )
}

function changeSecondFactor(isRequired: boolean, username: string, onDone: () => void): void {
  const act = t(isRequired ? 'requireSecondFactor' : 'removeSecondFactor')
  confirmBefore({
    title: `${act} ${escapeHiddenLetters(username)}`,
    text: t(isRequired ? 'requireSecondFactorText' : 'removeSecondFactorText'),
    act,
    run: async () => {
      const call = { params: { username } }
      const result = isRequired
        ? await api.change_mfa({ ...call, body: { mechanism: 'totp' } })
        : await api.remove_mfa(call)
      showResult(`${t('secondFactor')}: ${username}`, result)
      onDone()
      return true
    },
  })
}

interface DialogProps {
  readonly onClose: () => void
  readonly onDone: () => void
}

type Role = 'administrator' | 'viewer'

function AccountDialog({ onClose, onDone }: DialogProps): JSX.Element {
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const [role, setRole] = useState<Role>('viewer')
  const [namespace, setNamespace] = useState('')
  const save = async (): Promise<string | undefined> => {
    const kept = namespace === '' ? {} : { namespace }
    const result = await api.add_user({ body: { username, password, role, ...kept } })
    if ('failure' in result) return formatFailure(result.failure)
    showDone(`${t('addAccount')}: ${username}`)
    onDone()
    return undefined
  }
  return (
    <FormDialog title={t('addAccount')} onClose={onClose} onSave={save}>
      <TextField label={t('userName')} value={username} onInput={setUsername} isRequired={true} />
      <TextField
        label={t('password')}
        type="password"
        value={password}
        onInput={setPassword}
        isRequired={true}
        autocomplete="new-password"
        hint={t('passwordHint')}
      />
      <Select
        label={t('role')}
        value={role}
        options={[
          ['administrator', 'administrator'],
          ['viewer', 'viewer'],
        ]}
        onChange={setRole}
      />
      <TextField label={t('namespace')} value={namespace} onInput={setNamespace} hint={t('namespaceHint')} />
    </FormDialog>
  )
}

function KeyList(): JSX.Element {
  const [isAdding, setAdding] = useState(false)
  const [secret, setSecret] = useState<{ readonly key: string; readonly secret: string }>()
  const found = useQuery('keys', (options) => api.get_api_keys({}, options), listMs)
  const remove = (name: string): void =>
    confirmBefore({
      title: t('deleteTitle', { name: escapeHiddenLetters(name) }),
      text: t('deleteKeyText'),
      act: t('delete'),
      run: async () => {
        showResult(t('deleteTitle', { name }), await api.remove_api_key({ params: { name } }))
        found.reload()
        return true
      },
    })
  return (
    <>
      <Toolbar>
        <button type="button" onClick={() => setAdding(true)}>
          {t('addApiKey')}
        </button>
      </Toolbar>
      <FailureNotice failure={found.failure} onRetry={found.reload} />
      <DataTable
        caption={t('apiKeys')}
        rows={found.reply?.data}
        rowKey={({ name }) => name}
        query={found}
        empty={t('noApiKeys')}
        columns={[
          { key: 'name', title: t('name'), value: ({ name }) => name },
          { key: 'api_key', title: t('apiKey'), value: (row) => row.api_key, canCopy: true },
          { key: 'role', title: t('role'), value: ({ role }) => role },
          { key: 'enable', title: t('enabled'), value: ({ enable }) => t(enable ? 'yes' : 'no') },
          { key: 'expired_at', title: t('expires'), value: (row) => row.expired_at },
          {
            key: 'created_at',
            title: t('createdAt'),
            value: (row) => row.created_at,
            render: (row) => <Time ms={Date.parse(row.created_at)} />,
          },
        ]}
        actions={[{ word: t('delete'), isDangerous: true, run: ({ name }) => remove(name) }]}
      />
      {isAdding && <KeyDialog onClose={() => setAdding(false)} onDone={found.reload} onSecret={setSecret} />}
      {secret !== undefined && (
        <Dialog title={t('secretTitle')} onClose={() => setSecret(undefined)}>
          <p>{t('secretText')}</p>
          <p class="mono">
            <Name text={secret.key} /> <CopyButton text={secret.key} what={t('apiKey')} />
          </p>
          <p class="mono">
            <Name text={secret.secret} /> <CopyButton text={secret.secret} what={t('secret')} />
          </p>
          <div class="dialog-buttons">
            <button type="button" onClick={() => setSecret(undefined)}>
              {t('close')}
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}

interface KeyDialogProps extends DialogProps {
  readonly onSecret: (secret: { readonly key: string; readonly secret: string }) => void
}

function KeyDialog({ onClose, onDone, onSecret }: KeyDialogProps): JSX.Element {
  const [name, setName] = useState('')
  const [role, setRole] = useState<Role | 'publisher'>('viewer')
  const [expires, setExpires] = useState('')
  const save = async (): Promise<string | undefined> => {
    const ends = expires === '' ? 'infinity' : new Date(parseInputTime(expires)).toISOString()
    const result = await api.add_api_key({ body: { name, role, desc: '', enable: true, expired_at: ends } })
    if ('failure' in result) return formatFailure(result.failure)
    showDone(`${t('addApiKey')}: ${name}`)
    onSecret({ key: result.reply.api_key, secret: result.reply.api_secret })
    onDone()
    return undefined
  }
  return (
    <FormDialog title={t('addApiKey')} onClose={onClose} onSave={save}>
      <TextField label={t('name')} value={name} onInput={setName} isRequired={true} />
      <Select
        label={t('role')}
        value={role}
        options={[
          ['administrator', 'administrator'],
          ['viewer', 'viewer'],
          ['publisher', 'publisher'],
        ]}
        onChange={setRole}
      />
      <TextField
        label={t('expires')}
        type="datetime-local"
        value={expires}
        onInput={setExpires}
        hint={t('expiresHint')}
      />
    </FormDialog>
  )
}
