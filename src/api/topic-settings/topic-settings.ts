// Topics that are replaced (`rewrite`), and subscriptions that the broker makes (`auto_subscribe`).

import type { ReplyOf } from '../../contract/index.ts'
import type { Handlers } from '../../management/index.ts'
import type { ApiContext } from '../context/api-context.ts'
import { refuseChange, SettingWriter } from '../context/setting-writer.ts'
import type { topicSettingEndpoints } from './endpoints.ts'

type Known = typeof topicSettingEndpoints

export function createTopicSettingHandlers({ configuration }: Pick<ApiContext, 'configuration'>): Handlers<Known> {
  const writer = new SettingWriter(configuration)
  const listRewrites = (): ReplyOf<Known['get_topic_rewrite']> => [...configuration.config.topicSettings.rewrites]
  const listSubscriptions = (): ReplyOf<Known['get_auto_subscribe']> =>
    configuration.config.topicSettings.autoSubscriptions.map(({ topic, qos, options }) => ({
      topic,
      qos,
      rh: options.retainHandling,
      rap: options.retainAsPublished ? 1 : 0,
      nl: options.noLocal ? 1 : 0,
    }))
  return {
    get_topic_rewrite: listRewrites,
    change_topic_rewrite: async ({ body: rewrite, caller }) => {
      const problem = await writer.change({ rewrite }, caller)
      return problem === undefined ? listRewrites() : refuseChange(problem)
    },
    get_auto_subscribe: listSubscriptions,
    change_auto_subscribe: async ({ body: topics, caller }) => {
      const problem = await writer.change({ auto_subscribe: { topics } }, caller)
      return problem === undefined ? listSubscriptions() : refuseChange(problem)
    },
  }
}
