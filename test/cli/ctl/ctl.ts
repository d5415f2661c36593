// `godwit ctl` as a process of its own, asked by tests.

import type { TestContext } from 'node:test'
import { runGodwit } from '../../e2e/godwit-process.ts'
import { administrator, type BrokerWithApi } from '../../management/api.ts'

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
export function askOverHttp(
  t: TestContext,
  broker: BrokerWithApi,
  words: readonly string[],
  lines: readonly string[] = [],
): Promise<CtlRun> {
  const [name = '', password = ''] = administrator.split(':')
  const reach = ['--url', broker.url, '--username', name, '--password-stdin']
  return runCtl(t, [...words, ...reach], [password, ...lines])
}
