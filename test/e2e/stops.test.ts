// What remains when the broker is stopped and started again.

import {
  messagesSurvive,
  sessionsSurviveWithOtherShards,
  topicMetricsSurvive,
  willsOfAllShardsSurvive,
} from './restarts/messages.ts'
import { shareRestart } from './restarts/share-restart.ts'

const survives = shareRestart({ signal: 'SIGTERM', shards: [3, 2] })

messagesSurvive(survives, 'SIGTERM')
sessionsSurviveWithOtherShards(survives, 'SIGTERM')
willsOfAllShardsSurvive(survives)
topicMetricsSurvive(survives)
