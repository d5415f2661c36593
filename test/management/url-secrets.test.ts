// Marked secrets in URLs of every setting: no endpoint, event or log line shows them, to a viewer or to an administrator, and a masked URL that is
// sent back keeps them.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import mqtt from 'mqtt'
import { endpoints } from '../../src/api/endpoints.ts'
import { runHere } from '../cli/run-here.ts'
import { type BrokerWithApi, restartBroker, shareConfigurableBroker } from './api.ts'

const marker = 'MARK3D'
let numbers = 0
/** A host that refuses connections, so that errors name it. */
const url = (scheme = 'http', query = 'token'): string => {
  numbers++
  return `${scheme}://user${numbers}${marker}:pw${numbers}${marker}@127.0.0.1:9/path?a=1&${query}=t${numbers}${marker}`
}
const queryOnly = (scheme: string): string => `${scheme}://127.0.0.1:9/path?api_key=k${numbers++}${marker}`

const options = 'resource_opts={retry_interval=100ms,health_check_interval=200ms}'
const settings = [
  `connectors.http.a={url="${url()}"}`,
  `actions.http.a={connector=a,parameters={path="/x?key=q${marker}",body="see ${url()}"},${options}}`,
  `connectors.prometheus_remote_write.a={url="${url('http', 'sig')}"}`,
  `actions.prometheus_remote_write.a={connector=a,parameters={metric=m,value="1"},${options}}`,
  `connectors.clickhouse.a={url="${queryOnly('http')}"}`,
  `actions.clickhouse.a={connector=a,parameters.sql="INSERT INTO a VALUES ('${url()}')",${options}}`,
  `rule_engine.rules.a={sql="SELECT * FROM \\"a/#\\"",actions=["http:a","prometheus_remote_write:a","clickhouse:a"]}`,
  `bridges.mqtt.a={server="${queryOnly('ws')}",clientid=a,enable=true,forwards=[{remote_topic="",local_topic="b/#"}],hybrid_bridging=true,hybrid_servers=["${queryOnly('ws')}"]}`,
  `webhook={url="${url()}",events=[{event=on_message_publish,topic="w/#"}]}`,
  `auth.http_auth={enable=false,acl_req={url="${url()}"},super_req={url="${url('http', 'password')}"}}`,
  'auth.acl.rules=[{permit=allow}]',
  `connectors.http.telegram={url="http://127.0.0.1:9/bot12:${marker}abcdefgh"}`,
  `actions.http.telegram={connector=telegram,parameters.path="/bot12:${marker}abcdefgh/sendMessage",${options}}`,
  `gateway.stomp={enable=false,authentication={mechanism=password_based,backend=http,method=post,url="${url()}"}}`,
  'rule_engine.rules.b={sql="SELECT * FROM \\"a/#\\"",actions=["http:telegram"]}',
]

const configuredBroker = shareConfigurableBroker()
const viewer = 'vic:a long password'

describe('secrets in URLs', () => {
  let broker: BrokerWithApi

  before(async () => {
    broker = await configuredBroker(settings)
    broker = await restartBroker(broker)
    await broker.request('/api/v4/users', {
      method: 'POST',
      body: { username: 'vic', password: 'a long password', tags: 'viewer' },
    })
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`)
    for (const topic of ['a/1', 'b/1', 'w/1']) client.publish(topic, 'x', { qos: 1 })
    await broker.process.until(/action disconnected.*http:a/)
    await client.endAsync(true)
    // A change through each way in, so that history and audit log have something to tell.
    const connector = { type: 'http', name: 'b', url: url() }
    assert.equal((await broker.request('/api/v5/connectors', { method: 'POST', body: connector })).status, 201)
    await broker.request('/api/v5/connectors', { method: 'POST', body: { type: 'http', name: 'bad name', url: url() } })
    await broker.request('/api/v5/connectors', {
      method: 'POST',
      body: { type: 'mysql', name: 'c', server: `u:${marker}@h:1` },
    })
    // These settings take no secrets in addresses: the refusals do not show them.
    for (const refused of [
      { type: 'influxdb', server: url() },
      { type: 'elasticsearch', server: url() },
      { type: 's3', host: url() },
      { type: 's3', host: `u:${marker}@127.0.0.1` },
      { type: 'nats', server: url('nats') },
    ]) {
      const body = { name: 'refused', ...refused }
      for (const path of ['connectors', 'connectors_probe']) {
        const { status, text } = await broker.request(`/api/v5/${path}`, { method: 'POST', body })
        assert.equal(status, 400, text)
        assert.ok(!text.includes(marker), text)
      }
    }
    for (const oidc of [{ issuer: url('https') }, { issuer: 'https://a', redirect_uri: url('https') }]) {
      const body = { data: { dashboard: { oidc: { client_id: 'a', client_secret: marker, ...oidc } } } }
      const { status, text } = await broker.request('/api/v4/configuration/dashboard', { method: 'POST', body })
      assert.equal(status, 400, text)
      assert.ok(!text.includes(marker), text)
    }
    await broker.request('/api/v5/connectors_probe', { method: 'POST', body: { type: 'http', name: 'p', url: url() } })
    await broker.request('/api/v4/resources', { method: 'POST', body: { type: 'web_hook', config: { url: url() } } })
  })

  for (const as of [undefined, viewer]) {
    test(`no endpoint shows them to ${as === undefined ? 'an administrator' : 'a viewer'}`, async () => {
      const known: readonly string[] = [
        'http:a',
        'prometheus_remote_write:a',
        'clickhouse:a',
        'http:b',
        'influxdb:a',
        'elasticsearch:a',
        'http:telegram',
      ]
      const values: Readonly<Record<string, readonly string[]>> = {
        id: [...known, 'a', '1', '2', '3'],
        name: ['a'],
        version: ['1', '2', '3'],
        number: ['1', '2', '3'],
        section: ['connectors', 'bridges', 'auth', 'webhook', 'actions', 'gateway', 'dashboard'],
      }
      let shown = 0
      for (const [name, endpoint] of Object.entries(endpoints)) {
        const { method, path } = endpoint
        const version = 'version' in endpoint ? endpoint.version : 'v4'
        // Streams do not end.
        if (method !== 'GET' || name.includes('live') || name.includes('stream')) continue
        for (const filled of pathsOf(path, values)) {
          const response = await broker.request(`/api/${version}${filled}`, as === undefined ? {} : { as })
          assert.ok(!response.text.includes(marker), `${name} ${filled}: ${around(response.text)}`)
          if (response.status === 200 && response.text.includes('******')) shown++
        }
      }
      assert.ok(shown > 5, `only ${shown} endpoints have masked settings: the test does not reach them`)
    })
  }

  test('the log, retained system topics and events do not have them', async (t) => {
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`)
    t.after(() => client.end(true))
    const texts: string[] = []
    client.on('message', (topic, payload) => void texts.push(`${topic} ${payload.toString()}`))
    await client.subscribeAsync(['$SYS/#', '#'])
    await client.publishAsync('x', 'y', { qos: 1 })
    assert.ok(!texts.some((text) => text.includes(marker)), around(texts.join('\n')))
    const [log] = await broker.process.until(/^[^]*action disconnected[^]*$/)
    assert.ok(!log.includes(marker), around(log))
  })

  test('commands do not print them', async () => {
    const socket = ['--data', broker.dataDirectory]
    for (const words of [
      ['config', 'show'],
      ['config', 'history'],
      ['connectors', 'list'],
      ['connectors', 'show', 'http:a'],
      ['actions', 'list'],
      ['bridges', 'list'],
      ['alarms', 'list'],
    ]) {
      const { output, errors } = await runHere(['ctl', ...words, ...socket])
      assert.ok(!`${output}${errors}`.includes(marker), `${words.join(' ')}: ${around(output + errors)}`)
    }
  })

  test('a masked URL that is sent back keeps its secrets; a mask without a stored secret is refused', async () => {
    const path = '/api/v5/connectors/http:b'
    const { json } = await broker.request(path)
    const { url: shown } = json as { readonly url: string }
    assert.match(shown, /^http:\/\/\*{6}@127\.0\.0\.1:9\/path\?a=\*{6}&token=\*{6}$/)
    const stored = (): string => readFileSync(join(broker.dataDirectory, 'changed-settings.conf'), 'utf8')
    const before = /"?url"?\s*[=:]\s*"(http:\/\/user\d+MARK3D:[^"]*)"/.exec(stored())?.[1]
    assert.ok(before)
    const put = async (changed: object): Promise<number> =>
      (await broker.request(path, { method: 'PUT', body: { url: shown, ...changed } })).status
    assert.equal(await put({ description: 'changed' }), 200)
    assert.ok(stored().includes(before), 'the same URL')
    assert.equal(await put({ url: shown.replace('/path', '/other') }), 200)
    assert.ok(stored().includes(before.replace('/path', '/other')), 'the same secrets in another URL')
    assert.equal(await put({ url: 'http://127.0.0.1:9/?sig=******' }), 400)
    const created = { type: 'http', name: 'n', url: shown }
    assert.equal((await broker.request('/api/v5/connectors', { method: 'POST', body: created })).status, 400)
  })

  test('a bridge keeps the secrets of its masked addresses', async () => {
    const { json, text } = await broker.request('/api/v4/bridges/a')
    assert.equal(text.includes('api_key=******'), true, text)
    const [node] = (json as { readonly data: { readonly bridge: { readonly nodes: readonly object[] } } }).data.bridge
      .nodes
    const { status, text: answer } = await broker.request('/api/v4/bridges/a', { method: 'PUT', body: { a: node } })
    assert.equal(status, 200, answer)
    const { text: after } = await broker.request('/api/v4/bridges/a')
    assert.equal(after.includes('api_key=******'), true, after)
  })
})

function pathsOf(path: string, values: Readonly<Record<string, readonly string[]>>): readonly string[] {
  const name = /\{(\w+)\}|:(\w+)/.exec(path)
  if (name === null) return [path]
  const key = name[1] ?? name[2] ?? ''
  return (values[key] ?? ['a']).flatMap((value) => pathsOf(path.replace(name[0], encodeURIComponent(value)), values))
}

function around(text: string): string {
  const at = text.indexOf(marker)
  return at < 0 ? '' : text.slice(Math.max(0, at - 200), at + 100)
}
