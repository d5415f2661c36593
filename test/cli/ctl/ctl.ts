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

/** Runs `godwit ctl` with these arguments, and these lines on stdin. */
export async function runCtl(t: TestContext, words: readonly string[], lines: readonly string[] = []): Promise<CtlRun> {
  const godwit = runGodwit(t, ['ctl', ...words])
  // A command that reads no stdin may have ended before the lines are written.
  godwit.child.stdin?.on('error', () => {})
  godwit.child.stdin?.end(lines.map((line) => `${line}\n`).join(''))
  const code = await godwit.ended
  return { code, output: godwit.output, errors: godwit.errors }
}

/** As `runCtl`, but over HTTP with the account of the administrator. */
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

/** As `runCtl`, but within this process. */
export function runCtlHere(words: readonly string[], lines: readonly string[] = []): Promise<CtlRun> {
  return runHere(['ctl', ...words], { lines })
}

/** As `runCtl`, but within this process, over HTTP with the account of the administrator. */
export async function ctl(
  broker: BrokerWithApi,
  words: readonly string[],
  { lines = [], isTerminal = false }: { readonly lines?: readonly string[]; readonly isTerminal?: boolean } = {},
): Promise<CtlRun> {
  const [name = '', password = ''] = administrator.split(':')
  const reach = ['--url', broker.url, '--username', name, '--password-stdin']
  return runHere(['ctl', ...words, ...reach], { lines: [password, ...lines], isTerminal })
}

/** Returns what the command printed; fails if the command failed. */
export async function ctlDone(
  broker: BrokerWithApi,
  words: readonly string[],
  options: { readonly lines?: readonly string[]; readonly isTerminal?: boolean } = {},
): Promise<string> {
  const { code, output, errors } = await ctl(broker, words, options)
  assert.deepEqual({ code, errors }, { code: 0, errors: '' }, words.join(' '))
  return output
}

/** Returns the one line of the error message; fails unless the exit code is `code`. */
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
