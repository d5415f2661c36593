// Lists the changes by administrators.

import { type CtlCommand, shown } from '../ctl-command.ts'

const columns = ['at', 'username', 'via', 'address', 'operation', 'path', 'outcome', 'message']
const usualLimit = 50

export const auditCommands: readonly CtlCommand[] = [
  {
    name: 'audit',
    description: 'changes by administrators: account, operation, time and address, newest first',
    options: [
      { flags: '--who <name>', description: 'account, application id, or `local` for ctl' },
      { flags: '--operation <name>', description: 'operation, as in `ctl api list`' },
      { flags: '--outcome <outcome>', description: 'done, refused or failed' },
      { flags: '--via <way>', description: 'v4, v5, ctl or signal' },
      { flags: '--since <time>', description: 'RFC 3339, such as 2026-11-21T17:00:00Z' },
      { flags: '--until <time>', description: 'RFC 3339' },
      { flags: '--page <number>', description: 'page number, from 1' },
      { flags: '--limit <rows>', description: `rows of a page; ${usualLimit} unless told` },
    ],
    run: ({ client, options }) => {
      const text = (name: string): string | undefined => {
        const value = options[name]
        return typeof value === 'string' ? value : undefined
      }
      const page = Number(text('page') ?? 1)
      const limit = Number(text('limit') ?? usualLimit)
      if (!Number.isInteger(page) || !Number.isInteger(limit)) return { usage: '--page and --limit are whole numbers' }
      const wanted = ['operation', 'outcome', 'via', 'since', 'until'] as const
      const filters = Object.fromEntries(wanted.map((name) => [name, text(name)]))
      const who = text('who') === undefined ? {} : { username: text('who') }
      return shown(client.get_audit({ query: { ...filters, ...who, page, limit } }), ({ data }) => ({
        rows: data,
        columns,
      }))
    },
  },
]
