// Strings that have broken servers before.

import type { Random } from '../../protocol/fuzz/random.ts'

/** Few names, so that requests refer to objects of earlier requests. */
const plain = [
  'a',
  'b',
  'sensor-1',
  'sensor-2',
  'user-1',
  'user-2',
  'home/+/light',
  'home/kitchen/light',
  '$share/g/home/+',
]

const nasty = [
  '',
  ' ',
  '.',
  '..',
  '../../etc/passwd',
  '..%2f..%2fetc%2fpasswd',
  '%',
  '%25',
  '%00',
  '%zz',
  '\u0000',
  'a\u0000b',
  'a/b/c',
  'a?b=c#d',
  'a+b c',
  '"><img src=x onerror=alert(1)>',
  "' OR 1=1 --",
  '__proto__',
  'constructor',
  'toString',
  '\u001b[2J\r\nset-cookie: a=b',
  '\ud800',
  'é\u0301\u202e👩‍👩‍👧',
  '-1',
  '0',
  '1e309',
  'NaN',
  'true',
  'null',
  '[object Object]',
  '99999999999999999999',
  '9'.repeat(400),
  'x'.repeat(300),
  'x'.repeat(65_535),
  'x'.repeat(65_536),
  '/'.repeat(2_000),
  '(a+)+$',
  '${SECRET}',
  'include "/etc/passwd"',
]

export function anyString(random: Random): string {
  return random.oneIn(3) ? random.pick(nasty) : random.pick(plain)
}

export function nastyString(random: Random): string {
  return random.pick(nasty)
}
