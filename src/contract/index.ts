// Entry point of the module contract: the definition of the management API.

export { type Metric, type MetricName, metrics } from './metric-names.ts'

export {
  type Access,
  type Caller,
  type Endpoint,
  type Method,
  type ReplyOf,
  type RequestOf,
  type Role,
  type Upload,
  endpoint,
  failure,
  namespaceKey,
  noContent,
  responseWith,
} from './definition/endpoint.ts'

export { listOf, listing, maxRowsPerPage, pageOf, pageQuery, pagingQuery } from './definition/paging.ts'
export { type ReasonName, toReason as reasonOf, reasons } from './definition/reasons.ts'
export { type ResultCode, type ResultCodeName, resultCodes } from './definition/result-codes.ts'
export {
  type Shape,
  type ShapeError,
  type Static,
  type TObject,
  type TSchema,
  Type,
  compileShape as shapeOf,
} from './definition/schema.ts'
export { writeApiPage } from './documents/api-page.ts'
export { unusedCodes, writeErrorsPage } from './documents/errors-page.ts'
export { listOperations as listingOf } from './documents/list-operations.ts'
export { createOpenApi as openApiOf } from './documents/open-api.ts'
export { listUrls as urlsOf } from './documents/list-urls.ts'
export {
  formatBasicAuthorization as basicAuthorization,
  type CallOf,
  type ClientOptions,
  createClient,
  type EndpointClient,
  type FileToSend,
} from './client.ts'
export type { AnyCall, Failure, Result } from './exchange.ts'
export { createOperationTable as operationTable } from './operation-table.ts'
export { changed, newOne, params, probed, createStatusFields as stateful } from './definition/services.ts'
