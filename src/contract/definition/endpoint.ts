// Definition of an operation of the API: one object, from which routes, handler types, the client, the listing, the
// OpenAPI document and the command line are derived.

import type { Readable } from 'node:stream'
import type { ReasonName } from './reasons.ts'
import type { ResultCodeName } from './result-codes.ts'
import { type Static, type TObject, type TSchema, Type } from './schema.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/**
 * Required rights of the caller. The module management decides about them in one place.
 *
 * `open`: no authentication. `signed-in`: any authenticated caller. `read`: may read. `publish`: may publish. `change`:
 * may change. `accounts`: may manage accounts. `own-account`: the same, or the user that `username` of path or body
 * names. `install`: may decide which code the broker runs: as an account, not with an API key or a token.
 */
export type Access = 'open' | 'signed-in' | 'read' | 'publish' | 'change' | 'accounts' | 'own-account' | 'install'

export interface Endpoint {
  /** Default: version 4. In version 5 refusals have a `reason` in addition to the code. */
  readonly version?: 'v5'
  readonly method: Method
  /** Below `/api/v4` or the prefix of its version, with `:name` for a parameter: `/clients/:clientid`. */
  readonly path: string
  /** Served without `/api/v4` as well (`also`), or only there (`only`). Default: below the prefix only. */
  readonly atRoot?: 'also' | 'only'
  /** HTTP status of success. Default: 200. With 204 the reply is null, without a body. */
  readonly status?: 201 | 204
  /** One sentence, for the listing and the documents. */
  readonly summary: string
  readonly params?: TObject
  /** Values are text; a schema of integer, number or Boolean converts the text. */
  readonly query?: TObject
  /** Query keys that are not in `query`: refused with 108. Default: ignored. */
  readonly unknownQuery?: 'refuse'
  /**
   * Schema of the JSON body. `text`: the body as text; `upload`: a file in a form, which the handler reads as it
   * arrives. Default: the body is ignored.
   */
  readonly body?: TSchema | 'text' | 'upload'
  /** A missing body counts as `{}`. */
  readonly bodyMayBeAbsent?: true
  /** Any JSON is passed to the handler, which checks each item of a batch separately. */
  readonly bodyCheckedBy?: 'handler'
  /** Reason of version 5 if an upload is not a form with a file. Default: `BAD_REQUEST`. */
  readonly badFormReason?: ReasonName
  /** The complete body of the response, with `{code, data}`; `text`: plain text; `bytes`: a file in chunks. */
  readonly reply: TSchema | 'text' | 'bytes'
  /** Content type of a `text` reply that is not plain text. */
  readonly replyType?: string
  /** Possible failures in addition to the general ones (101 to 104, 116). */
  readonly failures?: readonly ResultCodeName[]
  /** Failures with an HTTP status that is not the default of their code. */
  readonly otherStatuses?: readonly (readonly [ResultCodeName, number])[]
  /** The same for version 5, in addition to its general reasons. */
  readonly reasons?: readonly ReasonName[]
  readonly access: Access
  /**
   * Whether it is in the audit log. Default: if it is not a GET, requires authentication, and does more than publish.
   */
  readonly audit?: 'always' | 'when-done' | 'never'
  /** An open endpoint that authenticates its caller: where the audit log finds the `username`. */
  readonly callerIsNamedIn?: 'body' | 'reply'
  /** The request or the response may take many minutes. */
  readonly isLong?: true
  /**
   * Callers of a namespace may use it; others select a namespace with the query. Default: it concerns what all
   * namespaces share.
   */
  readonly isForNamespaces?: boolean | undefined
}

/** Query key that selects a namespace. A caller of a namespace always has its own. */
export const namespaceKey = 'namespace'

/** Keeps the literal types of an endpoint. */
export function endpoint<const E extends Endpoint>(definition: E): E {
  return definition
}

/** For endpoints without parameters. */
type Nothing = Readonly<Record<string, unknown>>

type StaticOr<Schema, Else> = Schema extends TSchema ? Static<Schema> : Else

/** The checked request that a handler gets. */
export interface RequestOf<E extends Endpoint> {
  readonly params: StaticOr<E['params'], Nothing>
  readonly query: StaticOr<E['query'], Nothing>
  readonly body: BodyOf<E>
  readonly caller: Caller
  /** The selected namespace; undefined: the whole broker. */
  readonly namespace?: string | undefined
  /** Aborted when the client has disconnected. */
  readonly gone?: AbortSignal
  /** Adds fields to the entry of the request in the audit log, which are not in its body. */
  readonly addToAudit?: (fields: Readonly<Record<string, string>>) => void
}

type BodyOf<E extends Endpoint> = E['bodyCheckedBy'] extends 'handler'
  ? unknown
  : E['body'] extends 'text'
    ? string
    : E['body'] extends 'upload'
      ? Upload
      : StaticOr<E['body'], undefined>

/** A file that is being uploaded. */
export interface Upload {
  /** File name as sent. It can be any text. */
  readonly filename: string
  /** Ends with an error if the sender stops. */
  readonly content: Readable
}

/** The reply of a successful request. */
export type ReplyOf<E extends Endpoint> = E['reply'] extends 'text'
  ? string
  : E['reply'] extends 'bytes'
    ? Readable
    : StaticOr<E['reply'], never>

/** The caller of a request. */
export interface Caller {
  /** Account, application ID, or subject of the token. */
  readonly name: string
  /** `socket`: a user of this machine who may read the data directory. */
  readonly by: 'account' | 'api-key' | 'token' | 'socket' | 'nobody'
  readonly role: Role
  /** undefined: of no namespace, with access to all of them and to global settings. */
  readonly namespace: string | undefined
  /** '' over the socket. */
  readonly address: string
  /** Number of the login; undefined: other credentials were used. */
  readonly login: number | undefined
}

/** An administrator may change, a viewer may read, a publisher may only publish. */
export type Role = 'administrator' | 'viewer' | 'publisher'

/** `{code: 0}`: success. */
export const noContent = Type.Object({ code: Type.Literal(0) })

/** `{code: 0, data}` */
export function responseWith<Data extends TSchema>(
  data: Data,
): ReturnType<typeof Type.Object<{ code: ReturnType<typeof Type.Literal<0>>; data: Data }>> {
  return Type.Object({ code: Type.Literal(0), data })
}

/** The body of every failure. */
export const failure = Type.Object({ code: Type.Integer(), message: Type.String() })

/** The same in version 5. */
export const failureWithReason = Type.Object({
  code: Type.Integer(),
  reason: Type.String(),
  message: Type.String(),
  parts: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      description: 'Parts of the request that failed, with the reason; the other parts succeeded.',
    }),
  ),
  mfa: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      description:
        'Only with the reason `BAD_MFA_TOKEN`: `error` and `mechanism`, and until the first valid code also `secret` and `uri`.',
    }),
  ),
})
