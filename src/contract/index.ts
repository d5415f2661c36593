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
export { type ReasonName, toReason, reasons } from './definition/reasons.ts'
export { type ResultCode, type ResultCodeName, resultCodes } from './definition/result-codes.ts'
export {
  type Shape,
  type ShapeError,
  type Static,
  type TObject,
  type TSchema,
  Type,
  compileShape,
} from './definition/schema.ts'
export { writeApiPage } from './documents/api-page.ts'
export { writeErrorsPage } from './documents/errors-page.ts'
export { listOperations } from './documents/list-operations.ts'
export { createOpenApi } from './documents/open-api.ts'
export { listUrls } from './documents/list-urls.ts'
export {
  formatBasicAuthorization,
  type CallOf,
  type ClientOptions,
  createClient,
  type EndpointClient,
  type FileToSend,
} from './client.ts'
export type { AnyCall, Failure, Result } from './exchange.ts'
export { createOperationTable } from './operation-table.ts'
export { changed, newOne, params, probed, createStatusFields } from './definition/services.ts'
