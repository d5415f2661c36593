// connectors.redis, actions.redis: commands for Redis.

import { listOf } from '../../schema/collections.ts'
import { section, setting } from '../../schema/setting.ts'
import { choice, integer, optional } from '../../schema/setting-type.ts'
import {
  actionSettings,
  maybeText,
  listNamedSinks,
  ofEmqx,
  createResourceOptions,
  serverSettings,
  template,
} from './sink-parts.ts'

const redisConnector = section('A connection to a Redis server.', {
  ...serverSettings,
  parameters: section(
    'Address, credentials and database of the server, at the place where EMQX has them. A setting here replaces the same setting of the connector.',
    {
      redis_type: setting(choice(['single']), 'single', { description: 'Kind of deployment. single: one server.' }),
      server: setting(maybeText, undefined, { description: 'Address of the Redis server, such as 127.0.0.1:6379.' }),
      username: setting(maybeText, undefined, { description: 'User name for Redis.' }),
      password: setting(maybeText, undefined, { description: 'Password for Redis.', isSecret: true }),
      database: setting(optional(integer({ min: 0, max: 65_535 }), 'none'), undefined, {
        description: 'Number of the Redis database.',
        defaultWords: '`database` of the connector',
      }),
      pool_size: ofEmqx,
      auto_reconnect: ofEmqx,
    },
  ),
  database: setting(integer({ min: 0, max: 65_535 }), 0, { description: 'Number of the Redis database.' }),
})

const redisAction = section('An action that sends a Redis command for each result.', {
  ...actionSettings,
  parameters: section('The Redis command.', {
    command_template: setting(listOf(template, 1_024), [], {
      description:
        'The Redis command as a list of words, each of which is a template: [SET, "${topic}", "${payload}"].',
      isRequired: true,
    }),
  }),
  resource_opts: createResourceOptions({ batchSize: 100, inflightWindow: 400 }),
})

export const redisConnectors = listNamedSinks('Connections to Redis servers.', redisConnector)
export const redisActions = listNamedSinks('Actions that send commands to Redis.', redisAction)
