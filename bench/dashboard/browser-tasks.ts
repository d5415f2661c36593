// Reads the tasks of the main thread of a page from a trace of Chromium: their elapsed time, and their processor time, which does not depend on
// other work of the machine.

import type { CDPSession, Page } from 'playwright-core'

export interface BrowserTask {
  readonly wallMs: number
  readonly cpuMs: number
}

interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  readonly args?: { readonly name?: string }
  /** Microseconds. */
  readonly dur?: number
  readonly tdur?: number
}

/** Returns the tasks of the main thread of the page within this time. */
export async function traceTasks(page: Page, durationMs: number): Promise<readonly BrowserTask[]> {
  const session = await page.context().newCDPSession(page)
  const events: TraceEvent[] = []
  session.on('Tracing.dataCollected', ({ value }) => events.push(...(value as unknown as TraceEvent[])))
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: {
      includedCategories: ['toplevel', 'disabled-by-default-devtools.timeline'],
      excludedCategories: ['*'],
    },
  })
  await page.waitForTimeout(durationMs)
  await endTrace(session)
  const threads = new Set(
    events.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain').map(threadOf),
  )
  return events
    .filter((event) => event.name === 'RunTask' && event.ph === 'X' && threads.has(threadOf(event)))
    .map(({ dur = 0, tdur = 0 }) => ({ wallMs: dur / 1_000, cpuMs: tdur / 1_000 }))
}

async function endTrace(session: CDPSession): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  session.once('Tracing.tracingComplete', () => resolve())
  await session.send('Tracing.end')
  await promise
  await session.detach()
}

function threadOf({ pid, tid }: TraceEvent): string {
  return `${pid} ${tid}`
}
