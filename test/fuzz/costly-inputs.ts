// Work of the main thread with external data, and inputs of growing size that show superlinear work.

import { Readable } from 'node:stream'
import { checkArchive, readLines } from '../../src/backup/index.ts'
import {
  type ConfigObject,
  describeAsObject,
  compareConfigs,
  type GodwitConfig,
  hoconLimits,
  loadConfig,
  mergeObjects,
  parseHocon,
  putValues,
  readAclFile,
  toApplyResult,
  omitValues,
} from '../../src/config/index.ts'
import { type Endpoint, compileShape } from '../../src/contract/index.ts'
import { endpoints } from '../../src/api/endpoints.ts'
import { RuleSet } from '../../src/access/rules/rule-set.ts'
import { refuseUnknownPath } from '../../src/management/http/not-found.ts'
import { toAuditEntry } from '../../src/management/audited-request.ts'
import { readUpload } from '../../src/management/http/multipart.ts'
import { escapeLabel } from '../../src/api/metrics/prometheus-text.ts'
import { normalizePath, readQueryString } from '../../src/management/http/query-string.ts'
import { checkRequestForm } from '../../src/management/http/check-request-form.ts'
import { listMaskedPaths, listSettings, selectStored } from '../../src/node/configuration/layers/setting-paths.ts'
import { compareVersions } from '../../src/node/configuration/config-history.ts'
import { parseProxyHeader } from '../../src/transports/proxy/proxy-header.ts'
import { checkToken, readTokenKeys } from '../../src/access/index.ts'
import { convertDatabase } from '../../lib/imports/index.ts'
import { databaseOf } from '../imports/mosquitto-files.ts'
import { folder, tarOf } from '../backup/crafted.ts'
import { generateKeyPairSync } from 'node:crypto'

export interface CostlyInput {
  readonly name: string
  /** A larger input is refused for its size. */
  readonly maxCount?: number
  /** Prepares the work for an input of `count` parts; the preparation is not measured. Undefined: the input is refused for its size. */
  readonly prepare: (count: number) => (() => unknown) | undefined
}

const repeat = (count: number, part: (index: number) => string, between = '\n'): string =>
  Array.from({ length: count }, (_, index) => part(index)).join(between)

function parsed(text: string): ConfigObject {
  const read = parseHocon(text, { file: 'test' })
  if ('errors' in read) throw new Error(JSON.stringify(read.errors[0]))
  return read.value
}

function loaded(text: string): GodwitConfig {
  const config = loadConfig({ text, overrides: [] })
  if ('errors' in config) throw new Error(JSON.stringify(config.errors[0]))
  return config.config
}

/** Configurations as text, valid and invalid ones. */
const texts: Readonly<Record<string, (count: number) => string>> = {
  'user names': (count) => `auth.password {${repeat(count, (index) => `u${index} = p`)}}`,
  'listeners on one address': (count) =>
    `listeners.tcp {${repeat(count, (index) => `l${index} { bind = "1.1.1.1:5" }`)}}`,
  'listeners on many addresses': (count) =>
    `listeners.tcp {${repeat(count, (index) => `l${index} { bind = "10.0.${index >> 8}.${index & 255}:5" }`)}}`,
  'TLS listeners without a certificate': (count) =>
    `listeners.ssl {${repeat(count, (index) => `l${index} { bind = 0 }`)}}`,
  'TLS server names': (count) =>
    `listeners.ssl { bind = 0, certfile = a, keyfile = b, sni {${repeat(count, (index) => `n${index} { server_name = "a${index}.b" }`)}} }`,
  bridges: (count) => `bridges.mqtt {${repeat(count, (index) => `b${index} { server = "mqtt-tcp://a:1" }`)}}`,
  'subscriptions of a bridge': (count) =>
    `bridges.mqtt.a { server = "mqtt-tcp://a:1", subscription = [${repeat(count, (index) => `{ local_topic = "a/${index}", remote_topic = "b/${index}" }`)}] }`,
  'rules of clients': (count) =>
    `auth.acl.rules = [${repeat(count, (index) => `{ permit = allow, username = "u${index}", topics = ["a/${index}/\${clientid}"] }`)}]`,
  'unknown settings': (count) => repeat(count, (index) => `zz${index} = 1`),
  'settings of wrong type': (count) =>
    `listeners.tcp {${repeat(count, (index) => `l${index} { max_connections = x }`)}}`,
  'values added to a list': (count) => repeat(count, () => 'a += 1'),
  'values that refer to themselves': (count) => `a = x\n${repeat(count, () => 'a = ${?a}x')}`,
  'values that refer to one': (count) => `x = 1\n${repeat(count, (index) => `a${index} = \${x}`)}`,
  'references to what is not there': (count) => repeat(count, (index) => `a${index} = \${?b.c${index}}`),
  'a value of many words': (count) => `a = ${'b '.repeat(count)}`,
  'a value of many lists': (count) => `a = ${'[1] '.repeat(count)}`,
  'a value of many objects': (count) => `a = ${repeat(count, (index) => `{ b${index} = 1 }`, ' ')}`,
  'a key that is defined again': (count) => repeat(count, (index) => `a { b${index} = 1 }`),
  'quotes without end': (count) => 'a = "\n'.repeat(count),
  'triple quotes': (count) => `a = ${'"""'.repeat(count)}`,
  escapes: (count) => `a = "${'\\u0041'.repeat(count)}"`,
  blanks: (count) => `a = b${' '.repeat(count * 8)}c`,
  'comments and empty lines': (count) => '# x\n\n'.repeat(count),
  'a deep key': (count) => `a${'.a'.repeat(count)} = 1`,
  'deep braces': (count) => 'a{'.repeat(count),
  'a long duration': (count) => `mqtt.retry_interval = "${'1 '.repeat(count)}"`,
  'a long number': (count) => `mqtt.max_mqueue_len = ${'1'.repeat(count)}`,
}

/** Inputs with many named groups. */
const ofNames = new Set(['listeners', 'TLS', 'bridges', 'settings of wrong type'])

const password = 'auth.password'.split('.')

const settings = (config: GodwitConfig) => ({ settings: Object.fromEntries(config.settingTexts) })

/** The steps of a configuration change after reading. */
const changes: readonly CostlyInput[] = [
  {
    name: 'a change that goes over the configuration',
    prepare: (count) => {
      const below = parsed(`auth.password {${repeat(count, (index) => `u${index} = p`)}}`)
      const over = parsed(`auth.password {${repeat(count, (index) => `u${index} = q`)}}`)
      return () => mergeObjects(below, over)
    },
  },
  {
    name: 'settings that are put and taken one by one',
    prepare: (count) => {
      const paths = Array.from({ length: count }, (_, index) => [...password, `u${index}`])
      const empty = parsed('')
      const value = { kind: 'text', text: 'p', at: empty.at } as const
      return () =>
        omitValues(
          putValues(
            empty,
            paths.map((path) => ({ path, value })),
          ),
          paths,
        )
    },
  },
  {
    name: 'changed settings, as they are reported, shown and stored',
    prepare: (count) => {
      const before = loaded(`auth.password {${repeat(count, (index) => `u${index} = p`)}}`)
      const after = loaded(`auth.password {${repeat(count, (index) => `u${index} = q`)}}`)
      return () => {
        const found = compareConfigs(before, after)
        compareVersions(settings(before), settings(after))
        return [toApplyResult(found, found.slice(count / 2)), describeAsObject(after)]
      }
    },
  },
  {
    name: 'masked secrets that are sent back',
    maxCount: 48_000,
    prepare: (count) => {
      const written = parsed(`auth.password {${repeat(count, (index) => `u${index} = "******"`)}}`)
      const config = loaded(`auth.password {${repeat(count, (index) => `u${index} = p`)}}`)
      return () => [selectStored(written, listMaskedPaths(written, config)), listSettings(written, config)]
    },
  },
]

const aclTexts: Readonly<Record<string, (count: number) => string>> = {
  'rules of EMQX': (count) =>
    repeat(count, (index) => `{allow, {user, "u${index}"}, publish, ["a/\${clientid}/${index}"]}.`),
  'one rule about many': (count) =>
    `{allow, {'or', [${repeat(count, (index) => `{user, "u${index}"}`, ', ')}]}, all, ["a"]}.`,
  'blanks and comments': (count) => `${'%\n \t\n'.repeat(count)}{allow, all}.`,
  'a quoted text': (count) => `{allow, {user, "${'\\n'.repeat(count)}"}, all, ["a"]}.`,
}

const access: readonly CostlyInput[] = [
  ...Object.entries(aclTexts).map(([name, write]): CostlyInput => ({
    name: `an ACL file: ${name}`,
    prepare: (count) => {
      const text = write(count)
      return () => {
        const read = readAclFile(text, 'acl.conf')
        return 'rules' in read ? new RuleSet(read.rules) : read
      }
    },
  })),
  {
    name: 'a token of many parts',
    prepare: (count) => {
      const { publicKey } = generateKeyPairSync('ed25519')
      const keys = readTokenKeys({
        kind: 'public-key',
        text: String(publicKey.export({ type: 'spki', format: 'pem' })),
      })
      const key = 'keys' in keys ? keys.keys[0] : undefined
      if (key === undefined) throw new Error('no key')
      const token = `${'eyJh.'.repeat(count)}x`
      return () => checkToken(token, key, { nowMs: 0, leewayMs: 0 })
    },
  },
]

const head = (line: string, headers: readonly string[]) => ({ url: line, httpVersion: '1.1', rawHeaders: [...headers] })

/** Requests have far lower limits for these inputs; nevertheless the work must be linear. */
const requests: readonly CostlyInput[] = [
  {
    name: 'query parameters',
    prepare: (count) =>
      (
        (url) => () =>
          readQueryString(url)
      )('a=1&'.repeat(count)),
  },
  {
    name: 'a query of wildcards',
    prepare: (count) =>
      (
        (url) => () =>
          readQueryString(url)
      )(`topic=${'+/'.repeat(count)}`),
  },
  {
    name: 'a query of escapes',
    prepare: (count) =>
      (
        (url) => () =>
          readQueryString(url)
      )(`a=${'%41+'.repeat(count)}%`),
  },
  {
    name: 'an escaped path',
    prepare: (count) =>
      (
        (url) => () =>
          normalizePath(url)
      )(`/${'%61%zz'.repeat(count)}`),
  },
  {
    name: 'a path that is not there',
    prepare: (count) =>
      (
        (url) => () =>
          refuseUnknownPath(endpoints, 'GET', url)
      )(`/api/v3${'/nodes/a'.repeat(count)}`),
  },
  {
    name: 'headers',
    prepare: (count) => {
      const request = head(
        `/?${'&'.repeat(count)}`,
        Array.from({ length: 100 }, (_, index) => 'x'.repeat(index * count * 0.01)),
      )
      return () => checkRequestForm(request)
    },
  },
  {
    name: 'a PROXY header',
    prepare: (count) =>
      (
        (bytes) => () =>
          parseProxyHeader(bytes)
      )(Buffer.from(`PROXY TCP4 ${'1'.repeat(count)}`)),
  },
  {
    name: 'a label of Prometheus',
    prepare: (count) =>
      (
        (text) => () =>
          escapeLabel(text)
      )('\\"\n\r'.repeat(count)),
  },
  {
    name: 'a request in the audit log',
    prepare: (count) => {
      const endpoint = endpoints.create_user
      const body = Buffer.from(
        JSON.stringify({ username: 'x'.repeat(count), list: Array.from({ length: count }, () => 'x') }),
      )
      const caller = {
        name: '',
        by: 'nobody',
        role: 'viewer',
        namespace: undefined,
        address: '',
        login: undefined,
      } as const
      return () =>
        toAuditEntry(
          { name: 'a', endpoint, caller, namespace: undefined, url: '/', body, details: {}, atMs: 0 },
          undefined,
        )
    },
  },
]

/** Each text of a schema of the contract, filled with texts that are expensive for patterns. */
const bodies: readonly CostlyInput[] = Object.entries<Endpoint>(endpoints).flatMap(([name, { body }]) => {
  const { properties } = (typeof body === 'object' ? body : {}) as { properties?: Record<string, object> }
  if (properties === undefined) return []
  return [
    {
      name: `the body of ${name}`,
      prepare: (count: number) => {
        const shape = compileShape(body as never)
        const sent = Object.keys(properties).map((key) => [key, `${'aA0-_.:'.repeat(count / 4)}!`])
        const filled = Object.fromEntries(sent) as object
        const letters = Object.fromEntries(
          Object.keys(properties).map((key) => [key, `${'a'.repeat(count)}!`]),
        ) as object
        return () => [shape.findFault(filled), shape.findFault(letters)]
      },
    },
  ]
})

async function drain(pieces: AsyncIterable<unknown>): Promise<void> {
  const iterator = pieces[Symbol.asyncIterator]()
  while ((await iterator.next()).done !== true) continue
}

const files: readonly CostlyInput[] = [
  {
    name: 'lines of a table in small pieces',
    prepare: (count) => {
      const pieces = Array.from({ length: count }, (_, index) => Buffer.from(index % 50 === 49 ? 'x\n' : 'xxxx'))
      return () => drain(readLines(Readable.from(pieces), { name: 'table', maxBytes: 1_024 }))
    },
  },
  {
    name: 'one long line in small pieces',
    prepare: (count) => {
      const pieces = Array.from({ length: count }, (_, index) => Buffer.from(index === count - 1 ? '\n' : 'xxxx'))
      return () => drain(readLines(Readable.from(pieces), { name: 'table', maxBytes: count * 4 }))
    },
  },
  {
    name: 'members of an archive',
    prepare: (count) => {
      const packed = tarOf(
        Array.from({ length: Math.ceil(count / 16) }, (_, index) => ({ name: `${folder}/m${index}` })),
      )
      return () => checkArchive(Readable.from([packed]), { folder, maxLineBytes: 1_024 }).catch(() => {})
    },
  },
  ...Object.entries({
    'line ends': '\r\n',
    'beginnings of the boundary': '\r\n--b',
    parts: '\r\n--bound\r\ncontent-disposition: form-data; name="a"\r\n\r\nx',
    'header lines': 'content-disposition: form-data\r\n',
  }).map(([name, part]): CostlyInput => ({
    name: `an upload of ${name}`,
    prepare: (count) => {
      const file = '--bound\r\ncontent-disposition: form-data; name="f"; filename="f"\r\n\r\n'
      const body = Buffer.from(`${name === 'header lines' ? '--bound\r\n' : file}${part.repeat(count)}`)
      return async () => {
        const upload = await readUpload('multipart/form-data; boundary=bound', Readable.from([body]), body.length)
        if ('content' in upload) await drain(upload.content).catch(() => {})
      }
    },
  })),
]

/** Each session has a subscription and a queued message. */
const databases: readonly CostlyInput[] = [2, 6].map((format) => ({
  name: `a database of mosquitto of format ${format}`,
  prepare: (count) => {
    const ids = Array.from({ length: count }, (_, index) => index)
    const file = databaseOf(format, {
      messages: ids.map((id) => ({ id, topic: `a/${id}`, payload: 'x' })),
      clients: ids.map((id) => ({ clientId: `c${id}` })),
      queued: ids.map((id) => ({ clientId: `c${id}`, id })),
      subscriptions: ids.map((id) => ({ clientId: `c${id}`, filter: `a/${id}` })),
      retained: ids,
    })
    return () => convertDatabase(file, 0)
  },
}))

export const costlyInputs: readonly CostlyInput[] = [
  ...databases,
  ...Object.entries(texts).map(([name, write]): CostlyInput => ({
    name: `a configuration: ${name}`,
    ...([...ofNames].some((word) => name.startsWith(word)) ? { maxCount: hoconLimits.maxNamedGroups } : {}),
    prepare: (count) => {
      const text = write(count)
      return text.length > hoconLimits.maxTextCharacters ? undefined : () => loadConfig({ text, overrides: [] })
    },
  })),
  ...changes,
  ...access,
  ...requests,
  ...bodies,
  ...files,
]
