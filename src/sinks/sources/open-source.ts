// Opens the connection of a source: each step has a time limit, and what was opened is closed if a step fails.

import { openWithTimeout } from '../connections/open-service-connection.ts'
import { formatError } from '../service-responses.ts'
import type { SourceConnection, SourceDriver } from './source-type.ts'

export async function openSource<Client>(driver: SourceDriver<Client>): Promise<SourceConnection> {
  const { connectTimeoutMs, requestTimeoutMs } = driver.limits
  const connection = await openWithTimeout(driver, connectTimeoutMs).opened
  try {
    await connection.run((client) => driver.receive(client), requestTimeoutMs)
  } catch (error) {
    connection.destroy(new Error(formatError(error)))
    throw error
  }
  return { close: () => connection.end(new Error('the source was closed')) }
}
