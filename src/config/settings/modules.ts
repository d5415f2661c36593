// modules: switches of features that have no other one.

import { appliedAtOnce, section, setting } from '../schema/setting.ts'
import { boolean } from '../schema/setting-type.ts'

export const modules = appliedAtOnce(
  section(
    'Switches of features, which the API calls modules. A feature that is off keeps its settings. Other modules have switches of their own, such as delayed.enable.',
    {
      acl_internal: setting(boolean, true, {
        description:
          'Whether the access rules of auth.acl.rules and auth.acl.file apply. If false, auth.no_match decides where other sources do not, and an alarm is active.',
      }),
      psk_file: setting(boolean, true, {
        description:
          'Whether auth.psk.enable has an effect. If false, no client is accepted for its pre-shared key, and an alarm is active.',
      }),
      rewrite: setting(boolean, true, { description: 'Whether the rules of rewrite replace topics of clients.' }),
      subscription: setting(boolean, true, {
        description: 'Whether the subscriptions of auto_subscribe are made for clients that connect.',
      }),
      topic_metrics: setting(boolean, true, { description: 'Whether the messages of topic_metrics are counted.' }),
      slow_subs: setting(boolean, true, { description: 'Whether the API lists clients that receive slowly.' }),
    },
  ),
)
