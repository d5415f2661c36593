// The schema of new entries agrees with what the broker accepts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type BrokerWithApi, shareBrokerWithApi } from './api.ts'

const sharedBroker = shareBrokerWithApi({ set: ['namespaces.enable=true'] })

interface Row {
  readonly path: readonly string[]
  readonly required: boolean
  readonly without_engine: boolean
}

interface Entries {
  [key: string]: unknown
}

/** Valid values by the last part of the key. All other keys accept any string. */
const values: Readonly<Record<string, unknown>> = {
  url: 'http://127.0.0.1:1',
  server: '127.0.0.1:1',
  bootstrap_hosts: '127.0.0.1:1',
  host: '127.0.0.1',
  sql: 'INSERT INTO readings (topic) VALUES (${topic})',
  write_syntax: 'readings value=${payload.value}',
  command_template: ['PING'],
  bucket: 'readings',
  path: 'exports/new-entries.db',
  filepath: 'exports/new-entries.jsonl',
  value: '1',
}

/** Types that need one of several settings: the schema cannot mark such a setting as required. */
const alternatives: Readonly<Record<string, Entries>> = {
  'connectors influxdb': { parameters: { bucket: 'readings', org: 'plant', token: 'a-secret-word' } },
  'connectors mongodb': { parameters: { server: '127.0.0.1:1' } },
  'actions rabbitmq': { parameters: { routing_key: 'readings' } },
  'sources nats': { parameters: { subject: 'readings' } },
}

async function rowsOf(broker: BrokerWithApi, section: string): Promise<readonly Row[]> {
  const { status, json, text } = await broker.request(`/api/v5/configuration_schema?new=${section}`)
  assert.equal(status, 200, text)
  return json.data
}

/** An entry with the required settings of its type, without one of them. */
function entryOf(type: string, required: readonly (readonly string[])[], missing?: readonly string[]): Entries {
  const entry: Entries = { type, name: 'new' }
  for (const path of required.filter((one) => one !== missing)) {
    const [first = '', second] = path
    const last = path.at(-1) ?? ''
    const value = last === 'connector' ? 'new' : (values[last] ?? 'readings')
    if (second === undefined) entry[first] = value
    else entry[first] = { ...(entry[first] as Entries | undefined), [second]: value }
  }
  return entry
}

function merged(entry: Entries, more: Entries = {}): Entries {
  const parameters = { ...(entry['parameters'] as Entries | undefined), ...(more['parameters'] as Entries | undefined) }
  return Object.keys(parameters).length === 0 ? entry : { ...entry, parameters }
}

test('an entry with the required settings of the schema is accepted, and without one of them it is refused', async () => {
  const broker = await sharedBroker()
  let refused = 0
  for (const section of ['connectors', 'actions', 'sources']) {
    const rows = await rowsOf(broker, section)
    assert.ok(rows.every((row) => !row.without_engine))
    for (const type of new Set(rows.map(({ path }) => path[1] ?? ''))) {
      const required = rows.filter((row) => row.path[1] === type && row.required).map(({ path }) => path.slice(3))
      assert.notDeepEqual(required, [], `${section} ${type}`)
      const more = alternatives[`${section} ${type}`]
      for (const missing of required) {
        const body = merged(entryOf(type, required, missing), more)
        const { status, text } = await broker.request(`/api/v5/${section}_probe`, { method: 'POST', body })
        assert.equal(status, 400, `${section} ${type} without ${missing.join('.')}: ${text}`)
        assert.match(text, new RegExp(missing.at(-1) ?? ''), `${section} ${type}: the refusal names the setting`)
        refused += 1
      }
      const body = merged({ ...entryOf(type, required), enable: false }, more)
      const { status, text } = await broker.request(`/api/v5/${section}`, { method: 'POST', body })
      assert.equal(status, 201, `${section} ${type}: ${text}`)
    }
  }
  assert.ok(refused > 50, `${refused} refusals`)
})

test('the schema describes new listeners of gateways, and a section without named entries is refused', async () => {
  const broker = await sharedBroker()
  const rows = await rowsOf(broker, 'gateway.stomp.listeners')
  assert.deepEqual([...new Set(rows.map(({ path }) => path.slice(0, 5).join('.')))].slice(0, 2), [
    'gateway.stomp.listeners.tcp.<name>',
    'gateway.stomp.listeners.ssl.<name>',
  ])
  for (const section of ['mqtt', 'nothing', 'connectors.http.url', '__proto__', 'a.'.repeat(5_000)]) {
    const { status, text } = await broker.request(`/api/v5/configuration_schema?new=${section}`)
    assert.equal(status, 400, section.slice(0, 20))
    assert.match(text, /has no named entries/)
  }
})

test('an administrator of a namespace gets only schemas of its own entries, without settings of global administrators', async () => {
  const broker = await sharedBroker()
  const account = { username: 'planter', password: 'a-planters-password', role: 'ns:plant::administrator' }
  assert.equal((await broker.request('/api/v5/users', { method: 'POST', body: account })).status, 200)
  const as = 'planter:a-planters-password'
  const keysOf = async (section: string, user?: string): Promise<Set<string>> => {
    const url = `/api/v5/configuration_schema?new=${section}`
    const { status, json, text } = await broker.request(url, user === undefined ? {} : { as: user })
    assert.equal(status, 200, text)
    return new Set(json.data.map(({ path }: Row) => path.join('.')))
  }
  for (const section of ['connectors', 'actions', 'sources']) {
    const [global, own] = [await keysOf(section), await keysOf(section, as)]
    const onlyGlobal = [...global].filter((key) => !own.has(key))
    assert.ok(own.size > 0 && [...own].every((key) => global.has(key)))
    assert.ok(
      onlyGlobal.every((key) => /\.(disk_log|sqlite)\.|file$/.test(key)),
      onlyGlobal.join(' '),
    )
    assert.ok([...own].every((key) => !/\.(disk_log|sqlite)\.|file$/.test(key)))
    if (section !== 'sources') assert.ok(onlyGlobal.some((key) => key.startsWith(`${section}.disk_log.`)))
    if (section === 'connectors') assert.ok(onlyGlobal.includes('connectors.http.<name>.ssl.certfile'))
  }
  for (const query of ['', '?new=listeners', '?new=gateway.stomp.listeners', '?new=connectors.http']) {
    const { status, text } = await broker.request(`/api/v5/configuration_schema${query}`, { as })
    assert.equal(status, 403, query)
    assert.match(text, /limited to the namespace plant: use new=connectors/)
  }
})
