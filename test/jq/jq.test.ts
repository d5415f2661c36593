// jq within rules: the language, and the limits that end a program.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toJsonText } from '../../src/rules/index.ts'
import { compileJq, runJq } from '../../src/jq/index.ts'
import { Budget, decodeJson, RuleError } from '../../src/values/index.ts'
import { Random } from '../protocol/fuzz/random.ts'

/** Program, input, outputs separated by a bar; `!` begins the message of an error. */
const examples: readonly (readonly [program: string, input: string, outputs: string])[] = [
  ['.', '1', '1'],
  ['.a.b[1]', '{"a":{"b":[1,2]}}', '2'],
  ['.x // 3', '{}', '3'],
  ['path(..)', '{"a":[1]}', '[]|["a"]|["a",0]'],
  ['[recurse(if . < 100 then .+1 else empty end)]|length', '1', '100'],
  ['try error("x") catch .', '1', '"x"'],
  ['. as {a:$y} | $y', '{"a":5}', '5'],
  ['[.[]|select(.>1)]', '[1,2,3]', '[2,3]'],
  ['reduce .[] as $x (0; .+$x)', '[1,2,3]', '6'],
  ['to_entries', '{"a":1}', '[{"key":"a","value":1}]'],
  ['with_entries(.value|=tojson)', '{"a":1}', '{"a":"1"}'],
  ['@base64 "x\\(.)"', '"é"', '"xw6k="'],
  ['[limit(2;.[])]', '[1,2,3]', '[1,2]'],
  ['map(.*2)', '[1,2]', '[2,4]'],
  ['.a.b|=map(.+1)', '{"a":{"b":[1]}}', '{"a":{"b":[2]}}'],
  ['del(.a[0,2])', '{"a":[1,2,3]}', '{"a":[2]}'],
  ['group_by(.a)|map(length)', '[{"a":1},{"a":2},{"a":1}]', '[2,1]'],
  ['sort_by(-.)', '[1,3,2]', '[3,2,1]'],
  ['[.[]|tostring]', '[1,"a",null]', '["1","a","null"]'],
  ['"a,b, c"|split(", *";null)', '0', '["a","b","c"]'],
  ['test("B";"i")', '"abc"', 'true'],
  ['gsub("X";"-")', '"aXbX"', '"a-b-"'],
  ['[match("a(.)";"g").captures[0].string]', '"abac"', '["b","c"]'],
  ['. as [$a,[$b]] | $a+$b', '[1,[2]]', '3'],
  ['def f(x): x*2; f(.)', '4', '8'],
  ['def f($x; g): $x+g; f(1;.)', '4', '5'],
  ['[foreach .[] as $x (0; .+$x; [$x,.])]', '[1,2]', '[[1,1],[2,3]]'],
  ['.[1:]', '"héllo"', '"éllo"'],
  ['label $f | 1, break $f, 2', '0', '1'],
  ['[.[]?]', '3', '[]'],
  ['.a?', '3', ''],
  ['if . then 1 elif 2 then 3 else 4 end', 'null', '3'],
  ['[1,2]-[2]', '0', '[1]'],
  ['{a:1}*{a:{b:2}}', '0', '{"a":{"b":2}}'],
  ['{a,b:.c}', '{"a":1,"c":2}', '{"a":1,"b":2}'],
  ['"\\(1+2) is \\("x"+"y")"', '0', '"3 is xy"'],
  ['[paths]', '{"a":[1]}', '[["a"],["a",0]]'],
  ['walk(if type=="number" then .+1 else . end)', '{"a":[1,{"b":2}]}', '{"a":[2,{"b":3}]}'],
  ['[range(0;10;3)]', '0', '[0,3,6,9]'],
  ['[.[]|.a=1]', '[{},{"b":2}]', '[{"a":1},{"b":2,"a":1}]'],
  ['.a+=1|.b//=7', '{"a":1}', '{"a":2,"b":7}'],
  ['4/2, 1/2, 7%3', '0', '2|0.5|1'],
  ['9007199254740993+1', '0', '9007199254740994'],
  ['any, all', '[true,false]', 'true|false'],
  ['first(range(10;0;-1))', '0', '10'],
  ['[splits("a+")]', '"baac"', '["b","c"]'],
  ['until(.>100;.*2)', '1', '128'],
  ['[while(.<10;.*2)]', '1', '[1,2,4,8]'],
  ['min_by(.a).a, max', '[{"a":2},{"a":1}]', '1|{"a":2}'],
  ['try (1,error("x"),3) catch .', '0', '1|"x"'],
  ['[.[] as $x | $x*$x]', '[1,2]', '[1,4]'],
  ['. == {"a":[1]}', '{"a":[1]}', 'true'],
  ['1 as $x | 2 as $y | [$x,$y,$x]', '0', '[1,2,1]'],
  ['(1,2) as $x | $x+1', '0', '2|3'],
  ['try (try error("in") catch error("out")) catch .', '0', '"out"'],
  ['"x" as $x | "a\\($x)b"', '0', '"axb"'],
  ['.["a"].b?', '{"a":{"b":1}}', '1'],
  ['..|numbers', '[1,[2]]', '1|2'],
  ['[.[]|not]', '[true,null]', '[false,true]'],
  ['to_entries|from_entries', '{"a":null,"b":false}', '{"a":null,"b":false}'],
  ['@csv', '[1,"a\\"b",null]', '"1,\\"a\\"\\"b\\","'],
  ['@json "v=\\(.)"', '[1]', '"v=[1]"'],
  ['ltrimstr("a")|ascii_upcase', '"abc"', '"BC"'],
  ['splits', '1', '!no function'],
  ['flatten', '[1,[2,[3]]]', '[1,2,3]'],
  ['[combinations]', '[[1,2],[3]]', '[[1,3],[2,3]]'],
  ['transpose', '[[1],[2,3]]', '[[1,2],[null,3]]'],
  ['.[-1]', '[1,2]', '2'],
  ['pick(.a)', '{"a":1,"b":2}', '{"a":1}'],
  ['isempty(empty), isempty(1,2)', '0', 'true|false'],
  ['.[2:4]=["x"]', '[1,2,3,4,5]', '[1,2,"x",5]'],
  ['.e0', '{"e0":1}', '1'],
  ['1e3', '0', '1000.0'],
  ['.a.b.c', 'null', 'null'],
  ['[.[]|.. ]|length', '[[1]]', '2'],
  ['"\\u00e9"', '0', '"é"'],
  ['# c\n.', '1', '1'],
  ['reduce empty as $x (0;1)', '0', '0'],
  ['error', '"boom"', '!boom'],
  ['.a', '[1]', '!no member'],
  ['[.[]|if .>1 then "b" else "s" end]', '[1,2]', '["s","b"]'],
  ['any(.[];.>1)', '[1,2]', 'true'],
  ['add', '["a","b"]', '"ab"'],
  ['join(",")', '["a",1,null]', '"a,1,"'],
  ['tojson|fromjson', '{"a":[1.5]}', '{"a":[1.5]}'],
  ['has("a"), has("b")', '{"a":1}', 'true|false'],
  ['inside([1,2])', '[1]', 'true'],
  ['ascii', '65', '"A"'],
  ['.[]|=empty', '[1,2]', '[]'],
  ['-(1)', '0', '-1'],
  ['1-1', '0', '0'],
  ['.a-1', '{"a":3}', '2'],
  ['[1,2,3]|IN(2)', '0', '!no function'],
]

function outputs(program: string, input: string): string {
  try {
    const values = runJq(compileJq(program), decodeJson(input), new Budget())
    return values.map(toJsonText).join('|')
  } catch (error) {
    if (error instanceof RuleError) return `!${error.message}`
    throw error
  }
}

test('programs have the outputs that jq gives them', () => {
  for (const [program, input, wanted] of examples) {
    const found = outputs(program, input)
    if (wanted.startsWith('!'))
      assert.ok(found.includes(wanted.slice(1)) && found.startsWith('!'), `${program}: ${found}`)
    else assert.equal(found, wanted, program)
  }
})

test('an error of a program has its position', () => {
  const wrong: readonly (readonly [string, RegExp])[] = [
    ['.a |', /the end at character 5 is not expected/],
    ['{a:1', /character 5/],
    ['"abc', /the text at character 1 has no end/],
    ['if . then 1', /character 12 is not expected, "end" is/],
    ['. ~ 1', /"~" at character 3/],
    ['nothing(1)', /there is no function nothing\/1/],
    ['$x', /\$x is not defined/],
    ['break $x', /label-x is not defined/],
    ['path(1)', /not a part of the input/],
    ['@nothing', /no format @nothing/],
    ['1 == 2 == 3', /not expected/],
  ]
  for (const [program, message] of wrong) assert.match(outputs(program, 'null'), message)
})

test('limits end every program, also within try', () => {
  const endless: readonly (readonly [string, RegExp])[] = [
    ['[range(1e9)]', /maxSteps/],
    ['repeat(.)', /maxSteps/],
    ['try repeat(.) catch 1', /maxSteps/],
    ['def f: f; f', /maxJqDepth/],
    ['def f: (f)?, f; f', /maxJqDepth/],
    ['"x" * 1e9', /maxCreatedBytes/],
    ['[limit(1e9; repeat(1))]', /maxSteps/],
    ['reduce range(1e9) as $i ([]; . + [$i])', /max(Steps|CreatedBytes)/],
    ['until(false; . + 1)', /maxSteps/],
    ['null | .[1e9] = 1', /too far after the end/],
    [`${'['.repeat(200)}${']'.repeat(200)}`, /nested expressions/],
    [' '.repeat(20_000), /maxJqLength/],
  ]
  for (const [program, message] of endless) assert.match(outputs(program, '1'), message, program)
})

test('member names of JavaScript objects are ordinary names', () => {
  assert.equal(outputs('.constructor, .__proto__, ."x".toString?', '{}'), 'null|null|null')
  assert.equal(outputs('setpath(["__proto__", "y"]; 1) | keys', '{}'), '["__proto__"]')
  assert.equal(({} as Record<string, unknown>)['y'], undefined)
})

test('random and damaged programs end with outputs or rule errors', () => {
  const random = new Random(5)
  const words = examples.flatMap(([program]) => program.match(/[A-Za-z_]\w*|\$\w+|"[^"]*"|\d+|[^\sA-Za-z0-9"]/gu) ?? [])
  for (let round = 0; round < 3_000; round++) {
    const [program, input] = random.pick(examples)
    const pieces = program.match(/[A-Za-z_]\w*|\$\w+|"[^"]*"|\d+|[^\sA-Za-z0-9"]|\s+/gu) ?? []
    for (let change = random.below(4); change >= 0; change--)
      pieces[random.below(pieces.length + 1)] = random.pick(words)
    outputs(pieces.join(''), input)
  }
})
