// What remains when the broker is killed.

import {
  fallbacksSurvive,
  linesSurvive,
  republishedMessagesSurvive,
  requestsSurvive,
  retriedLettersSurvive,
  rowsSurvive,
  webhookSurvives,
} from './restarts/actions.ts'
import {
  delayedMessagesSurvive,
  largeMessagesSurvive,
  messagesSurvive,
  sessionsSurviveWithOtherShards,
} from './restarts/messages.ts'
import { registrationsSurvive, sleepingDeviceSurvives } from './restarts/gateways.ts'
import { spoolAgeSurvives } from './restarts/rules.ts'
import { shareRestart } from './restarts/share-restart.ts'

const shardsAfter = 3
const survives = shareRestart({ signal: 'SIGKILL', shards: [2, shardsAfter] })

messagesSurvive(survives, 'SIGKILL')
sessionsSurviveWithOtherShards(survives, 'SIGKILL')
largeMessagesSurvive(survives)
delayedMessagesSurvive(survives)
republishedMessagesSurvive(survives)
requestsSurvive(survives)
retriedLettersSurvive(survives)
webhookSurvives(survives)
fallbacksSurvive(survives)
linesSurvive(survives)
rowsSurvive(survives)
spoolAgeSurvives(survives)
sleepingDeviceSurvives(survives, 'SIGKILL')
registrationsSurvive(survives, shardsAfter)
