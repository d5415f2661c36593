// audit: the log of changes over the management API.

import { size } from '../schema/quantities.ts'
import { section, setting } from '../schema/setting.ts'

export const audit = section(
  'The audit log: changes over the management API, each with account, operation and address.',
  {
    max_size: setting(size({ minBytes: 65_536, maxBytes: 17_179_869_184 }), 33_554_432, {
      description: 'Maximum size of the audit log on disk. The oldest entries are removed first.',
      appliesOn: 'at-once',
    }),
  },
)
