// What remains when the broker is stopped and started again.

import {
  messagesSurvive,
  sessionsSurviveWithOtherShards,
  topicMetricsSurvive,
  willsOfAllShardsSurvive,
} from './restarts/messages.ts'
import { queuedCommandsSurvive, sleepingDeviceSurvives } from './restarts/gateways.ts'
import { headersSurvive, rulesOfTheApiSurvive, schemasSurvive } from './restarts/rules.ts'
import { shareRestart } from './restarts/share-restart.ts'

const survives = shareRestart({ signal: 'SIGTERM', shards: [3, 2] })

messagesSurvive(survives, 'SIGTERM')
sessionsSurviveWithOtherShards(survives, 'SIGTERM')
willsOfAllShardsSurvive(survives)
topicMetricsSurvive(survives)
rulesOfTheApiSurvive(survives)
headersSurvive(survives)
schemasSurvive(survives)
sleepingDeviceSurvives(survives, 'SIGTERM')
queuedCommandsSurvive(survives)
