// Installs the three plugins, and shows what they do to clients and messages.

import { execFileSync } from 'node:child_process'
import { createServer } from 'node:http'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connectAsync } from 'mqtt'

const folder = dirname(fileURLToPath(import.meta.url))
const packed = mkdtempSync(join(tmpdir(), 'plugins-'))
const run = (command, ...words) =>
  execFileSync(command, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })

const names = ['company-login', 'geoip', 'payload-check']
for (const name of names) {
  run('npm', 'pack', '--silent', '--pack-destination', packed, join(folder, name))
  run('npx', 'godwit', 'plugins', 'install', join(packed, `${name}-1.0.0.tgz`))
  run('npx', 'godwit', 'plugins', 'enable', name)
}

// The service of the company.
const users = { ann: 'a long password' }
const service = createServer((request, response) => {
  respond(request, response).catch((error) => response.destroy(error))
}).listen(8090, '127.0.0.1')

async function respond(request, response) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const { user, password } = JSON.parse(Buffer.concat(chunks).toString())
  const isKnown = Object.hasOwn(users, user) && users[user] === password
  response.statusCode = isKnown ? 200 : 401
  response.end(JSON.stringify(isKnown ? { department: 'maintenance', topics: ['sensors/#', 'positions/#'] } : {}))
}

const connect = (username, password) =>
  connectAsync('mqtt://127.0.0.1:1883', { protocolVersion: 5, reconnectPeriod: 0, username, password })

await connect('ann', 'guessed').catch((error) => console.log(`company-login refused ann: ${error.message}`))
const client = await connect('ann', 'a long password')
console.log('company-login accepted ann')

client.on('message', (topic, payload, { properties }) => {
  const country = String(properties?.userProperties?.country ?? 'an unknown country')
  console.log(`${topic} ${payload.toString()} from ${country}`)
})
await client.subscribeAsync(['sensors/#', 'positions/#'], { qos: 1 })
await client.publishAsync('sensors/1', '{"value":21}', { qos: 1 })
await client
  .publishAsync('sensors/1', 'not JSON', { qos: 1 })
  .catch((error) => console.log(`payload-check refused a message: ${error.message}`))
await client.publishAsync('positions/truck-7', '{"x":1}', { qos: 1 })
// Both messages have arrived, because the response to a subscription comes after them.
await client.subscribeAsync('last', { qos: 1 }).catch(() => {})
await client.endAsync()
service.close()
for (const name of names) run('npx', 'godwit', 'plugins', 'uninstall', name)
