// What remains when the broker is killed.

import {
  delayedMessagesSurvive,
  largeMessagesSurvive,
  messagesSurvive,
  sessionsSurviveWithOtherShards,
} from './restarts/messages.ts'
import { shareRestart } from './restarts/share-restart.ts'

const survives = shareRestart({ signal: 'SIGKILL', shards: [2, 3] })

messagesSurvive(survives, 'SIGKILL')
sessionsSurviveWithOtherShards(survives, 'SIGKILL')
largeMessagesSurvive(survives)
delayedMessagesSurvive(survives)
