// Serves the dashboard: `/dashboard/` and its files. They need no authentication, because they contain no data.

import type { DashboardConfig } from '../../config/index.ts'
import type { Endpoint } from '../../contract/index.ts'
import { type ApiError, refuse } from '../http/api-error.ts'
import { refuseUnknownPath } from '../http/not-found.ts'
import type { DashboardFile, DashboardFiles } from './dashboard-files.ts'

/** Settings of the section `dashboard`. */
export type DashboardSettings = Pick<DashboardConfig, 'allowedOrigins'>

/** A request for the page or one of its files. */
export interface PageRequest {
  /** The served endpoints of the API. */
  readonly endpoints: Readonly<Record<string, Endpoint>>
  readonly url: string
  /** Name of a file; undefined: the page. */
  readonly asset: string | undefined
  readonly acceptEncoding: string
  /** True if the API needs no authentication (`http_server.auth_type = no_auth`). */
  readonly isOpen: boolean
}

/** The response. `redirect`: relative, because a proxy may have added a prefix. */
export type PageResponse =
  | { readonly headers: Readonly<Record<string, string>>; readonly body: Buffer }
  | { readonly redirect: string }
  | { readonly refusal: ApiError }

/**
 * The page may use only its own files and origin. Trusted Types: text never becomes markup. Only scripts set styles of
 * elements, which `style-src` allows.
 */
const pageHeaders = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'",
  'cross-origin-opener-policy': 'same-origin',
  vary: 'accept-encoding',
} as const

/** The name of an asset contains a hash of its content. */
const assetCaching = 'public, max-age=31536000, immutable'

const loginNeeded = 'data-login="needed"'
const loginNotNeeded = 'data-login="none"'

/** Returns the response to a request for the page or a file. `files` undefined: this server has no dashboard. */
export async function replyWithPage(files: DashboardFiles | undefined, request: PageRequest): Promise<PageResponse> {
  const { endpoints, url, asset, acceptEncoding, isOpen } = request
  const absent = { refusal: refuseUnknownPath(endpoints, 'GET', url) }
  if (files === undefined) return absent
  if (asset !== undefined) {
    const file = await files.readAsset(asset)
    return file === undefined ? absent : toFileResponse(file, acceptEncoding, assetCaching)
  }
  const [path = '', query] = url.split('?')
  // The page refers to its files relative to the folder, so the path must end in a slash.
  if (!path.endsWith('/')) return { redirect: query === undefined ? 'dashboard/' : `dashboard/?${query}` }
  const page = await files.readPage()
  if (page === undefined) return { refusal: notBuilt }
  if (!isOpen) return toFileResponse(page, acceptEncoding, 'no-cache')
  const plain = Buffer.from(page.plain.toString().replace(loginNeeded, loginNotNeeded))
  return toFileResponse({ type: page.type, plain, gzip: undefined, brotli: undefined }, acceptEncoding, 'no-cache')
}

const notBuilt = refuse('unknownError', 'the dashboard has not been built; run npm run build:dashboard', 404)

/** Returns whether a browser requests the root, which redirects to the dashboard. Other programs must log in. */
export function isStartPageRequest(method: string, url: string, accept = ''): boolean {
  return method === 'GET' && url.split('?')[0] === '/' && accept.includes('text/html')
}

function toFileResponse({ type, plain, gzip, brotli }: DashboardFile, accepted: string, caching: string): PageResponse {
  const headers = { ...pageHeaders, 'content-type': type, 'cache-control': caching }
  const toEncodedResponse = (encoding: string, body: Buffer): PageResponse => ({
    headers: { ...headers, 'content-encoding': encoding },
    body,
  })
  if (brotli !== undefined && /\bbr\b/.test(accepted)) return toEncodedResponse('br', brotli)
  if (gzip !== undefined && /\bgzip\b/.test(accepted)) return toEncodedResponse('gzip', gzip)
  return { headers, body: plain }
}
