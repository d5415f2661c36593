// Finds the clients with the largest or smallest numbers, and those with most traffic.

import { setTimeout as pause } from 'node:timers/promises'
import type { ClientTraffic, NumberedClient } from '../../core/index.ts'
import type { ClientRates, QueryOf, QueryResult } from '../messages/query-types.ts'
import type { QueriedShard } from './queried-shard.ts'
import { visitInSlices } from './visit-in-slices.ts'

/** The list is sorted and truncated when it has this multiple of the requested length. */
const slack = 4
const msPerSecond = 1_000

/** Returns the first clients in the order of a number, and how many match the filter. */
export async function handleQueryRanked(
  { core }: QueriedShard,
  { filter, by, isDescending, maxRows }: QueryOf<'ranked-clients'>,
): Promise<QueryResult<'ranked-clients'>> {
  const select = (entries: NumberedClient[]): NumberedClient[] =>
    entries.toSorted((a, b) => (isDescending ? b.value - a.value : a.value - b.value)).slice(0, maxRows)
  let found: NumberedClient[] = []
  let count = 0
  await visitInSlices(core.view.walkClientNumbers(filter, by), (entry) => {
    count++
    found.push(entry)
    if (found.length >= maxRows * slack) found = select(found)
  })
  const rows = select(found).flatMap(({ clientId, value }) => {
    // Its session may have ended meanwhile.
    const client = core.view.findClient(clientId)
    return client === undefined ? [] : [{ client, value }]
  })
  return { rows, count }
}

/** Measures the traffic of connected clients during `measuredMs`, and returns the rates of those with most. */
export async function handleQueryBusy(
  { core }: QueriedShard,
  { by, measuredMs, maxRows, namespace }: QueryOf<'busy-clients'>,
): Promise<readonly ClientRates[]> {
  const before = new Map<string, ClientTraffic>()
  const startedAtMs = performance.now()
  await visitInSlices(core.view.walkClientTraffic(namespace), (traffic) => void before.set(traffic.clientId, traffic))
  await pause(measuredMs)
  const seconds = (performance.now() - startedAtMs) / msPerSecond
  const select = (entries: ClientRates[]): ClientRates[] => entries.toSorted((a, b) => b[by] - a[by]).slice(0, maxRows)
  let found: ClientRates[] = []
  await visitInSlices(core.view.walkClientTraffic(namespace), (now) => {
    const rates = computeRates(before.get(now.clientId), now, seconds)
    if (rates[by] > 0) found.push(rates)
    if (found.length >= maxRows * slack) found = select(found)
  })
  return select(found)
}

/** Per second. A counter that became smaller began again with a new connection or session. */
function computeRates(before: ClientTraffic | undefined, now: ClientTraffic, seconds: number): ClientRates {
  const computeRate = (name: Exclude<keyof ClientTraffic, 'clientId'>): number => {
    const earlier = before?.[name] ?? 0
    return Math.round((now[name] - (earlier > now[name] ? 0 : earlier)) / seconds)
  }
  return {
    clientId: now.clientId,
    receivedMessages: computeRate('receivedMessages'),
    sentMessages: computeRate('sentMessages'),
    receivedBytes: computeRate('receivedBytes'),
    sentBytes: computeRate('sentBytes'),
  }
}
