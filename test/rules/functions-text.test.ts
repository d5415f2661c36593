// Part E3 of the contract: texts and regular expressions.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkExamples, outputOf } from './evaluate.ts'

const family = '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}'
const wide = { clientid: `e\u0301${family}x` }

describe('E3 texts', () => {
  test('lower upper trim ltrim rtrim', () => {
    checkExamples([
      ["lower('AbÇ')", '"abç"'],
      ["upper('straße')", '"STRASSE"'],
      ["trim(' \t a b \r\n')", '"a b"'],
      ["ltrim(' a ')", '"a "'],
      ["rtrim(' a ')", '" a"'],
      ["trim('--ab-+', '-+')", '"ab"'],
      ["ltrim('xxaxx', 'x')", '"axx"'],
      ["rtrim('xxaxx', 'x')", '"xxa"'],
      ["trim('xxx', 'x')", '""'],
      ["trim(' a ', '')", '" a "'],
      ["trim('   ')", '""'],
      ['lower(1)', /lower: text must be a text, not integer/],
      ['upper(x1)', /not undefined/],
    ])
  })

  test('reverse and strlen count graphemes', () => {
    checkExamples([
      ["reverse('hello')", '"olleh"'],
      ['strlen(clientid)', '3', wide],
      ['reverse(clientid)', `"x${family}e\u0301"`, wide],
      ["strlen('')", '0'],
      ['strlen(clientid)', '2', { clientid: 'a\r\n' }],
    ])
  })

  test('substr starts at 0; negative is an error', () => {
    checkExamples([
      ["substr('abcdef', 2)", '"cdef"'],
      ["substr('abcdef', 2, 3)", '"cde"'],
      ["substr('abc', 0, 99)", '"abc"'],
      ["substr('abc', 5)", '""'],
      ["substr('abc', 1, 0)", '""'],
      ['substr(clientid, 1, 1)', `"${family}"`, wide],
      ["substr('abc', -1)", /start must be from 0/],
      ["substr('abc', 0, -1)", /length must be from 0/],
      ["substr('abc', 1.0)", /must be an integer/],
    ])
  })

  test('split omits empty parts unless notrim is given; leading and trailing split once', () => {
    checkExamples([
      ["split('/a//b/', '/')", '["a","b"]'],
      ["split('', '/')", '[]'],
      ["split('/a//b/', '/', 'notrim')", '["","a","","b",""]'],
      ["split('a/b//c/', '/', 'leading')", '["a","b//c/"]'],
      ["split('/a', '/', 'leading')", '["a"]'],
      ["split('/a', '/', 'leading_notrim')", '["","a"]'],
      ["split('a/b//c/', '/', 'trailing')", '["a/b//c"]'],
      ["split('a/b//c/', '/', 'trailing_notrim')", '["a/b//c",""]'],
      ["split('abc', '')", '["abc"]'],
      ["split('abc', 'x')", '["abc"]'],
      ["split('a', 'a', 'both')", /option must be one of/],
    ])
  })

  test('tokens splits at any of the characters', () => {
    checkExamples([
      ["tokens(' /a/ b /c', ' /')", '["a","b","c"]'],
      ["tokens('', '/')", '[]'],
      ["tokens('//', '/')", '[]'],
      ["tokens(clientid, ',')", '["a","b\\r\\n"]', { clientid: 'a,b\r\n' }],
      ["tokens(clientid, ',', 'nocrlf')", '["a","b"]', { clientid: 'a,b\r\n' }],
      ["tokens('a', ',', 'crlf')", /option must be one of: nocrlf/],
    ])
  })

  test('concat and join_to_string join text forms', () => {
    checkExamples([
      ["concat('a', 1)", '"a1"'],
      ["concat(x1, 'b')", '"undefinedb"'],
      ["concat(['a', 1.0, true, [1]])", '"a1.0true[1]"'],
      ['concat([])', '""'],
      ["concat('a')", /list must be an array/],
      ["join_to_string(['a', 1, 2.0])", '"a, 1, 2.0"'],
      ["join_to_string('-', ['a', 1])", '"a-1"'],
      ['join_to_string([])', '""'],
    ])
  })

  test('sprintf with ~s ~p ~w', () => {
    checkExamples([
      ["sprintf('Hello ~s!', 'Ann')", '"Hello Ann!"'],
      ["sprintf('~ts', 'ö')", '"ö"'],
      ["sprintf('~p ~p ~p', 2, 2.0, 'x')", '"2 2.0 <<\\"x\\">>"'],
      ["sprintf('~w', 'ab')", '"<<97,98>>"'],
      ["sprintf('~p', [1, map_put('k', true, map_new())])", '"[1,#{<<\\"k\\">> => true}]"'],
      ["sprintf('~p', x1)", '"undefined"'],
      ["sprintf('100~~~n')", '"100~\\n"'],
      ["sprintf('~s', 1)", /~s needs a text/],
      ["sprintf('~s')", /more sequences than/],
      ["sprintf('x', 1)", /more values than/],
      ["sprintf('~q', 1)", /~q is not supported/],
      ["sprintf('~')", /ends with ~/],
    ])
  })

  test('pad by graphemes', () => {
    checkExamples([
      ["pad('abc', 5)", '"abc  "'],
      ["pad('abc', 2)", '"abc"'],
      ["pad('abc', 5, 'leading')", '"  abc"'],
      ["pad('abc', 6, 'both')", '" abc  "'],
      ["pad('abc', 5, 'trailing', 'ex')", '"abcexex"'],
      ["pad('abc', 5, 'both', 'ex')", '"exabcex"'],
      ["pad('é', 3, 'leading', '0')", '"00é"'],
      ["pad('abc', 5, 'left')", /side must be one of/],
      ["pad('abc', -1)", /length must be from 0/],
    ])
  })

  test('replace all, leading, trailing', () => {
    checkExamples([
      ["replace('ab c  ', ' ', '::')", '"ab::c::::"'],
      ["replace('ab c  ', ' ', '-', 'all')", '"ab-c--"'],
      ["replace('ab c  ', ' ', '-', 'leading')", '"ab-c  "'],
      ["replace('ab c  ', ' ', '-', 'trailing')", '"ab c -"'],
      ["replace('abc', '', 'x')", '"abc"'],
      ["replace('abc', 'z', 'x')", '"abc"'],
      ["replace('a$b', '$', '$&')", '"a$&b"'],
    ])
  })

  test('ascii find rm_prefix', () => {
    checkExamples([
      ["ascii('ab')", '97'],
      ["ascii('')", /text is empty/],
      ["find('acbcd', 'c')", '"cbcd"'],
      ["find('acbcd', 'c', 'leading')", '"cbcd"'],
      ["find('acbcd', 'c', 'trailing')", '"cd"'],
      ["find('acbcd', 'e')", '""'],
      ["find('', '')", '""'],
      ["rm_prefix('foo/bar', 'foo/')", '"bar"'],
      ["rm_prefix('foo/bar', 'bar')", '"foo/bar"'],
    ])
  })

  test('unescape', () => {
    checkExamples([
      ["unescape('a\\nb\\t\\\\')", '"a\\nb\\t\\\\"'],
      ["unescape('\\x41\\x1F600!')", '"A\u{1f600}!"'],
      ["unescape('plain')", '"plain"'],
      ["unescape('end\\')", '"end\\\\"'],
      ["unescape('\\q')", /not an escape/],
      ["unescape('\\xZ')", /needs hexadecimal digits/],
      ["unescape('\\xD800')", /not a character/],
      ["unescape('\\xFFFFFFFFFFFFFFFFFFFF')", /not a character/],
    ])
  })

  test('join_to_sql_values_string', () => {
    checkExamples([
      [
        "join_to_sql_values_string(['it''s', 1, 2.0, true, null, x1, [1]])",
        "\"'it''s', 1, 2.0, true, NULL, NULL, '[1]'\"",
      ],
      ['join_to_sql_values_string([])', '""'],
    ])
  })
})

describe('E3 regular expressions', () => {
  test('a pattern can come from the message', () => {
    const sql = "FOREACH ['a', 'b', 'a'] AS p DO regex_match('b', p) AS m FROM \"t/#\""
    assert.equal(outputOf(sql), '[{"m":false},{"m":true},{"m":false}]')
  })

  test('regex_match', () => {
    checkExamples([
      ["regex_match('acbcd', 'c')", 'true'],
      ["regex_match('bcd', '(ac)+')", 'false'],
      ["regex_match('', '.*')", 'true'],
      ["regex_match('e2x', '^[a-z]+$')", 'false'],
      ["regex_match('a.b', '^a\\.b$')", 'true'],
      ["regex_match('abc', '(?i)ABC')", 'true'],
      ["regex_match('naïve', '\\bna.ve\\b')", 'true'],
      ["regex_match('x', '[')", /regular expression: it ends too early/],
      ["regex_match('x', '(x)\\1')", /back references are not supported/],
      ["regex_match('x', '(?=x)')", /lookaround.*not supported/],
      ["regex_match('x', 'x{3000}')", /limit maxRegexInstructions is 2000/],
      ["regex_match('x', '*')", /has nothing to repeat/],
    ])
  })

  test('regex_replace with & and groups', () => {
    checkExamples([
      ["regex_replace('accbcd', 'c+', '[&]')", '"a[cc]b[c]d"'],
      ["regex_replace('a1b22', '([a-z])(\\d+)', '\\2\\1')", '"1a22b"'],
      ["regex_replace('abc', 'b', '\\&')", '"a&c"'],
      ["regex_replace('abc', 'b', '\\g{0}\\g{0}')", '"abbc"'],
      ["regex_replace('abc', '', '-')", '"-a-b-c-"'],
      ["regex_replace('abc', 'x', 'y')", '"abc"'],
      ["regex_replace('', 'c.*', 'e')", '""'],
      ["regex_replace('abc', 'b', '$1')", '"a$1c"'],
    ])
  })

  test('regex_extract gives the groups of the first match', () => {
    checkExamples([
      ["regex_extract('Date: 2021-05-20', '(\\d{4})-(\\d{2})-(\\d{2})')", '["2021","05","20"]'],
      ["regex_extract('Hello, world!', '(\\w+).*\\s(\\w+)')", '["Hello","world"]'],
      ["regex_extract('No numbers here!', '(\\d+)')", '[]'],
      ["regex_extract('abc', 'b')", '[]'],
      ["regex_extract('b', '(a)?(b)')", '["","b"]'],
      ["regex_extract('a', '(a)(b)?')", '["a"]'],
    ])
  })
})
