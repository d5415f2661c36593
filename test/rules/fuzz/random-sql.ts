// Random SQL: mostly valid rules with every function and operator, and damaged ones.

import { eventDefinitions, functionTable, type RuleFunction } from '../../../src/rules/index.ts'
import type { Random } from '../../protocol/fuzz/random.ts'

const functions = [...functionTable.values()]
const columns = [
  'payload',
  'payload.a',
  'payload.l',
  'payload.l[1]',
  'payload.l[-1].x',
  "payload.'k k'",
  'topic',
  'qos',
  'clientid',
  'flags',
  'item',
  'x',
  'x.y',
  'missing',
  'metadata',
  'timestamp',
  'pub_props',
  '"__proto__"',
  'payload.l[1..3]',
  'payload.t',
  'constructor',
]
const numbers = [
  '0',
  '1',
  '-1',
  '2',
  '3',
  '8',
  '16',
  '64',
  '1.5',
  '-2.0',
  '1e3',
  '255',
  '4096',
  '65536',
  '1000000',
  '9007199254740993',
  '123456789012345678901234567890',
  '0.1',
]
const texts = [
  '',
  'a',
  'abc',
  '{"a":1}',
  '[1,2.0,null]',
  '%Y-%m-%d %H:%M:%S',
  'second',
  'millisecond',
  '+08:00',
  'leading',
  'trailing',
  'both',
  'all',
  'integer',
  'float',
  'bits',
  'signed',
  'little',
  'big',
  '~s ~p',
  '(a+)+b',
  '[a-z]*',
  '\\d{2,}',
  '.',
  'a.b',
  '2024-02-23T15:56:30Z',
  '2024-02-23 15:56:30',
  'é\u{1f600}',
  '__proto__',
  'sha256',
  '6162',
  'aGVsbG8=',
  't/#',
  '+/a',
  "it''s",
  '\\x41',
  '&\\1',
]
const operators = ['+', '-', '*', '/', 'div', 'mod', '=', '<>', '!=', '<', '<=', '>', '>=', '=~', 'AND', 'OR']
const events = [...eventDefinitions.values()].flatMap(({ topic, otherTopics }) => [topic, ...otherTopics])
const sources = [
  't/#',
  '#',
  '+/+',
  '$bridges/mqtt:n',
  '$SYS/#',
  ...events.filter((topic) => topic.startsWith('$events/')),
]
const aliases = ['x', 'y', 'x.y', 'x[0]', 'x[-0]', 'x[1]', 'payload.z', '"odd name"', '"__proto__".p', 'item']
const junk = [
  "'",
  '"',
  '(',
  ')',
  '[',
  ']',
  ',',
  '.',
  '..',
  '--',
  '\n',
  ';',
  'SELECT',
  'FROM',
  'AS',
  'CASE',
  'END',
  'NOT',
  '\u0000',
  '\u{1f600}',
  '$',
  '{',
  '/*',
  '0x1',
  "''''",
  '~=',
  '*',
]

/** A statement that mostly compiles. */
export function randomSql(random: Random): string {
  const sql = random.oneIn(4) ? foreach(random) : `SELECT ${fields(random)}`
  const from = Array.from({ length: 1 + random.below(2) }, () => `"${random.pick(sources)}"`).join(', ')
  const where = random.oneIn(2) ? ` WHERE ${expression(random, 3)}` : ''
  const statement = `${sql} FROM ${from}${where}`
  return random.oneIn(4) ? damaged(statement, random) : statement
}

function foreach(random: Random): string {
  const perItem = random.oneIn(2) ? ` DO ${fields(random)}` : ''
  const inCase = random.oneIn(2) ? ` INCASE ${expression(random, 2)}` : ''
  return `FOREACH ${expression(random, 2)}${random.oneIn(2) ? ' AS x' : ''}${perItem}${inCase}`
}

function fields(random: Random): string {
  return Array.from({ length: 1 + random.below(3) }, () => field(random)).join(', ')
}

function field(random: Random): string {
  if (random.oneIn(12)) return '*'
  const alias = random.oneIn(3) ? '' : ` AS ${random.pick(aliases)}`
  return expression(random, 4) + alias
}

export function expression(random: Random, depth: number): string {
  if (depth === 0 || random.oneIn(4)) return leaf(random)
  const inner = (): string => expression(random, depth - 1)
  switch (random.below(8)) {
    case 0:
      return `(${inner()} ${random.pick(operators)} ${inner()})`
    case 1:
      return `${random.pick(['-', 'NOT ', '+'])}(${inner()})`
    case 2:
      return `CASE WHEN ${inner()} THEN ${inner()} ELSE ${inner()} END`
    case 3:
      return `[${inner()}, ${inner()}]`
    case 4:
      return `(${inner()} ${random.pick(['IN', 'NOT IN'])} (${inner()}, ${inner()}))`
    default:
      return call(random.pick(functions), random, depth - 1)
  }
}

function leaf(random: Random): string {
  switch (random.below(4)) {
    case 0:
      return random.pick(numbers)
    case 1:
      return `'${random.pick(texts)}'`
    case 2:
      return random.oneIn(3)
        ? random.pick(['true', 'false', 'null', '[1..5]', '[]', 'map_new()'])
        : random.pick(columns)
    default:
      return random.pick(columns)
  }
}

/** Mostly with arguments of the right kinds. */
function call(definition: RuleFunction, random: Random, depth: number): string {
  const { parameters } = random.pick(definition.signatures)
  const args = parameters.map(({ kind }) => {
    if (random.oneIn(6)) return expression(random, depth)
    if (kind === 'integer' || kind === 'number') return random.pick(numbers)
    if (kind === 'text' || kind === 'bytes')
      return random.oneIn(3) ? expression(random, depth) : `'${random.pick(texts)}'`
    if (kind === 'array') return random.pick(['payload.l', '[1, 2.0, topic]', '[]', '[1..9]'])
    if (kind === 'map') return random.pick(['payload', 'flags', 'map_new()', '\'{"k":1}\''])
    return expression(random, depth)
  })
  if (random.oneIn(30)) args.pop()
  return `${definition.name}(${args.join(', ')})`
}

function damaged(sql: string, random: Random): string {
  const at = random.below(sql.length)
  const length = random.below(8)
  return sql.slice(0, at) + (random.oneIn(2) ? random.pick(junk) : '') + sql.slice(at + length)
}

const eventNames = [...eventDefinitions.keys()]

/** A context for a test: a message or event with a strange payload. */
export function randomContext(random: Random): Record<string, string | number | Uint8Array> {
  const payloads = [
    '{"a":{"b":"text"},"l":[1,2.5,{"x":3},"y",null,true],"k k":1,"t":25}',
    '{"a":2.0,"l":[],"t":"25","__proto__":{"z":1}}',
    'not JSON',
    '',
    '[1,[2,[3]]]',
    '1e999',
    '{"a":"\\ud800","l":-0}',
  ]
  const payload = random.oneIn(6) ? Uint8Array.of(random.below(256), random.below(256), 0xff) : random.pick(payloads)
  const context: Record<string, string | number | Uint8Array> = {
    payload,
    topic: random.pick(['t/a', 'a', '$SYS/x', 't']),
  }
  if (random.oneIn(5)) context['event'] = random.pick(eventNames)
  return context
}
