// The layers after the configuration file was read again.

import { mergeObjects, type Warning } from '../../config/index.ts'
import type { ConfigDocument, ConfigLayers } from './config-layers.ts'
import { withoutLocal } from './local-settings.ts'
import { withoutGone } from './removed-sections.ts'

/** Changes of the API stay, except those to items that the new document does not have any more. */
export function reloadedLayers(
  document: ConfigDocument,
  { changes, untilRestart }: ConfigLayers,
  overrides: readonly string[],
): { readonly layers: ConfigLayers; readonly warnings: readonly Warning[] } {
  const lasting = withoutGone(withoutLocal(changes, document.values), { written: document.values, overrides })
  const written = mergeObjects(document.values, lasting.changes)
  const passing = withoutGone(untilRestart, { written, overrides })
  return {
    layers: { document, changes: lasting.changes, untilRestart: passing.changes },
    warnings: [...lasting.warnings, ...passing.warnings],
  }
}
