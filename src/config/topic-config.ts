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

export function rewritesOf({ rewrite }: SettingValues): readonly RewriteConfig[] {
  return rewrite.map((fields) => ({
    action: actionOf(fields.get('action')),
    source_topic: textOf(fields.get('source_topic')),
    re: textOf(fields.get('re')),
    dest_topic: textOf(fields.get('dest_topic')),
  }))
}

/** `topic_metrics`. */
export function countedTopicsOf({ topic_metrics }: SettingValues): readonly string[] {
  return topic_metrics.map((fields) => textOf(fields.get('topic')))
}

export function autoSubscriptionsOf({ auto_subscribe: { topics } }: SettingValues): readonly AutoSubscribeConfig[] {
  return topics.map((fields) => ({
    topic: textOf(fields.get('topic')),
    qos: levelOf(fields.get('qos')),
    options: {
      noLocal: fields.get('nl') === '1',
      retainAsPublished: fields.get('rap') === '1',
      retainHandling: levelOf(fields.get('rh')),
    },
  }))
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function actionOf(value: unknown): RewriteConfig['action'] {
  return value === 'publish' || value === 'subscribe' ? value : 'all'
}

/** The schema has checked it: '0', '1' or '2', or absent. */
function levelOf(value: unknown): 0 | 1 | 2 {
  return value === '2' ? 2 : value === '1' ? 1 : 0
}
