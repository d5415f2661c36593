// The configuration of a running broker, and what it was before.

import { readFile } from 'node:fs/promises'
import type { ApiClient } from '../../../contract/index.ts'
import { type CtlCall, type CtlCommand, type Outcome, type Row, shown } from '../ctl-command.ts'

export const configurationCommands: readonly CtlCommand[] = [
  {
    name: 'reload',
    description: 'read the configuration file and what it names again, as SIGHUP does',
    run: ({ client }) => shown(client.reload_configuration(), showChange),
  },
  {
    name: 'config show',
    description: 'the configuration as it holds, or a section of it; secrets are masked',
    arguments: ['[section]'],
    run: ({ client, words: [section] }) => {
      const asked =
        section === undefined
          ? client.get_broker_configuration()
          : client.get_configuration_section({ params: { section } })
      return shown(asked, ({ data }) => ({ text: JSON.stringify(data, undefined, 2), document: data }))
    },
  },
  {
    name: 'config update',
    description: 'put the configuration in a file in the place of the one there is',
    arguments: ['<file>'],
    run: updateConfiguration,
  },
  {
    name: 'config history',
    description: 'the last configurations: who changed what, and when',
    run: ({ client }) =>
      shown(client.list_configuration_history(), ({ data }) => ({
        rows: data,
        columns: ['number', 'at', 'by', 'act', 'changed'],
      })),
  },
  {
    name: 'config diff',
    description: 'what is otherwise in another configuration of the history, or in the newest',
    arguments: ['<number>', '[other]'],
    run: ({ client, words: [number = '', other] }) => {
      if (other !== undefined && !/^\d{1,9}$/.test(other)) return { usage: `${other}: give a number of the history` }
      const query = other === undefined ? {} : { to: Number(other) }
      return shown(client.diff_configuration({ params: { number }, query }), ({ data }) => ({ rows: data.changes }))
    },
  },
  {
    name: 'config rollback',
    description: 'make everything as it was in a configuration of the history',
    arguments: ['<number>'],
    run: ({ client, words: [number = ''] }) => shown(client.rollback_configuration({ params: { number } }), showChange),
  },
]

async function updateConfiguration({ client, words: [file = ''] }: CtlCall): Promise<Outcome> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    return { problem: `${file}: ${(error as Error).message}` }
  }
  return shown(client.update_config({ body: text }), showChange)
}

type Changed = Extract<Awaited<ReturnType<ApiClient['reload_configuration']>>, { reply: unknown }>['reply']

/** A line for each setting, with what became of it. */
function showChange({ data }: Changed): Outcome {
  const rows: Row[] = [
    ...data.changed.map((change) => ({ state: 'changed', ...change })),
    ...data.needs_restart.map((change) => ({ state: 'needs a restart', ...change })),
    ...data.without_engine.map((change) => ({ state: 'has no effect yet', ...change })),
    ...data.pinned.map((key) => ({ state: 'held by --set', key })),
    ...data.warnings.map((warning) => ({ state: 'warning', key: warning })),
  ]
  return rows.length === 0
    ? { text: 'nothing has changed', document: [] }
    : { rows, columns: ['state', 'key', 'old', 'new'] }
}
