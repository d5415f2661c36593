// The typed client of the API, with what a failure means for the whole page.

import { signal } from '@preact/signals'
import {
  createFetchClient,
  type Failure,
  type FetchClient as ClientOf,
  type Operation,
} from '../../../src/contract/fetch-client.ts'
import type { endpoints } from '../../../src/api/endpoints.ts'
import { namespaceInRoute } from './router.ts'
import { endSession, session } from './login-session.ts'

export type { CallOptions, Failure, Result } from '../../../src/contract/fetch-client.ts'

/** The broker gave no response to the last request. */
export const isBrokerAway = signal(false)

type FetchClient = ClientOf<typeof endpoints>

export type OperationName = keyof FetchClient

/** The page is `<prefix>/dashboard/`, and the API `<prefix>/api/`. */
export const baseUrl = '..'

/** The code of the wanted page could not be loaded. */
export const isPageMissing = signal(false)

const firstRetryMs = 500
const maxRetryMs = 10_000

export const api: FetchClient = createFetchClient<typeof endpoints>({
  operations: OPERATIONS,
  base: baseUrl,
  readAuthorization: () => {
    const token = session.value?.token
    return token === undefined ? undefined : `Bearer ${token}`
  },
  readNamespace: () => session.value?.namespace ?? namespaceInRoute.value,
  onFailure: handleFailure,
  onResponse: () => {
    isBrokerAway.value = false
  },
})

function handleFailure(failure: Failure): void {
  if (failure.kind === 'unreachable') {
    if (!isBrokerAway.value) void retryConnection()
    isBrokerAway.value = true
    return
  }
  isBrokerAway.value = false
  if (failure.status === 401 && session.value?.token !== undefined) endSession(true)
}

/** Checks whether the broker is back, with growing pauses. */
async function retryConnection(): Promise<void> {
  let pauseMs = firstRetryMs
  do {
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
    pauseMs = Math.min(pauseMs * 2, maxRetryMs)
    await api.get_status({}, { isIdle: true })
  } while (isBrokerAway.value)
  // The whole document: after an upgrade the page's code has another name. The new page checks whether the login is valid.
  if (isPageMissing.value) return location.reload()
  // Logins end with the process. A page that sends no request by itself must detect that too.
  if (session.value?.token !== undefined) await api.list_brokers({}, { isIdle: true })
}

/** Whether the API has this operation at all. */
export function hasOperation(name: string): boolean {
  return Object.hasOwn(OPERATIONS, name)
}

/** Whether the account of the session may call the operation. The server decides; the page only hides. */
export function isAllowed(name: OperationName): boolean {
  const operation = (OPERATIONS as Record<string, Operation | undefined>)[name]
  const who = session.value
  if (operation === undefined || who === undefined) return false
  const { access, isForNamespaces } = operation
  if (access === 'open' || access === 'signed-in') return true
  if (who.namespace !== undefined && isForNamespaces !== true) return false
  if (access === 'own-account') return true
  return access === 'read' || who.role === 'administrator'
}

/** Returns the error message of a failure. */
export function formatFailure({ message, kind }: Failure): string {
  return kind === 'unreachable' ? `no response: ${message}` : message
}
