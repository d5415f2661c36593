import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { TextField } from '../parts/fields.tsx'
import { api, textOf } from '../state/api.ts'
import { t } from '../state/messages.ts'
import { beginSession, hasSessionEnded, roleFrom } from '../state/session.ts'
import { Connection } from './connection.tsx'

export function SignIn(): JSX.Element {
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    document.title = `${t('signIn')} - Godwit`
    form.current?.querySelector('input')?.focus()
  }, [])
  const signIn = async (event: Event): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    const result = await api.login({ body: { username, password } }, { namespace: null })
    setBusy(false)
    setPassword('')
    if ('reply' in result) {
      const { token, role, namespace } = result.reply
      beginSession({ token, username, role: roleFrom(role), namespace: namespace ?? undefined })
      return
    }
    const { failure } = result
    if (failure.kind === 'unreachable') return
    setProblem(failure.reason === 'BAD_USERNAME_OR_PWD' ? t('wrongCredentials') : textOf(failure))
    form.current?.querySelector<HTMLElement>('input[type=password]')?.focus()
  }
  return (
    <main class="sign-in">
      <Connection />
      <form ref={form} onSubmit={(event) => void signIn(event)}>
        <h1>{t('signIn')}</h1>
        {hasSessionEnded.value && <p role="status">{t('sessionEnded')}</p>}
        {problem !== undefined && (
          <p role="alert" class="notice failed">
            {problem}
          </p>
        )}
        <TextField
          label={t('userName')}
          value={username}
          onInput={setUsername}
          autocomplete="username"
          isRequired={true}
        />
        <TextField
          label={t('password')}
          type="password"
          value={password}
          onInput={setPassword}
          autocomplete="current-password"
          isRequired={true}
        />
        <button type="submit" class="primary" disabled={isBusy}>
          {t('signIn')}
        </button>
        <details>
          <summary>{t('firstRunTitle')}</summary>
          <p>{t('firstRunText')}</p>
        </details>
      </form>
    </main>
  )
}
