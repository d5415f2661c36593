import { type documentEndpoints, endpoints, listingOf, openApiOf, writeApiPage } from '../../contract/index.ts'
import type { Handlers } from '../handler.ts'
import { WrittenJson } from '../json-text.ts'
import type { BrokerOperations } from '../operations/brokers.ts'

export function documentHandlers(broker: BrokerOperations): Handlers<typeof documentEndpoints> {
  const listing = listingOf(endpoints)
  const { version } = broker.describe()
  const document = openApiOf(endpoints, version)
  const written = new WrittenJson(JSON.stringify(document))
  const page = writeApiPage(document)
  return {
    list_endpoints: () => ({ code: 0, data: listing }),
    get_api_page: () => page,
    // Written once: everybody may ask for it.
    get_openapi_document: () => written,
  }
}
