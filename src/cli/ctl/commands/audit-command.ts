// Lists the changes by administrators.

import { type CtlCommand, showReply } from '../ctl-command.ts'

const columns = ['at', 'username', 'via', 'address', 'operation', 'path', 'outcome', 'message']
const usualLimit = 50

export const auditCommands: readonly CtlCommand[] = [
  {
    name: 'audit',
    description: 'list changes by administrators: account, operation, time and address, newest first',
    options: [
      {
        flags: '--who <name>',
        description: 'entries of this account or API key; local: entries of ctl on the machine of the broker',
      },
      { flags: '--operation <name>', description: 'entries of this operation, named as in `ctl api list`' },
      { flags: '--outcome <outcome>', description: 'entries with this outcome: done, refused or failed' },
      { flags: '--via <way>', description: 'entries with this origin: v4 or v5 (HTTP API), ctl, signal or file' },
      { flags: '--since <time>', description: 'entries from this time on, in RFC 3339, such as 2026-11-21T17:00:00Z' },
      { flags: '--until <time>', description: 'entries until this time, in RFC 3339' },
      { flags: '--page <number>', description: 'page number, from 1' },
      { flags: '--limit <rows>', description: `maximum rows in a page (default: ${usualLimit})` },
    ],
    run: ({ client, options }) => {
      const readText = (name: string): string | undefined => {
        const value = options[name]
        return typeof value === 'string' ? value : undefined
      }
      const page = Number(readText('page') ?? 1)
      const limit = Number(readText('limit') ?? usualLimit)
      if (!Number.isInteger(page) || !Number.isInteger(limit))
        return { usage: '--page and --limit: give whole numbers from 1' }
      const wanted = ['operation', 'outcome', 'via', 'since', 'until'] as const
      const filters = Object.fromEntries(wanted.map((name) => [name, readText(name)]))
      const who = readText('who') === undefined ? {} : { username: readText('who') }
      return showReply(client.get_audit({ query: { ...filters, ...who, page, limit } }), ({ data }) => ({
        rows: data,
        columns,
      }))
    },
  },
]
