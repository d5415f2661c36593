// The layers after the configuration file was read: at the start, and at a reload.

import { mergeObjects, type Warning } from '../../../config/index.ts'
import { type ConfigDocument, type ConfigLayers, nothingChanged } from './config-layers.ts'
import { omitLocal } from './local-layers.ts'
import { omitRemoved } from './omit-removed.ts'

/** Changes of the API stay, except those to items that the document does not have any more. */
export function mergeLayers(
  document: ConfigDocument | undefined,
  { changes, untilRestart }: Pick<ConfigLayers, 'changes' | 'untilRestart'>,
  overrides: readonly string[],
): { readonly layers: ConfigLayers; readonly warnings: readonly Warning[] } {
  const values = document?.values ?? nothingChanged
  const lasting = omitRemoved(omitLocal(changes, document?.values), { written: values, overrides })
  const written = mergeObjects(values, lasting.changes)
  const passing = omitRemoved(untilRestart, { written, overrides })
  return {
    layers: { document, changes: lasting.changes, untilRestart: passing.changes },
    warnings: [...lasting.warnings, ...passing.warnings],
  }
}
