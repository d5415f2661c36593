// connectors.nats, actions.nats, sources.nats: messages for NATS, and of it.

import { section, setting } from '../../schema/setting.ts'
import { boolean, choice, integer, optional } from '../../schema/setting-type.ts'
import {
  actionSettings,
  maybeText,
  listNamedSinks,
  createResourceOptions,
  serverSettings,
  sourceSettings,
  template,
} from './sink-parts.ts'

const natsConnector = section('A connection to a NATS server or cluster.', {
  ...serverSettings,
  server: setting(maybeText, undefined, {
    description: 'Address of the server, such as 127.0.0.1:4222. Several of a cluster are separated by commas.',
    isRequired: true,
  }),
  token: setting(maybeText, undefined, { description: 'Token, in place of user name and password.', isSecret: true }),
})

const natsAction = section('An action that publishes a NATS message for each result.', {
  ...actionSettings,
  parameters: section('The NATS message.', {
    subject: setting(template, '', {
      description: 'Subject of the messages, a template such as readings.${clientid}.',
      isRequired: true,
    }),
    payload: setting(optional(template, 'none'), undefined, {
      description: 'Template of the payload.',
      defaultWords: 'all columns as JSON',
    }),
    jetstream: setting(boolean, false, {
      description:
        'Whether a stream of JetStream must confirm each message. If false, the server neither confirms nor stores messages.',
    }),
  }),
  resource_opts: createResourceOptions({ batchSize: 100, inflightWindow: 200 }),
})

const natsSource = section(
  'A source that receives the messages of one NATS subject. Rules name it $bridges/nats:NAME.',
  {
    ...sourceSettings,
    parameters: section('The subject or stream that is read.', {
      subject: setting(maybeText, undefined, {
        description:
          'Subject that the source subscribes to, such as readings.>. With JetStream it may be empty: then all subjects of the stream are received.',
      }),
      jetstream: setting(boolean, false, {
        description:
          'Whether messages are read from a JetStream stream, which sends each one again until the rules have handled it. If false, messages that are published while the source is not connected are lost.',
      }),
      stream: setting(maybeText, undefined, {
        description: 'Name of the JetStream stream.',
        defaultWords: 'the stream that has the subject',
      }),
      consumer: setting(maybeText, undefined, {
        description:
          'Name of the durable JetStream consumer, for which NATS stores the position in the stream. It is created if it does not exist.',
        defaultWords: 'godwit- and the name of the source',
      }),
      deliver_policy: setting(choice(['new', 'all']), 'new', {
        description:
          'Where in the stream a newly created consumer begins. new: with messages that are published from then on. all: with the oldest message.',
      }),
      queue_group: setting(maybeText, undefined, {
        description: 'Queue group, only without JetStream: each message is received by one member of the group.',
      }),
      max_pending: setting(integer({ min: 1, max: 1_000 }), 100, {
        description:
          'Maximum number of received messages that wait for the rules. JetStream sends no more than this; without JetStream, further messages are dropped and counted.',
      }),
    }),
  },
)

export const natsConnectors = listNamedSinks('Connections to NATS servers.', natsConnector)
export const natsActions = listNamedSinks('Actions that publish messages to NATS.', natsAction)
export const natsSources = listNamedSinks('Sources that receive messages from NATS.', natsSource)
