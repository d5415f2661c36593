// The settings of the core that an empty configuration gives.

import { loadConfig } from '../../src/config/index.ts'
import type { CoreSettings } from '../../src/core/index.ts'

const loaded = loadConfig({ text: '', overrides: [] })
if ('errors' in loaded) throw new Error('an empty configuration has errors')

export const defaultCoreSettings: CoreSettings = loaded.config.core
