// The contract of all stores, in a PostgreSQL with a synchronous standby.

import { shared } from '../../e2e/godwit-process.ts'
import { testStoreContract } from '../../storage/store-contract.ts'
import { PostgresStage } from './postgres-stage.ts'
import { startReplicatedDatabase } from './replicated-database.ts'

const getStage = shared(async (t) => {
  const { primary, url } = await startReplicatedDatabase(t)
  return await new PostgresStage(primary, url).prepare()
})

testStoreContract('PostgreSQL', async (context, alarms) => {
  const stage = await getStage()
  const { store } = await stage.open(context, { onAlarm: (alarm) => alarms.push(alarm) })
  return store
})
