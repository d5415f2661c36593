// The door of the room: the management API, said once.

export { brokerEndpoints } from './endpoints/brokers.ts'
export { endpoints, type EndpointName } from './endpoints/all.ts'
export { type Caller, type Endpoint, failure, type Method, type ReplyOf, type RequestOf } from './endpoint.ts'
export { type ResultCode, type ResultCodeName, resultCodes } from './result-codes.ts'
export { type Shape, type ShapeFault, shapeOf, type Static, type TSchema } from './schema.ts'
