// The settings of the core: `mqtt.*`, `retainer.*` and some others. The configuration defines their names, types and defaults.

import type { CoreConfig } from '../../config/index.ts'

/** The broker changes them while it runs. */
export type CoreSettings = { -readonly [Name in keyof CoreConfig]: CoreConfig[Name] }
