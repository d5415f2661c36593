// The namespace of a request. A caller of a namespace always has its own. Others select one with `?namespace=`; without
// it they mean clients without a namespace, or the whole broker in overviews.

import { type Caller, type Endpoint, namespaceKey } from '../contract/index.ts'
import { isNamespaceName } from '../core/index.ts'
import type { Handler } from './http/handler.ts'
import { type ApiError, refuse } from './http/api-error.ts'
import type { Authenticator } from './auth/request-authenticator.ts'

export type HandlerByName = Readonly<Record<string, Handler<Endpoint> | undefined>>

/** Maximum cached sets of handlers, one per namespace; the oldest is dropped. */
const maxCached = 64

/**
 * Returns the handlers of all endpoints for one namespace; `namespace` undefined: the whole broker. `authenticator` returns the current
 * one of the server that gets the requests.
 */
export type HandlersFor = (namespace: string | undefined, authenticator: () => Authenticator) => HandlerByName

export class NamespacedHandlers {
  readonly #create: (namespace: string | undefined) => HandlerByName
  readonly #unscoped: HandlerByName
  readonly #cached = new Map<string, HandlerByName>()

  constructor(handlersFor: HandlersFor, authenticator: () => Authenticator) {
    this.#create = (namespace) => handlersFor(namespace, authenticator)
    this.#unscoped = this.#create(undefined)
  }

  /** undefined: the whole broker. */
  selectHandlers(namespace: string | undefined): HandlerByName {
    if (namespace === undefined) return this.#unscoped
    const known = this.#cached.get(namespace)
    if (known !== undefined) return known
    const made = this.#create(namespace)
    this.#cached.set(namespace, made)
    for (const oldest of this.#cached.keys()) {
      if (this.#cached.size <= maxCached) break
      this.#cached.delete(oldest)
    }
    return made
  }
}

/** undefined: the whole broker. A caller of a namespace that names another one is refused, whatever it requests. */
export function resolveRequestNamespace(
  { isForNamespaces = false }: Endpoint,
  caller: Caller,
  query: Readonly<Record<string, string>>,
): string | undefined | ApiError {
  const wanted = query[namespaceKey]
  if (caller.namespace !== undefined && wanted !== undefined && wanted !== caller.namespace) {
    const text = `this account is limited to the namespace ${caller.namespace}, and ${namespaceKey} in the query names another: leave it out`
    return refuse('wrongCredentials', text, 403).withReason('UNAUTHORIZED_ROLE')
  }
  if (!isForNamespaces) return undefined
  if (caller.namespace !== undefined) return caller.namespace
  if (wanted === undefined) return undefined
  if (isNamespaceName(wanted)) return wanted
  return refuse('invalidParameter', `${namespaceKey} in the query is the name of no namespace: letters, digits, - _ .`)
}
