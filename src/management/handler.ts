// What carries out the operations of a set of endpoints.

import type { Endpoint, ReplyOf, RequestOf } from '../contract/index.ts'
import type { Refusal } from './refusal.ts'

export type Handler<E extends Endpoint> = (
  request: RequestOf<E>,
) => Promise<ReplyOf<E> | Refusal> | ReplyOf<E> | Refusal

/** One handler for each endpoint of a set, by the same name. */
export type Handlers<Set extends Record<string, Endpoint>> = { readonly [Name in keyof Set]: Handler<Set[Name]> }
