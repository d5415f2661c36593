// Asks a service of the company whether a client may connect. The broker denies the client if the service does not respond in time, because
// the call of the hook fails then.

/** @type {import('godwit/plugin').Plugin<{ url: string, token?: string }>} */
export default function createHooks({ config, log, signal }) {
  return {
    'client.authenticate': async ({ client, password }) => {
      // A client without a user name is for other authenticators.
      if (client.username === undefined || password === undefined) return { result: 'ignore' }
      const response = await fetch(config.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${config.token ?? ''}` },
        body: JSON.stringify({
          user: client.username,
          password: Buffer.from(password).toString(),
          address: client.peerhost,
        }),
        signal,
      })
      if (response.status === 401) return { result: 'deny', reason: 'the company does not know this user' }
      if (!response.ok) throw new Error(`the service responded with the status ${response.status}`)
      const { department, topics } = await response.json()
      log.info(`${client.username} of ${department} may connect`)
      const acl = topics.map((topic) => ({ permission: 'allow', action: 'all', topic }))
      return {
        result: 'allow',
        attributes: { department },
        acl: [...acl, { permission: 'deny', action: 'all', topic: '#' }],
      }
    },
  }
}
