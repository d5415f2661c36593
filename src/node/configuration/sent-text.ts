// The text of a configuration from the API.

import { hoconLimits, mergeObjects } from '../../config/index.ts'
import { keepStoredAccount } from './check-account-change.ts'
import type { AllowedPaths } from './layers/allowed-paths.ts'
import {
  type ConfigDocument,
  type ConfigDependencies,
  type ConfigLayers,
  nothingChanged,
  readDocument,
  requestName,
  writeSettings,
} from './layers/config-layers.ts'
import { type ConfigRefusal, refuseErrors } from './config-refusals.ts'
import type { CurrentConfiguration } from './current-configuration.ts'
import { selectKeptLocal } from './layers/local-layers.ts'
import { listMaskedPaths, selectStored } from './layers/setting-paths.ts'

/**
 * Returns the layers with the text in the place of the whole configuration, or with `merges`, in addition to earlier changes. What a text
 * cannot contain stays: local settings, the account of an administrator, and secrets of which the text has only the mask.
 */
export function toLayers(
  current: CurrentConfiguration,
  text: string,
  { merges, name }: { readonly merges: boolean; readonly name?: string },
): ConfigLayers | ConfigRefusal {
  const read = readSentText(text, current.options, name)
  if ('isDone' in read) return read
  const { layers, wanted } = current
  if (merges) return { ...layers, changes: mergeObjects(layers.changes, read.values) }
  const stored = current.mergeWrittenSettings()
  const kept = mergeObjects(keepStoredAccount(read, stored), selectKeptLocal(read, stored))
  const changes = mergeObjects(kept, selectStored(stored, listMaskedPaths(read.values, wanted)))
  return { document: read, changes, untilRestart: nothingChanged }
}

/**
 * Returns the text, or the value of `data` if it is a document with only that key. `name`: of the text in errors. The text
 * is in no file until it is accepted.
 */
export function readSentText(
  text: string,
  sent: { readonly dependencies: ConfigDependencies; readonly paths: AllowedPaths },
  name = requestName,
): ConfigDocument | ConfigRefusal {
  if (text.length > hoconLimits.maxTextCharacters) {
    return {
      isDone: false,
      why: 'invalid',
      message: `the text has more than ${hoconLimits.maxTextCharacters} characters`,
    }
  }
  const { dependencies, paths } = sent
  const read = readDocument(dependencies, { text, file: dependencies.file, origin: 'api', paths, name })
  if ('errors' in read) return refuseErrors('not-hocon', read.errors)
  const { values } = read.document
  if (values.entries.size === 0) {
    const message = 'no setting is in the text: send the whole configuration'
    return { isDone: false, why: 'empty', message }
  }
  const data = values.entries.size === 1 ? values.entries.get('data') : undefined
  if (data === undefined) return read.document
  if (data.kind === 'text') return readSentText(data.text, sent, name)
  if (data.kind !== 'object') return { isDone: false, why: 'invalid', message: 'data is not a configuration' }
  // Included values are in the text now.
  return { file: dependencies.file, text: writeSettings(data), values: data, includes: [] }
}
