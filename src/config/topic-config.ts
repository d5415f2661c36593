// Typed settings of rewrite and auto_subscribe.

import type { SettingValues } from './settings/root.ts'

/** One entry of `rewrite`. */
export interface RewriteConfig {
  readonly action: 'publish' | 'subscribe' | 'all'
  readonly source_topic: string
  readonly re: string
  readonly dest_topic: string
}

/** One entry of `auto_subscribe.topics`. */
export interface AutoSubscribeConfig {
  readonly topic: string
  readonly qos: 0 | 1 | 2
  readonly options: {
    readonly noLocal: boolean
    readonly retainAsPublished: boolean
    readonly retainHandling: 0 | 1 | 2
  }
}

/** Topics of the configuration that modules use. */
export interface TopicSettings {
  readonly rewrites: readonly RewriteConfig[]
  readonly autoSubscriptions: readonly AutoSubscribeConfig[]
  /** `topic_metrics`. */
  readonly countedTopics: readonly string[]
}

/** Returns what is configured, also for modules that are off. */
export function toTopicSettings(values: SettingValues): TopicSettings {
  return {
    rewrites: toRewrites(values),
    autoSubscriptions: toAutoSubscriptions(values),
    countedTopics: toCountedTopics(values),
  }
}

/** Omits what belongs to modules that are off. */
export function omitInactive(settings: TopicSettings, { modules }: Pick<SettingValues, 'modules'>): TopicSettings {
  return {
    rewrites: modules.rewrite ? settings.rewrites : [],
    autoSubscriptions: modules.subscription ? settings.autoSubscriptions : [],
    countedTopics: modules.topic_metrics ? settings.countedTopics : [],
  }
}

function toRewrites({ rewrite }: SettingValues): readonly RewriteConfig[] {
  return rewrite.map((fields) => ({
    action: toRewriteAction(fields.get('action')),
    source_topic: toText(fields.get('source_topic')),
    re: toText(fields.get('re')),
    dest_topic: toText(fields.get('dest_topic')),
  }))
}

/** `topic_metrics`. */
function toCountedTopics({ topic_metrics }: SettingValues): readonly string[] {
  return topic_metrics.map((fields) => toText(fields.get('topic')))
}

function toAutoSubscriptions({ auto_subscribe: { topics } }: SettingValues): readonly AutoSubscribeConfig[] {
  return topics.map((fields) => ({
    topic: toText(fields.get('topic')),
    qos: toLevel(fields.get('qos')),
    options: {
      noLocal: fields.get('nl') === '1',
      retainAsPublished: fields.get('rap') === '1',
      retainHandling: toLevel(fields.get('rh')),
    },
  }))
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function toRewriteAction(value: unknown): RewriteConfig['action'] {
  return value === 'publish' || value === 'subscribe' ? value : 'all'
}

/** The schema has checked it: '0', '1' or '2', or absent. */
function toLevel(value: unknown): 0 | 1 | 2 {
  return value === '2' ? 2 : value === '1' ? 1 : 0
}
