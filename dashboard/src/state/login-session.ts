// The session of the account that logged in. The token is in memory and in `sessionStorage`: a reload keeps it, another tab needs a new login. It is in no URL,
// no cookie and no `localStorage`.

import { computed, signal } from '@preact/signals'

export interface Session {
  /** undefined: the API requires no authentication (`http_server.auth_type = no_auth`). */
  readonly token: string | undefined
  readonly username: string
  readonly role: 'administrator' | 'viewer'
  /** The namespace to which the account is limited. */
  readonly namespace: string | undefined
  /** The account logs in by OpenID Connect and has no password in the broker. */
  readonly isOfProvider?: boolean
}

const storageKey = 'godwit.session'
const endedKey = 'godwit.session-ended'

export const session = signal<Session | undefined>(loadInitialSession())
/** Whether the last session expired. The login page reports this, also after a reload. */
export const hasSessionEnded = signal(sessionStorage.getItem(endedKey) !== null)
export const isAdministrator = computed(() => session.value?.role === 'administrator')

export function beginSession(next: Session): void {
  sessionStorage.setItem(storageKey, JSON.stringify(next))
  sessionStorage.removeItem(endedKey)
  hasSessionEnded.value = false
  session.value = next
}

export function endSession(hasEnded: boolean): void {
  sessionStorage.removeItem(storageKey)
  if (hasEnded) sessionStorage.setItem(endedKey, '1')
  else sessionStorage.removeItem(endedKey)
  hasSessionEnded.value = hasEnded
  session.value = undefined
}

function loadInitialSession(): Session | undefined {
  if (document.documentElement.dataset['login'] === 'none') {
    return { token: undefined, username: '', role: 'administrator', namespace: undefined }
  }
  const kept = sessionStorage.getItem(storageKey)
  return kept === null ? undefined : (JSON.parse(kept) as Session)
}

/** `ns:<namespace>::<role>`, or a role. */
export function parseRole(text: string): Session['role'] {
  return text.endsWith('administrator') ? 'administrator' : 'viewer'
}
