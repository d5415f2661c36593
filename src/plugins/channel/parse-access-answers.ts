// Answers of the hooks that decide about clients, checked. A text is the reason why the answer is a failure.

import type { CallResult } from './plugin-channel.ts'

export type AuthenticationAnswer =
  | {
      readonly result: 'allow'
      readonly isSuperuser: boolean
      /** Checked by the module access. */
      readonly acl: unknown
      readonly attributes: Readonly<Record<string, string>> | undefined
      readonly expiresAtMs: number | undefined
    }
  | { readonly result: 'deny'; readonly reason: string }
  | { readonly result: 'ignore' }

export interface AuthorizationAnswer {
  readonly result: 'allow' | 'deny' | 'ignore'
  readonly isCached: boolean
}

type Answered = Exclude<CallResult, { kind: 'failure' }>
type Fields = Readonly<Record<string, unknown>>

const maxAttributes = 64
const maxAttributeLength = 1_024
const maxReasonLength = 300

export function parseAuthentication(answered: Answered): AuthenticationAnswer | string {
  if (answered.kind === 'pass') return { result: 'ignore' }
  const fields = readFields(answered)
  switch (fields?.result) {
    case 'allow':
      return parseAllowed(fields)
    case 'deny': {
      const { reason = 'no reason given' } = fields
      if (!hasOnly(fields, ['result', 'reason']) || typeof reason !== 'string') return 'its denial has unknown fields'
      return { result: 'deny', reason: reason.slice(0, maxReasonLength) }
    }
    case 'ignore':
      return hasOnly(fields, ['result']) ? { result: 'ignore' } : 'its answer has unknown fields'
    default:
      return 'its answer has no result allow, deny or ignore'
  }
}

function parseAllowed(fields: Fields): AuthenticationAnswer | string {
  const { isSuperuser = false, attributes, acl, expiresAt } = fields
  if (!hasOnly(fields, ['result', 'isSuperuser', 'attributes', 'acl', 'expiresAt']))
    return 'its answer has unknown fields'
  if (typeof isSuperuser !== 'boolean') return 'isSuperuser is no boolean'
  if (expiresAt !== undefined && !(typeof expiresAt === 'number' && Number.isFinite(expiresAt)))
    return 'expiresAt is no number of milliseconds'
  if (attributes !== undefined && !areAttributes(attributes))
    return `attributes is no object with at most ${maxAttributes} texts`
  if (acl !== undefined && !Array.isArray(acl)) return 'acl is no list'
  return { result: 'allow', isSuperuser, acl, attributes, expiresAtMs: expiresAt }
}

function areAttributes(value: unknown): value is Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const entries = Object.entries(value as Fields)
  return (
    entries.length <= maxAttributes &&
    entries.every(
      ([name, text]) =>
        name.length <= maxAttributeLength && typeof text === 'string' && text.length <= maxAttributeLength,
    )
  )
}

export function parseAuthorization(answered: Answered): AuthorizationAnswer | string {
  if (answered.kind === 'pass') return { result: 'ignore', isCached: true }
  const fields = readFields(answered)
  const { result, cache = true } = fields ?? {}
  if (result !== 'allow' && result !== 'deny' && result !== 'ignore')
    return 'its answer has no result allow, deny or ignore'
  if (typeof cache !== 'boolean') return 'cache is no boolean'
  if (fields === undefined || !hasOnly(fields, ['result', 'cache'])) return 'its answer has unknown fields'
  return { result, isCached: cache }
}

function readFields(answered: Answered): Fields | undefined {
  if (answered.kind !== 'answer' || typeof answered.value !== 'object' || answered.value === null) return undefined
  return answered.value as Fields
}

function hasOnly(fields: Fields, names: readonly string[]): boolean {
  return Object.keys(fields).every((name) => names.includes(name))
}
