// The text of a configuration from the API.

import { hoconLimits } from '../../config/index.ts'
import type { AllowedPaths } from './allowed-paths.ts'
import {
  type ConfigDocument,
  type ConfigDependencies,
  readDocument,
  requestName,
  writeSettings,
} from './config-layers.ts'
import { type ConfigRefusal, refuseErrors } from './config-refusals.ts'

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
  return { file: dependencies.file, text: writeSettings(data), values: data }
}
