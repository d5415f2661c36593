// `godwit import mosquitto`: converts the files of mosquitto to files for Godwit, and writes its sessions to the data directory. No
// broker has to run.

import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import {
  type ConfigurationFile,
  convertAclFile,
  convertConfiguration,
  convertDatabase,
  convertPasswordFile,
  type ImportedSession,
  listIncludedFolders,
  selectIncludedNames,
  toMembers,
} from '../../lib/imports/index.ts'
import { InvalidArchive } from '../archives/index.ts'
import { importSessions, type SessionsImport } from '../node/index.ts'
import { describeFileError, makeDirectory } from '../telemetry/index.ts'
import { writeConverted } from './ctl/convert-export.ts'
import { exitCodes, type Terminal } from './terminal/terminal.ts'

export interface ImportArguments {
  readonly conf: string
  readonly output: string
  /** Overrides the file in the configuration. */
  readonly database?: string | undefined
  /** The data directory to which sessions are written. Undefined: sessions are not imported. */
  readonly data?: string | undefined
}

/** Maximum bytes of each file, because it is read into memory. */
const maxBytes = 536_870_912

/** Gives the exit code. */
export async function importMosquitto(args: ImportArguments, terminal: Terminal): Promise<number> {
  const { conf, database } = args
  const folder = resolve(args.output)
  try {
    const resolvePath = (file: string): string => resolve(dirname(conf), file)
    const main = { name: basename(conf), text: await readFileText(conf) }
    const included = await readIncludedFiles(main, resolvePath)
    const configuration = convertConfiguration(main, { aclFile: join(folder, 'acl.conf'), included })
    const { value } = configuration
    const credentials = await readCredentials(value.passwordFile, resolvePath)
    const rules =
      value.aclFile === undefined ? undefined : convertAclFile(await readFileText(resolvePath(value.aclFile)), value)
    const found = await readDatabase(database ?? value.databaseFile, resolvePath, {
      source: value.sessionSource,
      isRequired: database !== undefined,
    })
    const all = [configuration, credentials, ...(rules === undefined ? [] : [rules]), found]
    const left = all.flatMap(({ skipped }) => skipped)
    const stricter = all.flatMap((one) => one.stricter)
    await makeDirectory(folder)
    await writeFile(join(folder, 'godwit.conf'), value.text, { flag: 'wx', mode: 0o600 })
    if (rules !== undefined) await writeFile(join(folder, 'acl.conf'), rules.value, { flag: 'wx', mode: 0o600 })
    const { retained, sessions } = found.value
    const members = toMembers({ credentials: credentials.value, 'retained-messages': [...retained] }, left)
    const archive = members.size === 0 ? undefined : await writeConverted(members, folder)
    const imported = await importConvertedSessions(sessions, args.data)
    const report = [
      ...left.map((line) => `not imported: ${line}`),
      ...stricter.map((line) => `stricter than before: ${line}`),
    ]
    const lines = [...report, ...imported]
    terminal.print(`${[...lines, ...nextSteps({ folder, data: args.data, archive })].join('\n')}\n`)
    return exitCodes.done
  } catch (error) {
    if (error instanceof FileProblem || error instanceof InvalidArchive) return terminal.fail(error.message)
    const { code, message } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    return terminal.fail(
      code === 'EEXIST' ? `${folder} has a configuration already: name another folder with --output` : message,
    )
  }
}

/** Returns a sentence about the imported sessions. */
async function importConvertedSessions(
  sessions: readonly ImportedSession[],
  data: string | undefined,
): Promise<string[]> {
  if (sessions.length === 0) return []
  if (data === undefined) {
    const [subscriptions, queued] = [sum(sessions, 'subscriptions'), sum(sessions, 'queued')]
    return [
      `not imported: ${describeContent(sessions.length, subscriptions, queued)}: name the data directory with --data, and another folder with --output`,
    ]
  }
  const done = await importSessions(resolve(data), sessions)
  if ('problem' in done) throw new FileProblem(done.problem)
  return describeImport(done)
}

function sum(sessions: readonly ImportedSession[], list: 'subscriptions' | 'queued'): number {
  return sessions.reduce((total, session) => total + session[list].length, 0)
}

function describeContent(sessions: number, subscriptions: number, queued: number): string {
  const [ofSessions, ofMessages] = [formatCount(sessions, 'session'), formatCount(queued, 'queued message')]
  return `${ofSessions} with ${formatCount(subscriptions, 'subscription')} and ${ofMessages}`
}

function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function describeImport({
  directory,
  sessions,
  subscriptions,
  queued,
  existing,
  existingNamed,
  alarms,
}: SessionsImport): string[] {
  const taken = `${describeContent(sessions, subscriptions, queued)} ${sessions === 1 ? 'is' : 'are'} imported to ${directory}`
  const names = existingNamed.map((clientId) => JSON.stringify(clientId)).join(', ')
  const kept =
    existing === 1
      ? `not imported: 1 session that exists already (${names}): it was not changed`
      : `not imported: ${existing} sessions that exist already (${names}): they were not changed`
  return [...alarms, ...(existing === 0 ? [] : [kept]), taken]
}

interface Written {
  readonly folder: string
  readonly data: string | undefined
  readonly archive: string | undefined
}

function nextSteps({ folder, data, archive }: Written): string[] {
  const file = join(folder, 'godwit.conf')
  const place = data === undefined ? '' : ` --data ${resolve(data)}`
  const start = `Check ${file} with "godwit config check ${file}", then: godwit start --config ${file}${place}`
  if (archive === undefined) return [start]
  return [start, `and, when it runs: godwit ctl data import ${archive} --allow-security-profile-mismatch${place}`]
}

/** Returns the files of each folder that the main file includes, in the order of mosquitto. */
async function readIncludedFiles(
  main: ConfigurationFile,
  named: (file: string) => string,
): Promise<ReadonlyMap<string, readonly ConfigurationFile[]>> {
  const included = new Map<string, ConfigurationFile[]>()
  for (const folder of listIncludedFolders(main)) {
    const path = named(folder)
    const files: ConfigurationFile[] = []
    for (const name of selectIncludedNames(await listFileNames(path)))
      files.push({ name, text: await readFileText(join(path, name)) })
    included.set(folder, files)
  }
  return included
}

async function listFileNames(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    throw new FileProblem(`include_dir ${folder}: ${describeFileError(error)}`)
  }
}

async function readCredentials(
  file: string | undefined,
  named: (file: string) => string,
): Promise<ReturnType<typeof convertPasswordFile>> {
  if (file === undefined) return { value: [], skipped: [], stricter: [] }
  return convertPasswordFile(await readFileText(named(file)), Date.now())
}

async function readDatabase(
  file: string | undefined,
  named: (file: string) => string,
  { source, isRequired }: { readonly source: Parameters<typeof convertDatabase>[2]; readonly isRequired: boolean },
): Promise<ReturnType<typeof convertDatabase>> {
  const nothing = { retained: [], sessions: [] }
  if (file === undefined) return { value: nothing, skipped: [], stricter: [] }
  const path = named(file)
  if (!isRequired && (await isMissing(path)))
    return { value: nothing, skipped: [`${path}: mosquitto has not written it`], stricter: [] }
  const bytes = await readFileBytes(path)
  try {
    return convertDatabase(bytes, Date.now(), source)
  } catch (error) {
    if (error instanceof InvalidArchive) throw new FileProblem(`${path}: ${error.message}`)
    throw error
  }
}

async function isMissing(path: string): Promise<boolean> {
  try {
    await stat(path)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'
  }
}

class FileProblem extends Error {}

async function readFileBytes(file: string): Promise<Buffer> {
  try {
    if ((await stat(file)).size > maxBytes) throw new FileProblem(`${file} has more than ${maxBytes} bytes`)
    return await readFile(file)
  } catch (error) {
    if (error instanceof FileProblem) throw error
    throw new FileProblem(`${file}: ${describeFileError(error)}`)
  }
}

const readFileText = async (file: string): Promise<string> => (await readFileBytes(file)).toString('utf8')
