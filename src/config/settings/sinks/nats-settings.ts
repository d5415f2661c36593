// connectors.nats, actions.nats: messages for NATS.

import { section, setting } from '../../schema/setting.ts'
import { boolean, optional } from '../../schema/setting-type.ts'
import { actionSettings, maybeText, namedSinks, resourceOptionsWith, serverSettings, template } from './sink-parts.ts'

const natsConnector = section('One server or cluster of NATS.', {
  ...serverSettings,
  server: setting(maybeText, undefined, {
    description: 'Address of the server, such as 127.0.0.1:4222. Several of a cluster are separated by commas.',
  }),
  token: setting(maybeText, undefined, { description: 'Token, in place of user name and password.', isSecret: true }),
})

const natsAction = section('One kind of message.', {
  ...actionSettings,
  parameters: section('The message.', {
    subject: setting(template, '', { description: 'Subject, a template such as readings.${clientid}.' }),
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

export const natsConnectors = namedSinks('NATS.', natsConnector)
export const natsActions = namedSinks('NATS.', natsAction)
