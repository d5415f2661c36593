// Exports as EMQX 4 writes them. The forms are those of `emqx_mgmt_data_backup.erl` (4.3, 4.4) and `emqx_mgmt.erl` (4.1, 4.2), with the
// types of values that its JSON encoder makes of the terms of Erlang.

import { createHash } from 'node:crypto'

const salt = Buffer.from([0xf1, 2, 3, 4])

/** `emqx_passwd:hash(sha256, <<Salt/binary, Password/binary>>)` behind its salt, as base64. */
export function saltedPassword(password: string): string {
  const digest = createHash('sha256').update(salt).update(password).digest('hex')
  return Buffer.concat([salt, Buffer.from(digest)]).toString('base64')
}

/** Strings of Erlang, which `inet:ntoa` returns, become lists of character codes. */
export const charactersOf = (text: string): number[] => Array.from(text, (character) => character.codePointAt(0) ?? 0)

export interface AccessRule43 {
  readonly type: 'all' | 'clientid' | 'username'
  readonly type_value?: string
  readonly topic: string
  readonly action: 'pub' | 'sub' | 'pubsub'
  readonly access: 'allow' | 'deny'
  readonly created_at: number
}

/** An export of the open-source edition of 4.3 or 4.4. */
export function exportOf(sections: Readonly<Record<string, unknown>>, version = '4.4'): string {
  return JSON.stringify({
    version,
    rules: [],
    resources: [],
    blacklist: [],
    apps: [],
    users: [],
    auth_mnesia: [],
    acl_mnesia: [],
    date: '2026-01-01 10:00:00',
    ...sections,
  })
}

/** An export of 4.1 or 4.2, which has no types of names, and the tables of older plugins. */
export function oldExportOf(sections: Readonly<Record<string, unknown>>, version = '4.2'): string {
  return exportOf({ auth_clientid: [], auth_username: [], schemas: [], ...sections }, version)
}
