// Creates a configuration from its layers: defaults, the file, later changes, `--set`.

import type { IncludeReader } from './hocon/reading.ts'
import type { AclRule } from './acl/acl-rule.ts'
import { type AclFile, readAclFile } from './acl/read-acl-file.ts'
import { checkAuth } from './auth-config.ts'
import { checkCluster } from './check/check-cluster.ts'
import { checkGateways } from './check/check-gateways.ts'
import { checkOidc } from './check/check-oidc.ts'
import { checkListeners, warnOfProxies } from './cross-field-checks.ts'
import { checkSettings, type SettingText } from './check/check-settings.ts'
import { createConfigError, type ConfigError, type Warning } from './hocon/config-errors.ts'
import { toGodwitConfig, type GodwitConfig } from './godwit-config.ts'
import { createEmptyObject, mergeObjects, putValue } from './hocon/merge.ts'
import { parseHocon } from './hocon/parse-hocon.ts'
import { parseOverride } from './hocon/parse-override.ts'
import type { Environment } from './hocon/resolve.ts'
import type { ConfigObject, Position } from './hocon/config-values.ts'
import { root, type SettingValues } from './settings/root.ts'

export interface ConfigSources {
  /** HOCON; absent: defaults only. */
  readonly text?: string | undefined
  /** Name of the text in errors. */
  readonly file?: string | undefined
  /** Instead of a text: values that were parsed before. */
  readonly values?: ConfigObject | undefined
  /** Layers above the text and below the overrides, each above the one before. */
  readonly changes?: readonly ConfigObject[]
  /** `KEY=VALUE` each, in order; they have priority over the text. */
  readonly overrides: readonly string[]
  /** Reads included files, and decides which may be read. If absent, includes are refused. */
  readonly readInclude?: IncludeReader | undefined
  /**
   * Reads files that settings name, relative to the folder of the configuration. If absent, naming a file is an error.
   */
  readonly readFile?: FileReader | undefined
  /** Values for substitutions. If absent, there are none. */
  readonly environment?: Environment | undefined
}

/** Returns the text of a file that the setting `key` names, or an error text. */
export type FileReader = (path: string, key: string) => { readonly text: string } | { readonly error: string }

export type LoadedConfig =
  | {
      readonly config: GodwitConfig
      readonly warnings: readonly Warning[]
      /** All layers together. */
      readonly written: ConfigObject
    }
  | { readonly errors: readonly ConfigError[] }

/** Creates the configuration of the sources, or returns all errors. Throws nothing, whatever the text. */
export function loadConfig(sources: ConfigSources): LoadedConfig {
  const errors: ConfigError[] = []
  const file = sources.file ?? 'configuration'
  let values = sources.values ?? createEmptyObject({ file: 'defaults', line: 0, column: 0 })
  if (sources.text !== undefined) {
    const { readInclude, environment } = sources
    const parsed = parseHocon(sources.text, { file, readInclude, environment })
    if ('errors' in parsed) errors.push(...parsed.errors)
    else values = parsed.value
  }
  for (const change of sources.changes ?? []) values = mergeObjects(values, change)
  for (const override of sources.overrides) {
    const parsed = parseOverride(override)
    if ('error' in parsed) errors.push(parsed.error)
    else values = putValue(values, parsed.path, parsed.value)
  }
  const checked = checkSettings(root, values)
  errors.push(...checked.errors)
  const { auth } = checked.values
  const aclFile = readNamedAclFile(auth.acl.file, checked.places, sources.readFile)
  const tokenKeys = readTokenKeyFile(auth.jwt, checked.places, sources.readFile)
  const apiTokenKey = readApiTokenKeyFile(checked, sources.readFile)
  const operatorKey = readOperatorKeyFile(checked, sources.readFile)
  errors.push(...aclFile.errors, ...tokenKeys.errors, ...operatorKey.errors)
  // If passwords are accepted as well, the API is served without tokens: files of other brokers name key files that do
  // not exist.
  const needsApiTokens = checked.values.http_server.auth_type === 'jwt'
  if (needsApiTokens) errors.push(...apiTokenKey.errors)
  const named = {
    aclRules: aclFile.rules,
    tokenKeys: tokenKeys.text,
    apiTokenKey: apiTokenKey.text,
    operatorKey: operatorKey.text,
  }
  const config = toGodwitConfig(checked, named)
  errors.push(...checkListeners(config, checked.places), ...checkAuth(auth, checked.places))
  errors.push(...checkCluster(checked.values, checked.places))
  errors.push(...checkGateways(checked.places), ...checkOidc(checked.values.dashboard, checked.places))
  if (errors.length > 0) return { errors: sortByPosition(errors, file) }
  const ofTokens = needsApiTokens ? [] : apiTokenKey.errors.map(toTokenWarning)
  const ofListeners = [...warnOfNoListener(config), ...warnOfProxies(config, checked.places)]
  const others = [...ofTokens, ...warnOfIdleBridges(config, checked), ...ofListeners]
  const warnings = sortByPosition([...checked.warnings, ...others], file)
  return { config, warnings, written: values }
}

/** Such as a file that was cut by a full disk. Without its denials, `auth.no_match` could allow what they denied. */
function refuseEmptyAclFile(file: string): AclFile {
  const hint = 'restore it; if there are to be no rules, write a comment, such as "% no rules", or take the setting out'
  return { errors: [createConfigError({ file, line: 1, column: 1 }, 'auth.acl.file', 'the file is empty', hint)] }
}

interface NamedAclFile {
  readonly rules: readonly AclRule[]
  readonly errors: readonly ConfigError[]
}

/** An invalid file of rules makes the configuration invalid: an error must not allow more. */
function readNamedAclFile(
  path: string | undefined,
  places: ReadonlyMap<string, Position>,
  readFile: FileReader | undefined,
): NamedAclFile {
  if (path === undefined) return { rules: [], errors: [] }
  const found = readNamedFile({ path, key: 'auth.acl.file' }, places, readFile)
  if ('error' in found) return { rules: [], errors: [found.error] }
  const read = found.text.trim() === '' ? refuseEmptyAclFile(path) : readAclFile(found.text, path)
  return 'errors' in read ? { rules: [], errors: read.errors } : { rules: read.rules, errors: [] }
}

/** Returns the keys of tokens as text; another module validates them. */
function readTokenKeyFile(
  { public_key_file: keyFile, jwks_file: setFile }: SettingValues['auth']['jwt'],
  places: ReadonlyMap<string, Position>,
  readFile: FileReader | undefined,
): OptionalText {
  const path = keyFile ?? setFile
  const key = keyFile === undefined ? 'auth.jwt.jwks_file' : 'auth.jwt.public_key_file'
  return readOptionalFile({ path, key }, places, readFile)
}

function readApiTokenKeyFile(
  { values, places }: { readonly values: SettingValues; readonly places: ReadonlyMap<string, Position> },
  readFile: FileReader | undefined,
): OptionalText {
  const path = values.http_server.jwt.public.keyfile
  return readOptionalFile({ path, key: 'http_server.jwt.public.keyfile' }, places, readFile)
}

function readOperatorKeyFile(
  { values, places }: { readonly values: SettingValues; readonly places: ReadonlyMap<string, Position> },
  readFile: FileReader | undefined,
): OptionalText {
  const path = values.http_server.operator_keyfile
  return readOptionalFile({ path, key: 'http_server.operator_keyfile' }, places, readFile)
}

function toTokenWarning(error: ConfigError): Warning {
  return { ...error, hint: `until then tokens are not accepted: ${error.hint}` }
}

interface OptionalText {
  readonly text: string | undefined
  readonly errors: readonly ConfigError[]
}

function readOptionalFile(
  { path, key }: { readonly path: string | undefined; readonly key: string },
  places: ReadonlyMap<string, Position>,
  readFile: FileReader | undefined,
): OptionalText {
  if (path === undefined) return { text: undefined, errors: [] }
  const found = readNamedFile({ path, key }, places, readFile)
  return 'error' in found ? { text: undefined, errors: [found.error] } : { text: found.text, errors: [] }
}

function readNamedFile(
  { path, key }: { readonly path: string; readonly key: string },
  places: ReadonlyMap<string, Position>,
  readFile: FileReader | undefined,
): { readonly text: string } | { readonly error: ConfigError } {
  const found = readFile === undefined ? { error: 'no files can be read here' } : readFile(path, key)
  if ('text' in found) return found
  const at = places.get(key) ?? { file: 'defaults', line: 0, column: 0 }
  const hint = 'name a file that can be read, or take the setting out'
  return { error: createConfigError(at, key, `${path} cannot be read: ${found.error}`, hint) }
}

/** By line: errors of the main file first, then of included files, then those without a file. */
function sortByPosition(errors: readonly ConfigError[], mainFile: string): readonly ConfigError[] {
  const files = [...new Set([mainFile, ...errors.map((error) => error.file)])]
  const rankFile = ({ file, line }: ConfigError): number => (line === 0 ? files.length : files.indexOf(file))
  return errors.toSorted((a, b) => rankFile(a) - rankFile(b) || a.line - b.line || a.column - b.column)
}

/** In other brokers a configured bridge runs without `enable`. */
function warnOfIdleBridges(
  { bridges }: GodwitConfig,
  { settingTexts, places }: { settingTexts: ReadonlyMap<string, SettingText>; places: ReadonlyMap<string, Position> },
): readonly Warning[] {
  return [...bridges.mqtt.named.keys()].flatMap((name) => {
    const key = `bridges.mqtt.${name}.enable`
    if (settingTexts.get(key)?.isDefault !== true) return []
    const place = places.get(`bridges.mqtt.${name}.server`) ?? nowhere
    return [createConfigError(place, key, 'the bridge has no setting enable, so it is disabled', `set ${key} = true`)]
  })
}

const nowhere = { file: 'configuration', line: 0, column: 0 }

function warnOfNoListener(config: GodwitConfig): readonly Warning[] {
  if (config.listeners.length > 0) return []
  return [
    createConfigError(nowhere, 'listeners', 'no listener is open: no client can connect', 'set listeners.tcp.bind'),
  ]
}
