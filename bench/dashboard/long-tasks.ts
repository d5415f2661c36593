// Tasks of the pages Topics, Overview and Clients that took longer than 50 ms, while many clients are connected and messages arrive fast.

import { connectAsync } from 'mqtt'
import type { Page } from 'playwright-core'
import type { Scope } from '../../test/e2e/godwit-process.ts'
import { reservePort } from '../../test/e2e/reserve-port.ts'
import { startBrokerWithApi } from '../../test/management/api.ts'
import { type BrowserTask, traceTasks } from './browser-tasks.ts'
import { connectClients, settingsForClients } from './clients.ts'
import { signedInPage, startBrowser } from './open-page.ts'

interface TaskOptions {
  readonly clients: number
  readonly messagesPerSecond: number
  readonly seconds: number
}

const longTaskMs = 50
const publishMs = 10
const topics = 500

/** Prints one line for each page. */
export async function measureLongTasks(scope: Scope, { clients, messagesPerSecond, seconds }: TaskOptions) {
  const snPort = await reservePort(scope)
  const broker = await startBrokerWithApi(scope, { set: settingsForClients(snPort) })
  await connectClients(scope, { port: broker.port, snPort }, clients)
  await publishAlways(scope, broker.port, messagesPerSecond)
  const browser = await startBrowser(scope)
  const { connections } = (await broker.request('/api/v5/monitor_current')).json.data
  process.stdout.write(`${connections} clients connected, ${messagesPerSecond} messages/s\n`)
  for (const route of ['#/topics', '#/overview', '#/clients']) {
    const page = await signedInPage(browser, broker, route)
    if (route === '#/topics') await openTopic(page)
    const tasks = await traceTasks(page, seconds * 1_000)
    await page.close()
    process.stdout.write(
      `${route}: ${tasks.length} tasks; by the clock ${summaryOf(tasks, 'wallMs')}; by processor time ${summaryOf(tasks, 'cpuMs')}\n`,
    )
  }
}

function summaryOf(tasks: readonly BrowserTask[], key: 'wallMs' | 'cpuMs'): string {
  const times = tasks.map((task) => task[key])
  const long = times.filter((time) => time > longTaskMs).length
  const longest = Math.max(0, ...times).toFixed(0)
  const all = times.reduce((sum, time) => sum + time, 0).toFixed(0)
  return `${long} longer than ${longTaskMs} ms, longest ${longest} ms, all ${all} ms`
}

async function openTopic(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Start', exact: true }).click()
  for (const level of [/^plant /, /^hall-1 /, /^device-/]) {
    await page.getByRole('treeitem', { name: level }).first().click()
  }
}

async function publishAlways(scope: Scope, port: number, messagesPerSecond: number): Promise<void> {
  const publisher = await connectAsync({ port, clientId: 'publisher' })
  scope.after(() => publisher.endAsync(true))
  let sent = 0
  const startedAtMs = performance.now()
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAtMs) * messagesPerSecond) / 1_000
    for (; sent < due; sent++) {
      publisher.publish(`plant/hall-${sent % 7}/device-${sent % topics}`, JSON.stringify({ degrees: 20 + (sent % 9) }))
    }
  }, publishMs)
  scope.after(() => clearInterval(timer))
}
