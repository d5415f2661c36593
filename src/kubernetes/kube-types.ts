// Objects of Kubernetes as raw JSON: no field is lost on the way, also those that this version does not know.

export type KubeFields = { readonly [key: string]: unknown }

export interface KubeMetadata extends KubeFields {
  readonly name: string
  readonly namespace?: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly ownerReferences?: readonly { readonly uid: string; readonly kind: string; readonly name: string }[]
}

export interface KubeResource extends KubeFields {
  readonly metadata: KubeMetadata
}

/** The API server has refused a request, or its response is none of the API. */
export class KubeRequestError extends Error {
  readonly statusCode: number
  /** Such as `Conflict`, `NotFound`; empty: the response had none. */
  readonly reason: string
  /** Time after which the server wants the next attempt. */
  readonly retryAfterMs: number | undefined

  constructor(message: string, facts: { statusCode: number; reason: string; retryAfterMs?: number | undefined }) {
    super(message)
    this.statusCode = facts.statusCode
    this.reason = facts.reason
    this.retryAfterMs = facts.retryAfterMs
  }
}

export function isNotFound(error: unknown): boolean {
  return error instanceof KubeRequestError && error.statusCode === 404
}

export function isConflict(error: unknown): boolean {
  return error instanceof KubeRequestError && error.statusCode === 409
}
