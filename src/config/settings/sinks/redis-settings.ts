// connectors.redis, actions.redis: commands for Redis.

import { listOf } from '../../schema/collections.ts'
import { section, setting } from '../../schema/setting.ts'
import { integer } from '../../schema/setting-type.ts'
import { actionSettings, namedSinks, resourceOptionsWith, serverSettings, template } from './sink-parts.ts'

const redisConnector = section('One Redis server.', {
  ...serverSettings,
  database: setting(integer({ min: 0, max: 65_535 }), 0, { description: 'Number of the database.' }),
})

const redisAction = section('One kind of command.', {
  ...actionSettings,
  parameters: section('The command.', {
    command_template: setting(listOf(template, 1_024), [], {
      description: 'The words of the command. Each is a template: [SET, "${topic}", "${payload}"].',
    }),
  }),
  resource_opts: resourceOptionsWith({ batchSize: 100, inflightWindow: 400 }),
})

export const redisConnectors = namedSinks('Redis.', redisConnector)
export const redisActions = namedSinks('Redis.', redisAction)
