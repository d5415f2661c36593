// flapping_detect: clients that reconnect too often.

import { duration } from '../schema/quantities.ts'
import { section, setting } from '../schema/setting.ts'
import { boolean, integer } from '../schema/setting-type.ts'

const dayMs = 86_400_000

export const flappingDetect = section('Clients that come and go too often are kept out for a while.', {
  enable: setting(boolean, false, { description: 'Whether it is counted how often a client goes.', takes: 'at-once' }),
  max_count: setting(integer({ min: 1, max: 1_000_000 }), 15, {
    description: 'So many goings within the window are too many.',
    takes: 'at-once',
  }),
  window_time: setting(duration({ minMs: 1_000, maxMs: dayMs }), 60_000, {
    description: 'The window.',
    takes: 'at-once',
  }),
  ban_time: setting(duration({ minMs: 1_000, maxMs: 365 * dayMs }), 300_000, {
    description: 'How long such a client id is kept out.',
    takes: 'at-once',
  }),
})
