// Decides whether this broker may import an archive, and whether this caller may.

import {
  accountTables,
  type CheckedArchive,
  findArchiveProblem,
  type Profile,
  type TableName,
} from '../../../backup/index.ts'
import { toPlain } from '../../../config/index.ts'
import type { ConfigManager } from '../../configuration/config-manager.ts'
import { type BackupRefusal, type BackupScope, quoteName, createRefusal } from '../backup-folder.ts'
import { listAccountSets, parseConfiguration } from '../check-file.ts'
import {
  selectNamespaceConfiguration,
  findNamespaceFileProblem,
  scopeConfiguration,
} from '../namespace-configuration.ts'

/** What a caller wants to import. */
export interface WantedImport {
  readonly scope: BackupScope
  readonly tables: readonly TableName[]
  readonly request: {
    readonly allowsProfileMismatch: boolean
    /** Undefined: everything that the archive contains. */
    readonly parts: readonly string[] | undefined
  }
}

/** Returns why this broker must not import the archive, or not for this caller. */
export function checkArchive(
  { version, configuration }: { readonly version: string; readonly configuration: ConfigManager },
  { scope, request, tables }: WantedImport,
  checked: CheckedArchive,
): BackupRefusal | undefined {
  const { meta } = checked
  const foreign = findArchiveProblem(checked, version)
  if (foreign !== undefined) return createRefusal('BAD_REQUEST', foreign)
  if (meta.namespace !== scope.namespace) {
    const message = `the archive is of ${describeScope(meta.namespace)} and cannot be imported for ${describeScope(scope.namespace)}`
    return createRefusal(scope.namespace === undefined ? 'BAD_REQUEST' : 'FORBIDDEN', message)
  }
  if (scope.namespace !== undefined)
    return checkNamespaceArchive(configuration, { ...scope, namespace: scope.namespace }, checked)
  if (checked.configurationNamespace !== undefined) {
    const whose = describeScope(checked.configurationNamespace)
    return createRefusal('BAD_REQUEST', `the archive is of the whole broker, and its configuration is of ${whose}`)
  }
  const hasAccounts = tables.some((table) => accountTables.includes(table))
  const hasConfiguration = request.parts === undefined || request.parts.includes('configuration')
  const isRequested = (set: string): boolean => (set === 'http_server' ? hasConfiguration : hasAccounts)
  const sets = scope.mayManageAccounts ? [] : listAccountSets(checked).filter(isRequested)
  if (sets.length > 0) return refuseSets(sets)
  const own = configuration.config.node.securityProfile
  if (own === 'hardened' && readProfile(checked) === 'legacy' && !request.allowsProfileMismatch) {
    const message =
      'the archive has the security profile legacy, and this broker has hardened: it may refuse clients that the exporting broker accepted. Allow it with allow_security_profile_mismatch'
    return createRefusal('BAD_REQUEST', message)
  }
  return undefined
}

/** Checks an archive for a namespace. A caller of a namespace may have edited it. */
function checkNamespaceArchive(
  { written }: Pick<ConfigManager, 'written'>,
  { namespace, by }: BackupScope & { readonly namespace: string },
  checked: CheckedArchive,
): BackupRefusal | undefined {
  const { counts, files, configuration, configurationNamespace } = checked
  const isOther = configuration !== undefined && configurationNamespace !== namespace
  if (counts.size > 0 || files.size > 0 || isOther) {
    const message =
      'an archive of a namespace contains only its configuration, and no tables and files: a global administrator can import this one'
    return createRefusal('FORBIDDEN', message)
  }
  const read = parseConfiguration(checked)
  if ('problem' in read) return createRefusal('BAD_REQUEST', read.problem)
  const { plain = {} } = read
  const scoped = scopeConfiguration(plain, namespace)
  if ('problem' in scoped) return createRefusal('FORBIDDEN', scoped.problem)
  if (by.namespace === undefined) return undefined
  const refused = findNamespaceFileProblem(plain, selectNamespaceConfiguration(toPlain(written.values), namespace))
  return refused === undefined ? undefined : createRefusal('FORBIDDEN', refused)
}

function describeScope(namespace: string | undefined): string {
  return namespace === undefined ? 'the whole broker' : `the namespace ${quoteName(namespace)}`
}

export function refuseSets(sets: readonly string[]): BackupRefusal {
  const message = `the archive contains ${sets.join(', ')}, which only an administrator who logs in with a password may import`
  return createRefusal('FORBIDDEN', message)
}

/** Returns the security profile of the exporting broker. Archives of versions without profiles have none: it was `legacy`. */
export function readProfile({ meta }: Pick<CheckedArchive, 'meta'>): Profile {
  return meta.profile ?? 'legacy'
}
