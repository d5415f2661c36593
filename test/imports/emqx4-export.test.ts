import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { isPassword } from '../../src/access/index.ts'
import { AccessRules, defaultRuleSettings } from '../../src/access/rules/access-rules.ts'
import { convertEmqx4Export } from '../../lib/imports/index.ts'
import { parseRecordLine, type TableName, type TableRecord } from '../../src/backup/index.ts'
import { parseTopicFilter, matchesFilter, parseTopicName } from '../../src/protocol/index.ts'
import type { ApiKeyRecord, BanRecord, CredentialRecord, RuleRecord } from '../../src/records/index.ts'
import { isWellKnownPassword } from '../../src/node/admins/well-known-passwords.ts'
import { fc } from '../properties.ts'
import { type AccessRule43, charactersOf, exportOf, oldExportOf, saltedPassword } from './emqx4-forms.ts'

type Options = Partial<Parameters<typeof convertEmqx4Export>[1]>

function convert(text: string, options: Options = {}) {
  const { members, skipped, stricter } = convertEmqx4Export(text, {
    isWellKnownSecret: isWellKnownPassword,
    ...options,
  })
  const tables: Partial<Record<TableName, TableRecord[]>> = {}
  for (const { table, content } of members.values()) {
    const lines = content.toString().trimEnd().split('\n')
    tables[table] = lines.map((line, index) => parseRecordLine(table, line, { member: table, number: index + 1 }))
  }
  const rules = (tables.rules ?? []) as RuleRecord[]
  const byAge = rules.toSorted((a, b) => a.createdAtMs - b.createdAtMs)
  return {
    rules: byAge.map(({ about, who, permit, action, topic }) => `${permit} ${about} ${who} ${action} ${topic}`),
    records: rules,
    credentials: (tables.credentials ?? []) as CredentialRecord[],
    bans: (tables.bans ?? []) as BanRecord[],
    apiKeys: (tables['api-keys'] ?? []) as ApiKeyRecord[],
    skipped: skipped.join('\n'),
    stricter: stricter.join('\n'),
  }
}

/** A rule of 4.3; fields in `fields` replace those of a denial of a client ID. */
const rule43 = (fields: object): object => ({
  type: 'clientid',
  type_value: 'c',
  topic: 't',
  action: 'pub',
  access: 'deny',
  created_at: 1_700_000_000_000,
  ...fields,
})

/** A rule of 4.1 or 4.2. */
const rule41 = (fields: object): object => ({ login: 'c', topic: 't', action: 'pub', allow: false, ...fields })

interface RuleCase {
  readonly of: object
  readonly rules: readonly string[]
  readonly skipped?: RegExp
  readonly stricter?: RegExp
}

const rulesOf43: readonly RuleCase[] = [
  { of: { type: 'all', type_value: undefined }, rules: ['deny all  publish t'] },
  { of: { type: 'clientid', type_value: 'c' }, rules: ['deny clientid c publish t'] },
  { of: { type: 'username', type_value: 'u' }, rules: ['deny username u publish t'] },
  { of: { type: 'username', type_value: 'all' }, rules: ['deny username all publish t'] },
  { of: { type: 'username', type_value: '$all' }, rules: ['deny username $all publish t'] },
  { of: { action: 'sub', access: 'allow' }, rules: ['allow clientid c subscribe t'] },
  { of: { action: 'pubsub', access: 'allow', topic: '%c/%u/#' }, rules: ['allow clientid c pubsub %c/%u/#'] },
  { of: { access: 'allow', topic: 'a%c' }, rules: ['allow clientid c publish a%c'] },
  { of: { access: 'allow', topic: '${clientid}' }, rules: ['allow clientid c publish @${clientid}'] },
  { of: { access: 'allow', topic: '${clientid}/#' }, rules: [], skipped: /"clientid c: allow pub \$\{clientid\}\/#"/ },
  { of: { topic: '${clientid}/#' }, rules: ['deny clientid c publish #'], stricter: /denied all topics/ },
  { of: { topic: '@t' }, rules: ['deny clientid c publish @@t'] },
  { of: { topic: 'a+/b' }, rules: ['deny clientid c publish @a+/b'] },
  { of: { topic: '' }, rules: ['deny clientid c publish #'], stricter: /denied all topics/ },
  { of: { topic: '$share/g/t' }, rules: [], skipped: /\$share\/g\/t.*matched nothing/ },
  { of: { access: 'allow', action: 'all' }, rules: [], skipped: /"clientid c: allow all t"/ },
  { of: { action: 'all' }, rules: ['deny clientid c pubsub t'], stricter: /"clientid c: deny all t"/ },
  { of: { access: 'ignore' }, rules: ['deny clientid c publish t'] },
  { of: { access: 'allow', type_value: undefined }, rules: [], skipped: /names no client/ },
  { of: { access: 'allow', type: 'peerhost' }, rules: [], skipped: /names no client/ },
]

test('each form of an access rule of EMQX 4.3 becomes the same rule, a stricter one, or is left out and named', () => {
  for (const { of, rules, skipped, stricter } of rulesOf43) {
    const found = convert(exportOf({ acl_mnesia: [rule43(of)] }))
    assert.deepEqual(found.rules, rules, JSON.stringify(of))
    assert.match(found.skipped, skipped ?? /^etc\/acl\.conf[^\n]*$/, JSON.stringify(of))
    assert.match(found.stricter, stricter ?? /^$/, JSON.stringify(of))
  }
})

const rulesOf41: readonly RuleCase[] = [
  { of: {}, rules: ['deny username c publish t'] },
  { of: { login: '$all' }, rules: ['deny all  publish t'] },
  { of: { login: 'all' }, rules: ['deny username all publish t'] },
  { of: { allow: true }, rules: ['allow username c publish t'] },
  { of: { allow: 'true' }, rules: ['allow username c publish t'] },
  { of: { allow: 1 }, rules: ['deny username c publish t'] },
  { of: { allow: undefined }, rules: ['deny username c publish t'] },
  { of: { allow: true, topic: '%c' }, rules: ['allow username c publish @%c'] },
  { of: { allow: true, topic: '%c/#' }, rules: [], skipped: /"username c: allow pub %c\/#"/ },
  { of: { topic: '%u/+' }, rules: ['deny username c publish #'], stricter: /denied all topics/ },
  { of: { type: 'clientid' }, rules: ['deny clientid c publish t'] },
]

test('each form of an access rule before EMQX 4.3 becomes the same rule, a stricter one, or is left out and named', () => {
  for (const { of, rules, skipped, stricter } of rulesOf41) {
    const found = convert(oldExportOf({ acl_mnesia: [rule41(of)] }), { loginType: 'username' })
    assert.deepEqual(found.rules, rules, JSON.stringify(of))
    assert.match(found.skipped, skipped ?? /^etc\/acl\.conf[^\n]*$/, JSON.stringify(of))
    assert.match(found.stricter, stricter ?? /^$/, JSON.stringify(of))
  }
})

test('an export is refused if leaving out an entry would allow more', () => {
  const refused: readonly (readonly [object, RegExp])[] = [
    [
      { acl_mnesia: [rule43({ type: 'peerhost' })] },
      /acl_mnesia, entry 1 denies "t" to a client that it does not name/,
    ],
    [{ acl_mnesia: [rule43({ type_value: undefined })] }, /acl_mnesia, entry 1 denies/],
    [{ acl_mnesia: [rule43({ type_value: '' })] }, /acl_mnesia, entry 1 denies/],
    [{ acl_mnesia: [rule43({ type: 'all', type_value: 'x' })] }, /acl_mnesia, entry 1 denies/],
    [{ acl_mnesia: [rule43({ type_value: 'x'.repeat(70_000) })] }, /rules: .* is longer than 65535 bytes/],
    [{ acl_mnesia: [rule41({})] }, /--login-type username or --login-type clientid/],
    [{ auth_mnesia: [{ login: 'c', password: '' }] }, /auth_mnesia has logins without a type: .*--login-type/],
    [{ auth_mnesia: [{ login: 'c', type: 'peerhost', password: '' }] }, /auth_mnesia has logins without a type/],
    [{ acl_mnesia: {} }, /acl_mnesia is not a list/],
    [{ acl_mnesia: ['x'] }, /acl_mnesia, entry 1 is not an object/],
    [{ blacklist: [{ who: { ipaddr: '1.2.3.4' } }] }, /blacklist, entry 1 does not name/],
    [{ blacklist: [{ who: { peerhost: 'nowhere' } }] }, /blacklist, entry 1 does not name/],
    [{ blacklist: [{ who: { clientid: '' } }] }, /blacklist, entry 1 does not name/],
    [{ blacklist: [{ who: { clientid: 'a', username: 'b' } }] }, /blacklist, entry 1 does not name/],
  ]
  for (const [sections, why] of refused) assert.throws(() => convert(exportOf({ ...sections })), why)
})

test('the file itself can say what logins before 4.3 are, as with emqx_ctl data import --env', () => {
  const sections = { acl_mnesia: [rule41({})], 'auth.mnesia.as': 'clientid' }
  assert.deepEqual(convert(oldExportOf(sections)).rules, ['deny clientid c publish t'])
})

test('bans keep their end, and addresses may be lists of character codes', () => {
  const at = 1_700_000_000
  const entries = [
    { who: { peerhost: charactersOf('10.1.2.3') }, by: 'user', reason: charactersOf('noisy'), at, until: at + 60 },
    { who: { clientid: 'c' }, by: 'user', reason: '', at, until: 'infinity' },
    { who: { username: 'u' }, by: 'user', reason: '', at },
  ]
  const { bans } = convert(exportOf({ blacklist: entries }))
  const found = bans.map(({ as, who, reason, untilMs }) => [as, who, reason, untilMs])
  assert.deepEqual(found, [
    ['peerhost', '10.1.2.3', 'noisy', (at + 60) * 1_000],
    ['clientid', 'c', '', undefined],
    ['username', 'u', '', undefined],
  ])
})

const base64 = (text: string): string => Buffer.from(text).toString('base64')

test('passwords of all versions stay valid; one that cannot be read is replaced by a random one', () => {
  const digest = createHash('sha256').update('pw').digest('hex')
  const entries = [
    { login: 'salted', type: 'username', password: saltedPassword('pw'), created_at: 1_700_000_000_000 },
    { login: 'device', type: 'clientid', password: saltedPassword('pw'), created_at: 1_700_000_000_000 },
    { login: 'unsalted', type: 'username', password: base64(digest) },
    { login: 'bare', type: 'username', password: digest },
    { login: 'root', type: 'username', password: saltedPassword('pw'), is_superuser: true },
    { login: 'plain', type: 'username', password: base64('\u0001\u0002\u0003\u0004pw') },
    { login: 'none', type: 'username' },
  ]
  const old = {
    auth_username: [
      { username: 'salted', password: saltedPassword('other') },
      { username: 'v41', password: saltedPassword('pw') },
    ],
  }
  const { credentials, stricter, skipped } = convert(oldExportOf({ auth_mnesia: entries, ...old }))
  const accepted = credentials
    .filter((record) => isPassword(Buffer.from('pw'), record))
    .map(({ by, id }) => `${by} ${id}`)
  assert.deepEqual(accepted, [
    'username salted',
    'clientid device',
    'username unsalted',
    'username bare',
    'username root',
    'username v41',
  ])
  assert.deepEqual(
    credentials.filter(({ isSuperuser }) => isSuperuser).map(({ id }) => id),
    ['root'],
  )
  assert.equal(credentials.length, 8)
  assert.match(stricter, /auth_mnesia: 2 entries \("username plain", "username none"\): the password cannot be read/)
  assert.match(skipped, /auth_username: 1 entry \("username salted"\): the name occurs twice/)
})

test('applications become keys of administrators, except those with a well-known secret', () => {
  const app = { secret: 'kJ8s7Gh2', name: 'n', desc: 'd', status: true, expired: 'undefined' }
  const { apiKeys, skipped, stricter } = convert(
    exportOf({
      apps: [
        { ...app, id: 'admin', secret: 'public' },
        { ...app, id: 'same', secret: 'same' },
        { ...app, id: 'good' },
        { ...app, id: 'off', status: false },
        { ...app, id: 'ends', expired: 1_700_000_000 },
        { ...app, id: 'odd', status: 'yes' },
        { ...app, id: 'never', expired: 'soon' },
        { ...app, id: 'good', secret: 'other-secret' },
      ],
    }),
  )
  assert.deepEqual(
    apiKeys.map(({ id, role, isEnabled, expiresAtMs }) => [id, role, isEnabled, expiresAtMs]),
    [
      ['good', 'administrator', true, undefined],
      ['off', 'administrator', false, undefined],
      ['ends', 'administrator', true, 1_700_000_000_000],
      ['odd', 'administrator', false, undefined],
      ['never', 'administrator', false, undefined],
    ],
  )
  assert.match(skipped, /apps: 2 entries \("admin", "same"\): the secret is well known/)
  assert.match(skipped, /apps: 1 entry \("good"\): another application has the same id/)
  assert.match(stricter, /apps: 2 entries \("odd", "never"\): .* disabled/)
  assert.doesNotMatch(skipped + stricter, /kJ8s7Gh2|other-secret/)
})

test('everything else of an export is left out and named', () => {
  const { skipped } = convert(
    exportOf({
      users: [{ username: 'admin', password: 'x', tags: 'administrator' }],
      rules: [{ id: 'rule:1', rawsql: '', actions: [], enabled: true, description: '' }],
      resources: [{ id: 'resource:1', type: 'web_hook', config: {}, created_at: null, description: '' }],
      modules: [
        { id: 'module:1', type: 'pgsql_authentication', config: {}, enabled: true, created_at: 1, description: '' },
      ],
      configs: [{ zone: 'external', confs: {} }],
      listeners_state: { x: 1 },
    }),
  )
  for (const line of [
    'users: 1 entry ("admin"): accounts of the dashboard; their password hashes are too weak for Godwit: create the accounts again',
    'rules: 1 entry ("rule:1"): Godwit does not import them',
    'resources: 1 entry ("resource:1"): Godwit does not import them',
    'modules: 1 entry ("module:1"): modules, which can have authenticators and access rules',
    'configs: 1 entry: configuration, which can have authenticators and access rules',
    'listeners_state: 1 entry: Godwit does not import them',
  ])
    assert.ok(skipped.split('\n').includes(line), `${line} in\n${skipped}`)
  assert.match(
    skipped,
    /etc\/acl\.conf, acl_nomatch, allow_anonymous and all plugins: an export of EMQX 4 does not contain them/,
  )
})

// The order in which EMQX checks its rules: `emqx_acl_mnesia.erl` and `comparing` of `emqx_acl_mnesia_db.erl`. Where the order of rules of
// one time is not defined (4.3), all orders are possible.

interface Client {
  readonly clientid: string
  readonly username: string
}

/** Whether EMQX may allow it, in some order of rules of the same time. Undefined: no rule matches. */
function emqxMayAllow(
  rules: readonly AccessRule43[],
  client: Client,
  action: 'pub' | 'sub',
  topic: string,
): boolean | undefined {
  const name = parseTopicName(topic) ?? assert.fail()
  const matching = rules.filter((rule) => {
    const filled = rule.topic
      .split('/')
      .map((level) => (level === '%c' ? client.clientid : level === '%u' ? client.username : level))
      .join('/')
    const filter = parseTopicFilter(filled) ?? assert.fail()
    return (rule.action === action || rule.action === 'pubsub') && matchesFilter(filter, name)
  })
  for (const type of ['clientid', 'username', 'all'] as const) {
    const own = matching.filter((rule) => rule.type === type && (type === 'all' || rule.type_value === client[type]))
    if (own.length === 0) continue
    const newest = Math.max(...own.map(({ created_at: time }) => time))
    // A denial of the same time can come first or last.
    return own.filter(({ created_at: time }) => time === newest).every(({ access }) => access === 'allow')
  }
  return undefined
}

const level = fc.constantFrom('a', 'b', '%c', '%u', '+')
const filter = fc
  .tuple(fc.array(level, { minLength: 1, maxLength: 3 }), fc.boolean())
  .map(([levels, isOpen]) => [...levels, ...(isOpen ? ['#'] : [])].join('/'))
const anyRule: fc.Arbitrary<AccessRule43> = fc
  .record({
    type: fc.constantFrom('all', 'clientid', 'username'),
    value: fc.constantFrom('a', 'b'),
    topic: filter,
    action: fc.constantFrom('pub', 'sub', 'pubsub'),
    access: fc.constantFrom('allow', 'deny'),
    created_at: fc.integer({ min: 1_700_000_000_000, max: 1_700_000_000_004 }),
  })
  .map(({ value, ...rule }) => (rule.type === 'all' ? rule : { ...rule, type_value: value }))

test('imported rules decide as EMQX did, for every client, action and topic', () => {
  const names = ['a', 'b', 'c']
  const topics = ['a', 'b', 'c', 'a/a', 'a/b', 'b/a', 'c/b', 'a/b/c', 'c/c/c/c', 'b/a/a/b']
  fc.assert(
    fc.property(fc.array(anyRule, { maxLength: 7 }), (rules) => {
      const { records } = convert(exportOf({ acl_mnesia: rules }))
      const access = new AccessRules(
        { ...defaultRuleSettings, noMatch: 'deny' },
        { nowMs: () => 0, mayStay: () => true },
      )
      access.applyRecords({ put: records, delete: [] })
      for (const clientid of names) {
        for (const username of names) {
          const who = {
            clientId: clientid,
            username,
            namespace: undefined,
            principal: '',
            peerAddress: '',
            isSuperuser: false,
            expiresAtMs: undefined,
            grants: undefined,
            authenticatedBy: undefined,
          }
          for (const topic of topics) {
            for (const [short, action] of [
              ['pub', 'publish'],
              ['sub', 'subscribe'],
              ['sub', 'receive'],
            ] as const) {
              const expected = emqxMayAllow(rules, { clientid, username }, short, topic)
              const found = access.explain(who, action, topic)
              const decided = found?.because === 'no-match' ? undefined : found?.allows
              assert.equal(decided, expected, `${clientid} ${username} ${action} ${topic}`)
            }
          }
        }
      }
    }),
    { numRuns: 60 },
  )
})
