// Differences between the profiles `hardened` and `legacy`. Tests of the access module cover its decisions (anonymous clients, an empty
// chain, sources that fail): docs/SECURITY.md lists all of them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatConfigError, loadConfig, type GodwitConfig } from '../../src/config/index.ts'
import { openAccessRecords } from '../../src/node/records/stored-access-records.ts'
import { toAccessSettings } from '../../src/node/records/to-access-settings.ts'
import { listPortHosts } from '../../src/node/listeners/listener-addresses.ts'
import { PasswordHasher } from '../../src/node/admins/password-hashing.ts'
import {
  findPasswordRisk,
  generateAdminPassword,
  resolveConfiguredAccount,
} from '../../src/node/admins/default-admin.ts'
import { openMemoryStore } from '../../src/storage/index.ts'
import { ctlDone } from '../cli/ctl/ctl.ts'
import { startBrokerWithApi } from '../management/api.ts'

const profiles = ['hardened', 'legacy'] as const
type Profile = (typeof profiles)[number]

function configOf(profile: Profile, text = ''): GodwitConfig {
  const whole = `node.security_profile = ${profile}\n${text}`
  const loaded = loadConfig({ text: whole, file: 'godwit.conf', overrides: [], readFile: () => ({ text: '' }) })
  if ('errors' in loaded) assert.fail(loaded.errors.map(formatConfigError).join('\n'))
  return loaded.config
}

/** The results of a function for the configuration in both profiles. */
function inBoth<Value>(of: (config: GodwitConfig) => Value, text = ''): readonly [hardened: Value, legacy: Value] {
  return [of(configOf('hardened', text)), of(configOf('legacy', text))]
}

/** The profile that shards get, and whether a failed source of access rules denies. */
function failing(config: GodwitConfig): readonly [profile: string, denies: boolean] {
  const settings = toAccessSettings(config, new Uint8Array(32))
  assert.ok('access' in settings)
  return [settings.access.profile, settings.access.rules.deniesOnError]
}

test('listeners and an API with only a port are bound to loopback when hardened, to all addresses when legacy', () => {
  assert.deepEqual(inBoth(listPortHosts), [['127.0.0.1'], ['::', '0.0.0.0']])
  const setting = 'node.default_listener_address = "192.0.2.1"'
  assert.deepEqual(inBoth(listPortHosts, setting), [['192.0.2.1'], ['192.0.2.1']])
})

test('a source of access rules that fails denies when hardened, and is ignored when legacy', () => {
  assert.deepEqual(inBoth(failing), [
    ['hardened', true],
    ['legacy', false],
  ])
})

test('actions that no rule matches are denied when hardened and rules exist, and allowed when legacy', () => {
  const rules = 'auth.acl.rules = [{permit = allow, topics = [a]}]'
  assert.deepEqual(
    inBoth((config) => config.auth.acl.noMatch, rules),
    ['deny', 'allow'],
  )
})

test('without a password the first start generates one when hardened, and uses the well-known one when legacy', async () => {
  for (const profile of profiles) {
    const records = await openAccessRecords({ store: openMemoryStore(), sendToShards: async () => {} })
    const own = resolveConfiguredAccount(configOf(profile), records)
    const made = await generateAdminPassword(own, records, new PasswordHasher())
    if (profile === 'legacy') assert.deepEqual([own.password, made], ['public', undefined])
    else assert.match(made?.password ?? '', /^[\w-]{24}$/)
  }
})

test('a well-known password causes a warning or is refused when hardened, and is accepted when legacy', () => {
  const text = 'http_server.password = public'
  const dangers = inBoth((config) => [findPasswordRisk(config, true), findPasswordRisk(config, false)], text)
  const [[here, beyond], ofLegacy] = dangers
  assert.ok(here !== undefined && 'warning' in here)
  assert.ok(beyond !== undefined && 'problem' in beyond)
  assert.deepEqual(ofLegacy, [undefined, undefined])
})

for (const profile of profiles) {
  test(`the banner, the API and \`godwit ctl status\` show the profile ${profile}`, async (t) => {
    const set = [`node.security_profile=${profile}`, 'http_server.ip_addr="127.0.0.1"']
    const broker = await startBrokerWithApi(t, { set })
    await broker.process.until(new RegExp(`profile ${profile}\\n`))
    assert.equal((await broker.request('/api/v4/nodes')).json.data[0].security_profile, profile)
    assert.equal(JSON.parse(await ctlDone(broker, ['status', '--json'])).profile, profile)
  })
}
