// HOCON texts with their values, or with their errors.

import type { PlainValue } from '../../src/config/index.ts'

export interface MeaningCase {
  readonly name: string
  readonly text: string
  readonly value: PlainValue
}

/** Files that the cases include. */
export const includedFiles: Readonly<Record<string, string>> = {
  'users.conf': 'alice = one\n"bob@home" : "two words"\n',
  'more/limits.conf': 'limit = 3\nhalf = ${limit}0\n',
  'braces.conf': '{ inside = true }',
  'empty.conf': '# none\n',
  'chain.conf': 'include "users.conf"\ncarol = three',
  'looks-up.conf': 'here = ${name}',
  'circle.conf': 'include "circle.conf"',
  'broken.conf': 'fine = 1\nroot:$6$salt:19000',
}

export const environment: Readonly<Record<string, string>> = { HOME: '/root', PORT: '1884', 'a.b': 'dotted' }

export const meaningCases: readonly MeaningCase[] = [
  // Structure of a file.
  { name: 'an empty text', text: '', value: {} },
  { name: 'blanks and comments only', text: ' \n# one\n // two\n\t\n', value: {} },
  { name: 'a byte order mark', text: '\uFEFFa = 1', value: { a: 1 } },
  { name: 'line breaks of Windows', text: 'a = 1\r\nb = x\r\n', value: { a: 1, b: 'x' } },
  { name: 'braces around everything', text: '{ a = 1 }\n', value: { a: 1 } },
  { name: 'JSON', text: '{"a": [1, {"b": null}], "c": "d"}', value: { a: [1, { b: null }], c: 'd' } },
  { name: 'JSON over several lines', text: '{\n"a"\n:\n1\n,\n"b": [\n1\n,\n2\n]\n}', value: { a: 1, b: [1, 2] } },
  { name: 'settings parted by commas', text: 'a = 1, b = 2', value: { a: 1, b: 2 } },
  { name: 'a comma behind the last', text: 'a { b = 1, }, c = [1, 2, ],', value: { a: { b: 1 }, c: [1, 2] } },
  {
    name: 'comments behind values',
    text: 'a = 1 # one\nb = x // two\nc = [1 # first\n2]',
    value: { a: 1, b: 'x', c: [1, 2] },
  },
  { name: 'a comment sign in quotes', text: 'a = "x # y // z"', value: { a: 'x # y // z' } },
  // Scalars.
  { name: 'whole numbers', text: 'a = 0, b = -7, c = 1883', value: { a: 0, b: -7, c: 1_883 } },
  {
    name: 'other numbers',
    text: 'a = 1.5, b = -0.25, c = 2e3, d = 2E-1',
    value: { a: 1.5, b: -0.25, c: 2_000, d: 0.2 },
  },
  {
    name: 'what only looks like a number',
    text: 'a = 01, b = 1., c = .5, d = 0x1f',
    value: { a: '01', b: '1.', c: '.5', d: '0x1f' },
  },
  { name: 'a number too large for one', text: 'a = 1e999', value: { a: '1e999' } },
  { name: 'switches and nothing', text: 'a = true, b = false, c = null', value: { a: true, b: false, c: null } },
  { name: 'switches in quotes are text', text: 'a = "true", b = "1"', value: { a: 'true', b: '1' } },
  {
    name: 'text that begins like a switch',
    text: 'a = truest, b = nullable, c = 10s',
    value: { a: 'truest', b: 'nullable', c: '10s' },
  },
  {
    name: 'durations and sizes stay text',
    text: 'a = 10s, b = 100 ms, c = 10MB',
    value: { a: '10s', b: '100 ms', c: '10MB' },
  },
  { name: 'a path', text: 'a = /var/lib/godwit', value: { a: '/var/lib/godwit' } },
  { name: 'an address without a port', text: 'a = 127.0.0.1', value: { a: '127.0.0.1' } },
  { name: 'text with blanks inside', text: 'a =   two   words  \n', value: { a: 'two   words' } },
  { name: 'letters of other scripts', text: 'größe = 大きい', value: { größe: '大きい' } },
  { name: 'parentheses, percents, semicolons', text: 'a = (50%;x)', value: { a: '(50%;x)' } },
  // Quotes.
  { name: 'escapes', text: String.raw`a = "\"\\\/\b\f\n\r\t\u00e9"`, value: { a: '"\\/\b\f\n\r\té' } },
  { name: 'a pair of surrogates as escapes', text: String.raw`a = "\ud83d\ude00"`, value: { a: '😀' } },
  { name: 'an empty text in quotes', text: 'a = ""', value: { a: '' } },
  { name: 'three quotes over lines', text: 'a = """one\n "two" \\n"""', value: { a: 'one\n "two" \\n' } },
  { name: 'three quotes with a quote at the end', text: 'a = """x""""', value: { a: 'x"' } },
  { name: 'text joined of quoted and unquoted', text: 'a = x"y z"w', value: { a: 'xy zw' } },
  { name: 'text joined with blanks between', text: 'a = one "two"  three', value: { a: 'one two  three' } },
  { name: 'numbers joined as they were written', text: 'a = 1.50 "€"', value: { a: '1.50 €' } },
  // Keys.
  { name: 'a dotted key', text: 'a.b.c = 1', value: { a: { b: { c: 1 } } } },
  { name: 'a quoted key with a dot', text: 'a."b.c" = 1', value: { a: { 'b.c': 1 } } },
  { name: 'an empty key in quotes', text: '"" = 1', value: { '': 1 } },
  {
    name: 'keys with blanks, hyphens, digits',
    text: 'a b = 1\ncontent-type = x\n1 = y\n2.5 = z',
    value: { 'a b': 1, 'content-type': 'x', '1': 'y', '2': { '5': 'z' } },
  },
  { name: 'a colon between key and value', text: 'a : 1', value: { a: 1 } },
  { name: 'nothing between key and brace', text: 'a { b { c = 1 } }', value: { a: { b: { c: 1 } } } },
  { name: 'an equals sign before a brace', text: 'a = { b = 1 }', value: { a: { b: 1 } } },
  { name: 'a value on the line below', text: 'a =\n  1', value: { a: 1 } },
  {
    name: 'include as a key',
    text: 'include = 1\nx { include.y = 2 }',
    value: { include: 1, x: { include: { y: 2 } } },
  },
  // Arrays.
  { name: 'arrays parted by commas or lines', text: 'a = [1, 2\n3\n\n4]', value: { a: [1, 2, 3, 4] } },
  { name: 'arrays in arrays', text: 'a = [[1], [], [[2]]]', value: { a: [[1], [], [[2]]] } },
  {
    name: 'objects in arrays',
    text: 'a = [{b = 1}, {b = 2, c.d = 3}]',
    value: { a: [{ b: 1 }, { b: 2, c: { d: 3 } }] },
  },
  { name: 'arrays joined', text: 'a = [1] [2, 3]', value: { a: [1, 2, 3] } },
  // Merging.
  { name: 'the later value wins', text: 'a = 1\na = 2', value: { a: 2 } },
  { name: 'objects merge', text: 'a { b = 1, c = 1 }\na { c = 2, d = 2 }', value: { a: { b: 1, c: 2, d: 2 } } },
  {
    name: 'dotted keys merge with braces',
    text: 'a.b = 1\na { c = 2 }\na.d.e = 3',
    value: { a: { b: 1, c: 2, d: { e: 3 } } },
  },
  { name: 'a value hides an object', text: 'a { b = 1 }\na = 2\na { c = 3 }', value: { a: { c: 3 } } },
  { name: 'arrays do not merge', text: 'a = [1]\na = [2]', value: { a: [2] } },
  { name: 'null hides what was before', text: 'a { b = 1 }\na = null', value: { a: null } },
  { name: 'objects joined on one line', text: 'a = {b = 1} {c = 2}', value: { a: { b: 1, c: 2 } } },
  // +=
  { name: 'adding to a list', text: 'a = [1]\na += 2\na += 3', value: { a: [1, 2, 3] } },
  { name: 'adding to what is not there', text: 'a += x', value: { a: ['x'] } },
  { name: 'adding an object and a list', text: 'a += {b = 1}\na += [2]', value: { a: [{ b: 1 }, [2]] } },
  { name: 'adding inside an object that is merged', text: 'x { a = [1] }\nx { a += 2 }', value: { x: { a: [1, 2] } } },
  { name: 'adding what a substitution gives', text: 'a = [1]\nb = 2\na += ${b}', value: { a: [1, 2], b: 2 } },
  { name: 'adding to what a substitution gives', text: 'b = [1]\na = ${b}\na += 2', value: { b: [1], a: [1, 2] } },
  // Substitutions.
  { name: 'a substitution forwards', text: 'a = ${b}\nb = 1', value: { a: 1, b: 1 } },
  { name: 'a substitution sees the last value', text: 'a = ${b}\nb = 1\nb = 2', value: { a: 2, b: 2 } },
  { name: 'a substitution deep inside', text: 'a { b { c = 7 } }\nd = ${a.b.c}', value: { a: { b: { c: 7 } }, d: 7 } },
  { name: 'a substitution of a quoted key', text: '"a.b" = 1\nc = ${"a.b"}', value: { 'a.b': 1, c: 1 } },
  {
    name: 'a substitution in text',
    text: 'host = h\nurl = "mqtt://"${host}":"1883',
    value: { host: 'h', url: 'mqtt://h:1883' },
  },
  { name: 'a substitution in quotes is text', text: 'a = "${b}"', value: { a: '${b}' } },
  { name: 'a substitution of a list', text: 'a = [1, 2]\nb = ${a} [3]', value: { a: [1, 2], b: [1, 2, 3] } },
  { name: 'a substitution in a list', text: 'a = 1\nb = [${a}, ${?none}, 2]', value: { a: 1, b: [1, 2] } },
  {
    name: 'a substitution of an object, then changed',
    text: 'a { x = 1, y = 1 }\nb = ${a} { y = 2 }',
    value: { a: { x: 1, y: 1 }, b: { x: 1, y: 2 } },
  },
  {
    name: 'a substitution of an object, merged later',
    text: 'a { x = 1 }\nb = ${a}\nb.z = 3',
    value: { a: { x: 1 }, b: { x: 1, z: 3 } },
  },
  {
    name: 'a path through a substitution',
    text: 'a = ${b}\nb { c = 5 }\nd = ${a.c}',
    value: { a: { c: 5 }, b: { c: 5 }, d: 5 },
  },
  {
    name: 'another key inside the same object',
    text: 'a { b = 1, c = ${a.b} }\na.b = 2',
    value: { a: { b: 2, c: 2 } },
  },
  {
    name: 'a path that grows',
    text: 'path = /a\npath = ${path}":/b"\npath = ${path}":/c"',
    value: { path: '/a:/b:/c' },
  },
  {
    name: 'an object that looks at what it was',
    text: 'a { x = 1 }\na = ${a} { y = ${a.x} }',
    value: { a: { x: 1, y: 1 } },
  },
  {
    name: 'a setting that is a part of what it was, whatever comes below',
    text: 'a { b { c = 1 } }\na = ${a.b}\na { b = 2 }',
    value: { a: { b: 2, c: 1 } },
  },
  {
    name: 'a part of an object that is looked up through another name',
    text: 'a = ${b}\na { e = 1 }\nb { c = ${a.d}, d = 2, f = ${a.e} }',
    value: { a: { c: 2, d: 2, e: 1, f: 1 }, b: { c: 2, d: 2, f: 1 } },
  },
  { name: 'a list that grows by joining', text: 'a = [1]\na = ${a} [2]', value: { a: [1, 2] } },
  { name: 'an optional one that is missing', text: 'a = ${?none}\nb = x${?none}y', value: { b: 'xy' } },
  { name: 'an optional one that would hide', text: 'a = 1\na = ${?none}', value: { a: 1 } },
  { name: 'an optional circle is nothing', text: 'a = ${?b}\nb = ${?a}', value: {} },
  { name: 'a brace on the line below its key', text: 'a\n{\n  b = 1\n}\nc\n  : 2', value: { a: { b: 1 }, c: 2 } },
  { name: 'a number with a plus in its exponent', text: 'a = [1e+21, -2.5E+3]', value: { a: [1e21, -2_500] } },
  { name: 'the environment', text: 'a = ${HOME}/x\nb = ${PORT}', value: { a: '/root/x', b: '1884' } },
  { name: 'a setting before the environment', text: 'HOME = here\na = ${HOME}', value: { HOME: 'here', a: 'here' } },
  {
    name: 'the environment where it may be missing',
    text: 'a = 1\na = ${?PORT}\nb = 2\nb = ${?NONE}',
    value: { a: '1884', b: 2 },
  },
  { name: 'nothing of how objects are made', text: 'a = x${?toString}${?hasOwnProperty}', value: { a: 'x' } },
  // Includes.
  {
    name: 'an include at the top',
    text: 'include "users.conf"\nz = 1',
    value: { alice: 'one', 'bob@home': 'two words', z: 1 },
  },
  {
    name: 'an include in braces',
    text: 'password { include "users.conf" }',
    value: { password: { alice: 'one', 'bob@home': 'two words' } },
  },
  {
    name: 'an include as the only thing in braces',
    text: 'password = {include "empty.conf"}',
    value: { password: {} },
  },
  {
    name: 'an include of a file with braces',
    text: 'a { include file("braces.conf") }',
    value: { a: { inside: true } },
  },
  {
    name: 'an include that is required',
    text: 'include required("braces.conf"), include required(file("users.conf"))',
    value: { inside: true, alice: 'one', 'bob@home': 'two words' },
  },
  {
    name: 'what stands below an include wins',
    text: 'include "users.conf"\nalice = mine',
    value: { alice: 'mine', 'bob@home': 'two words' },
  },
  {
    name: 'an include wins over what stands above',
    text: 'alice = mine\ninclude "users.conf"',
    value: { alice: 'one', 'bob@home': 'two words' },
  },
  {
    name: 'a substitution inside an included file',
    text: 'x.y { include "more/limits.conf" }',
    value: { x: { y: { limit: 3, half: '30' } } },
  },
  {
    name: 'an included file looks around it, then at the top',
    text: 'name = top\na { include "looks-up.conf" }\nb { name = near, include "looks-up.conf" }',
    value: { name: 'top', a: { here: 'top' }, b: { name: 'near', here: 'near' } },
  },
  {
    name: 'an include in an included file',
    text: 'a { include "chain.conf" }',
    value: { a: { alice: 'one', 'bob@home': 'two words', carol: 'three' } },
  },
]

export interface FaultCase {
  readonly name: string
  readonly text: string
  /** The beginning of each error, in order. */
  readonly errors: readonly string[]
}

export const errorCases: readonly FaultCase[] = [
  { name: 'a key without a value', text: 'a = 1\nb\nc = 2', errors: ['test.conf:2:1: b: the key has no value'] },
  { name: 'an equals sign with nothing behind', text: 'a =', errors: ['test.conf:1:4: a: a value is missing'] },
  {
    name: 'a value without a key',
    text: 'a { = 1 }',
    errors: ['test.conf:1:5: a: unexpected "=" where a key is expected'],
  },
  {
    name: 'an address without quotes',
    text: 'bind = 0.0.0.0:1883',
    errors: ['test.conf:1:15: bind: unexpected ":" in a value'],
  },
  {
    name: 'two settings on a line',
    text: 'a = 1 b = 2',
    errors: ['test.conf:1:9: a: unexpected "=" in a value'],
  },
  {
    name: 'a dollar sign without quotes',
    text: 'a = $x',
    errors: ['test.conf:1:5: a: unexpected "$" in a value'],
  },
  { name: 'a star without quotes', text: 'a = *', errors: ['test.conf:1:5: a: unexpected "*" in a value'] },
  {
    name: 'a quote that never ends',
    text: 'a = "x\nb = 1',
    errors: ['test.conf:1:5: a: the quoted text has no closing quote'],
  },
  {
    name: 'three quotes that never end',
    text: 'a = """x\nb = 1',
    errors: ['test.conf:1:5: a: the text after """ has no closing quotes'],
  },
  {
    name: 'an unknown escape',
    text: String.raw`a = "\x"`,
    errors: ['test.conf:1:6: a: unknown escape'],
  },
  { name: 'a short escape', text: String.raw`a = "\u12"`, errors: [String.raw`test.conf:1:6: a: \u is not followed`] },
  {
    name: 'half a surrogate pair',
    text: String.raw`a = "\ud83d"`,
    errors: ['test.conf:1:5: a: the text has an incomplete surrogate pair'],
  },
  { name: 'a tab in quotes', text: 'a = "x\ty"', errors: ['test.conf:1:7: a: a tab is not allowed in quotes'] },
  {
    name: 'bytes that are no UTF-8',
    text: 'a = 1\nb = "x\uFFFD"',
    errors: ['test.conf:2:7: the file is not UTF-8 text'],
  },
  { name: 'a NUL in a value', text: 'a = x\0', errors: ['test.conf:1:6: a: unexpected control character in a value'] },
  {
    name: 'a NUL in a key',
    text: '\0 = 1',
    errors: ['test.conf:1:1: unexpected control character where a key is expected'],
  },
  { name: 'a brace that is never closed', text: 'a {\n b = 1\n', errors: ['test.conf:1:3: a: { has no closing }'] },
  { name: 'a bracket that is never closed', text: 'a = [1,\n2', errors: ['test.conf:1:5: a: [ has no closing ]'] },
  { name: 'a bracket closed by a brace', text: 'a { b = [1 }', errors: ['test.conf:1:9: a.b: [ is closed by "}"'] },
  {
    name: 'a brace too many',
    text: 'a = 1\n}\nb = 2 c: 3',
    errors: ['test.conf:2:1: "}" has no opening bracket', 'test.conf:3:8: b: unexpected ":"'],
  },
  { name: 'text behind the closing brace', text: '{ a = 1 }\nb = 2', errors: ['test.conf:2:1: unexpected text after'] },
  { name: 'a list at the top', text: '[1, 2]', errors: ['test.conf:1:1: the text is a list'] },
  { name: 'two commas', text: 'a = [1,,2]', errors: ['test.conf:1:8: a: a value is missing'] },
  {
    name: 'an empty part of a key',
    text: 'a..b = 1\n.c = 1\nd. = 1',
    errors: ['test.conf:1:1: a part of the key is empty', 'test.conf:2:1: a part', 'test.conf:3:1: a part'],
  },
  {
    name: 'every line that is wrong',
    text: 'a = $\nb = 1\nc { d = ^, e = 1 }\nf = `',
    errors: ['test.conf:1:5: a:', 'test.conf:3:9: c.d:', 'test.conf:4:5: f:'],
  },
  {
    name: 'a substitution that is not closed',
    text: 'a = ${b\nc = 1',
    errors: ['test.conf:1:5: a: ${ has no closing }'],
  },
  {
    name: 'a circle through two settings',
    text: 'a = 1\nb = ${a}\na = ${b}2',
    errors: ['test.conf:3:5: ${b} leads back to itself'],
  },
  { name: 'a substitution of nothing', text: 'a = ${}', errors: ['test.conf:1:5: a: ${} names no setting'] },
  {
    name: 'a substitution that finds nothing',
    text: 'a = ${b.c}',
    errors: ['test.conf:1:5: ${b.c} is not set anywhere'],
  },
  { name: 'a setting that is itself', text: 'a = ${a}', errors: ['test.conf:1:5: ${a} leads back to itself'] },
  { name: 'an object inside itself', text: 'a { b = ${a} }', errors: ['test.conf:1:9: ${a} leads back to itself'] },
  {
    name: 'a list joined with text',
    text: 'a = [1] x',
    errors: ['test.conf:1:5: a single value cannot be joined with a list'],
  },
  {
    name: 'an object joined with text',
    text: 'a = {b = 1} x',
    errors: ['test.conf:1:5: a single value cannot be joined with an object'],
  },
  {
    name: 'an object joined with a list',
    text: 'a = {b = 1} [1]',
    errors: ['test.conf:1:5: a list cannot be joined with an object'],
  },
  {
    name: 'adding to what is not a list',
    text: 'a = 1\na += 2',
    errors: ['test.conf:2:1: += adds to a list, but the value so far is a single value'],
  },
  {
    name: 'an include of a missing file',
    text: 'auth {\n  include "nowhere.conf"\n}',
    errors: ['test.conf:2:3: auth: cannot include "nowhere.conf": there is no such file'],
  },
  {
    name: 'an include of an address',
    text: 'include url("http://127.0.0.1/x")',
    errors: ['test.conf:1:1: include url() is not supported'],
  },
  {
    name: 'an include of a class path',
    text: 'include classpath("x")\ninclude required(url("x"))',
    errors: ['test.conf:1:1: include classpath() is', 'test.conf:2:1: include url() is'],
  },
  {
    name: 'an include that is not closed',
    text: 'include file("users.conf"',
    errors: ['test.conf:1:1: a parenthesis of the include'],
  },
  {
    name: 'an include followed by more',
    text: 'include "users.conf" x = 1',
    errors: ['test.conf:1:22: expected a comma or a new line, found "x"'],
  },
  {
    name: 'a file that includes itself',
    text: 'include "circle.conf"',
    errors: ['circle.conf:1:1: "circle.conf" includes itself'],
  },
  {
    name: 'an error in an included file',
    text: 'include "broken.conf"',
    errors: ['broken.conf:2:6: root: unexpected "$" in a value'],
  },
  {
    name: 'keys that poison objects',
    text: '__proto__ = 1\na.constructor.b = 1\n"prototype" { x = 1 }',
    errors: [
      'test.conf:1:1: the key __proto__',
      'test.conf:2:1: the key constructor',
      'test.conf:3:1: the key prototype',
    ],
  },
  {
    name: 'a key that poisons objects, in JSON',
    text: '{"a": {"__proto__": {"isAdmin": true}}}',
    errors: ['test.conf:1:8: a: the key __proto__'],
  },
]
