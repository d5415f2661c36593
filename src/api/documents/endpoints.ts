// Documentation of the API. The pages of `/api/docs` need no authentication: they contain only what the program contains.

import { responseWith, endpoint, Type } from '../../contract/index.ts'

const listed = Type.Object({
  path: Type.String({ description: 'Path below `/api/v4`; `:name` is a parameter.' }),
  name: Type.String({ description: 'Name of the operation, as `operationId` in the OpenAPI document.' }),
  method: Type.String(),
  descr: Type.String({ description: 'Description of the operation in a sentence.' }),
})

export const documentEndpoints = {
  list_endpoints: endpoint({
    method: 'GET',
    path: '/',
    summary: 'Lists the operations of this API.',
    reply: responseWith(Type.Array(listed)),
    access: 'read',
    isForNamespaces: true,
  }),
  get_front_page: endpoint({
    method: 'GET',
    path: '/',
    atRoot: 'only',
    summary: 'Returns the name of the broker and the addresses at which the operations are described.',
    reply: 'text',
    replyType: 'text/html; charset=utf-8',
    // A browser gets it without logging in, where it is not led to the dashboard.
    access: 'read',
    isForNamespaces: true,
  }),
  get_api_page: endpoint({
    method: 'GET',
    path: '/api/docs',
    atRoot: 'only',
    summary: 'Returns the operations of this API as an HTML page.',
    reply: 'text',
    replyType: 'text/html; charset=utf-8',
    access: 'open',
  }),
  get_openapi_document: endpoint({
    method: 'GET',
    path: '/api/docs/openapi.json',
    atRoot: 'only',
    summary: 'Returns the operations of this API as an OpenAPI 3.1 document.',
    reply: Type.Object({ openapi: Type.Literal('3.1.0') }, { additionalProperties: true }),
    access: 'open',
  }),
}
