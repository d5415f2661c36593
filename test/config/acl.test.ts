// Access rules in the configuration, and in a separate file, in HOCON or in the format of EMQX.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  formatConfigError,
  isInRange,
  loadConfig,
  parseAddress,
  parseAddressRange,
  readAclFile,
  type AclRule,
  type GodwitConfig,
} from '../../src/config/index.ts'
import { anyCharacter, fc } from '../properties.ts'

function rulesOf(text: string): readonly AclRule[] {
  const read = readAclFile(text, 'acl.conf')
  if ('errors' in read) assert.fail(read.errors.map(formatConfigError).join('\n'))
  return read.rules
}

function errorsOf(text: string): string[] {
  const read = readAclFile(text, 'acl.conf')
  return 'errors' in read ? read.errors.map(formatConfigError) : []
}

/** Removes the position and the text of a rule. */
function meaningOf({ permit, action, who, topics }: AclRule): object {
  return { permit, action, who, topics }
}

function load(text: string, files: Record<string, string> = {}): GodwitConfig | string[] {
  const readFile = (path: string): { text: string } | { error: string } => {
    const found = files[path]
    return found === undefined ? { error: 'there is no such file' } : { text: found }
  }
  const loaded = loadConfig({ text, file: 'godwit.conf', overrides: [], readFile })
  return 'errors' in loaded ? loaded.errors.map(formatConfigError) : loaded.config
}

function config(text: string, files: Record<string, string> = {}): GodwitConfig {
  const loaded = load(text, files)
  if (Array.isArray(loaded)) assert.fail(loaded.join('\n'))
  return loaded
}

const filter = (text: string): object => ({ kind: 'filter', text })

describe('an acl.conf of EMQX', () => {
  test('has the same meaning as in EMQX, in every variant', () => {
    const rules = rulesOf(`
%%% the file that comes with it
{allow, {user, "dashboard"}, subscribe, ["$SYS/#"]}.
{allow, {ipaddr, "127.0.0.1"}, pubsub, ["$SYS/#", "#"]}.
{deny, all, subscribe, ["$SYS/#", {eq, "#"}]}.
{allow, {client, "c1"}, publish, ["a/%c/%u"]}. {deny, {clientid, "c2"}, all, ["x"]}.
{allow, {ipaddrs, ["10.0.0.0/8", "2001:db8::/32"]}, publish, <<"a/b"/utf8>>}.
{allow, {'and', [{user, "u"}, {client, "c"}]}, publish, ["\${clientid}"]}.
{allow, {'or', [{user, "u"}, {client, "c"}]}, publish, ["@a/+"]}.
{deny, '$all', publish, ["no/+"]}.
{allow, {user, all}, publish, ["u"]}.
{allow, all}.`)
    const [loopback] = [parseAddressRange('127.0.0.1')]
    const both = [
      { is: 'username', username: 'u' },
      { is: 'clientid', clientId: 'c' },
    ]
    assert.deepEqual(rules.map(meaningOf), [
      {
        permit: 'allow',
        action: 'subscribe',
        who: { is: 'username', username: 'dashboard' },
        topics: [filter('$SYS/#')],
      },
      {
        permit: 'allow',
        action: 'pubsub',
        who: { is: 'address', ranges: [loopback] },
        topics: [filter('$SYS/#'), filter('#')],
      },
      {
        permit: 'deny',
        action: 'subscribe',
        who: { is: 'anybody' },
        topics: [filter('$SYS/#'), { kind: 'literal', text: '#' }],
      },
      { permit: 'allow', action: 'publish', who: { is: 'clientid', clientId: 'c1' }, topics: [filter('a/%c/%u')] },
      { permit: 'deny', action: 'pubsub', who: { is: 'clientid', clientId: 'c2' }, topics: [filter('x')] },
      {
        permit: 'allow',
        action: 'publish',
        who: { is: 'address', ranges: ['10.0.0.0/8', '2001:db8::/32'].map(parseAddressRange) },
        topics: [filter('a/b')],
      },
      { permit: 'allow', action: 'publish', who: { is: 'all-of', parts: both }, topics: [filter('${clientid}')] },
      {
        permit: 'allow',
        action: 'publish',
        who: { is: 'any-of', parts: both },
        topics: [{ kind: 'literal', text: 'a/+' }],
      },
      { permit: 'deny', action: 'publish', who: { is: 'anybody' }, topics: [filter('no/+')] },
      { permit: 'allow', action: 'publish', who: { is: 'anybody' }, topics: [filter('u')] },
      { permit: 'allow', action: 'pubsub', who: { is: 'anybody' }, topics: undefined },
    ])
    assert.deepEqual([rules[0]?.file, rules[0]?.line, rules[4]?.line], ['acl.conf', 3, 6])
    assert.equal(rules[0]?.text, '{allow, {user, "dashboard"}, subscribe, ["$SYS/#"]}.')
  })

  test('[bad-input 27] that is empty, or has comments only, is a list without rules', () => {
    for (const text of ['', '\n\n', '%% {allow, all}.', '# {permit = allow}\n', '// nothing\n', '\uFEFF%\n%']) {
      assert.deepEqual(rulesOf(text), [], JSON.stringify(text))
    }
  })

  test('[bad-input 5] that has line breaks only, or braces only, is read in time proportional to its size', () => {
    const blank = '\n'.repeat(1_000_000)
    assert.deepEqual(rulesOf(blank), [])
    assert.equal(rulesOf(`${blank}{allow, all}.`)[0]?.line, 1_000_001)
    for (const piece of ['{', '[', '%', '{allow,', '"', "'", '<<"'])
      assert.ok(errorsOf(piece.repeat(100_000) + '\n{').length > 0)
  })

  test('has one error for each invalid rule, with file, line and reason', () => {
    const errors = errorsOf(
      '{allow, all}.\n{alow, all}.\n{deny, {usr, "x"}, publish, ["a"]}.\n{allow, all, publish, []}.\n',
    )
    assert.equal(errors.length, 3)
    assert.match(errors[0] ?? '', /^acl\.conf:2:2: auth\.acl\.file: a rule begins with allow or deny/)
    assert.match(errors[1] ?? '', /^acl\.conf:3:8: .*the subject of a rule is all/)
    assert.match(errors[2] ?? '', /^acl\.conf:4:23: .*the list of topics is empty/)
  })

  const wrong = [
    '{allow, all}',
    '{allow, all}. {deny',
    '{allow, {user, "x"}}.',
    '{allow, {user, x}, publish, ["a"]}.',
    '{allow, all, publish, ["a/#/b"]}.',
    '{allow, all, publish, ["a+"]}.',
    '{allow, all, publish, ["${cert}/a"]}.',
    '{allow, all, publish, ["$share/g/a"]}.',
    '{allow, {ipaddr, "10.0.0.0/33"}, publish, ["a"]}.',
    '{allow, {ipaddrs, []}, publish, ["a"]}.',
    '{allow, {\'and\', []}, publish, ["a"]}.',
    '{allow, all, publish, ["a]}.',
    '{allow, all, publish, ["a"], more}.',
    '{allow, {user, {re, "^a"}}, publish, ["a"]}.',
    '["a"].',
  ]
  for (const text of wrong) {
    test(`[bad-input 27] ${text} is refused, and no rule of the file applies`, () => {
      assert.equal(errorsOf(text).length > 0, true)
    })
  }

  test('with any text gives rules or errors, and errors do not show the content of the file', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      '.',
      'allow',
      'deny',
      'all',
      '"a"',
      "'and'",
      'eq',
      '%',
      '\n',
      'user',
      '<<',
      '>>',
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: anyCharacter }),
          fc.array(piece).map((pieces) => pieces.join('')),
        ),
        (text) => {
          const read = readAclFile(text, 'f')
          assert.ok('rules' in read || read.errors.length > 0)
        },
      ),
      { numRuns: 2_000 },
    )
    const shadow = 'root:$6$VERYSECRET$hash:19000:0:99999:7:::\ndaemon:*:19000::::::\n'
    assert.doesNotMatch(errorsOf(shadow).join('\n'), /SECRET|daemon/)
  })
})

describe('rules in HOCON', () => {
  test('have the same meaning in auth.acl.file and in the configuration', () => {
    const text = `rules = [
  {permit = allow, username = dashboard, action = subscribe, topics = ["$SYS/#"]}
  {"permit": "deny", "ipaddr": "10.0.0.0/8", "and": [{username = a}, {clientid = "#"}], "topics": ["@#"]}
  {permit = allow}
]`
    const own = rulesOf(text)
    assert.deepEqual(own.map(meaningOf), config(`auth.acl { ${text} }`).auth.acl.rules.map(meaningOf))
    assert.deepEqual(own.map(meaningOf), [
      {
        permit: 'allow',
        action: 'subscribe',
        who: { is: 'username', username: 'dashboard' },
        topics: [filter('$SYS/#')],
      },
      {
        permit: 'deny',
        action: 'pubsub',
        who: {
          is: 'all-of',
          parts: [
            { is: 'address', ranges: [parseAddressRange('10.0.0.0/8')] },
            { is: 'username', username: 'a' },
          ],
        },
        topics: [{ kind: 'literal', text: '#' }],
      },
      { permit: 'allow', action: 'pubsub', who: { is: 'anybody' }, topics: undefined },
    ])
    assert.deepEqual(
      own.map(({ line }) => line),
      [2, 3, 4],
    )
  })

  const wrong = [
    '{}',
    '{permit = perhaps}',
    '{permit = allow, topics = []}',
    '{permit = allow, topics = ["a/#/b"]}',
    '{permit = allow, ipaddr = "10.0.0.999"}',
    '{permit = allow, ipaddrs = []}',
    '{permit = allow, and = []}',
    '{permit = allow, or = [{}]}',
    '{permit = allow, user = a}',
  ]
  for (const text of wrong) {
    test(`${text} is an error in both places, with its line`, () => {
      assert.match(errorsOf(`rules = [\n${text}\n]`).join('\n'), /^acl\.conf:2:/)
      const found = load(`auth.acl.rules = [\n${text}\n]`)
      assert.ok(Array.isArray(found))
      assert.match(found.join('\n'), /^godwit\.conf:2:.*auth\.acl\.rules/)
    })
  }

  test('in a file with other keys besides the list are refused', () => {
    assert.match(
      errorsOf('rules = [{permit = allow}]\nruels = [{permit = deny}]').join(),
      /acl\.conf:2:.*more than the list named rules/,
    )
  })

  test('that are printed are read as the same rules', () => {
    const written =
      '{permit = deny, topics = ["a/${clientid}", "@b"], or = [{ipaddrs = ["10.0.0.0/8"]}, {username = "ü x"}]}'
    const [rule] = config(`auth.acl.rules = [${written}]`).auth.acl.rules
    assert.ok(rule !== undefined)
    const [again] = config(`auth.acl.rules = [${rule.text}]`).auth.acl.rules
    assert.ok(again !== undefined)
    assert.deepEqual(meaningOf(again), meaningOf(rule))
  })
})

describe('auth.acl.file', () => {
  test('is checked after the rules of the configuration', () => {
    const { acl } = config('auth.acl { rules = [{permit = deny, topics = ["a"]}], file = acl.conf }', {
      'acl.conf': '{allow, all}.',
    }).auth
    assert.deepEqual(
      acl.rules.map(({ permit }) => permit),
      ['deny', 'allow'],
    )
  })

  test('[bad-input 27] that is missing or malformed is an error of the configuration', () => {
    assert.match(
      JSON.stringify(load('\nauth.acl.file = acl.conf')),
      /godwit\.conf:2:.*auth\.acl\.file: acl\.conf cannot be read: there is no such file/,
    )
    assert.match(JSON.stringify(load('auth.acl.file = acl.conf', { 'acl.conf': '\n{allow all}.' })), /^\["acl\.conf:2:/)
  })

  test('[bad-input 27] that was emptied is an error of the configuration, because its denials would be lost', () => {
    for (const text of ['', '\n \n', '\uFEFF'])
      assert.match(
        JSON.stringify(load('auth { acl.file = acl.conf, no_match = allow }', { 'acl.conf': text })),
        /acl\.conf:1:1.*auth\.acl\.file: the file is empty; restore it; if there are to be no rules, write a comment/,
      )
    assert.deepEqual(config('auth.acl.file = acl.conf', { 'acl.conf': '% no rules' }).auth.acl.rules, [])
  })
})

const noMatchOf = (text: string): string => config(text, { f: '% no rules' }).auth.acl.noMatch

describe('the users of the configuration', () => {
  for (const line of [
    'alice',
    'alice =',
    'alice = ""',
    'alice = [one]',
    'alice { password = one }',
    'alice = "a',
    '= one',
  ]) {
    test(`[bad-input 27] ${line} creates no user and is an error with its line`, () => {
      assert.match(JSON.stringify(load(`auth.password {\nbob = one\n${line}\n}`)), /^\["godwit\.conf:[34]:/)
    })
  }
})

describe('auth.no_match', () => {
  test('is deny by default in the profile hardened if there is a source of rules', () => {
    assert.equal(noMatchOf(''), 'allow')
    assert.equal(noMatchOf('auth.acl.file = f'), 'deny')
    assert.equal(noMatchOf('auth.acl.rules = [{permit = allow, topics = [a]}]'), 'deny')
    assert.equal(noMatchOf('auth.http_auth.acl_req.url = "http://127.0.0.1:1/"'), 'deny')
  })

  test('is allow by default in the profile legacy; a configured value applies in both profiles', () => {
    assert.equal(noMatchOf('node.security_profile = legacy, auth.acl.file = f'), 'allow')
    assert.equal(noMatchOf('auth { acl.file = f, no_match = allow }'), 'allow')
    assert.equal(noMatchOf('auth.no_match = deny'), 'deny')
  })
})

const isIn = (address: string, range: string): boolean => {
  const [one, many] = [parseAddress(address), parseAddressRange(range)]
  assert.ok(one !== undefined && many !== undefined, `${address} ${range}`)
  return isInRange(one, many)
}

const dotted = (value: number): string => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.')

describe('addresses and ranges', () => {
  test('are compared by their bits, not by their spelling', () => {
    assert.ok(isIn('10.1.2.3', '10.0.0.0/8'))
    assert.ok(!isIn('11.1.2.3', '10.0.0.0/8'))
    assert.ok(isIn('::ffff:10.1.2.3', '10.0.0.0/8'))
    assert.ok(isIn('::FFFF:0a01:0203', '10.0.0.0/8'))
    assert.ok(isIn('10.1.2.3', '::ffff:10.0.0.0/104'))
    assert.ok(isIn('2001:0db8:0::1', '2001:DB8::/32'))
    assert.ok(!isIn('2001:db9::1', '2001:db8::/32'))
    assert.ok(isIn('fe80::1%eth0', 'fe80::/10'))
    assert.ok(isIn('255.255.255.255', '0.0.0.0/0'))
    assert.ok(!isIn('1.2.3.4', '::/0'))
    assert.ok(isIn('192.168.1.131', '192.168.1.128/25'))
    assert.ok(!isIn('192.168.1.127', '192.168.1.128/25'))
  })

  test('are not read from malformed texts', () => {
    const none = [
      '',
      '10',
      '10.0.0',
      '10.0.0.256',
      '010.0.0.1',
      '10.0.0.1/',
      '10.0.0.1/33',
      '10.0.0.1/-1',
      '1::2::3',
      ':::',
      '1:2:3:4:5:6:7',
      '1:2:3:4:5:6:7:8:9',
      'g::',
      '::1/129',
      '::ffff:10.0.0.0/95',
      '10.0.0.1%1',
      'localhost',
      '1.2.3.4:5',
    ]
    for (const text of none) assert.equal(parseAddressRange(text), undefined, text)
  })

  test('give the same results as arithmetic with integers', () => {
    const word = fc.integer({ min: 0, max: 0xffff_ffff })
    fc.assert(
      fc.property(word, word, fc.integer({ min: 0, max: 32 }), (a, b, bits) => {
        const size = 2 ** (32 - bits)
        assert.equal(isIn(dotted(a), `${dotted(b)}/${bits}`), Math.floor(a / size) === Math.floor(b / size))
      }),
    )
  })
})
