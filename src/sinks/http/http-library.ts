// The HTTP client library. It is large, so it is loaded for the first request.

import type { buildConnector, Client, Dispatcher } from 'undici'
import { recordLongStacks } from '../failed-library.ts'

/** The used part of the library. */
export interface HttpLibrary {
  readonly Client: typeof Client
  readonly buildConnector: typeof buildConnector
}

export type HttpClient = Client

/** Opens sockets. */
export type SocketOpener = buildConnector.connector

/** Receives the parts of a response. */
export type ResponseHandler = Dispatcher.DispatchHandler

/** Ends a request and its connection. */
export type RequestController = Dispatcher.DispatchController

export type ResponseHeaders = Parameters<NonNullable<ResponseHandler['onResponseStart']>>[2]

export function loadHttpLibrary(): Promise<HttpLibrary> {
  recordLongStacks()
  return import('undici')
}
