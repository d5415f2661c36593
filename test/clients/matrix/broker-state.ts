// Waits for a state of a broker while a service fails.

import { TimeLimit } from '../../e2e/time-limit.ts'
import type { BrokerWithApi } from '../../management/api.ts'

const noticedMs = 45_000
const pollMs = 100

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Returns false if the state is not reached within the time limit. */
export async function isReachedWithin(limitMs: number, isReached: () => Promise<boolean> | boolean): Promise<boolean> {
  const limit = new TimeLimit(limitMs)
  while (!(await isReached())) {
    if (limit.isOver) return false
    await pause(pollMs)
  }
  return true
}

export async function hasAlarm(broker: BrokerWithApi, name: string): Promise<boolean> {
  const { text } = await broker.request('/api/v4/alarms/activated')
  return text.includes(name)
}

/** Returns what does not show that the service has failed, as text. `view`: state and reason. */
export async function findUnnoticed(
  broker: BrokerWithApi,
  alarm: string,
  view: () => Promise<readonly [string, string]>,
  limitMs = noticedMs,
): Promise<readonly string[]> {
  const problems: string[] = []
  const expect = async (isReached: () => Promise<boolean>, problem: string): Promise<void> => {
    if (!(await isReachedWithin(limitMs, isReached))) problems.push(problem)
  }
  await expect(async () => (await view())[0] !== 'connected', `it is connected ${limitMs} ms after the fault began`)
  await expect(async () => (await view())[1] !== '', 'it has no reason')
  await expect(() => hasAlarm(broker, alarm), `there is no alarm ${alarm}`)
  return problems
}
