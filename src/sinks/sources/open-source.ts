// Opens the connection of a source: each step has a time limit, and what was opened is closed if a step fails.

import { openWithin } from '../connections/open-connection.ts'
import { messageOf } from '../service-responses.ts'
import type { SourceConnection, SourceDriver } from './source-type.ts'

export async function openSource<Client>(driver: SourceDriver<Client>): Promise<SourceConnection> {
  const { connectTimeoutMs, requestTimeoutMs } = driver.limits
  const connection = await openWithin(driver, connectTimeoutMs).opened
  try {
    await connection.run((client) => driver.receive(client), requestTimeoutMs)
  } catch (error) {
    connection.destroy(new Error(messageOf(error)))
    throw error
  }
  return { close: () => connection.end(new Error('the source was closed')) }
}
