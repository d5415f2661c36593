// Variables of the container that are settings: those of Godwit, and those of EMQX that have a setting here.

import { describeSettings, loadConfig } from '../../config/index.ts'
import { quoteValue, type FaultList } from '../documents/fault-list.ts'
import type { ManifestPath } from '../documents/manifest-node.ts'
import type { ClusterSpecDraft } from '../resource/cluster-fields.ts'
import { ownVariables } from '../resource/cluster-names.ts'
import { findOwnedReason } from './owned-settings.ts'
import { formatReference, type SettingLine, type Variables } from './setting-lines.ts'

type VariableList = NonNullable<ClusterSpecDraft['env']>

/** Returns what is known of the variables of the container. */
export function readVariables(list: VariableList | undefined): Variables {
  const values = new Map<string, string | undefined>(Object.values(ownVariables).map((name) => [name, undefined]))
  values.set('HOSTNAME', undefined)
  const optional = new Set<string>()
  for (const variable of list ?? []) {
    if (variable?.name === undefined) continue
    const { name, value = '', valueFrom } = variable
    // Kubernetes replaces $(NAME) in values.
    const isKnown = valueFrom === undefined && !value.includes('$(')
    values.set(name, isKnown ? value : undefined)
    if ((valueFrom?.secretKeyRef?.optional ?? valueFrom?.configMapKeyRef?.optional) === true) optional.add(name)
  }
  return { values, optional }
}

/** Variables of EMQX with one setting each. */
const emqxVariables: ReadonlyMap<string, string> = new Map([
  ['LOG__LEVEL', 'log.level'],
  ['LOG__TO', 'log.to'],
  ['ALLOW_ANONYMOUS', 'auth.allow_anonymous'],
  ['ACL_NOMATCH', 'auth.no_match'],
  ['ACL_DENY_ACTION', 'auth.deny_action'],
  ['DASHBOARD__DEFAULT_USER__LOGIN', 'http_server.username'],
  ['DASHBOARD__DEFAULT_USER__PASSWORD', 'http_server.password'],
  ...['TCP', 'SSL', 'WS', 'WSS'].map((kind): [string, string] => [
    `LISTENER__${kind}__EXTERNAL__MAX_CONNECTIONS`,
    `listeners.${kind.toLowerCase()}.max_connections`,
  ]),
])

const logLevels: ReadonlyMap<string, string> = new Map([
  ['notice', 'info'],
  ['warning', 'warn'],
  ['critical', 'fatal'],
  ['alert', 'fatal'],
  ['emergency', 'fatal'],
])

let knownKeys: ReadonlySet<string> | undefined

function isKnownKey(key: string): boolean {
  if (knownKeys === undefined) {
    const defaults = loadConfig({ overrides: [] })
    knownKeys = new Set('config' in defaults ? describeSettings(defaults.config).map((setting) => setting.key) : [])
  }
  return knownKeys.has(key)
}

/** Returns the settings of the variables: those of EMQX, then those of Godwit, which have priority. */
export function readVariableSettings(
  variables: VariableList | undefined,
  known: Variables,
  list: FaultList,
): readonly SettingLine[] {
  const named = (variables ?? []).flatMap((variable, index) =>
    variable?.name === undefined ? [] : [{ name: variable.name, index }],
  )
  const readLines = (prefix: string, toKey: (rest: string) => string | undefined): SettingLine[] =>
    named
      .filter(({ name }) => name.startsWith(prefix))
      .flatMap(({ name, index }) => {
        const origin: ManifestPath = ['spec', 'env', index, 'name']
        const key = toKey(name.slice(prefix.length))
        if (key !== undefined) return createLines({ name, key, origin }, known, list)
        if (prefix === 'EMQX_')
          list.addWarning(
            origin,
            `the variable ${quoteValue(name)} of EMQX has no effect`,
            'remove it, or set a setting in config',
          )
        return []
      })
  return [...readLines('EMQX_', toEmqxKey), ...readLines('GODWIT_', toOwnKey)]
}

function toEmqxKey(rest: string): string | undefined {
  const key = emqxVariables.get(rest)
  if (key !== undefined) return key
  if (!rest.startsWith('MQTT__')) return undefined
  const setting = rest.toLowerCase().replaceAll('__', '.')
  return isKnownKey(setting) ? setting : undefined
}

/** Names without two underscores are variables of other kinds: every setting is in a section. */
function toOwnKey(rest: string): string | undefined {
  return /^[A-Z0-9]+(?:_[A-Z0-9]+)*(?:__[A-Z0-9]+(?:_[A-Z0-9]+)*)+$/i.test(rest)
    ? rest.toLowerCase().replaceAll('__', '.')
    : undefined
}

interface NamedSetting {
  readonly name: string
  readonly key: string
  readonly origin: ManifestPath
}

function createLines({ name, key, origin }: NamedSetting, known: Variables, list: FaultList): SettingLine[] {
  const path = key.split('.')
  const reason = findOwnedReason(path)
  if (reason !== undefined) {
    list.addFault(origin, `${key} is set by the operator`, reason)
    return []
  }
  const value = known.values.get(name)
  const translated = name.startsWith('EMQX_') ? translateValue(key, value) : undefined
  const isList = key === 'log.to' && name.startsWith('EMQX_')
  if (isList && translated === undefined) {
    list.addWarning(
      origin,
      `the variable ${quoteValue(name)} has no effect with this value`,
      'write console, file or both, or set log.to in config',
    )
    return []
  }
  const text = translated ?? formatReference(name, true)
  const checkedText = translated ?? (value === undefined ? 'null' : JSON.stringify(value))
  return [{ key: path, text, checkedText, origin, lineInText: 0 }]
}

/** Returns a value of EMQX that is written in another way here. */
function translateValue(key: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  if (key === 'log.level') return logLevels.get(value)
  if (key !== 'log.to') return undefined
  if (value === 'both') return '[console, file]'
  return value === 'console' || value === 'file' ? `[${value}]` : undefined
}
