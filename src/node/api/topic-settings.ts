// `rewrite` and `auto_subscribe` over the API.

import type { TopicSettingOperations } from '../../management/index.ts'
import type { LiveConfig } from '../configuration/live-config.ts'
import { SettingWriter } from './setting-writer.ts'

/** Carries out what the API asks about topics that are replaced and subscriptions that the broker makes. */
export function topicSettingOperations(configuration: LiveConfig): TopicSettingOperations {
  const writer = new SettingWriter(configuration)
  return {
    rewrites: () => configuration.config.core.topicRewrites ?? [],
    changeRewrites: (rewrite, by) => writer.change({ rewrite }, by),
    autoSubscriptions: () =>
      configuration.config.autoSubscriptions.map(({ topic, qos, options }) => ({
        topic,
        qos,
        rh: options.retainHandling,
        rap: options.retainAsPublished ? 1 : 0,
        nl: options.noLocal ? 1 : 0,
      })),
    changeAutoSubscriptions: (topics, by) => writer.change({ auto_subscribe: { topics } }, by),
  }
}
