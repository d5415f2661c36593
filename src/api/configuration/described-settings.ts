// Settings with their definition, their value and their origin.

import { basename } from 'node:path'
import { isSettingOfFiles } from '../../actions/index.ts'
import { type DescribedSetting, describeNewEntries, describeSettings } from '../../config/index.ts'
import type { ReplyOf } from '../../contract/index.ts'
import { changesFileName, type ConfigManager, requestName } from '../../node/index.ts'
import type { configurationEndpoints } from './endpoints.ts'

type SchemaRow = ReplyOf<(typeof configurationEndpoints)['get_configuration_schema']>['data'][number]
type Origin = Pick<SchemaRow, 'source' | 'place'>

/** Every setting. */
export function listSettings(configuration: ConfigManager): SchemaRow[] {
  return describeSettings(configuration.config).map((setting) => toRow(setting, resolveOrigin(setting, configuration)))
}

/**
 * Returns the settings of a new entry of a section (`connectors`) with their defaults; undefined: no such section has named entries.
 * `isKeptToNamespace`: only those that an account of a namespace can use.
 */
export function listNewEntrySettings(section: string, isKeptToNamespace: boolean): SchemaRow[] | undefined {
  return describeNewEntries(section.split('.'))
    ?.filter(({ path: [, type = '', , ...below] }) => !isKeptToNamespace || !isSettingOfFiles(type, below))
    .map((setting) => toRow(setting, resolveOrigin(setting, { isPinned: () => false })))
}

function resolveOrigin({ path, place, isDefault }: DescribedSetting, live: Pick<ConfigManager, 'isPinned'>): Origin {
  if (live.isPinned(path)) return { source: 'command-line', place: '--set' }
  if (place === undefined || isDefault) return { source: 'default' }
  const { file, line } = place
  const isFromApi = file === requestName || basename(file) === changesFileName
  return isFromApi ? { source: 'api' } : { source: 'file', place: `${file}:${line}` }
}

function toRow(setting: DescribedSetting, origin: Origin): SchemaRow {
  const { place: _place, isDefault: _isDefault, ...described } = setting
  const { values, min, max, appliesOn, hasEffect, isSecret, isRequired, isLocal, hasLines, path, ...plain } = described
  return {
    ...plain,
    ...origin,
    path: [...path],
    ...(values === undefined ? {} : { values: [...values] }),
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
    lines: hasLines,
    takes_hold: appliesOn,
    without_engine: !hasEffect,
    secret: isSecret,
    required: isRequired,
    local: isLocal,
  }
}
