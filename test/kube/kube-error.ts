// Errors of the API, as `Status` objects.

import type { JsonObject } from './kube-object.ts'

export interface ErrorCause extends JsonObject {
  reason: string
  message: string
  field: string
}

const statusCodes = {
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  AlreadyExists: 409,
  Conflict: 409,
  Expired: 410,
  UnsupportedMediaType: 415,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
} as const

export type ErrorReason = keyof typeof statusCodes

export class KubeError extends Error {
  readonly reason: ErrorReason
  readonly causes: readonly ErrorCause[]

  constructor(reason: ErrorReason, message: string, causes: readonly ErrorCause[] = []) {
    super(message)
    this.reason = reason
    this.causes = causes
  }

  get statusCode(): number {
    return statusCodes[this.reason]
  }

  toStatus(): JsonObject {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      reason: this.reason,
      details: this.causes.length === 0 ? {} : { causes: this.causes },
      code: this.statusCode,
    }
  }
}

/** Returns the error 422 with one cause for each invalid field. */
export function createInvalidError(kind: string, name: string, causes: readonly ErrorCause[]): KubeError {
  const texts = causes.map(({ field, message }) => `${field}: ${message}`)
  return new KubeError('Invalid', `${kind} "${name}" is invalid: ${texts.join(', ')}`, causes)
}

export function createCause(reason: string, field: string, message: string): ErrorCause {
  return { reason, message, field }
}
