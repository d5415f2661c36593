// Measures what open pages cost the broker, in alternating rounds with open and with closed pages: the processor time of the process and of its main
// thread, which serves the API, without messages; then the processor time per message at the maximum rate.

import { connectAsync } from 'mqtt'
import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import type { Scope } from '../../test/e2e/godwit-process.ts'
import { type BrokerWithApi, startBrokerWithApi } from '../../test/management/api.ts'
import { cpuSeconds } from '../load/process-facts.ts'
import { generateLoad, plainLoad } from '../load/run-generator.ts'
import { signedInPage, startBrowser } from './open-page.ts'

interface PagesOptions {
  readonly pages: number
  readonly rounds: number
  readonly seconds: number
}

interface Round {
  /** Milliseconds of processor time per second, without load. */
  readonly processMs: number
  readonly mainThreadMs: number
  /** Under load. */
  readonly microsPerMessage: number
}

type State = 'open' | 'closed'

/** Live streams that the API has at once. */
const maxExplorers = 8
const publishMs = 100
/** Time after which opening the pages is complete. */
const settleMs = 3_000
const loadSeconds = 3
const ticksPerSecond = 100

/** Prints one line for each round, and the medians. */
export async function measurePagesCost(scope: Scope, { pages, rounds, seconds }: PagesOptions): Promise<void> {
  const broker = await startBrokerWithApi(scope, { set: ['node.shards=1'] })
  const routes = Array.from({ length: pages }, (_, number) => routeOf(number))
  const browser = await startBrowser(scope)
  const opened: Page[] = []
  for (const route of routes) opened.push(await signedInPage(browser, broker, route))
  await publishToExplorers(scope, broker.port)
  const found: Record<State, Round[]> = { open: [], closed: [] }
  for (let round = 0; round < rounds; round++) {
    for (const state of round % 2 === 0 ? (['closed', 'open'] as const) : (['open', 'closed'] as const)) {
      for (const [number, page] of opened.entries()) await (state === 'open' ? open(page, broker, number) : close(page))
      const result = await measureRound(broker, seconds)
      found[state].push(result)
      process.stdout.write(`${state}: ${textOf(result)}\n`)
    }
  }
  const medianOf = (state: State): Round => ({
    processMs: median(found[state].map((one) => one.processMs)),
    mainThreadMs: median(found[state].map((one) => one.mainThreadMs)),
    microsPerMessage: median(found[state].map((one) => one.microsPerMessage)),
  })
  process.stdout.write(`${pages} pages, medians of ${rounds} rounds\n`)
  for (const state of ['closed', 'open'] as const) process.stdout.write(`${state}: ${textOf(medianOf(state))}\n`)
  const share = (medianOf('open').processMs - medianOf('closed').processMs) / 10
  process.stdout.write(`the pages take ${share.toFixed(2)} % of one processor\n`)
}

function textOf({ processMs, mainThreadMs, microsPerMessage }: Round): string {
  const perSecond = `${processMs.toFixed(1)} ms/s without load, ${mainThreadMs.toFixed(1)} of them the main thread`
  return `${perSecond}; ${microsPerMessage.toFixed(3)} µs a message at full speed`
}

function routeOf(number: number): string {
  return number < maxExplorers ? `#/topics?filter=${encodeURIComponent(`explorer/${number}/#`)}` : '#/overview'
}

async function open(page: Page, broker: BrokerWithApi, number: number): Promise<void> {
  await close(page)
  await page.goto(`${broker.url}/dashboard/${routeOf(number)}`)
  if (number >= maxExplorers) {
    await page.getByRole('img', { name: 'Messages per second', exact: true }).waitFor()
    return
  }
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  await page.getByRole('treeitem').first().waitFor()
}

/** The login stays in the tab. */
async function close(page: Page): Promise<void> {
  await page.goto('about:blank')
}

async function measureRound(broker: BrokerWithApi, seconds: number): Promise<Round> {
  const pid = broker.process.child.pid ?? 0
  await pause(settleMs)
  const startedAtMs = performance.now()
  const before = { all: cpuSeconds(pid) ?? 0, mainThread: mainThreadSeconds(pid) }
  await pause(seconds * 1_000)
  const after = { all: cpuSeconds(pid) ?? 0, mainThread: mainThreadSeconds(pid) }
  const elapsedSeconds = (performance.now() - startedAtMs) / 1_000
  const { brokerCpuShare = Number.NaN, deliveredPerSecond } = await generateLoad({
    ...plainLoad,
    port: broker.port,
    brokerPid: pid,
    seconds: loadSeconds,
  })
  return {
    processMs: ((after.all - before.all) * 1_000) / elapsedSeconds,
    mainThreadMs: ((after.mainThread - before.mainThread) * 1_000) / elapsedSeconds,
    microsPerMessage: (brokerCpuShare / deliveredPerSecond) * 1_000_000,
  }
}

function mainThreadSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/task/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

/** Ten messages a second for each explorer, open or not. */
async function publishToExplorers(scope: Scope, port: number): Promise<void> {
  const publisher = await connectAsync({ port, clientId: 'explorers' })
  scope.after(() => publisher.endAsync(true))
  const timer = setInterval(() => {
    for (let number = 0; number < maxExplorers; number++)
      publisher.publish(`explorer/${number}/value`, '{"degrees":21}')
  }, publishMs)
  scope.after(() => clearInterval(timer))
}

function median(numbers: readonly number[]): number {
  const rising = numbers.toSorted((a, b) => a - b)
  const middle = Math.floor(rising.length / 2)
  return rising.length % 2 === 1 ? (rising[middle] ?? 0) : ((rising[middle - 1] ?? 0) + (rising[middle] ?? 0)) / 2
}
