// delayed: messages that are published later.

import { appliedAtOnce, section, setting } from '../schema/setting.ts'
import { boolean, integer } from '../schema/setting-type.ts'
import { maxCount } from './node.ts'

export const delayed = appliedAtOnce(
  section('Delayed messages: one to $delayed/10/a/b is published to a/b ten seconds later.', {
    enable: setting(boolean, true, {
      description:
        'Whether messages to $delayed/{n}/topic are stored and published n seconds later, or at n seconds since 1970 from 4294967 on. If false, these are topics like others; what is stored is published when it is due.',
    }),
    max_delayed_messages: setting(integer({ min: 0, max: maxCount }), 100_000, {
      description:
        'Maximum number of delayed messages, which is divided among the shards. A further one is rejected with reason code 0x97. 0: no limit.',
    }),
    max_delayed_messages_per_client: setting(integer({ min: 0, max: maxCount }), 10_000, {
      description:
        'Maximum number of delayed messages of one client ID, so that one client does not use all of max_delayed_messages. Bridges, rules and the API are exempt. 0: no limit.',
    }),
  }),
)
