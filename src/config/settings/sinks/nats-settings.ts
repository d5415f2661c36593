// connectors.nats, actions.nats, sources.nats: messages for NATS, and of it.

import { section, setting } from '../../schema/setting.ts'
import { boolean, choice, integer, optional } from '../../schema/setting-type.ts'
import {
  actionSettings,
  maybeText,
  namedSinks,
  resourceOptionsWith,
  serverSettings,
  sourceSettings,
  template,
} from './sink-parts.ts'

const natsConnector = section('One server or cluster of NATS.', {
  ...serverSettings,
  server: setting(maybeText, undefined, {
    description: 'Address of the server, such as 127.0.0.1:4222. Several of a cluster are separated by commas.',
    isRequired: true,
  }),
  token: setting(maybeText, undefined, { description: 'Token, in place of user name and password.', isSecret: true }),
})

const natsAction = section('One kind of message.', {
  ...actionSettings,
  parameters: section('The message.', {
    subject: setting(template, '', {
      description: 'Subject, a template such as readings.${clientid}.',
      isRequired: true,
    }),
    payload: setting(optional(template, 'none'), undefined, {
      description: 'Payload, a template.',
      defaultWords: 'all columns as JSON',
    }),
    jetstream: setting(boolean, false, {
      description:
        'Whether a stream of JetStream must confirm each message. Without it the server confirms and stores nothing.',
    }),
  }),
  resource_opts: resourceOptionsWith({ batchSize: 100, inflightWindow: 200 }),
})

const natsSource = section('Messages of one subject. Rules name the source $bridges/nats:NAME.', {
  ...sourceSettings,
  parameters: section('What is read.', {
    subject: setting(maybeText, undefined, {
      description: 'Subject, such as readings.>. With JetStream, it may be left out: all subjects of the stream.',
    }),
    jetstream: setting(boolean, false, {
      description:
        'Whether a stream of JetStream sends the messages again until rules have had them. Without it, messages are lost while the source is not connected.',
    }),
    stream: setting(maybeText, undefined, {
      description: 'Stream of JetStream.',
      defaultWords: 'the stream that has the subject',
    }),
    consumer: setting(maybeText, undefined, {
      description: 'Durable consumer. NATS remembers for it what rules have had. It is created if it does not exist.',
      defaultWords: 'godwit- and the name of the source',
    }),
    deliver_policy: setting(choice(['new', 'all']), 'new', {
      description: 'Where a consumer begins that is created.',
    }),
    queue_group: setting(maybeText, undefined, {
      description: 'Queue group without JetStream: each message goes to one member of the group.',
    }),
    max_pending: setting(integer({ min: 1, max: 1_000 }), 100, {
      description:
        'Messages that may wait for rules. JetStream sends no more than these; without it, further messages are dropped and counted.',
    }),
  }),
})

export const natsConnectors = namedSinks('NATS.', natsConnector)
export const natsActions = namedSinks('NATS.', natsAction)
export const natsSources = namedSinks('NATS.', natsSource)
