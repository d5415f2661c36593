// Requests about plugins, for tests.

import { administrator, type ApiResponse, type BrokerWithApi } from './api.ts'

/** Sends an archive as a form, as browsers and curl do. */
export async function uploadPlugin(
  { url }: Pick<BrokerWithApi, 'url'>,
  packed: Buffer,
  { as = administrator, query = '', field = 'plugin' }: { as?: string; query?: string; field?: string } = {},
): Promise<ApiResponse> {
  const form = new FormData()
  form.append(field, new Blob([new Uint8Array(packed)]), 'plugin.tgz')
  const headers = { authorization: `Basic ${Buffer.from(as).toString('base64')}` }
  const response = await fetch(`${url}/api/v5/plugins/install${query}`, { method: 'POST', headers, body: form })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) }
}
