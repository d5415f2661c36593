// API keys (`/api_key`) in version 5 of the API.

import { randomBytes } from 'node:crypto'
import type { apiKeyEndpoints } from './api-key-endpoints.ts'
import type { ReplyOf } from '../../contract/index.ts'
import { type Handlers, ApiError, refuseFor, formatOffsetTime } from '../../management/index.ts'
import type { App, StoredAccounts } from './stored-accounts.ts'
import { readRoleAssignment, type RoleAssignment, formatRole } from './roles.ts'

type Known = typeof apiKeyEndpoints

const idBytes = 12
const newcomer: RoleAssignment = { role: 'administrator', namespace: undefined }

/** Version 4 identifies a program by its ID, version 5 by its name, which is unique from now on. */
export function createApiKeyHandlers(accounts: StoredAccounts): Handlers<Known> {
  const find = (name: string): App | undefined =>
    accounts.listApps().find((app) => app.name === name) ?? accounts.findApp(name)
  return {
    get_api_keys: () => ({ code: 0, data: accounts.listApps().map(toResponse) }),
    get_api_key: ({ params: { name } }) => {
      const found = find(name)
      return found === undefined ? refuseUnknownApiKey(name) : { code: 0, ...toResponse(found) }
    },
    add_api_key: async ({ body, caller }) => {
      const { name, desc: description, enable: isEnabled } = body
      const report = readRoleAssignment(body, newcomer)
      if (report instanceof ApiError) return report
      const end = readEnd(body.expired_at ?? never)
      if (end instanceof ApiError) return end
      if (find(name) !== undefined) return refuseFor('BAD_REQUEST', `${JSON.stringify(name)} exists already`)
      const id = randomBytes(idBytes).toString('hex')
      const app = { id, name, description, isEnabled, ...report, expiresAtMs: end.atMs, secret: undefined }
      const made = await accounts.createApp(app, caller)
      if (typeof made === 'string')
        return refuseFor('BAD_REQUEST', 'the maximum number of accounts and API keys exists; delete one first')
      const kept = accounts.findApp(id)
      return kept === undefined ? refuseUnknownApiKey(name) : { code: 0, ...toResponse(kept), api_secret: made.secret }
    },
    change_api_key: async ({ params: { name }, body, caller }) => {
      const before = find(name)
      if (before === undefined) return refuseUnknownApiKey(name)
      const report = readRoleAssignment(body, { role: before.role, namespace: before.namespace })
      if (report instanceof ApiError) return report
      const end = body.expired_at === undefined ? { atMs: before.expiresAtMs } : readEnd(body.expired_at)
      if (end instanceof ApiError) return end
      const { desc: description = before.description, enable: isEnabled = before.isEnabled } = body
      const change = { description, isEnabled, ...report, expiresAtMs: end.atMs }
      const refused = await accounts.updateApp(before.id, change, caller)
      const after = accounts.findApp(before.id)
      return refused !== undefined || after === undefined
        ? refuseUnknownApiKey(name)
        : { code: 0, ...toResponse(after) }
    },
    remove_api_key: async ({ params: { name }, caller }) => {
      const found = find(name)
      if (found === undefined || (await accounts.deleteApp(found.id, caller)) !== undefined)
        return refuseUnknownApiKey(name)
      return { code: 0 }
    },
  }
}

const never = 'infinity'

/** undefined: never. */
function readEnd(text: string): { readonly atMs: number | undefined } | ApiError {
  if (text === never) return { atMs: undefined }
  const atMs = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(atMs)) return { atMs }
  return refuseFor('BAD_REQUEST', `expired_at in the body is neither ${never} nor a time of RFC 3339`)
}

function refuseUnknownApiKey(name: string): ApiError {
  return refuseFor('NOT_FOUND', `there is no API key ${JSON.stringify(name)}`)
}

function toResponse(app: App): ReplyOf<Known['get_api_keys']>['data'][number] {
  const { id, name, description, isEnabled, expiresAtMs, createdAtMs, namespace = null } = app
  return {
    name,
    api_key: id,
    desc: description,
    enable: isEnabled,
    expired_at: expiresAtMs === undefined ? never : formatOffsetTime(expiresAtMs),
    expired: expiresAtMs !== undefined && expiresAtMs <= Date.now(),
    created_at: formatOffsetTime(createdAtMs),
    role: formatRole(app),
    scopes: null,
    namespace,
  }
}
