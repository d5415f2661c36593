// `godwit import mosquitto`: what another broker has, as files that this one reads. No broker has to run.

import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import {
  convertAclFile,
  convertConfiguration,
  convertDatabase,
  convertPasswordFile,
  InvalidArchive,
  membersOf,
} from '../backup/index.ts'
import type { CredentialRecord, RetainedRecord } from '../records/index.ts'
import { writeConverted } from './ctl/convert-export.ts'
import { exitCodes, type Terminal } from './terminal.ts'

export interface ImportArguments {
  readonly conf: string
  readonly output: string
  /** In place of the one that the configuration names. */
  readonly database?: string | undefined
}

/** Of each file: it is read whole. */
const maxBytes = 536_870_912

/** Gives the exit code. */
export async function importMosquitto(
  { conf, output, database }: ImportArguments,
  terminal: Terminal,
): Promise<number> {
  const folder = resolve(output)
  try {
    const { value, skipped } = convertConfiguration(await textOf(conf), { aclFile: join(folder, 'acl.conf') })
    const named = (file: string): string => resolve(dirname(conf), file)
    const credentials = await credentialsIn(value.passwordFile, named)
    const rules = value.aclFile === undefined ? undefined : convertAclFile(await textOf(named(value.aclFile)))
    const retained = await retainedIn(database ?? value.databaseFile, named)
    const left = [...skipped, ...credentials.skipped, ...(rules?.skipped ?? []), ...retained.skipped]
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeFile(join(folder, 'godwit.conf'), value.text, { flag: 'wx', mode: 0o600 })
    if (rules !== undefined) await writeFile(join(folder, 'acl.conf'), rules.value, { flag: 'wx', mode: 0o600 })
    const members = membersOf({ credentials: credentials.value, 'retained-messages': retained.value }, left)
    const archive = members.size === 0 ? undefined : await writeConverted(members, folder)
    terminal.say(`${[...left.map((line) => `not taken over: ${line}`), ...nextSteps(folder, archive)].join('\n')}\n`)
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

function nextSteps(folder: string, archive: string | undefined): string[] {
  const file = join(folder, 'godwit.conf')
  const start = `Check ${file} with "godwit config check ${file}", then: godwit start --config ${file}`
  if (archive === undefined) return [start]
  return [start, `and, when it runs: godwit ctl data import ${archive} --allow-security-profile-mismatch`]
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

async function retainedIn(file: string | undefined, named: (file: string) => string): Promise<Read<RetainedRecord>> {
  if (file === undefined) return { value: [], skipped: [] }
  const path = named(file)
  const bytes = await bytesOf(path)
  try {
    return convertDatabase(bytes, Date.now())
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
    throw new FileProblem(`${file}: ${(error as Error).message}`)
  }
}

const textOf = async (file: string): Promise<string> => (await bytesOf(file)).toString('utf8')
