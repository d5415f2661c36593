// `godwit import mosquitto`: converts the files of mosquitto to files for Godwit, and writes its sessions to the data directory. No
// broker has to run.

import { readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import {
  convertAclFile,
  convertConfiguration,
  convertDatabase,
  convertPasswordFile,
  type ImportedSession,
  InvalidArchive,
  membersOf,
} from '../backup/index.ts'
import { importSessions, type SessionsImport } from '../node/index.ts'
import type { CredentialRecord } from '../records/index.ts'
import { fileErrorText, makeDirectory } from '../telemetry/index.ts'
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
export async function importMosquitto(words: ImportArguments, terminal: Terminal): Promise<number> {
  const { conf, database } = words
  const folder = resolve(words.output)
  try {
    const { value, skipped } = convertConfiguration(await textOf(conf), { aclFile: join(folder, 'acl.conf') })
    const named = (file: string): string => resolve(dirname(conf), file)
    const credentials = await credentialsIn(value.passwordFile, named)
    const rules = value.aclFile === undefined ? undefined : convertAclFile(await textOf(named(value.aclFile)))
    const found = await databaseIn(database ?? value.databaseFile, named, value.sessionSource)
    const left = [...skipped, ...credentials.skipped, ...(rules?.skipped ?? []), ...found.skipped]
    await makeDirectory(folder)
    await writeFile(join(folder, 'godwit.conf'), value.text, { flag: 'wx', mode: 0o600 })
    if (rules !== undefined) await writeFile(join(folder, 'acl.conf'), rules.value, { flag: 'wx', mode: 0o600 })
    const { retained, sessions } = found.value
    const members = membersOf({ credentials: credentials.value, 'retained-messages': [...retained] }, left)
    const archive = members.size === 0 ? undefined : await writeConverted(members, folder)
    const imported = await importConvertedSessions(sessions, words.data)
    const lines = [...left.map((line) => `not imported: ${line}`), ...imported]
    terminal.print(`${[...lines, ...nextSteps({ folder, data: words.data, archive })].join('\n')}\n`)
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
      `not imported: ${contentOf(sessions.length, subscriptions, queued)}: name the data directory with --data, and another folder with --output`,
    ]
  }
  const done = await importSessions(resolve(data), sessions)
  if ('problem' in done) throw new FileProblem(done.problem)
  return sentencesOf(done)
}

function sum(sessions: readonly ImportedSession[], what: 'subscriptions' | 'queued'): number {
  return sessions.reduce((total, session) => total + session[what].length, 0)
}

function contentOf(sessions: number, subscriptions: number, queued: number): string {
  const [ofSessions, ofMessages] = [counted(sessions, 'session'), counted(queued, 'queued message')]
  return `${ofSessions} with ${counted(subscriptions, 'subscription')} and ${ofMessages}`
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

function sentencesOf({
  directory,
  sessions,
  subscriptions,
  queued,
  existing,
  existingNamed,
  alarms,
}: SessionsImport): string[] {
  const taken = `${contentOf(sessions, subscriptions, queued)} ${sessions === 1 ? 'is' : 'are'} imported to ${directory}`
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

interface Read<RecordType> {
  readonly value: RecordType[]
  readonly skipped: readonly string[]
}

async function credentialsIn(
  file: string | undefined,
  named: (file: string) => string,
): Promise<Read<CredentialRecord>> {
  if (file === undefined) return { value: [], skipped: [] }
  return convertPasswordFile(await textOf(named(file)), Date.now())
}

async function databaseIn(
  file: string | undefined,
  named: (file: string) => string,
  source: Parameters<typeof convertDatabase>[2],
): Promise<ReturnType<typeof convertDatabase>> {
  if (file === undefined) return { value: { retained: [], sessions: [] }, skipped: [] }
  const path = named(file)
  const bytes = await bytesOf(path)
  try {
    return convertDatabase(bytes, Date.now(), source)
  } catch (error) {
    if (error instanceof InvalidArchive) throw new FileProblem(`${path}: ${error.message}`)
    throw error
  }
}

class FileProblem extends Error {}

async function bytesOf(file: string): Promise<Buffer> {
  try {
    if ((await stat(file)).size > maxBytes) throw new FileProblem(`${file} has more than ${maxBytes} bytes`)
    return await readFile(file)
  } catch (error) {
    if (error instanceof FileProblem) throw error
    throw new FileProblem(`${file}: ${fileErrorText(error)}`)
  }
}

const textOf = async (file: string): Promise<string> => (await bytesOf(file)).toString('utf8')
