// Commands for archives, which the broker exports and imports. Some lines repeat the texts of `emqx ctl data`, because scripts look
// for them.

import { existsSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { tableNames } from '../../../backup/index.ts'
import type { Failure, Result } from '../../../contract/index.ts'
import {
  type ArchiveLocation,
  type CtlCall,
  type CtlCommand,
  reportDone,
  type Outcome,
  showReply,
} from '../ctl-command.ts'
import { convertExport } from '../convert-export.ts'
import { ProgressLines } from '../../terminal/progress-lines.ts'

export const backupCommands: readonly CtlCommand[] = [
  {
    name: 'data export',
    description: 'export an archive of the configuration and all stored data to the backup directory',
    options: [
      { flags: '--table-sets <names>', description: 'export only these tables, such as builtin_authn,banned' },
      {
        flags: '--root-keys <names>',
        description: 'export only these sections of the configuration, such as mqtt,listeners',
      },
    ],
    run: exportData,
  },
  {
    name: 'data import',
    description: 'restore an archive: adds and replaces entries, deletes none',
    arguments: ['<file>'],
    options: [
      {
        flags: '--allow-security-profile-mismatch',
        description: 'allow an archive with the security profile legacy on a broker with the profile hardened',
      },
      { flags: '--dry-run', description: 'change nothing, show what would change' },
      { flags: '--parts <names>', description: 'restore only these parts, such as configuration,builtin_authn,banned' },
    ],
    run: importData,
  },
  {
    name: 'data list',
    description: 'list the archives in the backup directory, newest first',
    run: ({ client }) =>
      showReply(client.get_backup_files({ query: { limit: 10_000 } }), ({ data }) => ({
        rows: data,
        columns: ['filename', 'created_at', 'size'],
      })),
  },
  {
    name: 'data verify',
    description: 'check an archive and show its contents',
    arguments: ['<file>'],
    run: verifyData,
  },
  {
    name: 'data diff',
    description: 'show the differences between two archives, or between an archive and the current state of the broker',
    arguments: ['<first>', '[second]'],
    run: compareData,
  },
  {
    name: 'data convert',
    description: 'convert an export of EMQX 4 to an archive; lists the entries that Godwit cannot convert',
    arguments: ['<file>'],
    options: [
      { flags: '--output <folder>', description: 'folder for the archive (default: the current folder)' },
      {
        flags: '--login-type <type>',
        description: 'username or clientid: what logins are in an export of EMQX 4.0 to 4.2 (auth.mnesia.as)',
      },
    ],
    isLocal: true,
    run: convertData,
  },
  {
    name: 'data delete',
    description: 'delete an archive from the backup directory',
    arguments: ['<file>'],
    run: ({ client, operands: [filename = ''] }) =>
      reportDone(client.delete_backup_file({ params: { filename } }), `${filename} is deleted`),
  },
]

async function convertData({ operands: [file = ''], options: { output, loginType } }: CtlCall): Promise<Outcome> {
  if (loginType !== undefined && loginType !== 'username' && loginType !== 'clientid')
    return { problem: `--login-type is ${JSON.stringify(loginType)}: write username or clientid` }
  return convertExport(file, { folder: typeof output === 'string' ? output : '.', loginType })
}

async function exportData(call: CtlCall): Promise<Outcome> {
  const { client, options, progress, archives } = call
  const lines = new ProgressLines(progress, client, formatExportLine)
  const body = { table_sets: parseNames(options['tableSets']), root_keys: parseNames(options['rootKeys']) }
  const exported = await lines.follow(client.export_backup({ body: omitUndefined(body) }))
  if ('failure' in exported) return exported
  const { code: _, tables, ...file } = exported.reply
  lines.printRemaining([
    ...(body.table_sets === undefined || body.root_keys !== undefined ? ['configuration'] : []),
    ...tables,
  ])
  const path = archives.backupDirectory === undefined ? file.filename : join(archives.backupDirectory, file.filename)
  return { text: `Data has been successfully exported to ${path}.`, document: file }
}

/** Errors of the API name fields of requests: replaces them by the options of this command. */
function withOptionNames({ failure }: { readonly failure: Failure }): Outcome {
  const message = failure.message.replace('allow_security_profile_mismatch', '--allow-security-profile-mismatch')
  return { failure: { ...failure, message } }
}

async function importData({ client, operands: [file = ''], options, progress, archives }: CtlCall): Promise<Outcome> {
  const isDryRun = options['dryRun'] === true
  const lines = new ProgressLines(progress, client, importLine)
  const wanted = {
    dry_run: isDryRun,
    allow_security_profile_mismatch: options['allowSecurityProfileMismatch'] === true,
    parts: parseNames(options['parts']),
  }
  lines.print(`Importing data from "${file}"...`)
  const result = await withFile(file, archives, (filename) =>
    lines.follow(client.import_backup({ body: omitUndefined({ ...wanted, filename }) })),
  )
  if ('usage' in result) return result
  if ('failure' in result) return withOptionNames(result)
  const { data } = result.reply
  lines.printRemaining(data.tables.map(({ table }) => table))
  for (const table of wanted.parts === undefined ? tableNames : []) {
    const isThere = data.tables.some((imported) => imported.table === table)
    if (!isThere) lines.print(`No backup file for ${table} database table...`)
  }
  for (const { key } of data.configuration) {
    if (!isDryRun) lines.print(`Config key path "${key}" was present before import and has been overwritten.`)
  }
  const tables = data.tables.map(({ conflicts, ...counts }) => ({ ...counts, conflicts: conflicts.join(', ') }))
  const summary = [
    ...tables.map(
      ({ table, inserts, updates, unchanged, conflicts }) =>
        `${table}: ${inserts} new, ${updates} replaced${conflicts === '' ? '' : ` (${conflicts})`}, ${unchanged} unchanged`,
    ),
    ...data.configuration.map(({ key, old, new: now, needs_restart: waits }) => {
      return `${key}: ${old ?? 'default'} -> ${now ?? 'default'}${waits ? ' (from the next start on)' : ''}`
    }),
    ...data.warnings.map((warning) => `note: ${warning}`),
    isDryRun ? 'Nothing has been changed.' : 'Data has been imported successfully.',
  ]
  return { text: summary.join('\n'), document: data }
}

async function verifyData({ client, operands: [file = ''], progress, archives }: CtlCall): Promise<Outcome> {
  const lines = new ProgressLines(progress, client, () => undefined)
  const result = await withFile(file, archives, (filename) =>
    lines.follow(client.verify_backup({ body: { filename } })),
  )
  if ('usage' in result || 'failure' in result) return result
  const { data } = result.reply
  const counts = Object.entries(data.counts).map(([table, count]) => `${table} ${count}`)
  const { filename, size, product, version, format, security_profile: profile, exported_at: at } = data
  const summary = { filename, size, product, version, format, security_profile: profile, exported_at: at }
  return { thing: { ...summary, records: counts.join(', ') }, document: data }
}

async function compareData({ client, operands: [first = '', second], progress, archives }: CtlCall): Promise<Outcome> {
  const lines = new ProgressLines(progress, client, () => undefined)
  const result = await withFile(first, archives, (one) =>
    withFile(second ?? '', archives, (other) =>
      lines.follow(
        client.compare_backups({ body: second === undefined ? { first: one } : { first: one, second: other } }),
      ),
    ),
  )
  if ('usage' in result || 'failure' in result) return result
  const { tables, configuration } = result.reply.data
  const summary = [
    ...tables.flatMap(({ table, only_in_first: one, only_in_second: other, different, examples }) => [
      `${table}: ${one} only in the first, ${other} only in the second, ${different} different`,
      ...examples.map(({ name, where }) => `  ${where}: ${name}`),
    ]),
    ...configuration.map(({ key, old, new: now }) => `${key}: ${old ?? 'default'} | ${now ?? 'default'}`),
  ]
  return { text: summary.length === 0 ? 'There is no difference.' : summary.join('\n'), document: result.reply.data }
}

/**
 * Calls `request` with the file that an argument names. A name without `/` is first looked up in the backup directory, then in the
 * current one. A path is relative to the installation, then to the current directory. Over --url only names are possible.
 */
async function withFile<Reply>(
  argument: string,
  { installationRoot, isLocal }: ArchiveLocation,
  request: (filename: string) => Promise<Result<Reply> | { readonly usage: string }>,
): Promise<Result<Reply> | { readonly usage: string }> {
  const isBare = !/[/\\]/.test(argument)
  if (!isLocal) {
    if (isBare) return request(argument)
    return {
      usage: `${argument}: over --url, only files of the backup directory can be used: upload the file, then give its name`,
    }
  }
  if (isAbsolute(argument)) return request(argument)
  const [inInstallation, inCurrentFolder] = [join(installationRoot, argument), resolve(argument)]
  if (!isBare) return request(existsSync(inInstallation) ? inInstallation : inCurrentFolder)
  const result = await request(argument)
  const isMissing = 'failure' in result && result.failure.kind === 'refused' && result.failure.status === 404
  return isMissing && existsSync(inCurrentFolder) ? request(inCurrentFolder) : result
}

function parseNames(option: string | true | undefined): string[] | undefined {
  return typeof option === 'string' ? option.split(',').filter((name) => name !== '') : undefined
}

function omitUndefined<Body extends object>(body: Body): { [Key in keyof Body]: Exclude<Body[Key], undefined> } {
  const entries = Object.entries(body).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as never
}

function formatExportLine(part: string): string | undefined {
  if (part === 'configuration') return 'Exporting cluster configuration...'
  return isTable(part) ? `Exporting ${part} database table...` : undefined
}

function importLine(part: string): string | undefined {
  if (part === 'configuration') return 'Importing cluster configuration...'
  return isTable(part) ? `Importing ${part} database table...` : undefined
}

function isTable(part: string): boolean {
  return (tableNames as readonly string[]).includes(part)
}
