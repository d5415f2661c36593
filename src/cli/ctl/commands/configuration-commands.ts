// The configuration of a running broker, and what it was before.

import { readFile } from 'node:fs/promises'
import type { Result } from '../../../contract/index.ts'
import type { ApiClient } from '../../../api/endpoints.ts'
import { type CtlCall, type CtlCommand, type Outcome, type Row, showReply } from '../ctl-command.ts'
import { describeFileError } from '../../../telemetry/index.ts'

const dryRunOption = { flags: '--dry-run', description: 'change nothing, show what would change' }
const yesOption = { flags: '--yes', description: 'change without confirmation' }

export const configurationCommands: readonly CtlCommand[] = [
  {
    name: 'reload',
    description: 'reload the configuration file and the files that it names, as SIGHUP does',
    run: ({ client }) => showReply(client.reload_configuration(), showReload),
  },
  {
    name: 'config show',
    description: 'show the current configuration, or a section of it; secrets are masked',
    arguments: ['[section]'],
    run: ({ client, operands: [section] }) => {
      const result =
        section === undefined
          ? client.get_broker_configuration()
          : client.get_configuration_section({ params: { section } })
      return showReply(result, ({ data }) => ({ text: JSON.stringify(data, undefined, 2), document: data }))
    },
  },
  {
    name: 'config get',
    description: 'show the value of a setting, or of a group of settings; secrets are masked',
    arguments: ['<key>'],
    run: getSetting,
  },
  {
    name: 'config set',
    description: 'change settings: mqtt.max_packet_size=2MB; other settings and the comments of the file stay',
    arguments: ['<key=value...>'],
    options: [dryRunOption],
    run: ({ client, operands, options }) => {
      const wrong = operands.find((word) => !/^[^=]+=/.test(word))
      if (wrong !== undefined) return { usage: `${wrong}: write KEY=VALUE` }
      return changeSettings(client, operands.map(formatSettingLine).join('\n'), options)
    },
  },
  {
    name: 'config unset',
    description:
      'drop changes of settings, so that the configuration file or the default applies; remove an entry such as bridges.mqtt.NAME',
    arguments: ['<key...>'],
    options: [dryRunOption],
    run: async ({ client, operands: keys, options }) => {
      const isDryRun = options['dryRun'] === true
      const result = renamePositions(
        await client.unset_settings({ body: { keys: [...keys] }, query: { dry_run: isDryRun } }),
      )
      if ('failure' in result) return { ...result, hasLines: true }
      return isDryRun ? showPreview(result.reply) : showChange(result.reply)
    },
  },
  {
    name: 'config update',
    description: 'change the settings that are in a file; others stay. Shows the changes and prompts for confirmation',
    arguments: ['<file>'],
    options: [dryRunOption, yesOption],
    run: (call) => updateConfiguration(call, { merge: true }),
  },
  {
    name: 'config replace',
    description: 'replace all settings by those of a file. Shows the changes and prompts for confirmation',
    arguments: ['<file>'],
    options: [dryRunOption, yesOption],
    run: (call) => updateConfiguration(call, { merge: false }),
  },
  {
    name: 'config history',
    description: 'list the last versions of the configuration with time, account and changed keys',
    run: ({ client }) =>
      showReply(client.list_configuration_history(), ({ data }) => ({
        rows: data,
        columns: ['number', 'at', 'by', 'act', 'changed'],
      })),
  },
  {
    name: 'config diff',
    description: 'show the differences between a version of the history and another version (default: the newest)',
    arguments: ['<number>', '[other]'],
    run: ({ client, operands: [number = '', other] }) => {
      if (other !== undefined && !/^\d{1,9}$/.test(other)) return { usage: `${other}: give a number of the history` }
      const query = other === undefined ? {} : { to: Number(other) }
      return showReply(client.diff_configuration({ params: { number }, query }), ({ data }) => ({ rows: data.changes }))
    },
  },
  {
    name: 'config rollback',
    description: 'restore a version of the history',
    arguments: ['<number>'],
    run: ({ client, operands: [number = ''] }) =>
      showReply(client.rollback_configuration({ params: { number } }), showChange),
  },
]

async function updateConfiguration(
  { client, operands: [file = ''], options, secrets, progress }: CtlCall,
  { merge }: { readonly merge: boolean },
): Promise<Outcome> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    return { problem: `${file}: ${describeFileError(error)}` }
  }
  const preview = renamePositions(await client.update_config({ body: text, query: { merge, dry_run: true } }), file)
  if ('failure' in preview) return { ...preview, hasLines: true }
  const isSame = preview.reply.data.changed.length + preview.reply.data.needs_restart.length === 0
  if (options['dryRun'] === true || isSame) return showPreview(preview.reply)
  if (options['yes'] !== true) {
    for (const line of formatChanges(preview.reply)) progress.write(`${line}\n`)
    const isWanted = await secrets.confirm('Apply these changes?')
    if (isWanted === undefined)
      return { usage: 'nothing was changed: add --yes to change it, or --dry-run to see the changes' }
    if (!isWanted) return { problem: 'nothing has been changed' }
  }
  const result = renamePositions(await client.update_config({ body: text, query: { merge } }), file)
  return 'failure' in result ? { ...result, hasLines: true } : showChange(result.reply)
}

async function changeSettings(client: ApiClient, text: string, options: CtlCall['options']): Promise<Outcome> {
  const isDryRun = options['dryRun'] === true
  const result = renamePositions(await client.update_config({ body: text, query: { merge: true, dry_run: isDryRun } }))
  if ('failure' in result) return { ...result, hasLines: true }
  return isDryRun ? showPreview(result.reply) : showChange(result.reply)
}

/** The broker places errors and warnings in the text of the request: that is `file`, or made by this command. */
function renamePositions(result: Result<Changed>, file?: string): Result<Changed> {
  const replaceSource = (text: string): string =>
    text.replaceAll(/^request(:\d+:\d+)?: /gm, (_all, place = '') => (file === undefined ? '' : `${file}${place}: `))
  if ('failure' in result) return { failure: { ...result.failure, message: replaceSource(result.failure.message) } }
  const { reply } = result
  return { reply: { ...reply, data: { ...reply.data, warnings: reply.data.warnings.map(replaceSource) } } }
}

/** Prints the value of a setting. Its key is dotted, as in the file. */
async function getSetting({ client, operands: [key = ''] }: CtlCall): Promise<Outcome> {
  return showReply(client.get_broker_configuration(), ({ data }) => {
    let value: unknown = data
    for (const part of key.split('.')) {
      const isGroup = typeof value === 'object' && value !== null && Object.hasOwn(value, part)
      if (!isGroup) return { problem: `unknown setting ${key}; "godwit ctl config show" lists all` }
      value = (value as Readonly<Record<string, unknown>>)[part]
    }
    const text = typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)
    return { text, document: value }
  })
}

function showPreview(reply: Changed): Outcome {
  const rows = toChangeRows(reply).map(toPreviewRow)
  return rows.length === 0 ? { text: 'nothing would change', document: [] } : toTable(rows)
}

function toPreviewRow(row: ChangeRow): ChangeRow {
  const { shown } = row
  return shown['state'] === 'changed' ? { ...row, shown: { ...shown, state: 'would change' } } : row
}

function formatChanges({ data }: Changed): string[] {
  return [...data.changed, ...data.needs_restart].map(
    ({ key, old, new: now }) => `${key}: ${old ?? 'default'} -> ${now ?? 'default'}`,
  )
}

type Changed = Extract<Awaited<ReturnType<ApiClient['update_config']>>, { reply: unknown }>['reply']
type Reloaded = Extract<Awaited<ReturnType<ApiClient['reload_configuration']>>, { reply: unknown }>['reply']

/** Settings that have changed, and the certificates that are in force now. Failed where one cannot be used. */
function showReload(reply: Reloaded): Outcome {
  const { certificates } = reply.data
  if (certificates.length === 0) return showChange(reply)
  const hasFailed = certificates.some(({ state }) => state === 'not-used')
  return { ...toTable([...toChangeRows(reply), ...certificates.map(toCertificateRow)]), hasFailed }
}

function toCertificateRow({ state: code, ...certificate }: Reloaded['data']['certificates'][number]): ChangeRow {
  const { listener: key, file: old, ends, problem } = certificate
  const state = code === 'in-force' ? 'certificate in force' : 'certificate not used'
  const text = problem === undefined ? `until ${ends}` : `${problem}; the previous certificate stays in use`
  return { shown: { state, key, old, new: text }, document: { state, ...certificate } }
}

const changeColumns = ['state', 'key', 'old', 'new'] as const

/** A line of the table, and the same for programs if its fields have other names. */
interface ChangeRow {
  readonly shown: Row
  readonly document?: Row
}

function toTable(rows: readonly ChangeRow[]): Extract<Outcome, { rows: unknown }> {
  const document = rows.map((row) => row.document ?? row.shown)
  return { rows: rows.map(({ shown }) => shown), columns: changeColumns, document }
}

function showChange(reply: Changed): Outcome {
  const rows = toChangeRows(reply)
  return rows.length === 0 ? { text: 'nothing has changed', document: [] } : toTable(rows)
}

/** A line for each setting, with what became of it. */
function toChangeRows({ data }: Changed): ChangeRow[] {
  const toRows = (state: string, settings: Changed['data']['changed']): ChangeRow[] =>
    settings.map((change) => ({ shown: { state, ...change } }))
  return [
    ...toRows('changed', data.changed),
    ...toRows('needs a restart', data.needs_restart),
    ...toRows('has no effect yet', data.without_engine),
    ...data.pinned.map((key) => ({ shown: { state: 'held by --set', key } })),
    ...data.warnings.map((message) => ({
      shown: { state: 'warning', key: message },
      document: { state: 'warning', message },
    })),
  ]
}

/**
 * `KEY=VALUE` as a line of a file. A value is read as behind `--set`: what begins with a quote, a bracket or a brace is
 * structure, and anything else is taken as it is, so that `listeners.tcp.bind=127.0.0.1:1883` needs no quotes.
 */
function formatSettingLine(word: string): string {
  const equals = word.indexOf('=')
  const value = word.slice(equals + 1).trim()
  const isAsInFile = /^["[{]/.test(value) || /^[\w.%-]*$/.test(value)
  return `${word.slice(0, equals)} = ${isAsInFile ? value : JSON.stringify(value)}`
}
