// Settings that the API has written and whose file is gone. Without them the broker would start with other rules than it had, and rules can deny. The
// history has a copy: changed settings are restored from it; a start without the file that the API wrote is refused.

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { PlainValue } from '../../config/index.ts'
import { historyFolder, versionFile } from '../data-dir/earlier-run.ts'
import { parseVersion, type ConfigVersion } from './config-history.ts'

/** Returns the newest version that can be read; undefined: there is none. */
export function readNewestVersion(directory: string): ConfigVersion | undefined {
  for (const name of listNames(join(directory, historyFolder))) {
    const text = readText(join(directory, historyFolder, name))
    const version = text === undefined ? undefined : parseVersion(text)
    if (version !== undefined) return version
  }
  return undefined
}

/** Newest first. */
function listNames(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => versionFile.test(name))
      .toSorted()
      .toReversed()
  } catch {
    // There is none, or this account may not read it: a start reports that.
    return []
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/** Returns whether a file is missing or empty. What cannot be read is there: reading it reports the error. */
export function isMissingOrEmpty(path: string): boolean {
  try {
    if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return true
    return isEmptyText(readFileSync(path, 'utf8'))
  } catch {
    return false
  }
}

/** A file system may leave zeros after a power cut. */
const isEmptyText = (text: string): boolean => text.replaceAll('\0', '').trim() === ''

export type LostChanges =
  /** Nothing is lost. */
  undefined | { readonly restored: PlainValue; readonly text: string } | { readonly problem: string }

/** Finds changes of the API that `changesFile` had and has no more. */
export function findLostChanges(changesFile: string, newest: ConfigVersion | undefined): LostChanges {
  if (!isMissingOrEmpty(changesFile)) return undefined
  const before = newest?.changes
  if (newest !== undefined && typeof before === 'object' && before !== null && Object.keys(before).length > 0) {
    const text = `${changesFile} was missing or empty: the settings that the API had changed were restored from version ${newest.number} of the history. To drop settings, use godwit ctl config unset.`
    return { restored: before, text }
  }
  if (newest !== undefined || isMissingOrEmpty(`${changesFile}.bak`)) return undefined
  return {
    problem: `${changesFile} is missing or empty, and there is no history: settings that the API has changed are lost; restore it from a backup or from ${changesFile}.bak, or delete that file as well`,
  }
}

interface LoadedFile {
  /** The option --config names it. */
  readonly isNamed: boolean
  /** The file that a complete configuration from the API replaces. */
  readonly own: string
  /** The file that would be read; undefined: none. */
  readonly file: string | undefined
}

/** Returns why the configuration file must not be used as it is; undefined: it may. */
export function findLostFileProblem(
  { isNamed, own, file }: LoadedFile,
  newest: ConfigVersion | undefined,
): string | undefined {
  if (newest?.text === undefined || newest.text.trim() === '') return undefined
  const remedy = `restore it; its text is in version ${newest.number} of config-history, in the field "text"`
  if (!isNamed && newest.isOwnFile === true && file !== own)
    return `configuration ${own} is missing, which the last run used: ${remedy}; or name another file with --config FILE`
  if (file !== undefined && isMissingOrEmpty(file))
    return `configuration ${file} is empty, and was not before: ${remedy}; or write a comment into it, to use the defaults`
  return undefined
}
