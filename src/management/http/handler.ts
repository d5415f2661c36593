// Types of handlers.

import type { Endpoint, ReplyOf, RequestOf } from '../../contract/index.ts'
import type { ApiError } from './api-error.ts'
import type { JsonText } from './json-text.ts'

/** Result of a request; JSON text has the shape of the reply as well. */
export type HandlerResult<E extends Endpoint> = ReplyOf<E> | ApiError | JsonText

export type Handler<E extends Endpoint> = (request: RequestOf<E>) => Promise<HandlerResult<E>> | HandlerResult<E>

/** One handler for each endpoint of a set, with the same name. */
export type Handlers<Set extends Record<string, Endpoint>> = { readonly [Name in keyof Set]: Handler<Set[Name]> }
