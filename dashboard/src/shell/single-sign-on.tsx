import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { api, formatFailure } from '../state/api.ts'
import { t } from '../state/messages.ts'
import { beginSession, parseRole } from '../state/login-session.ts'
import { storeBegunLogin, type ReturnedLogin, takeReturnedLogin } from '../state/single-sign-on.ts'

interface Props {
  readonly onProblem: (problem: string) => void
}

/** Login button if the broker has a provider. Completes a login after the browser returns from the provider. */
export function SingleSignOn({ onProblem }: Props): JSX.Element | null {
  const [isOn, setOn] = useState(false)
  const [isBusy, setBusy] = useState(false)
  useEffect(() => {
    const returned = takeReturnedLogin()
    if (returned !== undefined) {
      setBusy(true)
      void finish(returned).then((problem) => {
        setBusy(false)
        if (problem !== undefined) onProblem(problem)
      })
    }
    void api.list_sso({}, { isIdle: true }).then((result) => {
      if ('reply' in result) setOn(result.reply.data.includes('oidc'))
    })
  }, [])
  if (isBusy) return <p aria-busy="true">{t('loggingIn')}</p>
  if (!isOn) return null
  const start = async (): Promise<void> => {
    setBusy(true)
    const problem = await begin()
    // Else the browser is leaving.
    if (problem === undefined) return
    setBusy(false)
    onProblem(problem)
  }
  return (
    <button type="button" onClick={() => void start()}>
      {t('singleSignOn')}
    </button>
  )
}

async function begin(): Promise<string | undefined> {
  const result = await api.begin_sso({}, { namespace: null })
  if ('failure' in result) return formatFailure(result.failure)
  const { authorization_url: url, state, sign_in_secret: secret, redirect_uri: redirect } = result.reply.data
  // The browser would return to another origin or path, whose storage does not contain this login.
  if (redirect !== `${location.origin}${location.pathname}`) return t('singleSignOnElsewhere', { address: redirect })
  if (!/^https?:$/.test(new URL(url).protocol)) return t('singleSignOnUnsafe')
  storeBegunLogin({ state, secret, route: location.hash })
  location.assign(url)
  return undefined
}

async function finish({ code, state, iss, error, begun }: ReturnedLogin): Promise<string | undefined> {
  if (begun === undefined) return t('singleSignOnUnknown')
  if (code === undefined) return t('singleSignOnRefused', { error: error ?? '' })
  const result = await api.finish_sso(
    { body: { authorization_code: code, state, sign_in_secret: begun.secret, ...(iss === undefined ? {} : { iss }) } },
    { namespace: null },
  )
  if ('failure' in result) return formatFailure(result.failure)
  const { token, role, namespace, username } = result.reply
  beginSession({
    token,
    username,
    role: parseRole(role),
    namespace: namespace ?? undefined,
    isOfProvider: true,
  })
  return undefined
}
