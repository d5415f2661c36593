import type { ComponentType, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { TextField } from '../parts/fields.tsx'
import { CopyButton } from '../parts/values.tsx'
import { api, formatFailure } from '../state/api.ts'
import { t } from '../state/messages.ts'
import { beginSession, hasSessionEnded, parseRole } from '../state/login-session.ts'
import { Connection } from './connection.tsx'
import { SingleSignOn } from './single-sign-on.tsx'

/** The broker sends the secret until it has received a first code. */
interface SecondFactor {
  readonly secret: string | undefined
  readonly uri: string | undefined
}

interface CodeProps extends SecondFactor {
  readonly code: string
  readonly onInput: (code: string) => void
}

function CodeField({ secret, uri, code, onInput }: CodeProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => place.current?.querySelector('input')?.focus(), [])
  return (
    <div ref={place}>
      {secret !== undefined && uri !== undefined && (
        <>
          <p role="status">{t('mfaSetUp')}</p>
          <QrCode text={uri} />
          <p>
            <code class="secret">{secret}</code> <CopyButton text={secret} what={t('secret')} />
          </p>
          <p>
            <code class="secret">{uri}</code> <CopyButton text={uri} what={t('mfaAddress')} />
          </p>
        </>
      )}
      <TextField
        label={t('oneTimeCode')}
        value={code}
        onInput={onInput}
        autocomplete="one-time-code"
        isRequired={true}
        hint={t('oneTimeCodeHint')}
      />
    </div>
  )
}

/** Loaded when it is needed, which is rare. The address is beside it as text. */
function QrCode({ text }: { readonly text: string }): JSX.Element | null {
  const [loaded, setLoaded] = useState<{ readonly Picture: ComponentType<{ text: string; title: string }> }>()
  useEffect(() => {
    import('../parts/qr-picture.tsx').then(
      (module) => setLoaded({ Picture: module.default }),
      // Says whether it is the broker that went away.
      () => void api.get_status({}, { isIdle: true }),
    )
  }, [])
  return loaded === undefined ? null : <loaded.Picture text={text} title={t('mfaQrCode')} />
}

export function Login(): JSX.Element {
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const [secondFactor, setSecondFactor] = useState<SecondFactor>()
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    document.title = `${t('logIn')} - Godwit`
    form.current?.querySelector('input')?.focus()
  }, [])
  const logIn = async (event: Event): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    const result = await api.login(
      { body: secondFactor === undefined ? { username, password } : { username, password, mfa_token: code } },
      { namespace: null },
    )
    setBusy(false)
    setCode('')
    if ('failure' in result && result.failure.reason === 'BAD_MFA_TOKEN') {
      const { mfa = {}, message } = result.failure
      const isMissing = mfa['error'] === 'missing_mfa_token'
      setProblem(isMissing ? undefined : message)
      if (isMissing) setSecondFactor({ secret: mfa['secret'], uri: mfa['uri'] })
      return
    }
    setPassword('')
    setSecondFactor(undefined)
    if ('reply' in result) {
      const { token, role, namespace } = result.reply
      beginSession({ token, username, role: parseRole(role), namespace: namespace ?? undefined })
      return
    }
    const { failure } = result
    if (failure.kind === 'unreachable') return
    setProblem(failure.reason === 'BAD_USERNAME_OR_PWD' ? t('wrongCredentials') : formatFailure(failure))
    form.current?.querySelector<HTMLElement>('input[type=password]')?.focus()
  }
  return (
    <main class="login">
      <Connection />
      <form ref={form} onSubmit={(event) => void logIn(event)}>
        <h1>{t('logIn')}</h1>
        <Notices problem={problem} />
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
        {secondFactor !== undefined && <CodeField {...secondFactor} code={code} onInput={setCode} />}
        <button type="submit" class="primary" disabled={isBusy}>
          {t('logIn')}
        </button>
        <OtherWays onProblem={setProblem} />
      </form>
    </main>
  )
}

function Notices({ problem }: { readonly problem: string | undefined }): JSX.Element {
  return (
    <>
      {hasSessionEnded.value && <p role="status">{t('sessionEnded')}</p>}
      {problem !== undefined && (
        <p role="alert" class="notice failed">
          {problem}
        </p>
      )}
    </>
  )
}

function OtherWays({ onProblem }: { readonly onProblem: (problem: string) => void }): JSX.Element {
  return (
    <>
      <SingleSignOn onProblem={onProblem} />
      <details>
        <summary>{t('firstRunTitle')}</summary>
        <p>{t('firstRunText')}</p>
      </details>
    </>
  )
}
