// Every example of `examples/` runs against a started broker and prints what its README says.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type Broker, portOf, runProgram, startBroker, temporaryFolder } from '../e2e/godwit-process.ts'
import { shareBrokerWithApi } from '../management/api.ts'

const folder = fileURLToPath(new URL('../../examples/', import.meta.url))

type Environment = Readonly<Record<string, string>>
type Prepare = (t: TestContext) => Promise<Environment>

/** Settings that tests add to the configuration of an example. */
const fewShards = ['node.shards=1', 'http_server.password="a-password-for-tests"']

const urlOf = ({ port }: Broker): string => `mqtt://127.0.0.1:${port}`

/** One broker for the examples that need no settings: each has topics of its own, and client IDs of its own or none. */
const sharedBroker = shareBrokerWithApi()

async function withoutSettings(): Promise<Environment> {
  const broker = await sharedBroker()
  return { MQTT_URL: urlOf(broker), API_URL: broker.url, API_PASSWORD: 'a-password-for-tests' }
}

async function withAccessRules(t: TestContext): Promise<Environment> {
  return {
    MQTT_URL: urlOf(await startBroker(t, { config: join(folder, 'acl-per-device', 'godwit.conf'), set: fewShards })),
  }
}

/** The broker resolves file names in its working directory, which is not the directory of the example here. */
async function withCertificates(t: TestContext): Promise<Environment> {
  const certificates = join(await temporaryFolder(t), 'certificates')
  const example = join(folder, 'tls-client-certificates')
  execFileSync('sh', [join(example, 'make-certificates.sh'), certificates], { stdio: 'pipe' })
  const config = join(example, 'godwit.conf')
  const files = { cacertfile: 'ca.pem', certfile: 'server.pem', keyfile: 'server.key' }
  const set = Object.entries(files).map(([key, name]) => `listeners.ssl.${key}="${join(certificates, name)}"`)
  const broker = await startBroker(t, { config, set: [...fewShards, 'listeners.ssl.bind="127.0.0.1:0"', ...set] })
  return { MQTTS_URL: `mqtts://127.0.0.1:${portOf(broker, 'ssl')}`, CERTIFICATES: certificates }
}

async function withTwoBrokers(t: TestContext): Promise<Environment> {
  const central = await sharedBroker()
  const set = [...fewShards, `bridges.mqtt.central.server="mqtt-tcp://127.0.0.1:${central.port}"`]
  const site = await startBroker(t, { config: join(folder, 'bridge', 'godwit.conf'), set })
  return { MQTT_URL: urlOf(site), REMOTE_URL: urlOf(central) }
}

const prepares: Readonly<Record<string, Prepare>> = {
  'publish-subscribe': withoutSettings,
  'shared-workers': withoutSettings,
  'last-will': withoutSettings,
  'request-response': withoutSettings,
  'device-registry': withoutSettings,
  'tls-client-certificates': withCertificates,
  'acl-per-device': withAccessRules,
  bridge: withTwoBrokers,
  'backup-restore': withoutSettings,
  prometheus: withoutSettings,
}

function expectedOutput(name: string): string {
  const page = readFileSync(join(folder, name, 'README.md'), 'utf8')
  const [, output] = /Expected output:\n\n```text\n([\s\S]*?)```/.exec(page) ?? []
  assert.ok(output !== undefined, `examples/${name}/README.md has no expected output`)
  return output
}

for (const [name, prepare] of Object.entries(prepares)) {
  test(`the example ${name} prints what its README says`, async (t) => {
    const environment = await prepare(t)
    const program = join(folder, name, 'main.js')
    const running = runProgram(t, process.execPath, [program], { ...process.env, ...environment })
    assert.equal(await running.ended, 0, running.errors)
    assert.equal(running.output, expectedOutput(name))
  })
}

test('every example has a test, a line in the list of examples, and a link from a page of docs/', () => {
  const folders = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const names = folders.map((entry) => entry.name).toSorted()
  assert.deepEqual(names, Object.keys(prepares).toSorted())
  const list = readFileSync(join(folder, 'README.md'), 'utf8')
  const docs = join(folder, '..', 'docs')
  const pages = readdirSync(docs, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => readFileSync(join(docs, path), 'utf8'))
  for (const name of names) {
    assert.ok(list.includes(`(${name}/README.md)`), `examples/README.md does not list ${name}`)
    assert.ok(
      pages.some((page) => page.includes(`examples/${name}/README.md)`)),
      `no page of docs/ links to examples/${name}`,
    )
  }
})
