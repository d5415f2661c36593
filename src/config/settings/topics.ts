// rewrite, auto_subscribe, topic_metrics: topics that the broker takes for others, subscriptions that it makes, topics that it counts.

import { listOf, record } from '../schema/collections.ts'
import { section, setting } from '../schema/setting.ts'
import { choice, text } from '../schema/setting-type.ts'

const maxRules = 1_000
const maxTopics = 100
const maxCountedTopics = 512

export const rewrite = setting(
  listOf(
    record(
      'a rule',
      {
        action: choice(['publish', 'subscribe', 'all']),
        source_topic: text(),
        re: text(),
        dest_topic: text(),
      },
      ['action', 'source_topic', 're', 'dest_topic'],
    ),
    maxRules,
  ),
  [],
  {
    description:
      'Rules that replace topics of clients: {action = publish | subscribe | all, source_topic, re, dest_topic}. The first rule whose filter source_topic matches decides: if the regular expression re matches, the topic becomes dest_topic, with $1 for groups, ${clientid} and ${username}. Access rules are applied to the topic that the client sent. A result that is a topic of the broker or of a namespace is refused.',
    appliesOn: 'at-once',
  },
)

export const autoSubscribe = section('Subscriptions that the broker makes for each client that connects.', {
  topics: setting(
    listOf(
      record(
        'a subscription',
        {
          topic: text(),
          qos: choice(['0', '1', '2']),
          rh: choice(['0', '1', '2']),
          rap: choice(['0', '1']),
          nl: choice(['0', '1']),
        },
        ['topic'],
      ),
      maxTopics,
    ),
    [],
    {
      description:
        'Subscriptions that are made for each client when it connects. Each has {topic, qos, rh, rap, nl}: rh is Retain Handling, rap Retain As Published, nl No Local. ${clientid}, ${username}, ${host} and ${port} in topic are replaced by the values of the client; if a value is not known, or cannot be a part of one level, the subscription is not made. Access rules are not applied.',
      appliesOn: 'at-once',
    },
  ),
})

export const topicMetrics = setting(listOf(record('a topic', { topic: text() }, ['topic']), maxCountedTopics), [], {
  description:
    'Topics whose messages are counted: {topic}, without wildcards. The API and `godwit ctl topic-metrics list` show the numbers, which begin at 0 with each start.',
  appliesOn: 'at-once',
})
