import { root } from '../settings/root.ts'
import { walkSchema } from './walk-schema.ts'

/** The keys of all settings that only the configuration file and `--set` may change. */
export const localSettings: readonly (readonly string[])[] = [...walkSchema(root)].flatMap(({ key, node }) =>
  node.kind === 'setting' && node.isLocal ? [key.split('.')] : [],
)
