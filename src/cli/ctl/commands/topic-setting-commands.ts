// Commands for topic rewrite rules and automatic subscriptions, which `config set` changes, and for topic metrics.

import { type CtlCommand, reportDone, showReply } from '../ctl-command.ts'

export const topicSettingCommands: readonly CtlCommand[] = [
  {
    name: 'rewrite list',
    description: 'list the rules that rewrite topics',
    run: ({ client }) =>
      showReply(client.get_topic_rewrite(), (rows) => ({
        rows,
        columns: ['action', 'source_topic', 're', 'dest_topic'],
      })),
  },
  {
    name: 'auto-subscribe list',
    description: 'list the subscriptions that the broker adds to each client that connects',
    run: ({ client }) =>
      showReply(client.get_auto_subscribe(), (rows) => ({ rows, columns: ['topic', 'qos', 'rh', 'rap', 'nl'] })),
  },
  {
    name: 'topic-metrics list',
    description: 'list the counted topics with their numbers of messages',
    run: ({ client }) =>
      showReply(client.get_topic_metrics(), (all) => ({
        rows: all.map(({ topic, metrics }) => ({
          topic,
          in: metrics['messages.in.count'],
          in_rate: metrics['messages.in.rate'],
          out: metrics['messages.out.count'],
          out_rate: metrics['messages.out.rate'],
          dropped: metrics['messages.dropped.count'],
        })),
        columns: ['topic', 'in', 'in_rate', 'out', 'out_rate', 'dropped'],
      })),
  },
  {
    name: 'topic-metrics show',
    description: 'show the counters and rates of a counted topic',
    arguments: ['<topic>'],
    run: ({ client, operands: [topic = ''] }) =>
      showReply(client.get_metrics_of_topic({ params: { topic } }), (document) => {
        const { metrics, ...rest } = document
        return { thing: { ...rest, ...metrics }, document }
      }),
  },
  {
    name: 'topic-metrics add',
    description: 'count the messages of a topic',
    arguments: ['<topic>'],
    run: ({ client, operands: [topic = ''] }) =>
      reportDone(client.add_topic_metrics({ body: { topic } }), `messages of ${topic} are counted`),
  },
  {
    name: 'topic-metrics reset',
    description: 'reset the counters of one topic or of all',
    arguments: ['[topic]'],
    run: ({ client, operands: [topic] }) =>
      reportDone(
        client.reset_topic_metrics({ body: { action: 'reset', ...(topic !== undefined && { topic }) } }),
        topic === undefined ? 'the counters of all topics are reset' : `the counters of ${topic} are reset`,
      ),
  },
  {
    name: 'topic-metrics delete',
    description: 'stop counting the messages of a topic',
    arguments: ['<topic>'],
    run: ({ client, operands: [topic = ''] }) =>
      reportDone(client.delete_topic_metrics({ params: { topic } }), `messages of ${topic} are no longer counted`),
  },
]
