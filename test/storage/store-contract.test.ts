// The contract of stores, tested with those that need no service. The others are in test/clients.

import { openMemoryStore } from '../../src/storage/index.ts'
import { LevelStage } from './level-stage.ts'
import { testStoreContract } from './store-contract.ts'

testStoreContract('memory', async (_context, alarms) => openMemoryStore((alarm) => alarms.push(alarm)))
testStoreContract('LevelDB', (context, alarms) =>
  new LevelStage(context).open({ onAlarm: (alarm) => alarms.push(alarm) }),
)
