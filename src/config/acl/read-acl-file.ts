// Reads a file of rules (`auth.acl.file`), in one of two formats: the terms of EMQX's acl.conf, or HOCON with a list
// named `rules`, as in NanoMQ. A file without rules is valid: then `auth.no_match` decides everything.

import { createConfigError, type ConfigError } from '../hocon/config-errors.ts'
import { parseHocon } from '../hocon/parse-hocon.ts'
import { hoconLimits } from '../hocon/hocon-limits.ts'
import { listOf } from '../schema/collections.ts'
import type { AclRule } from './acl-rule.ts'
import { aclRule } from './acl-rule-setting.ts'
import { parseRule } from './erlang-rules.ts'
import { readTerms, TermError } from './read-acl-terms.ts'

/** Maximum number of rules of one file, or of `auth.acl.rules`. */
export const maxAclRules = 50_000

export type AclFile = { readonly rules: readonly AclRule[] } | { readonly errors: readonly ConfigError[] }

const key = 'auth.acl.file'
const hint = 'until it is right the broker does not start with it'

/** Returns the rules in `text`, or all errors. Errors do not quote the file. */
export function readAclFile(text: string, file: string): AclFile {
  if (text.length > hoconLimits.maxTextCharacters) {
    const at = { file, line: 1, column: 1 }
    return {
      errors: [createConfigError(at, key, `the file is longer than ${hoconLimits.maxTextCharacters} characters`, hint)],
    }
  }
  return isErlangTerms(text) ? readTermRules(text, file) : readHoconRules(text, file)
}

/** A brace with a word and a comma starts a term; in HOCON a key follows a brace. */
function isErlangTerms(text: string): boolean {
  // Line by line: a pattern that spans lines would be quadratic for a file of blank lines.
  const bare = text.replaceAll(/^[^\S\n]*%.*$/gm, '').trimStart()
  if (bare === '') return true
  return /^\{\s*(?:'[^']*'|[A-Za-z_]+)\s*(?:[,}]|$)/.test(bare)
}

function readTermRules(text: string, file: string): AclFile {
  const errors: ConfigError[] = []
  const rules: AclRule[] = []
  const recordError = (error: unknown): void => {
    if (!(error instanceof TermError)) throw error
    if (errors.length < hoconLimits.maxErrors) errors.push(createConfigError(error.at, key, error.message, hint))
  }
  try {
    for (const statement of readTerms(text, file, maxAclRules)) {
      try {
        rules.push(parseRule(statement))
      } catch (error) {
        recordError(error)
      }
    }
  } catch (error) {
    recordError(error)
  }
  return errors.length > 0 ? { errors } : { rules }
}

const ruleList = listOf(aclRule, maxAclRules)

function readHoconRules(text: string, file: string): AclFile {
  const parsed = parseHocon(text, { file })
  if ('errors' in parsed) {
    return {
      errors: parsed.errors.map(({ line, column }) =>
        createConfigError({ file, line, column }, key, notReadable, hint),
      ),
    }
  }
  const { entries, at } = parsed.value
  const list = entries.get('rules')
  const unknownKey = [...entries.keys()].find((name) => name !== 'rules')
  if (unknownKey !== undefined) {
    const where = entries.get(unknownKey)?.at ?? at
    return { errors: [createConfigError(where, key, 'the file contains more than the list named rules', hint)] }
  }
  if (list === undefined) return { rules: [] }
  const read = ruleList.read(list)
  if ('value' in read) return { rules: read.value }
  return { errors: [createConfigError(read.at ?? list.at, key, read.problem, hint)] }
}

const notReadable = 'this is neither {allow, all}. nor rules = [{permit = allow}]'
