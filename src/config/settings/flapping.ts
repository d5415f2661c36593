// flapping_detect: clients that reconnect too often.

import { duration } from '../schema/quantities.ts'
import { section, setting } from '../schema/setting.ts'
import { boolean, integer } from '../schema/setting-type.ts'

const dayMs = 86_400_000

export const flappingDetect = section('Ban of clients that reconnect too often.', {
  enable: setting(boolean, false, {
    field: 'isEnabled',
    description: 'Whether clients that reconnect too often are banned.',
    appliesOn: 'at-once',
  }),
  max_count: setting(integer({ min: 1, max: 1_000_000 }), 15, {
    field: 'maxCount',
    description: 'Number of disconnections within window_time after which the client is banned.',
    appliesOn: 'at-once',
  }),
  window_time: setting(duration({ minMs: 1_000, maxMs: dayMs }), 60_000, {
    field: 'windowMs',
    description: 'Period in which disconnections are counted.',
    appliesOn: 'at-once',
  }),
  ban_time: setting(duration({ minMs: 1_000, maxMs: 365 * dayMs }), 300_000, {
    field: 'banMs',
    description: 'Time for which the client is banned.',
    appliesOn: 'at-once',
  }),
})
