// Reads a file from a form, as browsers and curl send it, while the body arrives, with backpressure.
//
//   body ──► [ parts, limited ] ──► the first file ──► handler
//                                   everything else is discarded

import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy'
import type { Readable } from 'node:stream'
import type { Upload } from '../../contract/index.ts'
import { type ApiError, refuseFor } from './api-error.ts'

/** Why an upload failed. */
export class MalformedUpload extends Error {}

/** Only the file of a form is used. */
const limits = { files: 1, fields: 16, fieldSize: 65_536, parts: 32, headerPairs: 32, headerSize: 16_384 }

/** Maximum time for which unused data is read and discarded. */
const drainMs = 10_000

/** Resolves when the file starts, of which at most `maxBytes` are read. The rest of the body is discarded. */
export function readUpload(
  contentType: string | undefined,
  body: Readable,
  maxBytes: number,
): Promise<Upload | ApiError> {
  const { promise, resolve } = Promise.withResolvers<Upload | ApiError>()
  const parser = createParser(contentType, maxBytes)
  if (parser === undefined) {
    body.resume()
    return Promise.resolve(refuseFor('BAD_REQUEST', 'the body is not a form with a file: send multipart/form-data'))
  }
  let content: BusboyFileStream | undefined
  const refuseUpload = (problem: string): void => {
    resolve(refuseFor('BAD_REQUEST', problem))
    content?.destroy(new MalformedUpload(problem))
    // Further data is discarded, so that the sender can read the response.
    body.unpipe(parser)
    body.resume()
  }
  parser.on('file', (_field, file, filename?: string) => {
    content = file
    file.on('error', () => refuseUpload('the file is incomplete: the form has no closing boundary'))
    file.once('limit', () => refuseUpload(`the file has more than ${maxBytes} bytes: see http_server.max_upload`))
    file.once('close', () => body.unpipe(parser) && body.resume())
    if (filename === undefined || filename === '') refuseUpload('the file in the form has no name: give it one')
    else resolve({ filename, content: file })
  })
  parser.once('error', () => refuseUpload('the body is not a valid form: send multipart/form-data'))
  parser.once('finish', () => resolve(refuseFor('BAD_REQUEST', 'there is no file in the form')))
  body.once('close', () => body.readableEnded || refuseUpload('the client disconnected before the end of the upload'))
  body.pipe(parser)
  return promise
}

/**
 * Resolves when the body is complete, or after a maximum time: a client that is disconnected while it sends does not
 * read the response.
 */
export function drainBody(body: Readable): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (body.readableEnded || body.destroyed) return Promise.resolve()
  const timer = setTimeout(resolve, drainMs)
  for (const event of ['end', 'close'] as const) body.once(event, () => resolve())
  body.resume()
  return promise.finally(() => clearTimeout(timer))
}

function createParser(contentType: string | undefined, maxBytes: number): BusboyInstance | undefined {
  if (contentType === undefined || !/^multipart\/form-data\s*;/i.test(contentType)) return undefined
  try {
    const headers = { 'content-type': contentType }
    return new Busboy({ headers, preservePath: true, limits: { ...limits, fileSize: maxBytes } })
  } catch {
    // It has no boundary.
    return undefined
  }
}
