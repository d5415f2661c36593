// Backups: archives of the broker, made and carried out by it.

import { existsSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { tableNames } from '../../../backup/index.ts'
import type { Failure, Result } from '../../../contract/index.ts'
import { type CtlCall, type CtlCommand, doneAs, type Outcome, shown } from '../ctl-command.ts'
import { convertExport } from '../convert-export.ts'
import { ProgressLines } from '../progress-lines.ts'

export const dataCommands: readonly CtlCommand[] = [
  {
    name: 'data export',
    description: 'export an archive of the configuration and all stored data to the backup directory',
    options: [
      { flags: '--table-sets <names>', description: 'only these, such as builtin_authn,banned' },
      { flags: '--root-keys <names>', description: 'only these sections of the configuration, such as mqtt,listeners' },
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
        description: 'also an archive of a broker with the profile legacy on one with the profile hardened',
      },
      { flags: '--dry-run', description: 'change nothing, show what would change' },
      { flags: '--parts <names>', description: 'only these, such as configuration,builtin_authn,banned' },
    ],
    run: importData,
  },
  {
    name: 'data list',
    description: 'the archives in the backup directory, the newest first',
    run: ({ client }) =>
      shown(client.get_backup_files({ query: { limit: 10_000 } }), ({ data }) => ({
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
    description: 'what differs between two archives, or between one and the broker as it is',
    arguments: ['<first>', '[second]'],
    run: compareData,
  },
  {
    name: 'data convert',
    description: 'convert an export of EMQX 4 to an archive; names what has no counterpart',
    arguments: ['<file>'],
    options: [{ flags: '--output <folder>', description: 'where the archive is put; else it is put here' }],
    isLocal: true,
    run: ({ words: [file = ''], options }) => {
      const { output } = options
      return convertExport(file, typeof output === 'string' ? output : '.')
    },
  },
  {
    name: 'data delete',
    description: 'delete an archive from the backup directory',
    arguments: ['<file>'],
    run: ({ client, words: [filename = ''] }) =>
      doneAs(client.delete_backup_file({ params: { filename } }), `${filename} is deleted`),
  },
]

async function exportData(call: CtlCall): Promise<Outcome> {
  const { client, options, progress, place } = call
  const lines = new ProgressLines(progress, client, wordsOfExport)
  const body = { table_sets: namesIn(options['tableSets']), root_keys: namesIn(options['rootKeys']) }
  const made = await lines.follow(client.export_backup({ body: omitUndefined(body) }))
  if ('failure' in made) return made
  const { code: _, tables, ...file } = made.reply
  lines.sayRest([
    ...(body.table_sets === undefined || body.root_keys !== undefined ? ['configuration'] : []),
    ...tables,
  ])
  const path = place.backupFolder === undefined ? file.filename : join(place.backupFolder, file.filename)
  return { text: `Data has been successfully exported to ${path}.`, document: file }
}

/** The API names the fields of its requests. The same choice is an option here. */
function withOptionNames({ failure }: { readonly failure: Failure }): Outcome {
  const message = failure.message.replace('allow_security_profile_mismatch', '--allow-security-profile-mismatch')
  return { failure: { ...failure, message } }
}

async function importData({ client, words: [file = ''], options, progress, place }: CtlCall): Promise<Outcome> {
  const isDry = options['dryRun'] === true
  const lines = new ProgressLines(progress, client, wordsOfImport)
  const wanted = {
    dry_run: isDry,
    allow_security_profile_mismatch: options['allowSecurityProfileMismatch'] === true,
    parts: namesIn(options['parts']),
  }
  lines.say(`Importing data from "${file}"...`)
  const asked = await withFile(file, place, (filename) =>
    lines.follow(client.import_backup({ body: omitUndefined({ ...wanted, filename }) })),
  )
  if ('usage' in asked) return asked
  if ('failure' in asked) return withOptionNames(asked)
  const { data } = asked.reply
  lines.sayRest(data.tables.map(({ table }) => table))
  for (const table of wanted.parts === undefined ? tableNames : []) {
    const isThere = data.tables.some((one) => one.table === table)
    if (!isThere) lines.say(`No backup file for ${table} database table...`)
  }
  for (const { key } of data.configuration) {
    if (!isDry) lines.say(`Config key path "${key}" was present before import and has been overwritten.`)
  }
  const tables = data.tables.map(({ conflicts, ...counts }) => ({ ...counts, conflicts: conflicts.join(', ') }))
  const words = [
    ...tables.map(
      ({ table, inserts, updates, unchanged, conflicts }) =>
        `${table}: ${inserts} new, ${updates} replaced${conflicts === '' ? '' : ` (${conflicts})`}, ${unchanged} as they were`,
    ),
    ...data.configuration.map(({ key, old, new: now, needs_restart: waits }) => {
      return `${key}: ${old ?? 'default'} -> ${now ?? 'default'}${waits ? ' (from the next start on)' : ''}`
    }),
    ...data.warnings.map((warning) => `note: ${warning}`),
    isDry ? 'Nothing has been changed.' : 'Data has been imported successfully.',
  ]
  return { text: words.join('\n'), document: data }
}

async function verifyData({ client, words: [file = ''], progress, place }: CtlCall): Promise<Outcome> {
  const lines = new ProgressLines(progress, client, () => undefined)
  const asked = await withFile(file, place, (filename) => lines.follow(client.verify_backup({ body: { filename } })))
  if ('usage' in asked || 'failure' in asked) return asked
  const { data } = asked.reply
  const counts = Object.entries(data.counts).map(([table, count]) => `${table} ${count}`)
  const { filename, size, product, version, format, security_profile: profile, exported_at: at } = data
  const thing = { filename, size, product, version, format, security_profile: profile, exported_at: at }
  return { thing: { ...thing, records: counts.join(', ') }, document: data }
}

async function compareData({ client, words: [first = '', second], progress, place }: CtlCall): Promise<Outcome> {
  const lines = new ProgressLines(progress, client, () => undefined)
  const asked = await withFile(first, place, (one) =>
    withFile(second ?? '', place, (other) =>
      lines.follow(
        client.compare_backups({ body: second === undefined ? { first: one } : { first: one, second: other } }),
      ),
    ),
  )
  if ('usage' in asked || 'failure' in asked) return asked
  const { tables, configuration } = asked.reply.data
  const words = [
    ...tables.flatMap(({ table, only_in_first: one, only_in_second: other, different, examples }) => [
      `${table}: ${one} only in the first, ${other} only in the second, ${different} different`,
      ...examples.map(({ name, where }) => `  ${where}: ${name}`),
    ]),
    ...configuration.map(({ key, old, new: now }) => `${key}: ${old ?? 'default'} | ${now ?? 'default'}`),
  ]
  return { text: words.length === 0 ? 'There is no difference.' : words.join('\n'), document: asked.reply.data }
}

/**
 * The names that a word may stand for, one after the other: a bare name is one of the backup directory first; a path is
 * seen from the installation, then from here. Paths are for the broker of this machine.
 */
async function withFile<Reply>(
  word: string,
  { root, isSocket }: CtlCall['place'],
  ask: (filename: string) => Promise<Result<Reply> | { readonly usage: string }>,
): Promise<Result<Reply> | { readonly usage: string }> {
  const isBare = !/[/\\]/.test(word)
  if (!isSocket) {
    if (isBare) return ask(word)
    return {
      usage: `${word}: over --url there are the files of the backup directory only: upload it, and give its name`,
    }
  }
  if (isAbsolute(word)) return ask(word)
  const [installed, here] = [join(root, word), resolve(word)]
  if (!isBare) return ask(existsSync(installed) ? installed : here)
  const asked = await ask(word)
  const isMissing = 'failure' in asked && asked.failure.kind === 'refused' && asked.failure.status === 404
  return isMissing && existsSync(here) ? ask(here) : asked
}

function namesIn(said: string | true | undefined): string[] | undefined {
  return typeof said === 'string' ? said.split(',').filter((name) => name !== '') : undefined
}

function omitUndefined<Body extends object>(body: Body): { [Key in keyof Body]: Exclude<Body[Key], undefined> } {
  const said = Object.entries(body).filter(([, value]) => value !== undefined)
  return Object.fromEntries(said) as never
}

function wordsOfExport(part: string): string | undefined {
  if (part === 'configuration') return 'Exporting cluster configuration...'
  return isTable(part) ? `Exporting ${part} database table...` : undefined
}

function wordsOfImport(part: string): string | undefined {
  if (part === 'configuration') return 'Importing cluster configuration...'
  return isTable(part) ? `Importing ${part} database table...` : undefined
}

function isTable(part: string): boolean {
  return (tableNames as readonly string[]).includes(part)
}
