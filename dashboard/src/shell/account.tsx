import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { FormDialog } from '../parts/dialogs.tsx'
import { Select, TextField } from '../parts/fields.tsx'
import { Name } from '../parts/values.tsx'
import { api, formatFailure } from '../state/api.ts'
import { t } from '../state/messages.ts'
import { language, theme, timeZone } from '../state/preferences.ts'
import { confirmBefore } from '../state/confirmations.ts'
import { showDone, showResult } from '../state/results.ts'
import { endSession, session } from '../state/login-session.ts'

export function AccountMenu(): JSX.Element {
  const [isOpen, setOpen] = useState(false)
  const [isChanging, setChanging] = useState(false)
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!isOpen) return undefined
    const close = (event: Event): void => {
      const isInside = event.target instanceof Node && place.current?.contains(event.target) === true
      const isEscape = event instanceof KeyboardEvent && event.key === 'Escape'
      if (event instanceof KeyboardEvent ? isEscape : !isInside) setOpen(false)
      if (isEscape) place.current?.querySelector('button')?.focus()
    }
    document.addEventListener('pointerdown', close)
    document.addEventListener('keydown', close)
    return () => {
      document.removeEventListener('pointerdown', close)
      document.removeEventListener('keydown', close)
    }
  }, [isOpen])
  return (
    <div class="account" ref={place}>
      <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {t('account')}
      </button>
      {isOpen && <AccountPanel onChangePassword={() => setChanging(true)} />}
      {isChanging && <ChangePassword onClose={() => setChanging(false)} />}
    </div>
  )
}

function AccountPanel({ onChangePassword }: { readonly onChangePassword: () => void }): JSX.Element | null {
  const who = session.value
  if (who === undefined) return null
  const role = t(who.role === 'administrator' ? 'roleAdministrator' : 'roleViewer')
  return (
    <div class="account-panel">
      <p>
        {who.token === undefined ? t('withoutLogin') : <Name text={who.username} />}
        <br />
        {role}
      </p>
      <Select
        label={t('theme')}
        value={theme.value}
        options={[
          ['system', t('themeSystem')],
          ['light', t('themeLight')],
          ['dark', t('themeDark')],
        ]}
        onChange={(value) => (theme.value = value)}
      />
      <Select
        label={t('language')}
        value={language.value}
        options={[
          ['en', 'English'],
          ['de', 'Deutsch'],
        ]}
        onChange={(value) => (language.value = value)}
      />
      <Select
        label={t('timeZone')}
        value={timeZone.value}
        options={[
          ['browser', t('timeZoneBrowser')],
          ['broker', t('timeZoneBroker')],
          ['utc', 'UTC'],
        ]}
        onChange={(value) => (timeZone.value = value)}
      />
      {who.token !== undefined && (
        <div class="dialog-buttons">
          {who.isOfProvider !== true && (
            <>
              <button type="button" onClick={onChangePassword}>
                {t('changePassword')}
              </button>
              <button type="button" onClick={() => requireSecondFactor(who.username)}>
                {t('requireSecondFactor')}
              </button>
            </>
          )}
          <button type="button" onClick={() => void logOut(who.username)}>
            {t('logOut')}
          </button>
        </div>
      )}
    </div>
  )
}

/** Logs out at once, because the next login shows the secret. */
function requireSecondFactor(username: string): void {
  confirmBefore({
    title: t('requireSecondFactor'),
    text: t('requireOwnSecondFactorText'),
    act: t('requireSecondFactor'),
    run: async () => {
      const body = { mechanism: 'totp' } as const
      const result = await api.change_mfa({ params: { username }, body }, { namespace: null })
      if ('failure' in result) showResult(t('requireSecondFactor'), result)
      else await logOut(username)
      return true
    },
  })
}

/** The login ends at the broker; the page forgets the token whether that succeeds or not. */
async function logOut(username: string): Promise<void> {
  await api.logout({ body: { username } }, { namespace: null })
  endSession(false)
}

function ChangePassword({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const [old, setOld] = useState('')
  const [next, setNext] = useState('')
  const save = async (): Promise<string | undefined> => {
    const username = session.value?.username ?? ''
    const body = { old_pwd: old, new_pwd: next }
    const result = await api.change_pwd({ params: { username }, body }, { namespace: null })
    if ('failure' in result) return formatFailure(result.failure)
    // Logins with the old password have ended, this one too.
    const again = await api.login({ body: { username, password: next } }, { namespace: null })
    if ('reply' in again && session.value !== undefined) session.value = { ...session.value, token: again.reply.token }
    showDone(t('changePassword'))
    return undefined
  }
  return (
    <FormDialog title={t('changePassword')} onClose={onClose} onSave={save}>
      <TextField
        label={t('oldPassword')}
        type="password"
        value={old}
        onInput={setOld}
        isRequired={true}
        autocomplete="current-password"
      />
      <TextField
        label={t('newPassword')}
        type="password"
        value={next}
        onInput={setNext}
        isRequired={true}
        autocomplete="new-password"
        hint={t('passwordHint')}
      />
    </FormDialog>
  )
}
