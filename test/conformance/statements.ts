// Every normative statement of MQTT 3.1.1 and 5.0. `statements.test.ts` compares them with the titles of the tests.

import { behaviourStatementsOf5 } from './statements/v5-behaviour.ts'
import { packetStatementsOf5 } from './statements/v5-packets.ts'
import { statementsOf311 } from './statements/v311.ts'
import type { Statement } from './statements/statement.ts'

export const statements: readonly Statement[] = [...statementsOf311, ...packetStatementsOf5, ...behaviourStatementsOf5]
