import { type documentEndpoints, endpoints, listingOf, openApiOf, writeApiPage } from '../../contract/index.ts'
import type { Handlers } from '../handler.ts'
import type { BrokerOperations } from '../operations/brokers.ts'

export function documentHandlers(broker: BrokerOperations): Handlers<typeof documentEndpoints> {
  const listing = listingOf(endpoints)
  const { version } = broker.describe()
  const document = openApiOf(endpoints, version)
  const page = writeApiPage(document)
  return {
    list_endpoints: () => ({ code: 0, data: listing }),
    get_api_page: () => page,
    get_openapi_document: () => document,
  }
}
