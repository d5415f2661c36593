// Tells systemd when the broker serves, stops, and is alive (Type=notify, WatchdogSec). Node has no datagram sockets of the
// local domain, so the messages go through `systemd-notify`, which every system with systemd has.

import { spawn } from 'node:child_process'

/** The notifications for a service manager, with the names of sd_notify(3). */
export interface ServiceManager {
  /** READY=1; from then on WATCHDOG=1 twice in each period that systemd allows. */
  notifyServing(): void
  /** The start waits for this reason: systemd waits as well, until ten seconds after the last call. */
  notifyWaiting(reason: string): void
  /** STOPPING=1. */
  notifyStopping(): void
}

interface NotifyEnvironment {
  readonly NOTIFY_SOCKET?: string | undefined
  readonly WATCHDOG_USEC?: string | undefined
  readonly WATCHDOG_PID?: string | undefined
}

const usPerMs = 1_000
const startExtensionUs = 10_000_000

/** Does nothing where the process is not a service of systemd. `onProblem`: a message could not be sent. */
export function createServiceManager(
  environment: NotifyEnvironment,
  onProblem: (problem: string) => void,
): ServiceManager {
  if (environment.NOTIFY_SOCKET === undefined || environment.NOTIFY_SOCKET === '')
    return { notifyServing: () => {}, notifyWaiting: () => {}, notifyStopping: () => {} }
  const periodMs = readWatchdogPeriodMs(environment)
  let watchdog: NodeJS.Timeout | undefined
  let hasFailed = false
  const notify = (...assignments: readonly string[]): void => {
    const fail = (why: string): void => {
      if (!hasFailed) onProblem(`systemd-notify ${assignments.join(' ')}: ${why}`)
      hasFailed = true
    }
    try {
      // WATCHDOG_PID is ours: the child is told who it speaks for, as NotifyAccess=all in the unit allows.
      const child = spawn('systemd-notify', [`--pid=${process.pid}`, ...assignments], { stdio: 'ignore' })
      child.on('error', (error) => fail(error.message))
      child.on('exit', (code) => {
        if (code !== null && code !== 0) fail(`exit code ${code}; the unit needs NotifyAccess=all`)
      })
      child.unref()
    } catch (error) {
      // Without memory for a process `spawn` throws. That must not end the broker; systemd restarts it if notifications stay away.
      fail((error as Error).message)
    }
  }
  return {
    notifyServing: () => {
      notify('READY=1', 'STATUS=serving MQTT clients')
      if (periodMs === undefined || watchdog !== undefined) return
      watchdog = setInterval(() => notify('WATCHDOG=1'), periodMs).unref()
    },
    notifyWaiting: (reason) => {
      notify(`EXTEND_TIMEOUT_USEC=${startExtensionUs}`, `STATUS=${reason}`)
    },
    notifyStopping: () => {
      notify('STOPPING=1', 'STATUS=disconnecting clients and closing the store')
    },
  }
}

/** Half of what systemd allows; undefined: it does not watch this process. */
function readWatchdogPeriodMs({ WATCHDOG_USEC, WATCHDOG_PID }: NotifyEnvironment): number | undefined {
  const allowedUs = Number(WATCHDOG_USEC)
  if (!Number.isSafeInteger(allowedUs) || allowedUs <= 0) return undefined
  if (WATCHDOG_PID !== undefined && WATCHDOG_PID !== String(process.pid)) return undefined
  return Math.max(1, Math.floor(allowedUs / usPerMs / 2))
}
