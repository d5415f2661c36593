// Implements the operations of the API for rewritten topics (`rewrite`) and automatic subscriptions (`auto_subscribe`).

import type { TopicSettingOperations } from './topic-settings.ts'
import type { ConfigManager } from '../../node/index.ts'
import { SettingWriter } from '../context/setting-writer.ts'

export function topicSettingOperations(configuration: ConfigManager): TopicSettingOperations {
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
