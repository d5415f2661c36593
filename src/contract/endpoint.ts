// What an operation of the API is: one object, from which routes, types of handlers, the client, the listing, the
// OpenAPI document and the command line are made.

import type { Readable } from 'node:stream'
import type { ReasonName } from './reasons.ts'
import type { ResultCodeName } from './result-codes.ts'
import { type Static, type TObject, type TSchema, Type } from './schema.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/**
 * What a caller must be to ask for something. Who may is decided in one place of the management room.
 *
 * `open`: anybody; nobody is asked who they are. `signed-in`: whoever came in. `read`: whoever may look. `publish`:
 * whoever may publish. `change`: whoever may change things. `accounts`: whoever may say who else may come in.
 * `own-account`: the same, and whom the `username` of the path or body names.
 */
export type Access = 'open' | 'signed-in' | 'read' | 'publish' | 'change' | 'accounts' | 'own-account'

export interface Endpoint {
  /** Unsaid: the fourth. In the fifth refusals carry a `reason` beside the code. */
  readonly version?: 'v5'
  readonly method: Method
  /** Below `/api/v4` or that of its version, with `:name` for a segment that is a parameter: `/clients/:clientid`. */
  readonly path: string
  /** Served without `/api/v4` as well (`also`), or only there (`only`). Unsaid: below the prefix only. */
  readonly atRoot?: 'also' | 'only'
  /** Of HTTP where all went well. Unsaid: 200. With 204 the reply is null, and there is no body. */
  readonly status?: 201 | 204
  /** One sentence, for the listing and the documents. */
  readonly summary: string
  readonly params?: TObject
  /** Values are text; a schema of integer, number or Boolean takes the text that stands for one. */
  readonly query?: TObject
  /** Query keys that are not in `query`: refused with 108 or not looked at. Unsaid: not looked at. */
  readonly unknownQuery?: 'refuse'
  /**
   * What the JSON body must be. With `text` it is taken as it came, and with `upload` it is a file in a form, which the
   * handler reads while it comes. Unsaid: the body is not looked at.
   */
  readonly body?: TSchema | 'text' | 'upload'
  /** No body at all is as good as `{}`. */
  readonly bodyMayBeAbsent?: true
  /** Any JSON goes to the handler, which looks at it piece by piece: of a batch each item fares by itself. */
  readonly bodyCheckedBy?: 'handler'
  /** The whole body of the answer, `{code, data}` and all; `text`: plain text; `bytes`: a file, in pieces. */
  readonly reply: TSchema | 'text' | 'bytes'
  /** Content type of a `text` reply that is not plain. */
  readonly replyType?: string
  /** What may go wrong beyond what may go wrong everywhere (101 to 104, 116). */
  readonly failures?: readonly ResultCodeName[]
  /** What goes wrong with a status of HTTP that is not the one of its code. */
  readonly otherStatuses?: readonly (readonly [ResultCodeName, number])[]
  /** The same of the fifth version, beyond what may go wrong everywhere there. */
  readonly reasons?: readonly ReasonName[]
  readonly access: Access
  /**
   * Whether it stands in the audit log. Unsaid: where it is no GET, somebody had to sign in for it, and it is more than
   * publishing.
   */
  readonly audit?: 'always' | 'when-done' | 'never'
  /** The request or the answer may take many minutes. */
  readonly isLong?: true
  /** Who is kept to a namespace may ask for it as well; others say by the query which one they mean. Unsaid: it is about what all of them share. */
  readonly isForNamespaces?: boolean | undefined
}

/** In the query of an endpoint that is for namespaces: which one is meant. Who is kept to one means that one. */
export const namespaceKey = 'namespace'

/** Keeps the literal types of an endpoint. */
export function endpoint<const E extends Endpoint>(definition: E): E {
  return definition
}

/** Of an endpoint that takes no parameters: there is nothing to read. */
type Nothing = Readonly<Record<string, unknown>>

type StaticOr<Schema, Else> = Schema extends TSchema ? Static<Schema> : Else

/** What the handler of an endpoint is given: all of it checked. */
export interface RequestOf<E extends Endpoint> {
  readonly params: StaticOr<E['params'], Nothing>
  readonly query: StaticOr<E['query'], Nothing>
  readonly body: BodyOf<E>
  readonly caller: Caller
  /** What part of the broker it is about; undefined: all of it. */
  readonly namespace?: string | undefined
  /** Aborted when the client has left: nobody hears the answer. */
  readonly gone?: AbortSignal
}

type BodyOf<E extends Endpoint> = E['bodyCheckedBy'] extends 'handler'
  ? unknown
  : E['body'] extends 'text'
    ? string
    : E['body'] extends 'upload'
      ? Upload
      : StaticOr<E['body'], undefined>

/** A file that is being sent. */
export interface Upload {
  /** As the sender has it: it may be anything. */
  readonly filename: string
  /** Ends with an error where the sender breaks off. */
  readonly content: Readable
}

/** What it answers where nothing went wrong. */
export type ReplyOf<E extends Endpoint> = E['reply'] extends 'text'
  ? string
  : E['reply'] extends 'bytes'
    ? Readable
    : StaticOr<E['reply'], never>

/** Who asks. */
export interface Caller {
  /** Account, application id, or who the token is about. */
  readonly name: string
  /** `socket`: somebody on this machine who may read the data directory. */
  readonly by: 'account' | 'api-key' | 'token' | 'socket' | 'nobody'
  readonly role: Role
  /** undefined: of no namespace, so that all of them and what is global is theirs. */
  readonly namespace: string | undefined
  /** '' over the socket. */
  readonly address: string
  /** The number of the login that was shown; undefined: another way was taken. */
  readonly login: number | undefined
}

/** An administrator may change things, a viewer may look, a publisher may publish and nothing else. */
export type Role = 'administrator' | 'viewer' | 'publisher'

/** `{code: 0}`: it is done. */
export const noContent = Type.Object({ code: Type.Literal(0) })

/** `{code: 0, data}` */
export function answer<Data extends TSchema>(
  data: Data,
): ReturnType<typeof Type.Object<{ code: ReturnType<typeof Type.Literal<0>>; data: Data }>> {
  return Type.Object({ code: Type.Literal(0), data })
}

/** What every answer about something that went wrong looks like. */
export const failure = Type.Object({ code: Type.Integer(), message: Type.String() })

/** The same in the fifth version. */
export const failureWithReason = Type.Object({
  code: Type.Integer(),
  reason: Type.String(),
  message: Type.String(),
  parts: Type.Optional(Type.Record(Type.String(), Type.String(), { description: 'What failed while the rest holds.' })),
})
