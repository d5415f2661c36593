// Runs `godwit ctl` as a process.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { runGodwit } from '../../e2e/godwit-process.ts'
import { administrator, type BrokerWithApi } from '../../management/api.ts'
import { runHere } from '../run-here.ts'

export interface CtlRun {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

/** Runs one command with these words behind `ctl`, and these lines on stdin. */
export async function runCtl(t: TestContext, words: readonly string[], lines: readonly string[] = []): Promise<CtlRun> {
  const godwit = runGodwit(t, ['ctl', ...words])
  // What takes nothing from stdin may be gone before this arrives.
  godwit.child.stdin?.on('error', () => {})
  godwit.child.stdin?.end(lines.map((line) => `${line}\n`).join(''))
  const code = await godwit.ended
  return { code, output: godwit.output, errors: godwit.errors }
}

/** The same, at this broker over HTTP as its administrator. */
export function runOverHttp(
  t: TestContext,
  broker: BrokerWithApi,
  words: readonly string[],
  lines: readonly string[] = [],
): Promise<CtlRun> {
  const [name = '', password = ''] = administrator.split(':')
  const reach = ['--url', broker.url, '--username', name, '--password-stdin']
  return runCtl(t, [...words, ...reach], [password, ...lines])
}

/** As `runCtl`, within this process. */
export function runCtlHere(words: readonly string[], lines: readonly string[] = []): Promise<CtlRun> {
  return runHere(['ctl', ...words], { lines })
}

/** Within this process, at this broker over HTTP as its administrator. */
export async function ctl(
  broker: BrokerWithApi,
  words: readonly string[],
  { lines = [], asPeople = false }: { readonly lines?: readonly string[]; readonly asPeople?: boolean } = {},
): Promise<CtlRun> {
  const [name = '', password = ''] = administrator.split(':')
  const reach = ['--url', broker.url, '--username', name, '--password-stdin']
  return runHere(['ctl', ...words, ...reach], { lines: [password, ...lines], asPeople })
}

/** What the command printed; fails unless it was done. */
export async function ctlDone(
  broker: BrokerWithApi,
  words: readonly string[],
  options: { readonly lines?: readonly string[]; readonly asPeople?: boolean } = {},
): Promise<string> {
  const { code, output, errors } = await ctl(broker, words, options)
  assert.deepEqual({ code, errors }, { code: 0, errors: '' }, words.join(' '))
  return output
}

/** The one line that says why not; fails unless the exit code is this one. */
export async function ctlRefused(
  broker: BrokerWithApi,
  code: 1 | 2,
  words: readonly string[],
  lines: readonly string[] = [],
): Promise<string> {
  const refused = await ctl(broker, words, { lines })
  assert.equal(refused.code, code, words.join(' '))
  assert.match(refused.errors, /^godwit: [^\n]+\n$/)
  return refused.errors
}
