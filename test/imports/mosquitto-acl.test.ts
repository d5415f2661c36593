import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AccessRules, defaultRuleSettings } from '../../src/access/rules/access-rules.ts'
import { convertAclFile } from '../../lib/imports/index.ts'
import { readAclFile } from '../../src/config/acl/read-acl-file.ts'
import { fc } from '../properties.ts'

/** Each case: the file, the rules before the last one, and patterns of the report. */
const cases: readonly {
  readonly of: string
  readonly rules: readonly string[]
  readonly skipped?: RegExp
  readonly stricter?: RegExp
}[] = [
  { of: 'topic read public/#', rules: [], skipped: /line 1: it applies only to clients without a user name/ },
  {
    of: 'topic deny secret/#',
    rules: ['{deny, all, pubsub, ["secret/#"]}.'],
    stricter: /line 1: .* all clients are denied/,
  },
  { of: 'user a"b\ntopic write x', rules: ['{allow, {user, "a\\"b"}, publish, ["x"]}.'] },
  { of: 'user a\ntopic read', rules: ['{allow, {user, "a"}, pubsub, ["read"]}.'] },
  { of: 'user a\ntopic write x y', rules: ['{allow, {user, "a"}, publish, ["x y"]}.'] },
  {
    of: 'user a\ntopic x y',
    rules: ['{deny, {user, "a"}, pubsub, ["y"]}.'],
    stricter: /line 2: the access "x" is not known/,
  },
  { of: 'user a b\ntopic x', rules: ['{allow, {user, "a b"}, pubsub, ["x"]}.'] },
  { of: 'user a\ntopic read %u/x', rules: ['{allow, {user, "a"}, subscribe, [{eq, "%u/x"}]}.'] },
  { of: 'user a\ntopic read %u/#', rules: [], skipped: /line 2: Godwit has no rule with the topic "%u\/#"/ },
  {
    of: 'user a\ntopic deny %c/+',
    rules: ['{deny, {user, "a"}, pubsub, ["#"]}.'],
    stricter: /line 2: .* all topics are denied/,
  },
  { of: 'user a\ntopic read ${clientid}/#', rules: [], skipped: /line 2/ },
  { of: 'user a\ntopic read @x', rules: ['{allow, {user, "a"}, subscribe, [{eq, "@x"}]}.'] },
  { of: 'user $all\ntopic read x', rules: [], skipped: /\$all stands for all clients/ },
  { of: 'user $all\ntopic deny x', rules: ['{deny, {user, "$all"}, pubsub, ["x"]}.'], stricter: /all are denied/ },
  {
    of: 'pattern readwrite dev/%c/x%u',
    rules: ['{allow, all, pubsub, ["dev/${clientid}/x${username}"]}.'],
    stricter: /line 1: clients whose user name is missing.*\n.*line 1: clients whose client ID is missing/,
  },
  {
    of: 'pattern deny dev/%u/locked\n\npattern read dev/%u/#',
    rules: ['{deny, all, pubsub, ["dev/${username}/locked"]}.', '{allow, all, subscribe, ["dev/${username}/#"]}.'],
    stricter:
      /^ACL file, lines 1, 3: clients whose user name is missing, contains \/, \+ or #, or begins with \$ are denied all topics/,
  },
  { of: 'pattern deny dev/locked', rules: ['{deny, all, pubsub, ["dev/locked"]}.'] },
  { of: 'pattern ${clientid}', rules: [], skipped: /line 1/ },
  { of: 'pattern deny ${clientid}', rules: ['{deny, all, pubsub, ["#"]}.'], stricter: /all topics are denied/ },
  { of: 'pattern read a/#/b', rules: [], skipped: /line 1/ },
  {
    of: 'user a\ntopic read a/#\npattern deny a/b\ntopic write a/c',
    rules: [
      '{deny, all, pubsub, ["a/b"]}.',
      '{allow, {user, "a"}, subscribe, ["a/#"]}.',
      '{allow, {user, "a"}, publish, ["a/c"]}.',
    ],
    stricter: /denials of patterns come before/,
  },
  { of: 'topic', rules: [], skipped: /names no topic/ },
]

test('a line that mosquitto refuses stops the import: what follows is not given to the user before it', () => {
  for (const [line, problem] of [
    ['User carl', /^ACL file, line 3: "User" is not known, so the user of the next lines is not known.*correct it$/],
    ['user', /^ACL file, line 3: it names no user/],
    ['Topic deny a/secret', /^ACL file, line 3: "Topic" is not known/],
    ['include other', /^ACL file, line 3: "include" is not known/],
  ] as const) {
    const text = `user alice\ntopic read a/#\n${line}\ntopic readwrite carl/#`
    assert.throws(() => convertAclFile(text), { message: problem })
  }
})

test('each line of an ACL file becomes the same rule, a stricter one, or is left out and named', () => {
  for (const { of, rules, skipped = /^$/, stricter = /^$/ } of cases) {
    const found = convertAclFile(of)
    assert.deepEqual(found.value.trimEnd().split('\n'), [...rules, '{deny, all}.'], of)
    assert.match(found.skipped.join('\n'), skipped, of)
    assert.match(found.stricter.join('\n'), stricter, of)
    assert.ok('rules' in readAclFile(found.value, 'acl.conf'), of)
  }
})

test('with use_username_as_clientid, %c is the user name, which the client cannot choose', () => {
  const { value } = convertAclFile('pattern read dev/%c', { usesUsernameAsClientId: true })
  assert.equal(value, '{allow, all, subscribe, ["dev/${username}"]}.\n{deny, all}.\n')
})

// The checks of `acl__check_single` and of its loops in `security_default.c` of mosquitto 2.0.

interface Client {
  readonly clientId: string
  readonly username: string | undefined
}

interface Line {
  /** A user, or `pattern`. */
  readonly section: string | undefined
  readonly access: 'read' | 'write' | 'readwrite' | 'deny'
  readonly filter: string
}

function matches(filter: string, topic: string): boolean {
  if (topic.startsWith('$') !== filter.startsWith('$')) return false
  const [levels, names] = [filter.split('/'), topic.split('/')]
  for (const [index, level] of levels.entries()) {
    if (level === '#') return true
    if (names[index] === undefined || (level !== '+' && level !== names[index])) return false
  }
  return levels.length === names.length
}

function mosquittoAllows(
  lines: readonly Line[],
  { clientId, username }: Client,
  action: 'read' | 'write',
  topic: string,
): boolean {
  const decide = (own: readonly Line[], fill: (filter: string) => string): boolean | undefined => {
    const matching = own.filter(({ filter }) => matches(fill(filter), topic))
    if (matching.some(({ access }) => access === 'deny')) return false
    return matching.some(({ access }) => access === 'readwrite' || access === action) ? true : undefined
  }
  const own = decide(
    lines.filter(({ section }) => section === username),
    (filter) => filter,
  )
  if (own !== undefined) return own
  const patterns = lines.filter(
    ({ section, filter }) => section === 'pattern' && (username !== undefined || !filter.includes('%u')),
  )
  return decide(patterns, (filter) => filter.replaceAll('%c', clientId).replaceAll('%u', username ?? '')) ?? false
}

const level = fc.constantFrom('a', 'b', '%c', '%u', 'x%c', '+', '$SYS')
const anyLine: fc.Arbitrary<Line> = fc.record({
  section: fc.constantFrom(undefined, 'a', 'b', 'pattern'),
  access: fc.constantFrom('read', 'write', 'readwrite', 'deny'),
  filter: fc
    .tuple(fc.array(level, { minLength: 1, maxLength: 3 }), fc.boolean())
    .map(([levels, isOpen]) => [...levels, ...(isOpen ? ['#'] : [])].join('/')),
})

function textOf(lines: readonly Line[]): string {
  const topics = (section: string | undefined): string[] =>
    lines.filter((line) => line.section === section).map(({ access, filter }) => `topic ${access} ${filter}`)
  const users = ['a', 'b'].flatMap((name) => [`user ${name}`, ...topics(name)])
  const patterns = lines
    .filter(({ section }) => section === 'pattern')
    .map(({ access, filter }) => `pattern ${access} ${filter}`)
  return [...topics(undefined), ...users, ...patterns].join('\n')
}

test('an imported ACL file never allows what mosquitto denied, and users may do what it allowed without denials', () => {
  const topics = ['a', 'b', 'a/b', 'b/a', 'a/a/b', 'xa', 'xa/b', '$SYS', '$SYS/a', 'c/c', '%c', '%u/a']
  fc.assert(
    fc.property(fc.array(anyLine, { maxLength: 7 }), (lines) => {
      const { value, skipped, stricter } = convertAclFile(textOf(lines))
      const read = readAclFile(value, 'acl.conf')
      assert.ok('rules' in read)
      const access = new AccessRules(
        { ...defaultRuleSettings, rules: read.rules, noMatch: 'deny' },
        { nowMs: () => 0, mayStay: () => true },
      )
      const isExact = skipped.length === 0 && stricter.length === 0
      for (const clientId of ['a', 'c'])
        for (const username of ['a', 'b', 'c', undefined])
          for (const topic of topics)
            for (const [word, action] of [
              ['write', 'publish'],
              ['read', 'receive'],
            ] as const) {
              const who = {
                clientId,
                username,
                namespace: undefined,
                principal: '',
                peerAddress: '',
                isSuperuser: false,
                expiresAtMs: undefined,
                grants: undefined,
                authenticatedBy: undefined,
              }
              const allowed = access.explain(who, action, topic)?.allows === true
              const before = mosquittoAllows(lines, { clientId, username }, word, topic)
              const label = `${clientId} ${String(username)} ${action} ${topic}\n${textOf(lines)}\n${value}`
              if (allowed) assert.ok(before, `allowed more: ${label}`)
              // A pattern with %u denies clients without a user name; leading wildcards of a denial include topics with $.
              const isDenied = lines.some(({ access: one }) => one === 'deny')
              if (before && isExact && !isDenied && username !== undefined) assert.ok(allowed, `allowed less: ${label}`)
            }
    }),
    { numRuns: 150 },
  )
})
