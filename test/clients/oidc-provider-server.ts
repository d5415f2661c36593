// A real provider of OpenID Connect (`oidc-provider`), and a browser that logs in at its pages.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import type { Scope } from '../e2e/godwit-process.ts'

export const oidcClient = { id: 'godwit', secret: 'a-secret-of-the-broker' }

/** Starts a provider that has the address `issuer`, and returns the port on which it serves. */
export async function startOidcProvider(t: Scope, issuer: string, redirectUri: string): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const provider = new Provider(issuer, {
    clients: [{ client_id: oidcClient.id, client_secret: oidcClient.secret, redirect_uris: [redirectUri] }],
    pkce: { required: () => true },
    claims: { openid: ['sub', 'roles'] },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub, roles: ['ops'] }) }),
  })
  const handle = provider.callback()
  server.on('request', (request, response) => void handle(request, response))
  return (server.address() as AddressInfo).port
}

const maxSteps = 20

/** Follows the pages of the provider as a browser does. Returns the address to which the provider redirects at the end. */
export async function logInAtProvider(address: string, redirectUri: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let next = new URL(address)
  let form: URLSearchParams | undefined
  for (let step = 0; step < maxSteps; step++) {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    const request = form === undefined ? {} : { method: 'POST', body: form }
    const response = await fetch(next, { ...request, headers: { cookie, connection: 'close' }, redirect: 'manual' })
    for (const text of response.headers.getSetCookie()) {
      const [pair = ''] = text.split(';')
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1))
    }
    const location = response.headers.get('location')
    if (location === null) {
      const page = await response.text()
      assert.equal(response.status, 200, page)
      form = new URLSearchParams(
        page.includes('name="login"') ? 'prompt=login&login=ann&password=any' : 'prompt=consent',
      )
      continue
    }
    await response.arrayBuffer()
    form = undefined
    next = new URL(location, next)
    if (next.href.startsWith(redirectUri)) return next
  }
  throw new Error(`the provider did not redirect to ${redirectUri}`)
}
